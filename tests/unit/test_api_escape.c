/* Hostile names in CSV and Markdown. */
#include "server/api/api_escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

static const struct {
    const char *text, *csv, *md, *code;
} rows[] = {
    {NULL, "\"\"", "", ""},
    {"checkout", "\"checkout\"", "checkout", "checkout"},
    {"=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\"",
     "\\=HYPERLINK\\(\\\"http\\:\\/\\/x\\\"\\)", "=HYPERLINK(\"http://x\")"},
    {"-[Cart pay]", "\"'-[Cart pay]\"", "\\-\\[Cart pay\\]", "-[Cart pay]"},
    {"+1", "\"'+1\"", "\\+1", "+1"},
    {"@SUM(1)", "\"'@SUM(1)\"", "\\@\xe2\x80\x8bSUM\\(1\\)", "@SUM(1)"},
    {" \t=1", "\"'  =1\"", "  \\=1", "  =1"},
    {"\xc2\xa0=1", "\"'\xc2\xa0=1\"", "\xc2\xa0\\=1", "\xc2\xa0=1"},
    {"\xef\xbc\x9d"
     "1",
     "\"'\xef\xbc\x9d"
     "1\"",
     "\xef\xbc\x9d"
     "1",
     "\xef\xbc\x9d"
     "1"},
    {"a,b\r\nc\"d", "\"a,b  c\"\"d\"", "a\\,b  c\\\"d", "a,b  c\"d"},
    {"<script>&amp;", "\"<script>&amp;\"", "\\<script\\>\\&amp\\;", "<script>&amp;"},
    {"**b** [x](y) `c` | # 1. ~~d~~", "\"**b** [x](y) `c` | # 1. ~~d~~\"",
     "\\*\\*b\\*\\* \\[x\\]\\(y\\) \\`c\\` \\| \\#\xe2\x80\x8b 1\\. \\~\\~d\\~\\~",
     "**b** [x](y) `c` | # 1. ~~d~~"},
    /* Right to left; a line separator; a C1 control; DEL. */
    {"a\xe2\x80\xae"
     "b\xe2\x81\xa6"
     "c\xe2\x80\xa8"
     "d\xc2\x9b"
     "e\x7f",
     "\"a?b?c d e \"", "a?b?c d e ", "a?b?c d e "},
    {"\xc3\xa4\xe2\x82\xac", "\"\xc3\xa4\xe2\x82\xac\"", "\xc3\xa4\xe2\x82\xac",
     "\xc3\xa4\xe2\x82\xac"},
    /* Ends within a character. */
    {"a\xe2\x80", "\"a\xe2\x80\"", "a\xe2\x80", "a\xe2\x80"},
};

static void
test_texts(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer csv = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer md = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer code = fz_buffer_make(0);
        api_csv_text(&csv, rows[i].text);
        api_md_text(&md, rows[i].text);
        api_md_code(&code, rows[i].text);
        assert_string_equal(fz_buffer_cstr(&csv), rows[i].csv);
        assert_string_equal(fz_buffer_cstr(&md), rows[i].md);
        assert_string_equal(fz_buffer_cstr(&code), rows[i].code);
    }
}

static void
test_fence(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    api_md_fence(&out, fz_span_cstr("a\n````\nb\n"));
    assert_string_equal(fz_buffer_cstr(&out), "`````text\na\n````\nb\n`````\n");
    fz_buffer_clear(&out);
    api_md_fence(&out, fz_span_cstr(""));
    assert_string_equal(fz_buffer_cstr(&out), "```text\n```\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_fence)};
    return cmocka_run_group_tests_name("api_escape", tests, NULL, NULL);
}
