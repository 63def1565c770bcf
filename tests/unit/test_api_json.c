#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/api/api_json.h"

static void
test_object(void **state)
{
    (void)state;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    api_json_open(&out, NULL, '{');
    api_json_text(&out, "gone", NULL);
    api_json_time(&out, "never", 0);
    api_json_raw(&out, "raw", "");
    api_json_open(&out, "empty", '{');
    api_json_close(&out, '}');
    api_json_text(&out, "name", "a\"b\n{[");
    api_json_u64(&out, "big", UINT64_MAX);
    api_json_time(&out, "at", 1763633472345);
    api_json_open(&out, "list", '[');
    api_json_text(&out, NULL, "[");
    api_json_u64(&out, NULL, 0);
    api_json_raw(&out, NULL, "{\"x\":[]}");
    api_json_text(&out, NULL, "\xff");
    api_json_close(&out, ']');
    api_json_close(&out, '}');
    assert_string_equal(fz_buffer_cstr(&out),
                        "{\"empty\":{},\"name\":\"a\\\"b\\n{[\",\"big\":18446744073709551615,"
                        "\"at\":\"2025-11-20T10:11:12.345Z\",\"list\":[\"[\",0,{\"x\":[]},"
                        "\"\xef\xbf\xbd\"]}");
    fz_buffer_deinit(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_object)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
