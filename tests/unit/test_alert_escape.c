#include "server/alert/escape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const char *const target_names[] = {"plain",    "card", "slack",
                                           "markdown", "code", "slack code"};

static void
check(enum alert_target target, const char *text, size_t max, const char *want)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_buffer_text(&out, "before:");
    alert_escape(&out, target, text, max);
    if (strcmp(fz_buffer_cstr(&out) + strlen("before:"), want) != 0)
        fail_msg("%s, '%s', %zu: '%s', not '%s'", target_names[target], text, max,
                 fz_buffer_cstr(&out), want);
}

/* What a text becomes for every target. */
static void
test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain, *card, *slack, *markdown, *code, *slack_code;
    } rows[] = {
        {"abc 12", "abc 12", "abc 12", "abc 12", "abc 12", "abc 12", "abc 12"},
        {"a&b", "a&b", "a&b", "a&amp;b", "a\\&b", "a&b", "a&amp;b"},
        {"<!channel>", "<!channel>", "<!channel>", "&lt;!channel&gt;", "\\<\\!channel\\>",
         "<!channel>", "&lt;!channel&gt;"},
        {"&lt;", "&lt;", "&lt;", "&amp;lt;", "\\&lt\\;", "&lt;", "&amp;lt;"},
        {"*b* _i_ ~s~", "*b* _i_ ~s~", "*b* _i_ ~s~", "*b* _i_ ~s~", "\\*b\\* \\_i\\_ \\~s\\~",
         "*b* _i_ ~s~", "*b* _i_ ~s~"},
        {"```x`", "```x`", "```x`", "```x`", "\\`\\`\\`x\\`", "'''x'", "'''x'"},
        {"[a](http://b)", "[a](http://b)", "[a](http://b)", "[a](http://b)",
         "\\[a\\]\\(http\\:\\/\\/b\\)", "[a](http://b)", "[a](http://b)"},
        {"@everyone", "@everyone", "@everyone", "@everyone",
         "\\@\xe2\x80\x8b"
         "everyone",
         "@everyone", "@everyone"},
        {"||x|| # - 1.", "||x|| # - 1.", "||x|| # - 1.", "||x|| # - 1.",
         "\\|\\|x\\|\\| \\# \\- 1\\.", "||x|| # - 1.", "||x|| # - 1."},
        {"\\", "\\", "\\", "\\", "\\\\", "\\", "\\"},
        {"{{DATE(x)}}", "{{DATE(x)}}", "{\xe2\x80\x8b{DATE(x)}}", "{{DATE(x)}}",
         "\\{\\{DATE\\(x\\)\\}\\}", "{{DATE(x)}}", "{{DATE(x)}}"},
        {"a\r\nb\tc", "a  b c", "a  b c", "a  b c", "a  b c", "a  b c", "a  b c"},
        {"\x1b[31m", "?[31m", "?[31m", "?[31m", "?\\[31m", "?[31m", "?[31m"},
        {"\x7f\x01", "??", "??", "??", "??", "??", "??"},
        {"\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", "   ", "   ", "   ", "   ", "   ", "   "},
        {"\xe2\x80\xae\xe2\x81\xa6\xd8\x9c", "???", "???", "???", "???", "???", "???"},
        {"\xc2\x9f", "?", "?", "?", "?", "?", "?"},
        {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd",
         "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd",
         "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3\xa9\xf0\x9f\x90\x9b", "\xc3\xa9\xf0\x9f\x90\x9b", "\xc3\xa9\xf0\x9f\x90\x9b",
         "\xc3\xa9\xf0\x9f\x90\x9b", "\xc3\xa9\xf0\x9f\x90\x9b", "\xc3\xa9\xf0\x9f\x90\x9b",
         "\xc3\xa9\xf0\x9f\x90\x9b"},
        {"", "", "", "", "", "", ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        const char *wants[] = {rows[i].plain,    rows[i].card, rows[i].slack,
                               rows[i].markdown, rows[i].code, rows[i].slack_code};
        for (size_t k = 0; k < FZ_ARRAY_LEN(wants); k++)
            check((enum alert_target)k, rows[i].text, 1000, wants[k]);
    }
    check(ALERT_SLACK, NULL, 10, "");
}

static void
test_cuts(void **state)
{
    (void)state;
    static const struct {
        enum alert_target target;
        const char *text;
        size_t max;
        const char *want;
    } rows[] = {
        {ALERT_PLAIN, "abc", 3, "abc"},
        {ALERT_PLAIN, "abcd", 3, "ab\xe2\x80\xa6"},
        {ALERT_PLAIN, "abcd", 1, "\xe2\x80\xa6"},
        {ALERT_PLAIN, "abcd", 0, ""},
        {ALERT_PLAIN, "", 0, ""},
        /* An emoji is two units. */
        {ALERT_PLAIN, "\xf0\x9f\x90\x9b", 2, "\xf0\x9f\x90\x9b"},
        {ALERT_PLAIN, "\xf0\x9f\x90\x9b", 1, "\xe2\x80\xa6"},
        {ALERT_PLAIN,
         "a\xf0\x9f\x90\x9b"
         "b",
         3, "a\xe2\x80\xa6"},
        {ALERT_PLAIN, "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9\xe2\x80\xa6"},
        /* No half of an entity or of an escape. */
        {ALERT_SLACK, "a&&", 11, "a&amp;&amp;"},
        {ALERT_SLACK, "a&&", 10, "a&amp;\xe2\x80\xa6"},
        {ALERT_SLACK, "a&&", 6, "a\xe2\x80\xa6"},
        {ALERT_MARKDOWN, "a**", 5, "a\\*\\*"},
        {ALERT_MARKDOWN, "a**", 4, "a\\*\xe2\x80\xa6"},
        {ALERT_MARKDOWN, "a**", 3, "a\xe2\x80\xa6"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++)
        check(rows[i].target, rows[i].text, rows[i].max, rows[i].want);
}

static void
test_arena(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(4096);
    assert_string_equal(alert_plain(&arena, "a\nb", 10), "a b");
    assert_null(alert_plain(&arena, NULL, 10));
    arena.fail_after = 0;
    assert_null(alert_plain(&arena, "a", 10));
}

/* Whole lines, within the limit, and how many are missing. */
static void
test_code(void **state)
{
    (void)state;
    static const char *const lines[] = {"one", "two `x`", "three <&>", "four"};
    static const struct {
        struct alert_lines from;
        enum alert_target target;
        size_t max;
        const char *want;
    } rows[] = {
        {{lines, 0, 0, true}, ALERT_CODE, 100, ""},
        {{lines, 2, 0, true}, ALERT_CODE, 100, "```\none\ntwo 'x'\n```\n"},
        {{lines, 2, 7, true}, ALERT_CODE, 100, "```\none\ntwo 'x'\nand 7 more\n```\n"},
        {{lines, 2, 7, false}, ALERT_CODE, 100, "```\none\ntwo 'x'\n```\n"},
        {{lines, 3, 0, true},
         ALERT_SLACK_CODE,
         100,
         "```\none\ntwo 'x'\nthree &lt;&amp;&gt;\n```\n"},
        /* 41 units are for the fences and the mark: "one" and "two" need 12 with their line breaks. */
        {{lines, 4, 0, true}, ALERT_CODE, 41 + 12, "```\none\ntwo 'x'\nand 2 more\n```\n"},
        {{lines, 4, 5, true}, ALERT_CODE, 41 + 11, "```\none\nand 8 more\n```\n"},
        {{lines, 4, 0, false}, ALERT_CODE, 41 + 11, "```\none\n```\n"},
        {{lines, 4, 0, true}, ALERT_CODE, 43, "```\nand 4 more\n```\n"},
        {{lines, 4, 0, false}, ALERT_CODE, 10, ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        alert_append_code(&out, rows[i].target, &rows[i].from, rows[i].max);
        if (strcmp(fz_buffer_cstr(&out), rows[i].want) != 0)
            fail_msg("%zu: %s", i, fz_buffer_cstr(&out));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_targets), cmocka_unit_test(test_cuts),
                                       cmocka_unit_test(test_arena), cmocka_unit_test(test_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
