#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/http/packer.h"

enum { MOST = 16 * 1024 * 1024 };

static const enum http_coding codings[] = {HTTP_CODING_GZIP, HTTP_CODING_ZSTD};

static enum fz_code
append(void *sink, struct fz_span bytes, struct fz_error *err)
{
    fz_buffer_append(sink, bytes.data, bytes.len);
    return fz_buffer_done(sink, err);
}

/* Bytes that compress to a third, or not at all. */
static void
fill(struct fz_buffer *out, size_t len, bool is_text)
{
    static uint32_t seed = 1;
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        fz_buffer_char(out, is_text ? (char)('a' + (seed >> 24) % 6) : (char)(seed >> 24));
    }
}

/* Whatever the pieces are: what comes out is the stream of all of them, and after a flush of all so far. */
static void
test_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t len, n;
        bool is_text;
        enum http_flush flush;
    } cases[] = {
        {"nothing", 0, 0, true, HTTP_FLUSH_NO},
        {"empty pieces", 0, 5, true, HTTP_FLUSH_NO},
        {"empty pieces, flushed", 0, 5, true, HTTP_FLUSH_ALL},
        {"bytes", 1, 1000, true, HTTP_FLUSH_NO},
        {"bytes, flushed", 1, 1000, true, HTTP_FLUSH_ALL},
        {"exactly one step", 16 * 1024, 9, false, HTTP_FLUSH_ALL},
        {"large", 300000, 20, true, HTTP_FLUSH_NO},
        {"large, flushed", 300000, 20, true, HTTP_FLUSH_ALL},
        {"does not compress", 1000000, 4, false, HTTP_FLUSH_NO},
        {"does not compress, flushed", 1000000, 4, false, HTTP_FLUSH_ALL},
    };
    for (size_t i = 0; i < 2 * FZ_ARRAY_LEN(cases); i++) {
        enum http_coding coding = codings[i % 2];
        struct http_packer *packer;
        struct http_inflate *inflate;
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer plain = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer back = fz_buffer_make(0);
        print_message("%s, %d\n", cases[i / 2].name, (int)coding);
        assert_int_equal(http_packer_create(coding, &packer, NULL), FZ_OK);
        assert_int_equal(http_inflate_create(coding, MOST, &inflate, NULL), FZ_OK);
        http_inflate_any_ratio(inflate);
        for (size_t n = 0; n <= cases[i / 2].n; n++) {
            bool ends = n == cases[i / 2].n;
            size_t before = plain.len;
            fill(&plain, ends ? 0 : cases[i / 2].len, cases[i / 2].is_text);
            fz_buffer_clear(&packed);
            assert_int_equal(http_packer_add(packer, fz_span_from(fz_buffer_span(&plain), before),
                                             ends ? HTTP_FLUSH_END : cases[i / 2].flush, &packed,
                                             NULL),
                             FZ_OK);
            assert_int_equal(
                http_inflate_feed(inflate, fz_buffer_span(&packed), append, &back, NULL), FZ_OK);
            if (ends || cases[i / 2].flush == HTTP_FLUSH_ALL)
                assert_int_equal(back.len, plain.len);
        }
        assert_int_equal(http_inflate_finish(inflate, NULL), FZ_OK);
        assert_memory_equal(fz_buffer_cstr(&back), fz_buffer_cstr(&plain), plain.len);
        http_inflate_destroy(inflate);
        http_packer_destroy(packer);
    }
}

/* A buffer that is full is an error, not a stream with a hole. */
static void
test_no_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++) {
        struct http_packer *packer;
        struct fz_error err = {.text = ""};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer plain = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(40000);
        fill(&plain, 1000000, false);
        assert_int_equal(http_packer_create(codings[i], &packer, NULL), FZ_OK);
        assert_int_equal(
            http_packer_add(packer, fz_buffer_span(&plain), HTTP_FLUSH_ALL, &packed, &err),
            FZ_E_LIMIT);
        assert_string_not_equal(err.text, "");
        http_packer_destroy(packer);
    }
    http_packer_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
