#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/http/wire.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define CHUNKED "POST / HTTP/1.1\r\ntransfer-Encoding:  Chunked \r\n\r\n"
#define LENGTH(n) "POST / HTTP/1.1\r\nContent-Length: " n "\r\n\r\n"

enum { END = -1 /* all bytes are sound */ };

#define AMP_16 "&&&&&&&&&&&&&&&&"
#define AMP_128 AMP_16 AMP_16 AMP_16 AMP_16 AMP_16 AMP_16 AMP_16 AMP_16

static const struct wire_case {
    const char *name, *bytes;
    enum http_wire_fault fault;
    long n_sound; /* the offset of the first byte that is not sound, or END */
    unsigned n_messages;
} cases[] = {
    {"a request", GET, HTTP_WIRE_SOUND, END, 1},
    {"two requests, empty lines before them", "\r\n" GET "\r\n\r\n" GET, HTTP_WIRE_SOUND, END, 2},
    {"a part of a request", "GET / HT", HTTP_WIRE_SOUND, END, 0},
    {"a body", LENGTH("3") "a\n\r" GET, HTTP_WIRE_SOUND, END, 2},
    {"a part of a body", LENGTH("3") "a\n", HTTP_WIRE_SOUND, END, 0},
    {"an empty body", LENGTH(" 0 ") GET, HTTP_WIRE_SOUND, END, 2},
    {"chunks", CHUNKED "3\r\na\nb\r\n0a;x=\"y\"\t\r\n0123456789\r\n000\r\n\r\n" GET,
     HTTP_WIRE_SOUND, END, 2},
    {"trailers", CHUNKED "0\r\nX: 1\r\nContent-Length: x\r\n\r\n" GET, HTTP_WIRE_SOUND, END, 2},
    {"another coding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n\n\n", HTTP_WIRE_SOUND,
     END, 0},
    {"a coding beyond what is kept",
     "P / HTTP/1.1\r\nTransfer-Encoding: chunked,"
     "                                                      chunked\r\n\r\n\n",
     HTTP_WIRE_SOUND, END, 0},
    {"a field that only begins so", "GET / HTTP/1.1\r\nContent-Length-X: y\r\n\r\n",
     HTTP_WIRE_SOUND, END, 1},
    {"the largest chunk", CHUNKED "ffffffffffffffff\r\nabc", HTTP_WIRE_SOUND, END, 0},
    {"a folded line", "GET / HTTP/1.1\r\nX: y\r\n z\r\n\r\n", HTTP_WIRE_SOUND, END, 1},

    {"LF after the request line", "GET / HTTP/1.1\n", HTTP_WIRE_BARE_LF, 14, 0},
    {"LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", HTTP_WIRE_BARE_LF, 23, 0},
    {"LF as a field", "GET / HTTP/1.1\r\n\n", HTTP_WIRE_BARE_LF, 16, 0},
    {"CR in a field", "GET / HTTP/1.1\r\nX: a\rb\r\n", HTTP_WIRE_BARE_CR, 21, 0},
    {"CR CR LF", "GET / HTTP/1.1\r\r\n", HTTP_WIRE_BARE_CR, 15, 0},
    {"128 ampersands", "GET /?" AMP_128 " HTTP/1.1\r\n\r\n", HTTP_WIRE_SOUND, END, 1},
    {"128 ampersands, twice",
     "GET /?" AMP_128 " HTTP/1.1\r\n\r\nGET /?" AMP_128 " HTTP/1.1\r\n\r\n", HTTP_WIRE_SOUND, END,
     2},
    {"ampersands in a field", "GET /?" AMP_128 " HTTP/1.1\r\nX: &" AMP_128 "\r\n\r\n",
     HTTP_WIRE_SOUND, END, 1},
    {"no version", "GET /\r\n", HTTP_WIRE_REQUEST_LINE, 6, 0},
    {"lower case", "GET / http/1.1\r\n", HTTP_WIRE_REQUEST_LINE, 15, 0},
    {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_WIRE_VERSION, 15, 0},
    {"version 1.2", "GET / HTTP/1.2\r\n", HTTP_WIRE_VERSION, 15, 0},
    {"no colon", "GET / HTTP/1.1\r\nHost\r\n", HTTP_WIRE_FIELD, 21, 0},
    {"no name", "GET / HTTP/1.1\r\n: x\r\n\r\n", HTTP_WIRE_FIELD, 20, 0},
    {"a signed length", LENGTH("+3"), HTTP_WIRE_LENGTH, 36, 0},
    {"an empty length", LENGTH(""), HTTP_WIRE_LENGTH, 34, 0},
    {"two lengths in one", LENGTH("3, 3"), HTTP_WIRE_LENGTH, 38, 0},
    {"2^64", LENGTH("18446744073709551616"), HTTP_WIRE_LENGTH_HUGE, 54, 0},
    {"a length beyond what is kept",
     LENGTH("000000000000000000000000000000000000000000000000000000000000000003"), HTTP_WIRE_LENGTH,
     100, 0},
    {"the second request", GET "GET /\n", HTTP_WIRE_BARE_LF, 32, 1},

    {"LF after a size", CHUNKED "3\nabc", HTTP_WIRE_BARE_LF, 50, 0},
    {"LF in an extension", CHUNKED "2b;\naaa", HTTP_WIRE_BARE_LF, 52, 0},
    {"LF after a chunk", CHUNKED "1\r\na\n0\r\n", HTTP_WIRE_BARE_LF, 53, 0},
    {"LF at the end", CHUNKED "0\r\n\n", HTTP_WIRE_BARE_LF, 52, 0},
    {"LF in a trailer", CHUNKED "0\r\nX: 1\n", HTTP_WIRE_BARE_LF, 56, 0},
    {"CR after a size", CHUNKED "3\rabc", HTTP_WIRE_BARE_CR, 51, 0},
    {"CR in an extension", CHUNKED "3;\rabc", HTTP_WIRE_BARE_CR, 52, 0},
    {"CR in a trailer", CHUNKED "0\r\nX: 1\rY: 2\r\n", HTTP_WIRE_BARE_CR, 57, 0},
    {"CR CR LF after a chunk", CHUNKED "1\r\na\r\r\n", HTTP_WIRE_CHUNK_END, 54, 0},
    {"no end of a chunk", CHUNKED "1\r\nab\r\n", HTTP_WIRE_CHUNK_END, 53, 0},
    {"no size", CHUNKED "\r\n", HTTP_WIRE_SIZE, 49, 0},
    {"only an extension", CHUNKED ";a\r\n", HTTP_WIRE_SIZE, 49, 0},
    {"0x", CHUNKED "0x3\r\n", HTTP_WIRE_SIZE, 50, 0},
    {"a space after a size", CHUNKED "3 \r\n", HTTP_WIRE_SIZE, 50, 0},
    {"17 digits", CHUNKED "00000000000000003\r\n", HTTP_WIRE_LENGTH_HUGE, 65, 0},
    {"ESC in an extension", CHUNKED "3;\x1b\r\n", HTTP_WIRE_EXTENSION, 51, 0},
    {"a folded trailer", CHUNKED "0\r\nX: 1\r\n 2\r\n", HTTP_WIRE_TRAILER, 61, 0},
    {"a trailer without a colon", CHUNKED "0\r\nX\r\n", HTTP_WIRE_TRAILER, 54, 0},
    {"a trailer without a name", CHUNKED "0\r\n: x\r\n", HTTP_WIRE_TRAILER, 56, 0},
};

/* In steps of so many bytes. */
static size_t
feed(struct http_wire *wire, struct fz_span bytes, size_t step)
{
    size_t at = 0, ended;
    memset(wire, 0, sizeof(*wire));
    while (at < bytes.len && wire->fault == HTTP_WIRE_SOUND) {
        size_t len = step < bytes.len - at ? step : bytes.len - at;
        at += http_wire_feed(wire, fz_span_make(bytes.data + at, len), &ended);
    }
    return at;
}

static void
test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct wire_case *it = &cases[i];
        struct fz_span bytes = fz_span_cstr(it->bytes);
        for (size_t step = 1; step <= bytes.len; step++) {
            struct http_wire wire;
            size_t n_sound = feed(&wire, bytes, step);
            size_t want = it->n_sound == END ? bytes.len : (size_t)it->n_sound;
            if (wire.fault != it->fault || n_sound != want || wire.n_messages != it->n_messages)
                printf("%s, steps of %zu: fault %d, %zu bytes, %llu messages\n", it->name, step,
                       (int)wire.fault, n_sound, (unsigned long long)wire.n_messages);
            assert_int_equal(wire.fault, it->fault);
            assert_int_equal(n_sound, want);
            assert_int_equal(wire.n_messages, it->n_messages);
        }
    }
}

/* libmicrohttpd reads lines as C strings: one that begins with a NUL is the end of the header for it. */
static void
test_nul(void **state)
{
    (void)state;
    static const char text[] = CHUNKED "3\r\nabc\r\n0\r\nX: 1\r\n\r\n" GET;
    const char *chunks = strstr(text, "3\r\nabc"), *trailer = strstr(text, "X: 1");
    for (size_t at = 0; at < sizeof(text) - 1; at++) {
        char bytes[sizeof(text)];
        bool in_line = text + at < chunks || text + at >= trailer;
        memcpy(bytes, text, sizeof(text));
        /* In the place of a CR or a LF it has another fault. */
        if (!in_line || text[at] == '\r' || text[at] == '\n')
            continue;
        bytes[at] = 0;
        for (size_t step = 1; step < sizeof(text); step++) {
            struct http_wire wire;
            size_t n_sound = feed(&wire, fz_span_make(bytes, sizeof(text) - 1), step);
            assert_int_equal(wire.fault, HTTP_WIRE_NUL);
            assert_int_equal(n_sound, at);
        }
    }
}

static void
test_ended(void **state)
{
    (void)state;
    struct http_wire wire = {0};
    size_t ended;
    struct fz_span bytes = fz_span_cstr(GET LENGTH("2") "ab" CHUNKED "3\n");
    /* What comes before the message with the fault may be served. */
    assert_int_equal(http_wire_feed(&wire, bytes, &ended), bytes.len - 1);
    assert_int_equal(ended, strlen(GET LENGTH("2") "ab"));
    assert_int_equal(wire.n_messages, 2);
    assert_int_equal(wire.n_headers, 3);
}

static void
test_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *head, *piece;
        enum http_wire_fault fault;
        size_t at_most; /* bytes */
    } endless[] = {
        {CHUNKED "1;", "x", HTTP_WIRE_EXTENSION, 1024},
        {"GET /?", "&", HTTP_WIRE_QUERY, 129},
        {"GET /?&", "y", HTTP_WIRE_QUERY, 18 * 1024},
        {CHUNKED "0\r\n", "X: y\r\n", HTTP_WIRE_TRAILER, 6 * 1024},
        {CHUNKED "0\r\nX: ", "y", HTTP_WIRE_TRAILER, 6 * 1024},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(endless); i++) {
        struct http_wire wire = {0};
        size_t ended, n = 0;
        struct fz_span head = fz_span_cstr(endless[i].head), piece = fz_span_cstr(endless[i].piece);
        assert_int_equal(http_wire_feed(&wire, head, &ended), head.len);
        while (wire.fault == HTTP_WIRE_SOUND && n <= endless[i].at_most)
            n += http_wire_feed(&wire, piece, &ended);
        assert_int_equal(wire.fault, endless[i].fault);
        assert_in_range(n, endless[i].at_most / 2, endless[i].at_most);
    }
}

static void
test_texts(void **state)
{
    (void)state;
    assert_int_equal(http_wire_status(HTTP_WIRE_BARE_LF), 400);
    assert_int_equal(http_wire_status(HTTP_WIRE_LENGTH_HUGE), 413);
    assert_int_equal(http_wire_status(HTTP_WIRE_VERSION), 505);
    for (int fault = HTTP_WIRE_SOUND; fault <= HTTP_WIRE_TRAILER; fault++)
        assert_non_null(http_wire_text((enum http_wire_fault)fault));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),  cmocka_unit_test(test_nul),   cmocka_unit_test(test_ended),
        cmocka_unit_test(test_bounds), cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
