#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#include "storage/store_private.h"

static void
test_round_trip(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65536, 5000000};
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(8 * 1024 * 1024);
        FZ_CLEANUP(store_freep) void *packed = NULL;
        size_t len = 0;
        char *text = malloc(sizes[i] + 1);
        assert_non_null(text);
        memset(text, 'x', sizes[i]);
        struct fz_span bytes = fz_span_make(text, sizes[i]), back;
        assert_int_equal(store_pack(bytes, NULL, &packed, &len, NULL), FZ_OK);
        assert_true(sizes[i] < 100 || len < sizes[i]);
        assert_int_equal(store_unpack(fz_span_make(packed, len), &arena, &back, NULL), FZ_OK);
        assert_true(fz_span_equal(bytes, back));
        free(text);
    }
}

/* A damaged database is reported, and nothing else happens. */
static void
test_damaged(void **state)
{
    (void)state;
    FZ_CLEANUP(store_freep) void *packed = NULL;
    size_t len = 0;
    uint8_t text[4096];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i * i >> 4);
    assert_int_equal(store_pack(fz_span_make(text, sizeof(text)), NULL, &packed, &len, NULL),
                     FZ_OK);
    uint8_t *bytes = packed;
    for (size_t cut = 0; cut < len; cut++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        struct fz_span back;
        struct fz_error err;
        assert_int_equal(store_unpack(fz_span_make(bytes, cut), &arena, &back, &err),
                         FZ_E_INTERNAL);
        assert_non_null(strstr(err.text, "a stored body is damaged"));
    }
    for (size_t i = 0; i < len; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        struct fz_span back;
        bytes[i] ^= 0x40;
        /* A bit that means nothing may flip; no other bytes may come out. */
        if (store_unpack(fz_span_make(bytes, len), &arena, &back, NULL) == FZ_OK)
            assert_true(fz_span_equal(back, fz_span_make(text, sizeof(text))));
        bytes[i] ^= 0x40;
    }
}

/* ---- zstd without memory ---- */

static bool has_no_memory;
size_t __real_ZSTD_decompress(void *to, size_t room, const void *from, size_t len);
size_t __wrap_ZSTD_decompress(void *to, size_t room, const void *from, size_t len);

size_t
__wrap_ZSTD_decompress(void *to, size_t room, const void *from, size_t len)
{
    return has_no_memory ? (size_t)-ZSTD_error_memory_allocation
                         : __real_ZSTD_decompress(to, room, from, len);
}

/* A body that could not be read for want of memory is not damaged: its report must not end as failed. */
static void
test_no_memory(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(store_freep) void *packed = NULL;
    size_t len = 0;
    struct fz_span back;
    struct fz_error err;
    assert_int_equal(store_pack(fz_span_cstr("body"), NULL, &packed, &len, NULL), FZ_OK);
    has_no_memory = true;
    enum fz_code code = store_unpack(fz_span_make(packed, len), &arena, &back, &err);
    has_no_memory = false;
    assert_int_equal(code, FZ_E_NO_MEMORY);
    assert_string_equal(err.text, "out of memory");
}

/* The frame says how long its content is; that is believed only up to the caller's limit. */
static void
test_bomb(void **state)
{
    (void)state;
    /* RFC 8878, 3.1.1: magic, descriptor (single segment, 8 bytes of size), the size 2^62. */
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                    0,    0,    0,    0,    0x40, 1, 0, 0};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct fz_span back;
    enum fz_code code = store_unpack(fz_span_make(frame, sizeof(frame)), &arena, &back, NULL);
    assert_true(code == FZ_E_LIMIT || code == FZ_E_NO_MEMORY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
