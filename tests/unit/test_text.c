#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool u_ok;
        uint64_t u;
        bool hex_ok;
        uint64_t hex;
        bool i_ok;
        int64_t i;
    } cases[] = {
        {"0", true, 0, true, 0, true, 0},
        {"10", true, 10, true, 16, true, 10},
        {"007", true, 7, true, 7, true, 7},
        {"0x10", true, 16, true, 16, false, 0},
        {"0XaB", true, 171, true, 171, false, 0},
        {"ab", false, 0, true, 171, false, 0},
        {"0x", false, 0, false, 0, false, 0},
        {"", false, 0, false, 0, false, 0},
        {"-5", false, 0, false, 0, true, -5},
        {"+5", false, 0, false, 0, true, 5},
        {"--5", false, 0, false, 0, false, 0},
        {"-", false, 0, false, 0, false, 0},
        {" 5", false, 0, false, 0, false, 0},
        {"5 ", false, 0, false, 0, false, 0},
        {"5g", false, 0, false, 0, false, 0},
        {"18446744073709551615", true, UINT64_MAX, false, 0, false, 0},
        {"18446744073709551616", false, 0, false, 0, false, 0},
        {"99999999999999999999999", false, 0, false, 0, false, 0},
        {"0xffffffffffffffff", true, UINT64_MAX, true, UINT64_MAX, false, 0},
        {"0x10000000000000000", false, 0, false, 0, false, 0},
        {"9223372036854775807", true, INT64_MAX, false, 0, true, INT64_MAX},
        {"9223372036854775808", true, UINT64_C(1) << 63, false, 0, false, 0},
        {"-9223372036854775808", false, 0, false, 0, true, INT64_MIN},
        {"-9223372036854775809", false, 0, false, 0, false, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span text = fz_span_cstr(cases[i].text);
        uint64_t u = 0, hex = 0;
        int64_t number = 0;
        if (fz_text_u64(text, &u) != cases[i].u_ok || u != cases[i].u)
            fail_msg("u64 '%s'", cases[i].text);
        if (fz_text_hex_u64(text, &hex) != cases[i].hex_ok || hex != cases[i].hex)
            fail_msg("hex '%s'", cases[i].text);
        if (fz_text_i64(text, &number) != cases[i].i_ok || number != cases[i].i)
            fail_msg("i64 '%s'", cases[i].text);
    }
}

static void
test_hex(void **state)
{
    (void)state;
    char text[9];
    uint8_t bytes[4];
    fz_text_hex(fz_span_make("\x00\x7f\x80\xff", 4), text);
    assert_string_equal(text, "007f80ff");
    fz_text_hex(fz_span_make(NULL, 0), text);
    assert_string_equal(text, "");
    assert_true(fz_text_unhex(fz_span_cstr("007F80fF"), bytes));
    assert_memory_equal(bytes, "\x00\x7f\x80\xff", 4);
    assert_true(fz_text_is_hex("09af", 4));
    assert_false(fz_text_is_hex("09aF", 4));
    assert_false(fz_text_is_hex("09af0", 4));
    assert_false(fz_text_is_hex(NULL, 4));
    assert_false(fz_text_unhex(fz_span_cstr("abc"), bytes));
    assert_false(fz_text_unhex(fz_span_cstr("ag"), bytes));
    assert_false(fz_text_unhex(fz_span_cstr("0x"), bytes));
}

static void
test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes; /* bytes NULL: malformed */
        size_t len;
        int64_t offset;
    } cases[] = {
        {"", "", 0, 0},
        {"Zg==", "f", 1, 0},
        {"Zg", "f", 1, 0},
        {"Zm8=", "fo", 2, 0},
        {"Zm8", "fo", 2, 0},
        {"Zm9v", "foo", 3, 0},
        {"Zm9vYg==", "foob", 4, 0},
        {"Zm 9v\r\n\tYg = =", "foob", 4, 0},
        {"-_8=", "\xfb\xff", 2, 0},
        {"+/8=", "\xfb\xff", 2, 0},
        {"AAECAw==", "\0\1\2\3", 4, 0},
        {"Zm9*", NULL, 0, 3},
        {"Zg==Zg==", NULL, 0, 4},
        {"Z", NULL, 0, 1},
        {"Zm9vZ", NULL, 0, 5},
        {"Zm\x80v", NULL, 0, 2},
    };
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span bytes = {NULL, 99};
        struct fz_error err;
        enum fz_code code =
            fz_text_base64_decode(fz_span_cstr(cases[i].text), &arena, &bytes, &err);
        if (!cases[i].bytes) {
            assert_int_equal(code, FZ_E_MALFORMED);
            assert_int_equal(err.offset, cases[i].offset);
            assert_int_equal(bytes.len, 99);
            continue;
        }
        assert_int_equal(code, FZ_OK);
        assert_int_equal(bytes.len, cases[i].len);
        assert_memory_equal(bytes.data, cases[i].bytes, cases[i].len);
    }
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    fz_text_base64_append(&out, fz_span_make("\xfb\xff", 2));
    fz_text_base64_append(&out, fz_span_make("foob", 4));
    fz_text_base64_append(&out, fz_span_make("foo", 3));
    fz_text_base64_append(&out, fz_span_make(NULL, 0));
    assert_string_equal(fz_buffer_cstr(&out), "+/8=Zm9vYg==Zm9v");
    arena.fail_after = 0;
    struct fz_span bytes;
    assert_int_equal(fz_text_base64_decode(fz_span_cstr("Zm9v"), &arena, &bytes, NULL),
                     FZ_E_NO_MEMORY);
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
}

/* Well-formed sequences by their first and last members, and their neighbours outside. */
static void
test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t want;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xee\x80\x80", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"", 0},
        {"\x80", 0},
        {"\xbf", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2", 0},
        {"\xc2\x41", 0},
        {"\xc2\xc2", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xe4\xb8", 0},
        {"\xe4\x41\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xf0\x9f\x98", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].bytes);
        uint8_t *copy = malloc(len ? len : 1); /* so that ASan sees a read past the end */
        memcpy(copy, cases[i].bytes, len);
        if (fz_text_utf8_len(fz_span_make(copy, len)) != cases[i].want)
            fail_msg("case %zu", i);
        free(copy);
    }
    assert_true(fz_text_is_utf8(fz_span_cstr("caf\xc3\xa9")));
    assert_false(fz_text_is_utf8(fz_span_cstr("caf\xe9")));
    assert_true(fz_text_is_utf8(fz_span_make(NULL, 0)));
}

static void
test_clean(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    assert_string_equal(fz_text_clean_utf8(&arena, fz_span_cstr("caf\xc3\xa9")), "caf\xc3\xa9");
    assert_string_equal(fz_text_clean_utf8(&arena, fz_span_make("a\xff\0\xe4\xb8", 5)),
                        "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(fz_text_clean_utf8(&arena, fz_span_make(NULL, 0)), "");
    arena.fail_after = 0;
    assert_null(fz_text_clean_utf8(&arena, fz_span_cstr("a")));
    fz_arena_deinit(&arena);
}

static void
test_visible(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t room;
        const char *want;
    } cases[] = {
        {"", 8, ""},
        {"Demo.dSYM/caf\xc3\xa9 \xf0\x9f\x98\x80", 64, "Demo.dSYM/caf\xc3\xa9 \xf0\x9f\x98\x80"},
        {"a\x1b[31mb\n\x7f", 64, "a\\u001b[31mb\\u000a\\u007f"},
        {"C1 \xc2\x9b, bidi \xe2\x80\xae, isolate \xe2\x81\xa6", 64,
         "C1 \\u009b, bidi \\u202e, isolate \\u2066"},
        {"mark \xd8\x9c, line \xe2\x80\xa8, bom \xef\xbb\xbf", 64,
         "mark \\u061c, line \\u2028, bom \\ufeff"},
        {"joiners \xe2\x80\x8c\xe2\x80\x8d", 64, "joiners \xe2\x80\x8c\xe2\x80\x8d"},
        {"not UTF-8: \xff\xe2\x80", 64, "not UTF-8: \\ufffd\\ufffd\\ufffd"},
        {"abc", 3, "ab"},
        {"ab\xc3\xa9", 4, "ab"},
        {"ab\x1b", 8, "ab"},
        {"a", 1, ""},
    };
    struct fz_arena arena;
    fz_arena_init(&arena, 65536);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char got[64];
        size_t len = fz_text_visible(fz_span_cstr(cases[i].text), got, cases[i].room);
        assert_string_equal(got, cases[i].want);
        assert_int_equal(len, strlen(cases[i].want));
        if (cases[i].room == sizeof(got))
            assert_string_equal(fz_text_visible_copy(&arena, cases[i].text), cases[i].want);
    }
    assert_int_equal(fz_text_visible(fz_span_cstr("a"), NULL, 0), 0);
    fz_arena_deinit(&arena);
}

/* Texts of each length with each kind of byte at each place: they are looked at in words and in parts of one. */
static void
test_json_places(void **state)
{
    (void)state;
    static const struct {
        char c;
        const char *want;
    } bytes[] = {{'"', "\\\""},       {'\\', "\\\\"},      {'\n', "\\n"},
                 {'\x1f', "\\u001f"}, {'\x7f', "\\u007f"}, {'\xff', "\xef\xbf\xbd"},
                 {' ', " "},          {'~', "~"},          {'\0', "\\u0000"}};
    for (size_t len = 1; len <= 20; len++) {
        for (size_t at = 0; at < len; at++) {
            for (size_t i = 0; i < FZ_ARRAY_LEN(bytes); i++) {
                char text[20], want[64];
                memset(text, 'x', len);
                text[at] = bytes[i].c;
                snprintf(want, sizeof(want), "\"%.*s%s%.*s\"", (int)at, "xxxxxxxxxxxxxxxxxxxx",
                         bytes[i].want, (int)(len - at - 1), "xxxxxxxxxxxxxxxxxxxx");
                FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
                fz_text_json_append(&out, fz_span_make(text, len));
                assert_string_equal(fz_buffer_cstr(&out), want);
                size_t plain = fz_text_json_plain(fz_span_make(text, len));
                bool is_plain = strlen(bytes[i].want) == 1;
                assert_true(is_plain ? plain == len : plain <= at && plain + 7 >= at);
            }
        }
    }
}

static void
test_json(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t len;
        const char *want;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\n\t\x01\x7f", 4, "\"\\n\\u0009\\u0001\\u007f\""},
        {"\0", 1, "\"\\u0000\""},
        {"caf\xc3\xa9", 5, "\"caf\xc3\xa9\""},
        {"x\xff", 2, "\"x\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        fz_text_json_append(&out, fz_span_make(cases[i].in, cases[i].len));
        assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        fz_buffer_deinit(&out);
    }
}

static void
test_affixes(void **state)
{
    (void)state;
    assert_true(fz_text_has_prefix("abc", "ab"));
    assert_true(fz_text_has_prefix("abc", ""));
    assert_false(fz_text_has_prefix("a", "ab"));
    assert_true(fz_text_has_suffix("abc", "bc"));
    assert_false(fz_text_has_suffix("c", "bc"));
    assert_string_equal(fz_text_base_name("/a/b"), "b");
    assert_string_equal(fz_text_base_name("b"), "b");
    assert_string_equal(fz_text_base_name("/a/"), "");
}

/* Wherever a bad byte is among good ones. */
static void
test_utf8_at_every_place(void **state)
{
    (void)state;
    uint8_t text[100];
    for (size_t at = 0; at < sizeof(text); at++) {
        memset(text, 'a', sizeof(text));
        text[at] = 0x80;
        assert_false(fz_text_is_utf8(fz_span_make(text, sizeof(text))));
        assert_true(fz_text_is_utf8(fz_span_make(text, at)));
        if (at + 1 == sizeof(text))
            break;
        text[at] = 0xc3;
        text[at + 1] = 0xa4;
        assert_true(fz_text_is_utf8(fz_span_make(text, sizeof(text))));
        assert_false(fz_text_is_utf8(fz_span_make(text, at + 1)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_at_every_place),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_places),
        cmocka_unit_test(test_affixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
