#include "base/json/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/json/scan.h"

static const struct json_scan_limits roomy = {64, SIZE_MAX, 0};
static const char *const path[] = {"a", "", "b", NULL};
static const char *const top_path[] = {"a", NULL};

static json_t *
load(const char *text, const char *const *leave)
{
    json_t *tree = NULL;
    struct fz_error err;
    if (json_scan_load_leaving(fz_span_cstr(text), &roomy, leave, NULL, &tree, &err) != FZ_OK)
        fail_msg("%s: %s", text, err.text);
    return tree;
}

static const json_t *
at_path(const json_t *tree, size_t item)
{
    return json_object_get(json_array_get(json_object_get(tree, "a"), item), "b");
}

/* What is left as a text, and what is made as always. */
static void
test_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int left[2]; /* items of the array in a.[0].b and a.[1].b; -1: it is not left */
    } cases[] = {
        {"{\"a\":[{\"b\":[1,2]},{\"c\":[1],\"b\" : [ ] , \"d\":[{}]}]}", {2, 0}},
        {"{\"a\":[{\"b\":{\"b\":[1]}},{\"b\":\"x\"}]}", {-1, -1}},
        {"{\"b\":[[1]],\"c\":{\"a\":[{\"b\":[1]}]},\"a\":[{\"c\":{\"b\":[1]},\"b\":[[],[]]}]}",
         {2, -1}},
        {"{\"a\":{\"b\":[1]},\"a\":[[{\"b\":[1]}],{\"b\":[{\"a\":[{\"b\":[]}]}]}]}", {-1, 1}},
        {"{\"\\u0061\":[{\"\\u0062\":[1]},{\"b\":[1],\"b\":[1,2,3]}]}", {1, 3}},
        {"[{\"a\":[{\"b\":[1]}]}]", {-1, -1}},
        {"{\"a\":[{\"b\":[1]}],\"x\":[{\"b\":[1]}]}", {1, -1}},
        {"{\"x\":{\"a\":[{\"b\":[1]}],\"b\":[2]}}", {-1, -1}},
        {"[{\"b\":[1]}]", {-1, -1}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        json_t *left = load(cases[i].text, path), *whole = load(cases[i].text, NULL);
        struct json_rows rows;
        for (size_t item = 0; item < 2; item++) {
            bool is_left = json_rows_of(at_path(left, item), &rows);
            if (is_left != (cases[i].left[item] >= 0) ||
                (is_left && rows.n != (size_t)cases[i].left[item]))
                fail_msg("%s, item %zu: %d, %zu", cases[i].text, item, is_left, rows.n);
            assert_false(json_rows_of(at_path(whole, item), &rows));
        }
        if (json_object_get(whole, "x"))
            assert_true(json_equal(json_object_get(left, "x"), json_object_get(whole, "x")));
        json_decref(left);
        json_decref(whole);
    }
    /* A document has no text that begins with a NUL. */
    struct json_rows rows;
    json_t *tree = load(
        "{\"a\":\"\\u0000\\u0001\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000[1]\"}", top_path);
    assert_false(json_rows_of(json_object_get(tree, "a"), &rows));
    json_decref(tree);
}

/* Arrays whose items are like the first are mostly compared with it: the same is found as in each item alone. */
static void
test_scan_of_like_items(void **state)
{
    (void)state;
    static const struct {
        const char *items[6];
        enum fz_code code;
    } cases[] = {
        {{"{\"k\":1,\"l\":\"x\"}", "{\"k\":12,\"l\":\"\"}", "{\"k\":-1,\"l\":\"x y\"}"}, FZ_OK},
        {{"{ \"k\" : 1 }", "{ \"k\" : 2 }", " {\"k\":2}\n", "{ \"k\" : 3\n}"}, FZ_OK},
        {{"{\"k\":1}", "{\"k\":18446744073709551615}", "{\"k\":18446744073709551615}", "{\"k\":2}"},
         FZ_OK},
        {{"{\"k\":\"\\ud800\"}", "{\"k\":\"\\ud800\"}", "{\"k\":\"\"}"}, FZ_OK},
        {{"{\"k\":\"\xff\"}", "{\"k\":\"\xff\"}", "{\"k\":\"a\xff\"}", "{\"k\":\"a\"}"}, FZ_OK},
        {{"{\"\xff\":1}", "{\"\xff\":1}", "{\"\xff\":2}"}, FZ_OK},
        {{"{\"\\u0000\":1}", "{\"\\u0000\":1}"}, FZ_OK},
        {{"{\"k\":1}", "{\"k\":\"a\\nb\"}", "{\"k\":\"\xc3\xa4\"}", "{\"k\":\"a\\nb\"}"}, FZ_OK},
        {{"{\"k\":true}", "{\"k\":true}", "{\"k\":false}", "{\"k\":null}", "{\"k\":[1]}"}, FZ_OK},
        {{"{\"k\":1}", "5", "{\"k\":2}", "[]", "{\"k\":3}", "{}"}, FZ_OK},
        {{"{\"k\":[{\"l\":1},{\"l\":2}]}", "{\"k\":[{\"l\":1},{\"l\":2},{\"l\":3}]}"}, FZ_OK},
        {{"{\"k\":1}", "{\"k\":01}"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", "{\"k\":-}"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", "{\"k\":1x}"}, FZ_E_MALFORMED},
        {{"{\"k\":true}", "{\"k\":truex}"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", "{\"k\":1"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", "{\"k\":1,}"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", "{\"k\":\"a\nb\"}"}, FZ_E_MALFORMED},
        {{"{\"k\":1}", ""}, FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer in = fz_buffer_make(0), want = fz_buffer_make(0), got = fz_buffer_make(0);
        struct json_scan_notes sum = {.n_values = 1, .n_arrays = 1}, notes;
        fz_buffer_char(&in, '[');
        fz_buffer_char(&want, '[');
        for (size_t k = 0; k < FZ_ARRAY_LEN(cases[i].items) && cases[i].items[k]; k++) {
            fz_buffer_printf(&in, "%s%s", k ? "," : "", cases[i].items[k]);
            if (cases[i].code != FZ_OK)
                continue;
            fz_buffer_text(&want, k ? "," : "");
            /* White space after a value is left out; before it, it stays. */
            assert_int_equal(
                json_scan(fz_span_cstr(cases[i].items[k]), &roomy, &want, &notes, NULL), FZ_OK);
            if (strchr("\n", cases[i].items[k][strlen(cases[i].items[k]) - 1]))
                fz_buffer_text(&want, "\n");
            sum.n_values += notes.n_values;
            sum.n_keys += notes.n_keys;
            sum.n_objects += notes.n_objects;
            sum.n_arrays += notes.n_arrays;
            sum.n_bad_utf8 += notes.n_bad_utf8;
            sum.n_bad_escapes += notes.n_bad_escapes;
            sum.n_big_numbers += notes.n_big_numbers;
        }
        fz_buffer_char(&in, ']');
        fz_buffer_char(&want, ']');
        enum fz_code code = json_scan(fz_buffer_span(&in), &roomy, &got, &notes, NULL);
        if (code != cases[i].code)
            fail_msg("%s: %s", in.data, fz_code_name(code));
        if (code == FZ_OK) {
            assert_string_equal(got.data, want.data);
            if (notes.n_values != sum.n_values || notes.n_keys != sum.n_keys ||
                notes.n_objects != sum.n_objects || notes.n_arrays != sum.n_arrays ||
                notes.n_bad_utf8 != sum.n_bad_utf8 || notes.n_bad_escapes != sum.n_bad_escapes ||
                notes.n_big_numbers != sum.n_big_numbers)
                fail_msg("%s: another count", in.data);
        }
        fz_buffer_deinit(&in);
        fz_buffer_deinit(&want);
        fz_buffer_deinit(&got);
    }
}

static void
test_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        struct json_scan_list lists[3];
    } cases[] = {
        {"[]", 1, {{0, 2, 0}}},
        {"5", 0, {{0, 0, 0}}},
        {" [1,2 ]", 1, {{1, 7, 2}}},
        {"[[1],{\"a\":[{},{}]},3]", 2, {{1, 4, 1}, {10, 17, 2}}},
        {"[{\"a\":1},{\"a\":2},{\"b\":2},{\"b\":3},{\"b\":4}]", 1, {{0, 41, 5}}},
        {"{\"a\":[1,[2],[3]],\"b\":[{\"c\":[4]},5]}", 3, {{8, 11, 1}, {12, 15, 1}, {27, 30, 1}}},
        {"[\"\xff\"]", 0, {{0, 0, 0}}},
        {"\xef\xbb\xbf[1]", 0, {{0, 0, 0}}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        static struct json_scan_lists lists;
        assert_int_equal(
            json_scan_with_lists(fz_span_cstr(cases[i].text), &roomy, NULL, NULL, &lists, NULL),
            FZ_OK);
        if (lists.n != cases[i].n)
            fail_msg("%s: %zu lists", cases[i].text, lists.n);
        for (size_t k = 0; k < lists.n; k++) {
            const struct json_scan_list *got = &lists.list[k], *want = &cases[i].lists[k];
            if (got->at != want->at || got->end != want->end || got->n_items != want->n_items)
                fail_msg("%s: %zu to %zu, %zu items", cases[i].text, got->at, got->end,
                         got->n_items);
        }
    }
}

static void
check_member(const struct json_row *row, const char *text, const char *key, const json_t *item)
{
    const json_t *want = json_object_get(item, key);
    int member = json_row_find(row, key);
    struct fz_span got_text;
    uint64_t number = 7, want_number = 7;
    bool has_number = json_row_u64(row, member, &number);
    if (has_number != json_scan_u64(want, &want_number) || number != want_number)
        fail_msg("%s: %s: %llu", text, key, (unsigned long long)number);
    bool has_text = json_row_text(row, member, &got_text);
    if (has_text != json_is_string(want) ||
        (has_text && !fz_span_is(got_text, json_string_value(want))))
        fail_msg("%s: %s: another text", text, key);
    if (json_row_has(row, member) != (want && !json_is_null(want)))
        fail_msg("%s: %s: has", text, key);
}

/* Each item is what a tree has. */
static void
test_items(void **state)
{
    (void)state;
    static const char *const keys[] = {"k", "l", "m", "kk"};
    static const struct {
        const char *text, *flat; /* of each item: y or n */
    } cases[] = {
        {"[{\"k\":1,\"l\":\"x\"},{\"k\":12,\"l\":\"x\"},{\"k\":123,\"l\":\"xy\"},{\"k\":12,\"l\":"
         "\"\"}]",
         "yyyy"},
        {"[{\"k\":12},{\"k\":1.25},{\"k\":1},{\"k\":1e3},{\"k\":-1},{\"k\":-12},{\"k\":\"0x10\"},{"
         "\"k\":\"1\"},{\"k\":10}]",
         "yyyyyyyyy"},
        {"[{\"k\":12345678},{\"k\":1234567890123456789},{\"k\":18446744073709551615},{\"k\":-"
         "9223372036854775808},{\"k\":0}]",
         "yyyyy"},
        {"[{\"k\":true},{\"k\":null},{\"k\":false},{\"k\":1},{\"k\":null},{\"k\":null}]", "yyyyyy"},
        {"[{\"k\":1},{\"l\":1},{\"k\":1,\"l\":2},{\"l\":2,\"k\":1},{\"k\":1},{},{\"k\":2},{\"kk\":"
         "1}]",
         "yyyyyyyy"},
        {"[{\"k\":1,\"k\":2},{\"k\":1,\"k\":\"3\"},{\"k\":1,\"k\":null}]", "yyy"},
        {"[ { \"k\" : 1 , \"l\" : 2 } , {\"k\":1,\"l\":2} ,\n{ \"k\" : 3 , \"l\" : 4 }\t]", "yyy"},
        {"[{\"k\":\"a\\\"b\"},{\"\\u006b\":1},{\"k\":[1]},{\"k\":{\"l\":[\"]\",\"\\\\\"]}},{\"k\":"
         "1}]",
         "nnnny"},
        {"[1,-2.5e3,\"x\",\"y\\\\\",null,true,[],[[\"]\"]],{\"k\":1}]", "nnnnnnnny"},
        {"[{\"k\":1,\"l\":[]},{\"k\":1,\"l\":2},{\"k\":1,\"l\":{}}]", "nyn"},
        {"[{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"a\":"
         "0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0},"
         "{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"a\":0,"
         "\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,"
         "\"k\":1}]",
         "yn"},
        {"[]", ""},
        {"[ ]", ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "{\"a\": %s ,\"z\":1}", cases[i].text);
        json_t *left = load(text, top_path), *whole = load(text, NULL);
        const json_t *items = json_object_get(whole, "a");
        struct json_rows rows;
        assert_true(json_rows_of(json_object_get(left, "a"), &rows));
        assert_int_equal(rows.n, json_array_size(items));
        assert_int_equal(rows.n, strlen(cases[i].flat));
        assert_int_equal(json_integer_value(json_object_get(left, "z")), 1);
        for (size_t n = 0; n < rows.n; n++) {
            assert_true(json_rows_next(&rows));
            if (rows.row.is_flat != (cases[i].flat[n] == 'y'))
                fail_msg("%s, item %zu: %d", cases[i].text, n, rows.row.is_flat);
            for (size_t k = 0; rows.row.is_flat && k < FZ_ARRAY_LEN(keys); k++)
                check_member(&rows.row, cases[i].text, keys[k], json_array_get(items, n));
            json_t *item = json_row_tree(&rows.row);
            if (!json_equal(item, json_array_get(items, n)))
                fail_msg("%s, item %zu: another tree", cases[i].text, n);
            json_decref(item);
        }
        assert_false(json_rows_next(&rows));
        json_decref(left);
        json_decref(whole);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_scan_of_like_items),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
