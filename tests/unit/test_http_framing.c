#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/http/framing.h"

/* "Name: value" lines separated by '\n'; everything between name and value is part of the value. */
static size_t
split(const char *text, struct http_field fields[HTTP_MAX_HEADERS])
{
    size_t n = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *colon = memchr(text, ':', len);
        assert_non_null(colon);
        size_t name_len = (size_t)(colon - text);
        fields[n++] = (struct http_field){.name = fz_span_make(text, name_len),
                                          .value = fz_span_make(colon + 1, len - name_len - 1)};
        text += len + (text[len] == '\n');
    }
    return n;
}

static void
test_check(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        bool old; /* HTTP/1.0 */
        enum fz_code code;
        const char *message; /* of a failure */
        struct http_framing want;
    } cases[] = {
        {"Host: a", false, FZ_OK, NULL, {0}},
        {"Host: a\nContent-Length: 5", false, FZ_OK, NULL, {.has_length = 1, .content_length = 5}},
        {"host: a\ncontent-length: 0", false, FZ_OK, NULL, {.has_length = 1}},
        {"Host: a\nContent-Length:\t12 ",
         false,
         FZ_OK,
         NULL,
         {.has_length = 1, .content_length = 12}},
        {"Host: a\nContent-Length: 18446744073709551615",
         false,
         FZ_OK,
         NULL,
         {.has_length = 1, .content_length = UINT64_MAX}},
        {"Host: a\nTransfer-Encoding: Chunked", false, FZ_OK, NULL, {.chunked = 1}},
        {"Host: a\nExpect: 100-Continue\nContent-Length: 1",
         false,
         FZ_OK,
         NULL,
         {.has_length = 1, .content_length = 1, .expects_continue = 1}},
        {"Expect: 100-continue", true, FZ_OK, NULL, {0}},
        {"", true, FZ_OK, NULL, {0}},
        {"", false, FZ_E_MALFORMED, "one Host field, it has 0", {0}},
        {"Host: a\nHost: a", false, FZ_E_MALFORMED, "one Host field, it has 2", {0}},
        {"Host: a\nHost: a", true, FZ_E_MALFORMED, "one Host field, it has 2", {0}},
        {"Host: a\nContent-Length: 5\nContent-Length: 5",
         false,
         FZ_E_MALFORMED,
         "two Content-Length",
         {0}},
        {"Host: a\nContent-Length: 5\nContent-Length: 6",
         false,
         FZ_E_MALFORMED,
         "two Content-Length",
         {0}},
        {"Host: a\nContent-Length: 5, 5", false, FZ_E_MALFORMED, "not a number", {0}},
        {"Host: a\nContent-Length: +5", false, FZ_E_MALFORMED, "not a number", {0}},
        {"Host: a\nContent-Length: -1", false, FZ_E_MALFORMED, "not a number", {0}},
        {"Host: a\nContent-Length: 0x5", false, FZ_E_MALFORMED, "not a number", {0}},
        {"Host: a\nContent-Length: ", false, FZ_E_MALFORMED, "not a number", {0}},
        {"Host: a\nContent-Length: 18446744073709551616", false, FZ_E_MALFORMED, "below 2^64", {0}},
        {"Host: a\nContent-Length: 5\nTransfer-Encoding: chunked",
         false,
         FZ_E_MALFORMED,
         "both Content-Length and Transfer-Encoding",
         {0}},
        {"Host: a\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked",
         false,
         FZ_E_MALFORMED,
         "two Transfer-Encoding",
         {0}},
        {"Host: a\nTransfer-Encoding: gzip, chunked", false, FZ_E_MALFORMED, "is 'chunked'", {0}},
        {"Host: a\nTransfer-Encoding: identity", false, FZ_E_MALFORMED, "is 'chunked'", {0}},
        {"Host: a\nTransfer-Encoding: xchunked", false, FZ_E_MALFORMED, "is 'chunked'", {0}},
        {"Host: a\nTransfer-Encoding: ", false, FZ_E_MALFORMED, "is 'chunked'", {0}},
        {"Transfer-Encoding: chunked", true, FZ_E_MALFORMED, "HTTP/1.0", {0}},
        {"Host: a\nExpect: the-worst", false, FZ_E_UNSUPPORTED, "100-continue", {0}},
        {"Host: a\nContent-Length : 5", false, FZ_E_MALFORMED, "field name", {0}},
        {"Host: a\n: 5", false, FZ_E_MALFORMED, "field name", {0}},
        {"Host: a\nX(Y): 5", false, FZ_E_MALFORMED, "field name", {0}},
        {"Host: a\nX-\xc3\xa4: 5", false, FZ_E_MALFORMED, "field name", {0}},
        {"Host: a\nX: a\rb", false, FZ_E_MALFORMED, "field X has a control character", {0}},
        {"Host: a\nX: a\x7f", false, FZ_E_MALFORMED, "control character", {0}},
        {"Host: a\nX: \xc3\xa4\ttab", false, FZ_OK, NULL, {0}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_field fields[HTTP_MAX_HEADERS];
        struct http_framing got = {0};
        struct fz_error err = {.text = ""};
        print_message("%s\n", cases[i].fields);
        size_t n = split(cases[i].fields, fields);
        assert_int_equal(http_framing_check(!cases[i].old, fields, n, &got, &err), cases[i].code);
        if (cases[i].message)
            assert_non_null(strstr(err.text, cases[i].message));
        assert_int_equal(got.has_length, cases[i].want.has_length);
        assert_int_equal(got.chunked, cases[i].want.chunked);
        assert_int_equal(got.expects_continue, cases[i].want.expects_continue);
        assert_true(got.content_length == cases[i].want.content_length);
    }
}

static void
test_coding(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        enum fz_code code;
        enum http_coding want;
    } cases[] = {
        {"", FZ_OK, HTTP_CODING_IDENTITY},
        {"Content-Encoding:", FZ_OK, HTTP_CODING_IDENTITY},
        {"Content-Encoding: UTF-8", FZ_OK, HTTP_CODING_IDENTITY},
        {"Content-Encoding: identity", FZ_OK, HTTP_CODING_IDENTITY},
        {"content-encoding: GZIP", FZ_OK, HTTP_CODING_GZIP},
        {"Content-Encoding: x-gzip ", FZ_OK, HTTP_CODING_GZIP},
        {"Content-Encoding: deflate", FZ_OK, HTTP_CODING_DEFLATE},
        {"Content-Encoding: zstd", FZ_OK, HTTP_CODING_ZSTD},
        {"Content-Encoding:\nContent-Encoding: gzip", FZ_OK, HTTP_CODING_GZIP},
        {"Content-Encoding: br", FZ_E_UNSUPPORTED, 0},
        {"Content-Encoding: gzip, gzip", FZ_E_UNSUPPORTED, 0},
        {"Content-Encoding: gzip\nContent-Encoding: gzip", FZ_E_UNSUPPORTED, 0},
        {"X-Content-Encoding: gzip", FZ_OK, HTTP_CODING_IDENTITY},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_field fields[HTTP_MAX_HEADERS];
        enum http_coding got = 0;
        struct fz_error err = {.text = ""};
        print_message("%s\n", cases[i].fields);
        size_t n = split(cases[i].fields, fields);
        assert_int_equal(http_framing_coding(fields, n, &got, &err), cases[i].code);
        assert_int_equal(got, cases[i].want);
        if (cases[i].code)
            assert_non_null(strstr(err.text, "accepted are gzip, deflate, zstd"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_coding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
