/* The writer, and the walk over what it wrote. */
#include "base/json/write.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/json/walk.h"

static void
test_write(void **state)
{
    (void)state;
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "absent", NULL);
    json_write_raw(&w, "absent", NULL);
    json_write_raw(&w, "absent", "");
    json_write_time(&w, "absent", 0);
    json_write_text(&w, "te\"xt", "a\nb");
    json_write_hex(&w, "zero", 0);
    json_write_hex(&w, "hex", UINT64_MAX);
    json_write_u64(&w, "u", UINT64_MAX);
    json_write_i64(&w, "i", INT64_MIN);
    json_write_open(&w, "list", '[');
    json_write_open(&w, NULL, '[');
    json_write_close(&w, ']');
    json_write_bool(&w, NULL, true);
    json_write_open(&w, NULL, '{');
    json_write_close(&w, '}');
    json_write_i64(&w, NULL, 0);
    json_write_close(&w, ']');
    json_write_raw(&w, "raw", "[ 1.50 ]");
    json_write_bool(&w, "b", false);
    json_write_null(&w, "n");
    json_write_time(&w, "at", 1763633472345);
    json_write_span(&w, "bytes", fz_span_make("\xff{[", 3));
    json_write_close(&w, '}');
    assert_string_equal(fz_buffer_cstr(&out),
                        "{\"te\\\"xt\":\"a\\nb\",\"zero\":\"0x0\",\"hex\":\"0xffffffffffffffff\","
                        "\"u\":18446744073709551615,\"i\":-9223372036854775808,"
                        "\"list\":[[],true,{},0],\"raw\":[ 1.50 ],\"b\":false,"
                        "\"n\":null,\"at\":\"2025-11-20T10:11:12.345Z\","
                        "\"bytes\":\"\xef\xbf\xbd{[\"}");
    fz_buffer_deinit(&out);
}

/* A key with a quote at each place, and a piece that is written again while the buffer grows. */
static void
test_pieces(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_u64(&w, "first", 1);
    size_t start = out.len;
    json_write_text(&w, "image", "Demo");
    json_write_hex(&w, "at", 0x1f0);
    struct json_piece piece = json_write_piece(&w, start);
    fz_buffer_text(&want, "{\"first\":1,\"image\":\"Demo\",\"at\":\"0x1f0\"");
    for (unsigned i = 0; i < 1000; i++) {
        json_write_again(&w, &piece);
        json_write_u64(&w, "i", i);
        fz_buffer_printf(&want, ",\"image\":\"Demo\",\"at\":\"0x1f0\",\"i\":%u", i);
    }
    for (int at = 0; at < 12; at++) {
        char key[] = "abcdefghijkl";
        key[at] = '"';
        json_write_bool(&w, key, true);
        fz_buffer_printf(&want, ",\"%.*s\\\"%s\":true", at, key, key + at + 1);
    }
    json_write_close(&w, '}');
    fz_buffer_char(&want, '}');
    assert_string_equal(fz_buffer_cstr(&out), fz_buffer_cstr(&want));
    /* Numbers at the borders of their digits. */
    fz_buffer_clear(&out);
    fz_buffer_clear(&want);
    w = json_write_start(&out);
    json_write_open(&w, NULL, '[');
    for (unsigned bit = 0; bit < 64; bit++) {
        json_write_hex(&w, NULL, UINT64_C(1) << bit);
        json_write_hex(&w, NULL, (UINT64_C(1) << bit) - 1);
        json_write_i64(&w, NULL, -(int64_t)(UINT64_C(1) << bit >> 1));
        unsigned long long power = UINT64_C(1) << bit;
        fz_buffer_printf(&want, "%s\"0x%llx\",\"0x%llx\",%lld", bit ? "," : "[", power, power - 1,
                         -(long long)(power >> 1));
    }
    assert_string_equal(fz_buffer_cstr(&out), fz_buffer_cstr(&want));
    /* Beyond the cap nothing is written, and the failure stays. */
    struct fz_buffer small = fz_buffer_make(8);
    w = json_write_start(&small);
    json_write_text(&w, NULL, "123456");
    json_write_text(&w, "k", "v");
    assert_string_equal(fz_buffer_cstr(&small), "\"123456\"");
    assert_int_equal(fz_buffer_done(&small, NULL), FZ_E_LIMIT);
    fz_buffer_deinit(&small);
}

static void
test_walk(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *want; /* key=value; of each member, ? after a value that is cut */
    } cases[] = {
        {"", ""},
        {"[]", ""},
        {"\"a\"", ""},
        {"{}", ""},
        {"{\"a\":1}", "a=1;"},
        {" \n{ \"a\" : 1 , \"b\":\"x\"}", "a=1;b=\"x\";"},
        {"\xef\xbb\xbf{\"a\":1}", "a=1;"},
        {"{\"a\":{\"b\":[1,{}]},\"c\":[\"]\"]}", "a={\"b\":[1,{}]};c=[\"]\"];"},
        {"{\"a\":\"\\\"\",\"b\":\"\\\\\",\"c\":\"\\\\\\\"}\"}",
         "a=\"\\\"\";b=\"\\\\\";c=\"\\\\\\\"}\";"},
        {"{\"a\\\"\":1}", "a\\\"=1;"},
        {"{\"a\":[1,2", "a=[1,2?"},
        {"{\"a\":\"x", "a=\"x?"},
        {"{\"a\":12", "a=12?"},
        {"{\"a\":", "a=?"},
        {"{\"a\"", ""},
        {"{\"a", ""},
        {"{\"a\":1 \"b\":2}", "a=1;b=2;"},
        {"{\"a\":1,b:2}", "a=1;"},
        {"{\"a\":}", "a=;"},
        {"{\"a\":1}{\"b\":2}", "a=1;"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer got;
        fz_buffer_init(&got, 0);
        struct json_walk walk = json_walk_start(fz_span_cstr(cases[i].in));
        struct json_member member;
        struct fz_span key;
        for (;;) {
            bool has_key = json_walk_key(&walk, &key), has_next = json_walk_next(&walk, &member);
            /* Without the value the walk finds the same. */
            assert_int_equal(has_key, has_next);
            if (!has_next)
                break;
            assert_true(fz_span_equal(key, member.key));
            fz_buffer_append(&got, member.key.data, member.key.len);
            fz_buffer_char(&got, '=');
            fz_buffer_append(&got, member.value.data, member.value.len);
            fz_buffer_char(&got, member.complete ? ';' : '?');
        }
        if (strcmp(fz_buffer_cstr(&got), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].in, fz_buffer_cstr(&got));
        fz_buffer_deinit(&got);
    }
}

static void
test_compact(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"[ 1 , 2 ]", "[1,2]"}, {"{\n \"a b\" : \" \\\" \" }\n", "{\"a b\":\" \\\" \"}"},
        {"\t1.50 ", "1.50"},    {"", ""},
        {"[]", "[]"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer got;
        fz_buffer_init(&got, 0);
        json_walk_compact(fz_span_cstr(cases[i].in), &got);
        assert_string_equal(fz_buffer_cstr(&got), cases[i].want);
        fz_buffer_deinit(&got);
    }
}

/* Members of rows are as those of other objects. */
static void
test_keys(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,
                                      1,
                                      9,
                                      10,
                                      15,
                                      16,
                                      0x9af,
                                      0xfedcba98,
                                      UINT32_MAX,
                                      0x100000000,
                                      4372828902,
                                      0x123456789,
                                      UINT64_MAX / 2,
                                      UINT64_MAX};
    /* The longest that there may be, and a short one. */
    static const char *const names[] = {"a", "seven", "abcdefghijklmnopqrstuvwxyz0"};
    for (size_t n = 0; n < FZ_ARRAY_LEN(names); n++) {
        const struct json_key key = json_key_make(names[n]);
        for (size_t i = 0; i < FZ_ARRAY_LEN(values); i++) {
            FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer got = fz_buffer_make(0);
            FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
            struct json_write w = json_write_start(&got);
            unsigned long long value = values[i];
            json_write_open(&w, NULL, '{');
            json_write_key_hex(&w, &key, value);
            json_write_key_u64(&w, &key, value);
            json_write_key_empty(&w, &key);
            json_write_hex(&w, names[n], value);
            json_write_close(&w, '}');
            fz_buffer_printf(&want, "{\"%s\":\"0x%llx\",\"%s\":%llu,\"%s\":[],\"%s\":\"0x%llx\"}",
                             names[n], value, names[n], value, names[n], names[n], value);
            assert_string_equal(got.data, want.data);
        }
    }
    /* A buffer that has no room left. */
    struct fz_buffer small = fz_buffer_make(4);
    struct json_write w = json_write_start(&small);
    const struct json_key key = json_key_make("a");
    json_write_key_hex(&w, &key, 1);
    json_write_key_u64(&w, &key, 1);
    json_write_key_empty(&w, &key);
    assert_int_equal(fz_buffer_done(&small, NULL), FZ_E_LIMIT);
    fz_buffer_deinit(&small);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys), cmocka_unit_test(test_write),   cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_walk), cmocka_unit_test(test_compact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
