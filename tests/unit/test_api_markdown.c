/* Stacks and values as Markdown. */
#include "server/api/api_markdown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

static const char report[] =
    "{\"id\":\"8c1f\",\"app\":{\"version\":\"4.2|\"},\"crash\":{\"reason\":\"a\\n# "
    "b\"},\"threads\":["
    "{\"crashed\":false,\"frames\":[{\"image\":\"other\",\"symbols\":[]}]},"
    "{\"crashed\":true,\"frames\":["
    "{\"image\":\"libsystem\",\"symbols\":[{\"function\":\"abort\",\"offset\":12}],\"in_app\":"
    "false},"
    "{\"image\":\"Shop\",\"in_app\":true,\"anchor\":true,\"symbols\":["
    "{\"function\":\"inner(int)\",\"file\":\"/src/a.c\",\"line\":2,\"inlined\":true,\"variables\":["
    "{\"name\":\"count\",\"type\":\"int\",\"value\":\"7\",\"availability\":\"available\"},"
    "{\"name\":\"password\",\"type\":\"char *\",\"value\":\"x\",\"availability\":\"redacted\"},"
    "{\"name\":\"gone\",\"type\":\"int\",\"availability\":\"optimized_out\"}]},"
    "{\"function\":\"main```\",\"file\":\"main.c\"}]},"
    "{\"image\":\"Shop\",\"in_app\":true,\"address\":\"0x10\",\"status\":\"no_symbol\",\"symbols\":"
    "[]}]}]";

static json_t *
load(const char *more)
{
    char text[4096] = "";
    strcat(strcat(strcat(text, report), more), "}");
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void
test_stack(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    json_auto_t *json = load("");
    api_markdown_stack(&out, json);
    assert_string_equal(
        fz_buffer_cstr(&out),
        "| Report | |\n|---|---|\n| Report | 8c1f |\n| Reason | a \\#\xe2\x80\x8b b |\n"
        "| Version | 4\\.2\\| |\n\n"
        "The thread that crashed, innermost first; `>` marks the app's own code, `*` "
        "what the issue is named after:\n\n"
        "````text\n"
        "    0  libsystem                 abort + 12\n"
        "*   1  Shop                      inner(int)  a.c:2  (inlined)\n"
        "*   1  Shop                      main```  main.c\n"
        ">   2  Shop                      0x10  no_symbol\n"
        "````\n\n");
}

static void
test_exception(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    json_auto_t *json =
        load(",\"exception_backtrace\":{\"frames\":[{\"symbols\":[{\"function\":\"thrower\"}]}]}");
    api_markdown_stack(&out, json);
    assert_non_null(strstr(fz_buffer_cstr(&out), "Where the exception was thrown"));
    assert_non_null(strstr(fz_buffer_cstr(&out), "thrower"));
    assert_null(strstr(fz_buffer_cstr(&out), "abort"));
}

/* Redacted values and those that are not there are left out. */
static void
test_values(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    json_auto_t *json = load("");
    api_markdown_values(&out, json);
    assert_string_equal(fz_buffer_cstr(&out),
                        "## Values\n\n```text\ninner(int): int count = 7\n```\n\n");
}

/* A report of any shape is no more than an empty one. */
static void
test_odd(void **state FZ_UNUSED)
{
    static const char *const odd[] = {"{}", "{\"threads\":7}", "{\"threads\":[7]}",
                                      "{\"threads\":[{\"frames\":[7,{\"symbols\":[7]}]}]}"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(odd); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        json_auto_t *json = json_loads(odd[i], 0, NULL);
        api_markdown_stack(&out, json);
        api_markdown_values(&out, json);
        assert_int_equal(fz_buffer_done(&out, NULL), FZ_OK);
        assert_null(strstr(fz_buffer_cstr(&out), "## Values"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stack),
                                       cmocka_unit_test(test_exception),
                                       cmocka_unit_test(test_values), cmocka_unit_test(test_odd)};
    return cmocka_run_group_tests_name("api_markdown", tests, NULL, NULL);
}
