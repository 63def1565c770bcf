#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "server/ingest/ingest.h"

#define EVENT "{\"type\":\"event\"}\n{\"message\":\"x\"}\n"
#define PART(b) "--" b "\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n"

/* The pieces, or the whole body, as one text. */
static struct fz_buffer
identity(const char *body)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct ingest_item item = {.body = fz_span_cstr(body)};
    struct fz_span *pieces = NULL;
    size_t n = 0;
    struct fz_error err;
    struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(ingest_identity(&item, &arena, &pieces, &n, &err), FZ_OK);
    for (size_t i = 0; i < n; i++)
        fz_buffer_printf(&out, "%zu %.*s\n", pieces[i].len, (int)pieces[i].len,
                         pieces[i].len ? (const char *)pieces[i].data : "");
    if (n == 0)
        fz_buffer_text(&out, body);
    return out;
}

static void
test_identity(void **state)
{
    (void)state;
    static const struct {
        const char *name, *a, *b;
        bool same;
    } cases[] = {
        {"the same bytes", "{\"framezero\":1}", "{\"framezero\":1}", true},
        {"a space more", "{\"framezero\":1}", "{\"framezero\": 1}", false},
        {"sent at another time, another id in the header",
         "{\"event_id\":\"1\",\"sent_at\":\"2026\"}\n" EVENT,
         "{\"event_id\":\"2\",\"sent_at\":\"2027\"}\n" EVENT, true},
        {"with a session of the moment", "{\"event_id\":\"1\"}\n" EVENT,
         "{\"event_id\":\"1\"}\n" EVENT "{\"type\":\"session\"}\n{\"sid\":\"1\"}\n", true},
        {"another event", "{\"event_id\":\"1\"}\n" EVENT,
         "{\"event_id\":\"1\"}\n{\"type\":\"event\"}\n{\"message\":\"y\"}\n", false},
        {"an attachment more", "{\"event_id\":\"1\"}\n" EVENT,
         "{\"event_id\":\"1\"}\n" EVENT "{\"type\":\"attachment\"}\n{}\n", false},
        {"another boundary", PART("b1") "{}\r\n--b1--\r\n", PART("c2") "{}\r\n--c2--\r\n", true},
        {"another part", PART("b1") "{}\r\n--b1--\r\n", PART("b1") "[]\r\n--b1--\r\n", false},
        {"framing broken, the same bytes", "{}\n{\"type\":\"event\",\"length\":99}\nx",
         "{}\n{\"type\":\"event\",\"length\":99}\nx", true},
        {"framing broken, others", "{}\n{\"type\":\"event\",\"length\":99}\nx",
         "{}\n{\"type\":\"event\",\"length\":99}\ny", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer a = identity(cases[i].a);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer b = identity(cases[i].b);
        if (fz_span_equal(fz_buffer_span(&a), fz_buffer_span(&b)) != cases[i].same)
            fail_msg("%s: %s and %s", cases[i].name, fz_buffer_cstr(&a), fz_buffer_cstr(&b));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_identity)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
