#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "server/http/uri.h"

/* Segments joined with '|', then pairs as "?name=value". */
static void
show(const struct http_uri *uri, struct fz_buffer *out)
{
    for (size_t i = 0; i < uri->n_segments; i++)
        fz_buffer_printf(out, "%s%s", i ? "|" : "", uri->segments[i]);
    for (size_t i = 0; i < uri->n_query; i++)
        fz_buffer_printf(out, "?%s=%s", uri->query[i].name, uri->query[i].value);
}

static void
test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *want, *message;
        enum fz_code code;
    } cases[] = {
        {"/", "", NULL, FZ_OK},
        {"/a/b", "a|b", NULL, FZ_OK},
        {"/a/", "a|", NULL, FZ_OK},
        {"//a", "|a", NULL, FZ_OK},
        {"/a%2Fb/c", "a/b|c", NULL, FZ_OK},
        {"/a+b", "a+b", NULL, FZ_OK},
        {"/a?x=1&y=2", "a?x=1?y=2", NULL, FZ_OK},
        {"/a?", "a", NULL, FZ_OK},
        {"/a?x", "a?x=", NULL, FZ_OK},
        {"/a?&&x=&=y", "a?x=?=y", NULL, FZ_OK},
        {"/a?x=1=2", "a?x=1=2", NULL, FZ_OK},
        {"/a?q=a+b%2Bc%26d", "a?q=a b+c&d", NULL, FZ_OK},
        {"/a?q=%C3%A4", "a?q=\xc3\xa4", NULL, FZ_OK},
        {"/a?x=/b?c", "a?x=/b?c", NULL, FZ_OK},
        {"http://host:80/a?b=c", "a?b=c", NULL, FZ_OK},
        {"https://host/a", "a", NULL, FZ_OK},
        {"/..%2f..", "../..", NULL, FZ_OK},
        {"", NULL, "does not start with '/'", FZ_E_MALFORMED},
        {"*", NULL, "does not start with '/'", FZ_E_MALFORMED},
        {"a/b", NULL, "does not start with '/'", FZ_E_MALFORMED},
        {"http://host", NULL, "does not start with '/'", FZ_E_MALFORMED},
        {"ftp://host/a", NULL, "does not start with '/'", FZ_E_MALFORMED},
        {"/a%00", NULL, "the path has a broken percent escape or %00", FZ_E_MALFORMED},
        {"/a%", NULL, "the path has a broken percent escape", FZ_E_MALFORMED},
        {"/a%4", NULL, "the path has a broken percent escape", FZ_E_MALFORMED},
        {"/a%zz", NULL, "the path has a broken percent escape", FZ_E_MALFORMED},
        {"/a?x=%0", NULL, "the query has a broken percent escape", FZ_E_MALFORMED},
        {"/a?x=%00", NULL, "the query has a broken percent escape or %00", FZ_E_MALFORMED},
        {"/%ff", NULL, "the path is not UTF-8", FZ_E_MALFORMED},
        {"/%c0%af", NULL, "the path is not UTF-8", FZ_E_MALFORMED},
        {"/a?x=%80", NULL, "the query is not UTF-8", FZ_E_MALFORMED},
        {"/a%0d%0ab", NULL, "the path has a control character", FZ_E_MALFORMED},
        {"/a b", NULL, "a space or control character", FZ_E_MALFORMED},
        {"/a\x01", NULL, "a space or control character", FZ_E_MALFORMED},
        {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25", NULL,
         "more than 24 segments", FZ_E_LIMIT},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_uri uri;
        struct fz_error err = {.text = ""};
        print_message("%s\n", cases[i].raw);
        assert_int_equal(http_uri_parse(fz_span_cstr(cases[i].raw), &uri, &err), cases[i].code);
        if (cases[i].message) {
            assert_non_null(strstr(err.text, cases[i].message));
            assert_null(uri.memory);
            continue;
        }
        struct fz_buffer out;
        fz_buffer_init(&out, 0);
        show(&uri, &out);
        assert_string_equal(fz_buffer_cstr(&out), cases[i].want);
        fz_buffer_deinit(&out);
        http_uri_deinit(&uri);
    }
}

static void
test_many_pairs(void **state)
{
    (void)state;
    for (int n = HTTP_MAX_PAIRS; n <= HTTP_MAX_PAIRS + 1; n++) {
        struct fz_buffer raw;
        fz_buffer_init(&raw, 0);
        fz_buffer_text(&raw, "/?");
        for (int i = 0; i < n; i++)
            fz_buffer_text(&raw, "&a");
        struct http_uri uri;
        struct fz_error err;
        enum fz_code code = http_uri_parse(fz_buffer_span(&raw), &uri, &err);
        assert_int_equal(code, n > HTTP_MAX_PAIRS ? FZ_E_LIMIT : FZ_OK);
        if (!code)
            assert_int_equal(uri.n_query, HTTP_MAX_PAIRS);
        http_uri_deinit(&uri);
        fz_buffer_deinit(&raw);
    }
}

static void
test_match(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *pattern;
        const char *first; /* value of the first parameter; NULL: no match; "-": none */
        enum http_match how;
    } cases[] = {
        {"/healthz", "/healthz", "-", HTTP_MATCH_EXACT},
        {"/healthz/", "/healthz", NULL, HTTP_MATCH_EXACT},
        {"/healthz", "/healthz/", NULL, HTTP_MATCH_EXACT},
        {"/healthz/", "/healthz/", "-", HTTP_MATCH_EXACT},
        {"/Healthz", "/healthz", NULL, HTTP_MATCH_EXACT},
        {"/%68ealthz", "/healthz", "-", HTTP_MATCH_EXACT},
        {"/reports/7", "/reports/{id}", "7", HTTP_MATCH_EXACT},
        {"/reports/", "/reports/{id}", NULL, HTTP_MATCH_EXACT},
        {"/reports", "/reports/{id}", NULL, HTTP_MATCH_EXACT},
        {"/reports/7/8", "/reports/{id}", NULL, HTTP_MATCH_EXACT},
        {"/reports/a%2Fb", "/reports/{id}", "a/b", HTTP_MATCH_EXACT},
        {"/reports/7/reprocess", "/reports/{id}/reprocess", "7", HTTP_MATCH_EXACT},
        {"/reports/7/other", "/reports/{id}/reprocess", NULL, HTTP_MATCH_EXACT},
        {"/", "/", "-", HTTP_MATCH_EXACT},
        {"/x", "/", NULL, HTTP_MATCH_EXACT},
        {"//api//7/envelope/", "/api/{id}/envelope", "7", HTTP_MATCH_LOOSE},
        {"/api/7/envelope", "/api/{id}/envelope", "7", HTTP_MATCH_LOOSE},
        {"//api//7/envelope/", "/api/{id}/envelope", NULL, HTTP_MATCH_EXACT},
        {"/api//envelope/", "/api/{id}/envelope", NULL, HTTP_MATCH_LOOSE},
        {"/api/7/envelope/x", "/api/{id}/envelope", NULL, HTTP_MATCH_LOOSE},
        {"///", "/api", NULL, HTTP_MATCH_LOOSE},
        {"/a/b/api/7/envelope/", "/api/{id}/envelope", "7", HTTP_MATCH_ANYWHERE},
        {"/api/7/envelope", "/api/{id}/envelope", "7", HTTP_MATCH_ANYWHERE},
        {"/api/api/7/envelope", "/api/{id}/envelope", "7", HTTP_MATCH_ANYWHERE},
        {"/a/api/7/envelope/b", "/api/{id}/envelope", NULL, HTTP_MATCH_ANYWHERE},
        {"/a/api/7/envelope", "/api/{id}/envelope", NULL, HTTP_MATCH_LOOSE},
        {"/", "/api", NULL, HTTP_MATCH_ANYWHERE},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_uri uri;
        struct http_params params = {.n = 99};
        print_message("%s %s\n", cases[i].raw, cases[i].pattern);
        assert_int_equal(http_uri_parse(fz_span_cstr(cases[i].raw), &uri, NULL), FZ_OK);
        bool match = http_uri_match(&uri, cases[i].pattern, cases[i].how, &params);
        assert_int_equal(match, cases[i].first != NULL);
        if (!match)
            assert_int_equal(params.n, 99);
        else if (strcmp(cases[i].first, "-") == 0)
            assert_int_equal(params.n, 0);
        else
            assert_string_equal(params.pairs[0].value, cases[i].first);
        http_uri_deinit(&uri);
    }
}

static void
test_query(void **state)
{
    (void)state;
    struct http_uri uri;
    assert_int_equal(http_uri_parse(fz_span_cstr("/?a=1&a=2&b"), &uri, NULL), FZ_OK);
    assert_string_equal(http_uri_query(&uri, "a"), "1");
    assert_string_equal(http_uri_query(&uri, "b"), "");
    assert_null(http_uri_query(&uri, "c"));
    http_uri_deinit(&uri);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_many_pairs),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
