#include "base/json/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "test_json_scan_cases.h"

static const struct json_scan_limits roomy = {64, 1 << 20, 0};

static void
assert_jansson_reads(const char *name, const struct fz_buffer *text)
{
    json_error_t why;
    json_t *tree = json_loadb(fz_buffer_cstr(text), text->len, JSON_DECODE_ANY, &why);
    if (!tree)
        fail_msg("%s: jansson: %s in '%s'", name, why.text, fz_buffer_cstr(text));
    json_decref(tree);
}

static void
assert_scans(const char *name, struct fz_span in, const char *want, uint64_t n_mended)
{
    struct fz_buffer out;
    struct fz_error err = {0};
    struct json_scan_notes notes;
    fz_buffer_init(&out, 0);
    if (json_scan(in, &roomy, &out, &notes, &err) != FZ_OK)
        fail_msg("%s: %s", name, err.text);
    if (strcmp(fz_buffer_cstr(&out), want) != 0)
        fail_msg("%s: '%s', not '%s'", name, fz_buffer_cstr(&out), want);
    assert_jansson_reads(name, &out);
    uint64_t n = notes.n_big_numbers + notes.n_bad_utf8 + notes.n_bad_escapes;
    if ((n > 0) != (n_mended > 0))
        fail_msg("%s: %llu places repaired", name, (unsigned long long)n);
    fz_buffer_deinit(&out);
}

static void
test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(accepted); i++) {
        char want[256];
        snprintf(want, sizeof(want), "%s", accepted[i].in);
        size_t len = strlen(want);
        while (len && (want[len - 1] == ' ' || want[len - 1] == '\n'))
            want[--len] = '\0';
        assert_scans(accepted[i].name, fz_span_cstr(accepted[i].in), want, 0);
    }
}

static void
test_mended(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(repaired); i++)
        assert_scans(repaired[i].name, fz_span_cstr(repaired[i].in), repaired[i].want,
                     repaired[i].in[0] != '\xef'); /* the byte order mark is not counted */
}

/* Each refusal is tried with the bytes at the very end of their memory, so ASan sees any read
 * behind. */
static void
test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(refused); i++) {
        const struct refused *c = &refused[i];
        struct fz_error err = {0};
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        fz_buffer_text(&out, "kept");
        size_t len = strlen(c->in);
        uint8_t *bytes = malloc(len ? len : 1);
        memcpy(bytes, c->in, len);
        enum fz_code code = json_scan(fz_span_make(bytes, len), &roomy, &out, NULL, &err);
        char at[32];
        snprintf(at, sizeof(at), " at byte %lld", (long long)c->offset);
        if (code != FZ_E_MALFORMED || err.offset != c->offset || !strstr(err.text, c->words) ||
            !strstr(err.text, at) || strncmp(err.text, "json: ", 6) != 0)
            fail_msg("%s: code %d, offset %lld, %s", c->name, code, (long long)err.offset,
                     err.text);
        assert_string_equal(fz_buffer_cstr(&out), "kept");
        free(bytes);
        fz_buffer_deinit(&out);
    }
}

static void
test_nul_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t len;
        int64_t offset;
    } cases[] = {{"\0", 1, 0}, {"[]\0", 3, 2}, {"\"\0\"", 3, 1}, {"[\0]", 3, 1}, {"1\0", 2, 1}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_error err;
        enum fz_code code =
            json_scan(fz_span_make(cases[i].in, cases[i].len), &roomy, NULL, NULL, &err);
        assert_int_equal(code, FZ_E_MALFORMED);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

/* A control character, a quote and a bad byte at each place of a word are found where they are. */
static void
test_every_place_of_a_word(void **state)
{
    (void)state;
    for (size_t place = 0; place < 24; place++) {
        char text[32] = "\"";
        memset(text + 1, 'a', 25);
        text[26] = '"';
        struct fz_error err;
        text[1 + place] = '\x01';
        assert_int_equal(json_scan(fz_span_cstr(text), &roomy, NULL, NULL, &err), FZ_E_MALFORMED);
        assert_int_equal(err.offset, 1 + place);
        text[1 + place] = '"';
        assert_int_equal(json_scan(fz_span_cstr(text), &roomy, NULL, NULL, &err), FZ_E_MALFORMED);
        assert_int_equal(err.offset, 2 + place);
        text[1 + place] = '\xe9';
        struct json_scan_notes notes;
        assert_int_equal(json_scan(fz_span_cstr(text), &roomy, NULL, &notes, NULL), FZ_OK);
        assert_int_equal(notes.n_bad_utf8, 1);
        assert_int_equal(notes.first_offset, 1 + place);
    }
}

static enum fz_code
scan_nested(size_t levels, size_t depth, struct fz_error *err)
{
    static char text[2 * JSON_SCAN_DEPTH_MAX + 8];
    assert_true(2 * levels < sizeof(text));
    for (size_t i = 0; i < levels; i++) {
        text[i] = '[';
        text[2 * levels - 1 - i] = ']';
    }
    struct json_scan_limits limits = {depth, SIZE_MAX, 0};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    enum fz_code code = json_scan(fz_span_make(text, 2 * levels), &limits, &out, NULL, err);
    if (code == FZ_OK)
        assert_jansson_reads("nested", &out);
    fz_buffer_deinit(&out);
    return code;
}

static void
test_limits(void **state)
{
    (void)state;
    struct fz_error err;
    assert_int_equal(scan_nested(64, 64, &err), FZ_OK);
    assert_int_equal(scan_nested(65, 64, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "json: nested deeper than 64 at byte 64");
    assert_int_equal(err.offset, 64);
    assert_int_equal(scan_nested(JSON_SCAN_DEPTH_MAX, SIZE_MAX, &err), FZ_OK);
    assert_int_equal(scan_nested(JSON_SCAN_DEPTH_MAX + 1, SIZE_MAX, &err), FZ_E_LIMIT);

    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    struct json_scan_limits limits = {8, 6, 0};
    assert_int_equal(json_scan(fz_span_cstr("[1234]"), &limits, &out, NULL, &err), FZ_OK);
    assert_int_equal(json_scan(fz_span_cstr("[12345]"), &limits, &out, NULL, &err), FZ_E_LIMIT);
    /* A bad byte becomes three. */
    assert_int_equal(json_scan(fz_span_cstr("\"\xff\xff\""), &limits, &out, NULL, &err),
                     FZ_E_LIMIT);
    assert_string_equal(fz_buffer_cstr(&out), "[1234]");
    fz_buffer_deinit(&out);
}

static void
test_notes(void **state)
{
    (void)state;
    struct json_scan_notes notes;
    static const char text[] =
        "{\"a\":[18446744073709551615,\"\xff\\ud800\\u0000\"],\"b\":{},\"c\":[null]}";
    assert_int_equal(json_scan(fz_span_cstr(text), &roomy, NULL, &notes, NULL), FZ_OK);
    assert_int_equal(notes.n_big_numbers, 1);
    assert_int_equal(notes.n_bad_utf8, 1);
    assert_int_equal(notes.n_bad_escapes, 2);
    assert_int_equal(notes.first_offset, 6);
    assert_int_equal(notes.n_values, 7);
    assert_int_equal(notes.n_keys, 3);
    assert_int_equal(notes.n_arrays, 2);
    assert_int_equal(notes.n_objects, 2);
}

static void
test_first(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
        size_t used;
    } cases[] = {
        {"{\"a\":1}\n{\"b\":2}", "{\"a\":1}", 7},
        {" 12 34", " 12", 3},
        {"\"x\"garbage", "\"x\"", 3},
        {"[][", "[]", 2},
        {"18446744073709551615,", "\"18446744073709551615\"", 20},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer out;
        size_t used = 0;
        fz_buffer_init(&out, 0);
        assert_int_equal(
            json_scan_first(fz_span_cstr(cases[i].in), &roomy, &out, NULL, &used, NULL), FZ_OK);
        assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        assert_int_equal(used, cases[i].used);
        fz_buffer_deinit(&out);
    }
    size_t used = 77;
    assert_int_equal(json_scan_first(fz_span_cstr("["), &roomy, NULL, NULL, &used, NULL),
                     FZ_E_MALFORMED);
    assert_int_equal(used, 77);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted), cmocka_unit_test(test_mended),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_nul_bytes),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_every_place_of_a_word),
        cmocka_unit_test(test_notes),    cmocka_unit_test(test_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
