/* Reports for tokens that may not see values: what is left out, and what stays as it is. */
#include "server/api/api_hide.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_copy(void **state)
{
    static const struct {
        const char *json, *want; /* want NULL: nothing is hidden, and the text stays */
    } cases[] = {
        {"{}", NULL},
        {"{\"id\":\"1\",\"threads\":[],\"missing\":[]}", NULL},
        {"{\"memory\":[{\"bytes\":\"AA==\"}]}", "{\"variables\":\"hidden\"}"},
        {"{\"id\":\"1\",\"memory\":[],\"missing\":[]}",
         "{\"id\":\"1\",\"missing\":[],\"variables\":\"hidden\"}"},
        {"{\"threads\":[{\"index\":0,\"stack\":{},\"frames\":[{\"index\":0,\"symbols\":[{"
         "\"function\":"
         "\"f\",\"variables\":[{\"name\":\"x\",\"value\":\"]}\\\"\"}],\"line\":1},{\"line\":2}]}]}]"
         "}",
         "{\"threads\":[{\"index\":0,\"frames\":[{\"index\":0,\"symbols\":[{\"function\":\"f\","
         "\"line\":1},{\"line\":2}]}]}],\"variables\":\"hidden\"}"},
        {"{\"exception_backtrace\":{\"frames\":[{\"symbols\":[{\"variables\":[]}]}]}}",
         "{\"exception_backtrace\":{\"frames\":[{\"symbols\":[{}]}]},\"variables\":\"hidden\"}"},
        /* The app's author may use these names. */
        {"{\"tags\":{\"stack\":1,\"variables\":2},\"extra\":{\"memory\":[]}}", NULL},
        {"{\"threads\":[{\"name\":\"\\\"stack\\\":\",\"frames\":[{\"variables\":1}]}]}", NULL},
        {"{\"threads\":[{\"notable_addresses\":{\"x0\":1}}]}",
         "{\"threads\":[{}],\"variables\":\"hidden\"}"},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        bool hidden = false;
        const char *want = cases[i].want ? cases[i].want : cases[i].json;
        api_hide_copy(fz_span_cstr(cases[i].json), false, &out, &hidden);
        assert_int_equal(hidden, cases[i].want != NULL);
        assert_string_equal(fz_buffer_cstr(&out), want);
    }
}

/* Apple's reports have texts of the system there. */
static void
test_notable(void **state)
{
    static const char json[] = "{\"threads\":[{\"notable_addresses\":{\"x0\":1}}]}";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    bool hidden = true;
    (void)state;
    api_hide_copy(fz_span_cstr(json), true, &out, &hidden);
    assert_false(hidden);
    assert_string_equal(fz_buffer_cstr(&out), json);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy), cmocka_unit_test(test_notable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
