#include "server/ingest/ingest.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "tests/unit/check_body.h"

static const struct {
    const char *name, *in;
    const char *format; /* of ingest_detect(); NULL = none */
    enum fz_code code;  /* of the check */
    const char *words;  /* of its message */
    int64_t offset;
} cases[] = {
    {"shortest", "{\"framezero\":1,\"addresses\":[\"0x1\"],\"images\":[]}", "framezero", FZ_OK, "",
     0},
    {"no version", "{\"addresses\":[1]}", "framezero", FZ_OK, "", 0},
    {"threads only", " \n{\"images\":[{}],\"threads\":[]}", "framezero", FZ_OK, "", 0},
    {"version last", "{\"user\":{\"threads\":[]},\"addresses\":[],\"framezero\":1}", "framezero",
     FZ_OK, "", 0},
    {"byte order mark", "\xef\xbb\xbf{\"addresses\":[]}", "framezero", FZ_OK, "", 0},
    {"odd number", "{\"addresses\":[18446744073709551615]}", "framezero", FZ_OK, "", 0},
    {"nothing", "", NULL, FZ_E_MALFORMED, "the body is empty", 0},
    {"space", " \n\t", NULL, FZ_E_MALFORMED, "the body is empty", 0},
    {"text", "hello world, this is no report", NULL, FZ_E_UNSUPPORTED,
     "begins with \"hello world, thi\"", 0},
    {"binary", "\xcf\xfa\xed\xfe", NULL, FZ_E_UNSUPPORTED, "begins with \"????\"", 0},
    {"broken", "{\"addresses\":[1,}", "framezero", FZ_E_MALFORMED,
     "json: expected a value at byte 16", 16},
    {"cut", "{\"framezero\":1,\"addresses\":[\"0x10", "framezero", FZ_E_MALFORMED,
     "ends inside a string at byte 33", 33},
    {"broken, no report", "{\"a\":[1,}", NULL, FZ_E_MALFORMED, "json: expected a value at byte 8",
     8},
    {"no report", "{\"a\":1}", NULL, FZ_E_UNSUPPORTED, "keys are those of no format", -1},
    {"array", "[1]", NULL, FZ_E_UNSUPPORTED, "an array without reports", -1},
    {"version only", "{\"framezero\":1}", "framezero", FZ_E_MALFORMED,
     "no 'threads' and no 'addresses'", 0},
    {"threads are text", "{\"framezero\":1,\"threads\":\"x\"}", "framezero", FZ_E_MALFORMED,
     "no 'threads' and no 'addresses'", 25},
    {"threads inside", "{\"a\":{\"threads\":[]}}", NULL, FZ_E_UNSUPPORTED,
     "keys are those of no format", -1},
    {"threads in a text", "{\"a\":\"\\\"threads\\\":[]\"}", NULL, FZ_E_UNSUPPORTED,
     "keys are those of no format", -1},
    {"another's threads", "{\"threads\":[{\"stacktrace\":[]}],\"app\":{}}", NULL, FZ_E_UNSUPPORTED,
     "keys are those of no format", -1},
    {"keys in a list", "{\"a\":[\"threads\",[]]}", NULL, FZ_E_UNSUPPORTED,
     "keys are those of no format", -1},
};

static void
test_detect_and_check(void **state)
{
    (void)state;
    struct limits limits = limits_default();
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span body = fz_span_cstr(cases[i].in);
        const char *format = ingest_detect(body);
        if ((format == NULL) != (cases[i].format == NULL) ||
            (format && strcmp(format, cases[i].format) != 0))
            fail_msg("%s: detected as %s", cases[i].name, format ? format : "none");
        struct fz_error err = {.offset = 0};
        char id[FZ_UUID_TEXT] = "x";
        enum fz_code code = check_body(body, &limits, &format, id, &err);
        if (code != cases[i].code || !strstr(err.text, cases[i].words) ||
            err.offset != cases[i].offset)
            fail_msg("%s: code %d, offset %lld, %s", cases[i].name, code, (long long)err.offset,
                     err.text);
        assert_string_equal(id, code == FZ_OK ? "" : "x");
        /* Parsing comes to the same verdict. */
        struct fz_arena arena;
        struct report report;
        fz_arena_init(&arena, limits.report_memory);
        assert_int_equal(ingest_parse(body, &limits, &arena, &report, NULL), cases[i].code);
        fz_arena_deinit(&arena);
    }
}

static void
test_id(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } ids[] = {
        {"\"4C4C445B-5555-3144-A129-88BEB9D5EB60\"", "4c4c445b55553144a12988beb9d5eb60"},
        {"\"4c4c445b55553144a12988beb9d5eb60\"", "4c4c445b55553144a12988beb9d5eb60"},
        {"\"00000000000000000000000000000000\"", ""},
        {"\"crash-17\"", ""},
        {"17", ""},
        {"{}", ""},
        {"null", ""},
        {"\"\"", ""},
    };
    struct limits limits = limits_default();
    for (size_t i = 0; i < FZ_ARRAY_LEN(ids); i++) {
        struct fz_buffer body;
        fz_buffer_init(&body, 0);
        fz_buffer_printf(&body, "{\"addresses\":[],\"id\": %s }", ids[i].in);
        const char *format;
        char id[FZ_UUID_TEXT];
        assert_int_equal(check_body(fz_buffer_span(&body), &limits, &format, id, NULL), FZ_OK);
        assert_string_equal(format, "framezero");
        assert_string_equal(id, ids[i].want);
        fz_buffer_deinit(&body);
    }
}

/* The first kilobytes are enough, and a body that ends anywhere does no harm. */
static void
test_detect_every_length(void **state)
{
    (void)state;
    static const char text[] =
        "{\"os\":{\"a\":[1,\"\\\"\"]},\"threads\":[{\"frames\":[]}],\"images\":[]}";
    static const char detected_from[] = "{\"os\":{\"a\":[1,\"\\\"\"]},\"threads\":[";
    for (size_t len = 0; len < sizeof(text); len++) {
        uint8_t *copy = malloc(len ? len : 1);
        memcpy(copy, text, len);
        const char *format = ingest_detect(fz_span_make(copy, len));
        /* Between the end of the threads and the list of images it is undecided. */
        size_t left = sizeof(text) - 1 - len;
        bool undecided = left <= strlen(",\"images\":[]}") && left > strlen("]}");
        assert_int_equal(format != NULL, len >= sizeof(detected_from) - 1 && !undecided);
        free(copy);
    }
}

static void
test_depth(void **state)
{
    (void)state;
    struct limits limits = limits_default();
    struct fz_buffer body;
    fz_buffer_init(&body, 0);
    fz_buffer_text(&body, "{\"addresses\":[],\"user\":");
    for (size_t i = 0; i < limits.json_depth; i++)
        fz_buffer_char(&body, '[');
    const char *format;
    char id[FZ_UUID_TEXT];
    struct fz_error err;
    assert_int_equal(check_body(fz_buffer_span(&body), &limits, &format, id, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "json: nested deeper than 128 at byte 150");
    fz_buffer_deinit(&body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detect_and_check),
        cmocka_unit_test(test_id),
        cmocka_unit_test(test_detect_every_length),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
