#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/ingest/identity.h"

#define EVENT "{\"type\":\"event\"}\n{\"message\":\"x\"}\n"
#define PART(b) "--" b "\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n"

static void
test_identity(void **state)
{
    (void)state;
    static const struct {
        const char *name, *a, *a_id, *b, *b_id;
        bool same;
    } cases[] = {
        {"the same bytes", "{\"framezero\":1}", "i", "{\"framezero\":1}", "i", true},
        {"a space more", "{\"framezero\":1}", "i", "{\"framezero\": 1}", "i", false},
        {"sent at another time", "{\"event_id\":\"1\",\"sent_at\":\"2026\"}\n" EVENT, "1",
         "{\"event_id\":\"1\",\"sent_at\":\"2027\"}\n" EVENT, "1", true},
        {"another id in the header", "{\"event_id\":\"1\"}\n" EVENT, "1",
         "{\"event_id\":\"2\"}\n" EVENT, "2", false},
        {"with a session of the moment", "{\"event_id\":\"1\"}\n" EVENT, "1",
         "{\"event_id\":\"1\"}\n" EVENT "{\"type\":\"session\"}\n{\"sid\":\"1\"}\n", "1", true},
        {"another event", "{\"event_id\":\"1\"}\n" EVENT, "1",
         "{\"event_id\":\"1\"}\n{\"type\":\"event\"}\n{\"message\":\"y\"}\n", "1", false},
        {"an attachment more", "{\"event_id\":\"1\"}\n" EVENT, "1",
         "{\"event_id\":\"1\"}\n" EVENT "{\"type\":\"attachment\"}\n{}\n", "1", false},
        {"another boundary", PART("b1") "{}\r\n--b1--\r\n", "", PART("c2") "{}\r\n--c2--\r\n", "",
         true},
        {"another part", PART("b1") "{}\r\n--b1--\r\n", "", PART("b1") "[]\r\n--b1--\r\n", "",
         false},
        {"framing broken, the same bytes", "{}\n{\"type\":\"event\",\"length\":99}\nx", "",
         "{}\n{\"type\":\"event\",\"length\":99}\nx", "", true},
        {"framing broken, others", "{}\n{\"type\":\"event\",\"length\":99}\nx", "",
         "{}\n{\"type\":\"event\",\"length\":99}\ny", "", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char a[FZ_SHA256_TEXT], b[FZ_SHA256_TEXT];
        struct fz_error err;
        assert_int_equal(ingest_identity(fz_span_cstr(cases[i].a), cases[i].a_id, a, &err), FZ_OK);
        assert_int_equal(ingest_identity(fz_span_cstr(cases[i].b), cases[i].b_id, b, &err), FZ_OK);
        if ((strcmp(a, b) == 0) != cases[i].same)
            fail_msg("%s: %s and %s", cases[i].name, a, b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_identity)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
