#include "base/json/scan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static const struct json_scan_limits roomy = {64, SIZE_MAX, 0};

static void
test_load(void **state)
{
    (void)state;
    json_t *tree = NULL;
    struct json_scan_notes notes;
    struct fz_error err;
    static const char text[] = "{\"a\":1,\"a\":18446744073709551615,\"b\":[true]}";
    assert_int_equal(json_scan_load(fz_span_cstr(text), &roomy, &notes, &tree, &err), FZ_OK);
    /* The last of two equal keys wins. */
    assert_string_equal(json_string_value(json_object_get(tree, "a")), "18446744073709551615");
    assert_true(json_is_true(json_array_get(json_object_get(tree, "b"), 0)));
    assert_int_equal(notes.n_big_numbers, 1);
    json_decref(tree);

    tree = NULL;
    assert_int_equal(json_scan_load(fz_span_cstr("[1,]"), &roomy, NULL, &tree, &err),
                     FZ_E_MALFORMED);
    assert_string_equal(err.text, "json: expected a value at byte 3");
    assert_null(tree);
}

static void
test_load_text(void **state)
{
    (void)state;
    json_t *tree = NULL;
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    fz_buffer_text(&text, "before ");
    assert_int_equal(
        json_scan_load_text(fz_span_cstr("[\"\xff\"]"), &roomy, &text, NULL, &tree, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&text), "before [\"\xef\xbf\xbd\"]");
    json_decref(tree);
    fz_buffer_deinit(&text);
}

/* Trees of texts as jansson's own parser makes them; dumped, since json_equal() knows no order. */
static void
test_built(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "-9223372036854775808",
        "9223372036854775807",
        "1.5",
        "-1e-3",
        "1E+2",
        "0.1e308",
        "\"\"",
        "\"a\"",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        "[[],[[]],{}]",
        "{\"a\":1,\"b\":2,\"a\":{\"c\":[]}}",
        "{\"\":\"\",\"x\":\"\"}",
        "[\"\\\"\",\"\\\\\",\"a\\\\\\\"b\",\"\\/System\\/Library\"]",
        "[\"\\b\\f\\n\\r\\t\",\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\",\"\xc3\xa9\"]",
        "{\"\\u0061\\n\":1,\"k\\\"\":{\"\\\\\":2,\"z\":3}}",
        "{\"\\u0061\":\"\\u0062\",\"a\":\"c\\td\"}",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        json_t *tree = NULL, *want = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        assert_non_null(want);
        assert_int_equal(
            json_scan_load_text(fz_span_cstr(texts[i]), &roomy, &text, NULL, &tree, NULL), FZ_OK);
        char *dumps[] = {json_dumps(want, JSON_ENCODE_ANY), json_dumps(tree, JSON_ENCODE_ANY)};
        assert_string_equal(dumps[1], dumps[0]);
        assert_true(json_equal(tree, want));
        /* Keys ended with a NUL meanwhile. */
        assert_int_equal(strlen(fz_buffer_cstr(&text)), text.len);
        free(dumps[0]);
        free(dumps[1]);
        json_decref(tree);
        json_decref(want);
    }
}

static void
repeat(struct fz_buffer *out, const char *piece, size_t n)
{
    fz_buffer_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            fz_buffer_char(out, ',');
        fz_buffer_text(out, piece);
    }
    fz_buffer_char(out, ']');
}

static size_t
heap_in_use(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* The estimate is above what jansson really takes, for documents of every kind, and not ten times
 * above it. */
static void
test_tree_bytes(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "[]",
        "{}",
        "0",
        "\"0123456789abcdef0123456789abcdef\"",
        "{\"a\":{\"b\":[]}}",
        "\"\"",
        "[[[[]]]]",
        "1.5",
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7}",
        "[1,2,3,4,5,6,7,8,9]",
        "null"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(pieces); i++) {
        struct fz_buffer text, repaired;
        fz_buffer_init(&text, 0);
        fz_buffer_init(&repaired, 0);
        repeat(&text, pieces[i], 20000);
        struct fz_error err;
        json_t *tree = NULL;
        struct json_scan_limits limits = {64, SIZE_MAX, 1};
        assert_int_equal(
            json_scan_load_text(fz_buffer_span(&text), &limits, &repaired, NULL, &tree, &err),
            FZ_E_LIMIT);
        const char *words = "json: needs about ";
        assert_memory_equal(err.text, words, strlen(words));
        unsigned long long estimate = strtoull(err.text + strlen(words), NULL, 10);
        size_t before = heap_in_use();
        json_error_t why;
        tree = json_loadb(text.data, text.len, JSON_DECODE_ANY, &why);
        size_t used = heap_in_use() - before;
        json_decref(tree);
        /* Under ASan, and without glibc, nothing is counted. */
        if (used && (used > estimate || estimate > 10 * (used + text.len)))
            fail_msg("%s: takes %zu, estimated as %llu", pieces[i], used, estimate);
        fz_buffer_deinit(&text);
        fz_buffer_deinit(&repaired);
    }
}

static void
test_u64(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool ok;
        uint64_t want;
    } cases[] = {
        {"0", true, 0},
        {"4362092648", true, 4362092648},
        {"-1", true, UINT64_MAX},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"\"0x10\"", true, 16},
        {"\"0XfF\"", true, 255},
        {"\"0xffffffffffffffff\"", true, UINT64_MAX},
        {"\"0x10000000000000000\"", false, 0},
        {"\"17\"", true, 17},
        {"\"\"", false, 0},
        {"\"0x\"", false, 0},
        {"\"ff\"", false, 0},
        {"\" 1\"", false, 0},
        {"\"1 \"", false, 0},
        {"\"-1\"", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"null", false, 0},
        {"true", false, 0},
        {"[]", false, 0},
        {"{}", false, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        json_t *value = NULL;
        assert_int_equal(json_scan_load(fz_span_cstr(cases[i].json), &roomy, NULL, &value, NULL),
                         FZ_OK);
        uint64_t got = 0;
        if (json_scan_u64(value, &got) != cases[i].ok || got != cases[i].want)
            fail_msg("%s: %llx", cases[i].json, (unsigned long long)got);
        json_decref(value);
    }
    uint64_t got;
    assert_false(json_scan_u64(NULL, &got));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),  cmocka_unit_test(test_load_text),
        cmocka_unit_test(test_built), cmocka_unit_test(test_tree_bytes),
        cmocka_unit_test(test_u64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
