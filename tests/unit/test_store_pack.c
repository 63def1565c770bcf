#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zdict.h>
#include <zstd_errors.h>

#include "storage/store_dictionary.h"
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

/* ---- dictionaries ---- */

enum { SAMPLES = 60, SAMPLE = 1500 };

/* A sample of this kind; `number` is in it. */
static size_t
make_sample(char *ret, const char *kind, int number)
{
    unsigned random = 3;
    size_t len =
        (size_t)snprintf(ret, SAMPLE, "%s own-secret-%08x;", kind, (unsigned)number * 2654435761u);
    while (len < SAMPLE - 60) {
        random = random * 1103515245u + 12345;
        len += (size_t)snprintf(ret + len, SAMPLE - len, "%s %08x", kind, random);
    }
    return len;
}

static void
join(struct fz_buffer *ret, size_t *lens, const char *kind)
{
    for (int i = 0; i < SAMPLES; i++) {
        char text[SAMPLE];
        lens[i] = make_sample(text, kind, i);
        fz_buffer_append(ret, text, lens[i]);
    }
    assert_int_equal(fz_buffer_done(ret, NULL), FZ_OK);
}

static struct store_dictionary *
make_dictionary(const char *kind)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer joined = fz_buffer_make(SAMPLES * SAMPLE);
    size_t lens[SAMPLES];
    uint8_t content[8192];
    struct store_dictionary *ret = NULL;
    join(&joined, lens, kind);
    size_t len = ZDICT_trainFromBuffer(content, sizeof(content), joined.data, lens, SAMPLES);
    assert_false(ZDICT_isError(len));
    assert_int_equal(store_dictionary_make(fz_span_make(content, len), &ret, NULL), FZ_OK);
    return ret;
}

static void
test_dictionary(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *own = make_dictionary("image");
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *other = make_dictionary("frame");
    FZ_CLEANUP(store_freep) void *packed = NULL;
    FZ_CLEANUP(store_freep) void *plain = NULL;
    FZ_CLEANUP(store_freep) void *again = NULL;
    struct store_packer *packer = NULL;
    char text[SAMPLE];
    size_t len = 0, plain_len = 0, again_len = 0;
    struct fz_span back, bytes = fz_span_make(text, make_sample(text, "image", 777));
    struct fz_error err;
    assert_int_not_equal(store_dictionary_id(own), store_dictionary_id(other));
    assert_int_equal(store_pack_with(bytes, own, &packer, &packed, &len, NULL), FZ_OK);
    /* The next one of the same packer has none again. */
    assert_int_equal(store_pack(bytes, &packer, &plain, &plain_len, NULL), FZ_OK);
    assert_int_equal(store_pack(bytes, NULL, &again, &again_len, NULL), FZ_OK);
    store_packer_free(packer);
    assert_true(plain_len == again_len && memcmp(plain, again, again_len) == 0);
    assert_true(len * 4 < plain_len);
    assert_int_equal(store_packed_size(fz_span_make(packed, STORE_PACK_HEADER)), bytes.len);
    assert_int_equal(store_unpack_with(fz_span_make(packed, len), own, &arena, &back, NULL), FZ_OK);
    assert_true(fz_span_equal(back, bytes));
    /* One without goes with any. */
    assert_int_equal(store_unpack_with(fz_span_make(plain, plain_len), own, &arena, &back, NULL),
                     FZ_OK);
    assert_int_equal(store_unpack_with(fz_span_make(packed, len), other, &arena, &back, &err),
                     FZ_E_INTERNAL);
    assert_non_null(strstr(err.text, "a stored body is damaged"));
    assert_int_equal(store_unpack(fz_span_make(packed, len), &arena, &back, NULL), FZ_E_INTERNAL);
    assert_int_equal(store_dictionary_make(fz_span_cstr("no dictionary"), &own, NULL),
                     FZ_E_MALFORMED);
}

/* What is left of samples: what many have. */
static void
test_share(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer joined = fz_buffer_make(SAMPLES * SAMPLE);
    size_t lens[SAMPLES], sum = 0, before;
    join(&joined, lens, "image");
    before = joined.len;
    assert_int_equal(store_dictionary_share(&joined, lens, SAMPLES, NULL), FZ_OK);
    for (size_t i = 0; i < SAMPLES; i++)
        sum += lens[i];
    assert_int_equal(sum, joined.len);
    assert_true(joined.len > before * 9 / 10 && joined.len < before);
    for (int i = 0; i < SAMPLES; i++) {
        char secret[16];
        size_t n = (size_t)snprintf(secret, sizeof(secret), "%08x;", (unsigned)i * 2654435761u);
        for (size_t at = 0; at + n <= joined.len; at++)
            assert_int_not_equal(memcmp(joined.data + at, secret, n), 0);
    }
    /* What two have is left to neither. */
    static const char two[] = "shared by two of three samples: xyzshared by two of three samples: "
                              "abcand another one";
    size_t of_two[] = {35, 35, 15};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer pair = fz_buffer_make(1024);
    fz_buffer_append(&pair, two, 85);
    assert_int_equal(store_dictionary_share(&pair, of_two, 3, NULL), FZ_OK);
    assert_int_equal(pair.len, 0);
}

/* So many bytes that the table takes them in parts. */
static void
test_share_in_parts(void **state)
{
    (void)state;
    enum { N = 45, BLOCK = 96 * 1024, SECRET = 64 };
    static uint8_t block[BLOCK];
    unsigned random = 7;
    for (size_t i = 0; i < BLOCK; i++) {
        random = random * 1103515245u + 12345;
        block[i] = (uint8_t)(random >> 16);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer joined = fz_buffer_make(N * (BLOCK + SECRET));
    size_t lens[N];
    for (size_t i = 0; i < N; i++) {
        fz_buffer_append(&joined, block, BLOCK);
        for (size_t k = 0; k < SECRET; k++) {
            random = random * 1103515245u + 12345;
            /* The first byte is of no other, so no window of several ends with it. */
            fz_buffer_char(&joined, k ? (char)(random >> 16) : (char)i);
        }
        lens[i] = BLOCK + SECRET;
    }
    assert_int_equal(fz_buffer_done(&joined, NULL), FZ_OK);
    assert_true(joined.len > 4 * 1024 * 1024);
    assert_int_equal(store_dictionary_share(&joined, lens, N, NULL), FZ_OK);
    assert_int_equal(joined.len, N * BLOCK);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(lens[i], BLOCK);
        assert_memory_equal(joined.data + i * BLOCK, block, BLOCK);
    }
}

/* Images of four systems, one list in each report. ZDICT by itself would try what it has of three of them on the last one. */
static void
test_choose(void **state)
{
    (void)state;
    enum { LISTS = 4, LIST = 60 * 1024, N = 4 * LISTS };
    static char lists[LISTS][LIST];
    static uint8_t content[STORE_DICTIONARY_BYTES];
    unsigned random = 5;
    for (size_t i = 0; i < sizeof(lists); i += 8) {
        char digits[9];
        random = random * 1103515245u + 12345;
        snprintf(digits, sizeof(digits), "%08x", random);
        memcpy((char *)lists + i, digits, 8);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer joined = fz_buffer_make(N * LIST);
    size_t lens[N];
    for (size_t i = 0; i < N; i++) {
        fz_buffer_append(&joined, lists[i * LISTS / N], LIST);
        lens[i] = LIST;
    }
    assert_int_equal(fz_buffer_done(&joined, NULL), FZ_OK);
    assert_int_equal(store_dictionary_share(&joined, lens, N, NULL), FZ_OK);
    size_t len = store_dictionary_choose(&joined, lens, N, content);
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *made = NULL;
    assert_int_equal(store_dictionary_make(fz_span_make(content, len), &made, NULL), FZ_OK);
    for (size_t i = 0; i < LISTS; i++) {
        FZ_CLEANUP(store_freep) void *packed = NULL;
        size_t packed_len = 0;
        assert_int_equal(
            store_pack_with(fz_span_make(lists[i], LIST), made, NULL, &packed, &packed_len, NULL),
            FZ_OK);
        assert_true(packed_len < LIST / 20);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bomb),           cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_dictionary),     cmocka_unit_test(test_share),
        cmocka_unit_test(test_share_in_parts), cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
