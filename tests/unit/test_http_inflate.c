#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "server/http/inflate.h"

enum { MIB = 1024 * 1024 };

enum wrap { WRAP_GZIP, WRAP_ZLIB, WRAP_RAW, WRAP_ZSTD };

static void
compress_with(enum wrap wrap, struct fz_span in, struct fz_buffer *out)
{
    size_t room = ZSTD_compressBound(in.len) + 1024;
    uint8_t *bytes = malloc(room);
    assert_non_null(bytes);
    size_t len;
    if (wrap == WRAP_ZSTD) {
        len = ZSTD_compress(bytes, room, in.data, in.len, 3);
        assert_false(ZSTD_isError(len));
    } else {
        static const int window[] = {[WRAP_GZIP] = 31, [WRAP_ZLIB] = 15, [WRAP_RAW] = -15};
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window[wrap], 9, Z_DEFAULT_STRATEGY),
                         Z_OK);
        uint8_t *copy = malloc(in.len ? in.len : 1);
        assert_non_null(copy);
        if (in.len)
            memcpy(copy, in.data, in.len);
        z.next_in = copy;
        z.avail_in = (uInt)in.len;
        z.next_out = bytes;
        z.avail_out = (uInt)room;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        len = z.total_out;
        deflateEnd(&z);
        free(copy);
    }
    fz_buffer_append(out, bytes, len);
    free(bytes);
}

static enum fz_code
keep(void *arg, struct fz_span bytes, struct fz_error *err)
{
    (void)err;
    fz_buffer_append(arg, bytes.data, bytes.len);
    return FZ_OK;
}

/* Inflate in steps of `step` bytes. */
static enum fz_code
run(enum http_coding coding, struct fz_span in, size_t step, uint64_t max_out,
    struct fz_buffer *out, struct fz_error *err)
{
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
    enum fz_code code = http_inflate_create(coding, max_out, &inflate, err);
    for (size_t at = 0; !code && at < in.len; at += step)
        code = http_inflate_feed(
            inflate, fz_span_make(in.data + at, in.len - at < step ? in.len - at : step), keep, out,
            err);
    return code ? code : http_inflate_finish(inflate, err);
}

static struct fz_buffer
sample(size_t len, bool repetitive)
{
    struct fz_buffer text;
    fz_buffer_init(&text, 0);
    uint32_t state = 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 1103515245U + 12345U;
        fz_buffer_char(&text, repetitive ? 'a' : (char)('a' + (state >> 16) % 20));
    }
    return text;
}

static void
test_round_trip(void **state)
{
    (void)state;
    static const struct {
        enum wrap wrap;
        enum http_coding coding;
    } kinds[] = {{WRAP_GZIP, HTTP_CODING_GZIP},
                 {WRAP_ZLIB, HTTP_CODING_DEFLATE},
                 {WRAP_RAW, HTTP_CODING_DEFLATE},
                 {WRAP_ZSTD, HTTP_CODING_ZSTD}};
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};
    static const size_t steps[] = {1, 7, SIZE_MAX / 2};
    for (size_t k = 0; k < FZ_ARRAY_LEN(kinds); k++) {
        for (size_t s = 0; s < FZ_ARRAY_LEN(sizes); s++) {
            struct fz_buffer text = sample(sizes[s], s % 2 == 0), packed;
            fz_buffer_init(&packed, 0);
            compress_with(kinds[k].wrap, fz_buffer_span(&text), &packed);
            for (size_t i = 0; i < FZ_ARRAY_LEN(steps); i++) {
                struct fz_buffer out;
                struct fz_error err = {.text = ""};
                fz_buffer_init(&out, 0);
                enum fz_code code =
                    run(kinds[k].coding, fz_buffer_span(&packed), steps[i], sizes[s], &out, &err);
                assert_string_equal(err.text, "");
                assert_int_equal(code, FZ_OK);
                assert_true(fz_span_equal(fz_buffer_span(&out), fz_buffer_span(&text)));
                fz_buffer_deinit(&out);
            }
            /* One byte less than it needs, in both senses. */
            struct fz_buffer out;
            struct fz_error err = {.text = ""};
            fz_buffer_init(&out, 0);
            if (sizes[s]) {
                assert_int_equal(
                    run(kinds[k].coding, fz_buffer_span(&packed), 4096, sizes[s] - 1, &out, &err),
                    FZ_E_LIMIT);
                assert_non_null(strstr(err.text, "larger than the limit of"));
            }
            struct fz_span cut = fz_span_make(packed.data, packed.len - 1);
            assert_int_equal(run(kinds[k].coding, cut, 4096, MIB, &out, &err), FZ_E_MALFORMED);
            assert_non_null(strstr(err.text, "it ends too early"));
            assert_int_equal(err.offset, cut.len);
            fz_buffer_deinit(&out);
            fz_buffer_deinit(&packed);
            fz_buffer_deinit(&text);
        }
    }
}

static void
test_members(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum wrap wrap;
        enum http_coding coding;
        struct fz_span tail; /* after two members */
        enum fz_code code;
    } cases[] = {
        {"gzip", WRAP_GZIP, HTTP_CODING_GZIP, {NULL, 0}, FZ_OK},
        {"gzip and zeros", WRAP_GZIP, HTTP_CODING_GZIP, {(const uint8_t *)"\0\0\0", 3}, FZ_OK},
        {"gzip and rubbish",
         WRAP_GZIP,
         HTTP_CODING_GZIP,
         {(const uint8_t *)"x", 1},
         FZ_E_MALFORMED},
        {"gzip, zeros, member",
         WRAP_GZIP,
         HTTP_CODING_GZIP,
         {(const uint8_t *)"\0\x1f\x8b\x08", 4},
         FZ_E_MALFORMED},
        {"zstd", WRAP_ZSTD, HTTP_CODING_ZSTD, {NULL, 0}, FZ_OK},
        {"zstd and rubbish",
         WRAP_ZSTD,
         HTTP_CODING_ZSTD,
         {(const uint8_t *)"xxxxx", 5},
         FZ_E_MALFORMED},
        {"two zlib streams", WRAP_ZLIB, HTTP_CODING_DEFLATE, {NULL, 0}, FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        for (size_t step = 1; step < 1000; step *= 31) {
            struct fz_buffer packed, out;
            struct fz_error err = {.text = ""};
            fz_buffer_init(&packed, 0);
            fz_buffer_init(&out, 0);
            print_message("%s\n", cases[i].name);
            compress_with(cases[i].wrap, fz_span_cstr("frame "), &packed);
            compress_with(cases[i].wrap, fz_span_cstr("zero"), &packed);
            fz_buffer_append(&packed, cases[i].tail.data, cases[i].tail.len);
            assert_int_equal(run(cases[i].coding, fz_buffer_span(&packed), step, 100, &out, &err),
                             cases[i].code);
            if (!cases[i].code)
                assert_string_equal(fz_buffer_cstr(&out), "frame zero");
            fz_buffer_deinit(&packed);
            fz_buffer_deinit(&out);
        }
    }
}

static enum fz_code
count(void *arg, struct fz_span bytes, struct fz_error *err)
{
    (void)err;
    *(uint64_t *)arg += bytes.len;
    return FZ_OK;
}

/* 64 MiB of one letter in each coding: stopped by the ratio soon after the first MiB. */
static void
test_bombs(void **state)
{
    (void)state;
    static const enum http_coding codings[] = {HTTP_CODING_GZIP, HTTP_CODING_DEFLATE,
                                               HTTP_CODING_DEFLATE, HTTP_CODING_ZSTD};
    struct fz_buffer text = sample(64 * MIB, true);
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++) {
        struct fz_buffer packed;
        fz_buffer_init(&packed, 0);
        compress_with((enum wrap)i, fz_buffer_span(&text), &packed);
        FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
        uint64_t n = 0;
        struct fz_error err = {.text = ""};
        assert_int_equal(http_inflate_create(codings[i], UINT64_MAX, &inflate, &err), FZ_OK);
        assert_int_equal(http_inflate_feed(inflate, fz_buffer_span(&packed), count, &n, &err),
                         FZ_E_LIMIT);
        assert_non_null(strstr(err.text, "more than 200 times"));
        assert_true(n <= 2 * MIB);
        /* Where the output is bounded by itself, that is the only bound. */
        FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *bounded = NULL;
        n = 0;
        assert_int_equal(http_inflate_create(codings[i], 8 * MIB, &bounded, &err), FZ_OK);
        http_inflate_any_ratio(bounded);
        assert_int_equal(http_inflate_feed(bounded, fz_buffer_span(&packed), count, &n, &err),
                         FZ_E_LIMIT);
        assert_non_null(strstr(err.text, "larger than the limit of"));
        assert_true(n > 7 * MIB && n <= 8 * MIB);
        fz_buffer_deinit(&packed);
    }
    fz_buffer_deinit(&text);
}

static void
test_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum http_coding coding;
        const char *bytes;
        size_t len;
        enum fz_code code;
        const char *message;
    } cases[] = {
        {"nothing", HTTP_CODING_GZIP, "", 0, FZ_OK, NULL},
        {"plain text", HTTP_CODING_GZIP, "{\"a\":1}", 7, FZ_E_MALFORMED, "incorrect header"},
        {"plain text", HTTP_CODING_ZSTD, "{\"a\":1}", 7, FZ_E_MALFORMED, "Unknown frame"},
        {"plain text", HTTP_CODING_DEFLATE, "{\"a\":1}", 7, FZ_E_MALFORMED, "is broken at byte"},
        {"one byte", HTTP_CODING_DEFLATE, "\x78", 1, FZ_E_MALFORMED, "ends too early"},
        {"gzip header only", HTTP_CODING_GZIP, "\x1f\x8b\x08\0\0\0\0\0\0\0", 10, FZ_E_MALFORMED,
         "ends too early"},
        /* RFC 8878, 3.1.1.1.2: window descriptor 0xb0 = exponent 22: 2^32 bytes. */
        {"huge window", HTTP_CODING_ZSTD, "\x28\xb5\x2f\xfd\x00\xb0\x01\x00\x00", 9, FZ_E_LIMIT,
         "zstd window"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_buffer out;
        struct fz_error err = {.text = ""};
        fz_buffer_init(&out, 0);
        print_message("%s\n", cases[i].name);
        assert_int_equal(
            run(cases[i].coding, fz_span_make(cases[i].bytes, cases[i].len), 3, MIB, &out, &err),
            cases[i].code);
        if (cases[i].message)
            assert_non_null(strstr(err.text, cases[i].message));
        fz_buffer_deinit(&out);
    }
}

static enum fz_code
refuse(void *arg, struct fz_span bytes, struct fz_error *err)
{
    (void)arg, (void)bytes;
    return fz_fail(err, FZ_E_UNAVAILABLE, "no room");
}

static void
test_sink_failure(void **state)
{
    (void)state;
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *inflate = NULL;
    struct fz_error err;
    assert_int_equal(http_inflate_create(HTTP_CODING_IDENTITY, 100, &inflate, &err), FZ_OK);
    assert_int_equal(http_inflate_feed(inflate, fz_span_cstr("abc"), refuse, NULL, &err),
                     FZ_E_UNAVAILABLE);
    assert_string_equal(err.text, "no room");
}

static void
test_whole(void **state)
{
    (void)state;
    struct fz_error err;
    struct fz_span got = {NULL, 0};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(MIB);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer packed = fz_buffer_make(0);
    compress_with(WRAP_GZIP, fz_span_cstr("a minidump"), &packed);
    struct fz_span whole = fz_buffer_span(&packed);
    assert_int_equal(http_inflate_whole(HTTP_CODING_GZIP, whole, 100, &arena, &got, &err), FZ_OK);
    assert_true(fz_span_is(got, "a minidump"));
    assert_int_equal(http_inflate_whole(HTTP_CODING_GZIP, whole, 9, &arena, &got, &err),
                     FZ_E_LIMIT);
    assert_int_equal(http_inflate_whole(HTTP_CODING_GZIP, fz_span_until(whole, whole.len - 1), 100,
                                        &arena, &got, &err),
                     FZ_E_MALFORMED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_members),
        cmocka_unit_test(test_bombs),        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_sink_failure), cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
