/* Columns in memory: what is found under which number, how much there is, and what a holder keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/platform.h"
#include "storage/store_fact_cache.h"
#include "storage/store_fact_days.h"

enum { NUMBERS = 1000 };

static void
destroyp(struct store_fact_cache **cache)
{
    store_fact_cache_destroy(*cache);
}

static void
put_bytes(struct store_fact_cache *cache, const struct store_fact_key *key, int column,
          struct fz_span bytes)
{
    struct store_block block;
    assert_int_equal(store_block_open(bytes, &block, NULL), FZ_OK);
    store_fact_cache_put(cache, key, column, bytes, &block);
}

/* Two bytes for each number, of which the first says which day it is. */
static void
put(struct store_fact_cache *cache, const struct store_fact_key *key, int column, int64_t first)
{
    int64_t numbers[NUMBERS];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = first + i;
    store_block_encode(numbers, NUMBERS, &out);
    struct fz_span bytes = fz_buffer_span(&out);
    uint8_t own[4 * NUMBERS + 64];
    assert_in_range(bytes.len, 1, sizeof(own));
    memcpy(own, bytes.data, bytes.len);
    put_bytes(cache, key, column, fz_span_make(own, bytes.len));
    /* It is a copy that is kept. */
    memset(own, 0xff, sizeof(own));
}

/* The first number of a column; -1: it is not there. */
static int64_t
get(struct store_fact_cache *cache, const struct store_fact_key *key, int column)
{
    struct store_fact_kept *kept = store_fact_cache_get(cache, key, column);
    int64_t first = kept ? store_block_get(store_fact_kept_block(kept), 0) : -1;
    store_fact_kept_drop(kept);
    return first;
}

static void
test_sealings(void **state FZ_UNUSED)
{
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    const struct store_fact_key old = {1, 20000, 7}, new = {1, 20000, -8}, other = {2, 20000, 7};
    assert_int_equal(store_fact_cache_create(1 << 20, &cache, NULL), FZ_OK);
    put(cache, &old, STORE_FACT_USER, 5);
    put(cache, &old, STORE_FACT_OS, 6);
    assert_int_equal(get(cache, &old, STORE_FACT_USER), 5);
    assert_int_equal(get(cache, &old, STORE_FACT_OS), 6);
    assert_int_equal(get(cache, &old, STORE_FACT_KIND), -1);
    assert_int_equal(get(cache, &new, STORE_FACT_USER), -1);
    assert_int_equal(get(cache, &other, STORE_FACT_USER), -1);
    /* What was kept under the old number is gone with the first column under the new one. */
    put(cache, &new, STORE_FACT_USER, 9);
    assert_int_equal(get(cache, &new, STORE_FACT_USER), 9);
    assert_int_equal(get(cache, &new, STORE_FACT_OS), -1);
    assert_int_equal(get(cache, &old, STORE_FACT_USER), -1);
}

static void
test_room(void **state FZ_UNUSED)
{
    enum { DAYS = 3000, ROOM = 200000 };
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    struct store_fact_key key = {1, 0, 3};
    int n = 0;
    assert_int_equal(store_fact_cache_create(ROOM, &cache, NULL), FZ_OK);
    put(cache, &key, STORE_FACT_USER, 77);
    struct store_fact_kept *held = store_fact_cache_get(cache, &key, STORE_FACT_USER);
    assert_non_null(held);
    for (key.day = 1; key.day < DAYS; key.day++) {
        put(cache, &key, STORE_FACT_USER, key.day);
        assert_int_equal(get(cache, &key, STORE_FACT_USER), key.day);
        assert_true(store_fact_cache_bytes(cache) <= ROOM);
    }
    for (key.day = 0; key.day < DAYS; key.day++) {
        int64_t found = get(cache, &key, STORE_FACT_USER);
        assert_true(found == -1 || found == key.day || key.day == 0);
        n += found != -1;
    }
    /* An eighth goes at a time. */
    assert_in_range(n, ROOM * 3 / 4 / (2 * NUMBERS + 200), ROOM / (2 * NUMBERS));
    /* It was dropped long ago. */
    assert_int_equal(store_block_get(store_fact_kept_block(held), 1), 78);
    store_fact_kept_drop(held);
}

/* Without room nothing is kept, and of a day that is larger than all room as much as fits. */
static void
test_little_room(void **state FZ_UNUSED)
{
    FZ_CLEANUP(destroyp) struct store_fact_cache *none = NULL, *little = NULL;
    const struct store_fact_key key = {1, 1, 1};
    assert_int_equal(store_fact_cache_create(0, &none, NULL), FZ_OK);
    put(none, &key, STORE_FACT_USER, 5);
    assert_int_equal(get(none, &key, STORE_FACT_USER), -1);
    assert_int_equal(store_fact_cache_create(3 * NUMBERS, &little, NULL), FZ_OK);
    put(little, &key, STORE_FACT_USER, 5);
    put(little, &key, STORE_FACT_OS, 6);
    assert_int_equal(get(little, &key, STORE_FACT_USER), 5);
    assert_int_equal(get(little, &key, STORE_FACT_OS), -1);
}

/* A column that is larger than a slab has its own, of whole pages, which counts as such. */
static void
test_large(void **state FZ_UNUSED)
{
    enum { LARGE = FZ_PLATFORM_LARGE, N = LARGE / 2 + 1000, ROOM = 5 * LARGE };
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct store_fact_key key = {1, 0, 3};
    int64_t *numbers = calloc(N, sizeof(*numbers));
    int n = 0;
    assert_non_null(numbers);
    for (int i = 0; i < N; i++)
        numbers[i] = i % 60000;
    store_block_encode(numbers, N, &out);
    free(numbers);
    assert_int_equal(store_fact_cache_create(ROOM, &cache, NULL), FZ_OK);
    for (key.day = 0; key.day < 20; key.day++) {
        put_bytes(cache, &key, STORE_FACT_USER, fz_buffer_span(&out));
        put(cache, &key, STORE_FACT_OS, key.day);
        assert_true(store_fact_cache_bytes(cache) <= ROOM);
    }
    for (key.day = 0; key.day < 20; key.day++)
        n += get(cache, &key, STORE_FACT_USER) == 0;
    assert_in_range(n, 1, 2);
    /* One that has no room even alone does not push out the others. */
    store_fact_cache_destroy(cache);
    assert_int_equal(store_fact_cache_create(3 * LARGE / 2, &cache, NULL), FZ_OK);
    put(cache, &key, STORE_FACT_OS, 7);
    put_bytes(cache, &key, STORE_FACT_USER, fz_buffer_span(&out));
    key.day++;
    put_bytes(cache, &key, STORE_FACT_USER, fz_buffer_span(&out));
    key.day--;
    assert_int_equal(get(cache, &key, STORE_FACT_OS), 7);
}

/* Columns that were found and dropped in turn leave no memory behind, and what is held stays. */
static void
test_sealed_again(void **state FZ_UNUSED)
{
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    struct store_fact_key key = {1, 20000, 0};
    assert_int_equal(store_fact_cache_create(1 << 20, &cache, NULL), FZ_OK);
    for (key.sealing = 1; key.sealing < 5000; key.sealing++) {
        put(cache, &key, STORE_FACT_USER, key.sealing);
        put(cache, &key, STORE_FACT_OS, 2 * key.sealing);
        struct store_fact_kept *held = store_fact_cache_get(cache, &key, STORE_FACT_OS);
        assert_non_null(held);
        key.sealing++;
        put(cache, &key, STORE_FACT_USER, key.sealing);
        assert_int_equal(store_block_get(store_fact_kept_block(held), 0), 2 * key.sealing - 2);
        assert_ptr_equal(store_fact_kept_hold(held), held);
        store_fact_kept_drop(held);
        store_fact_kept_drop(held);
        assert_int_equal(get(cache, &key, STORE_FACT_USER), key.sealing);
        /* A slab goes with its last column. */
        assert_true(store_fact_cache_bytes(cache) <= 3 << 17);
    }
}

/* What the last scans used stays, whatever else was there before. */
static void
test_recent(void **state FZ_UNUSED)
{
    enum { DAYS = 30, ROOM = 200000 };
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    struct store_fact_key key = {1, 0, 3};
    assert_int_equal(store_fact_cache_create(ROOM, &cache, NULL), FZ_OK);
    for (int scan = 0; scan < 3; scan++) {
        store_fact_cache_begin(cache);
        for (key.day = 1000 * scan; key.day < 1000 * scan + 2 * DAYS; key.day++)
            put(cache, &key, STORE_FACT_USER, key.day);
    }
    for (int scan = 0; scan < 20; scan++) {
        store_fact_cache_begin(cache);
        for (key.day = 0; key.day < DAYS; key.day++) {
            int64_t found = get(cache, &key, STORE_FACT_OS);
            assert_true(scan < 12 || found == key.day);
            if (found == -1)
                put(cache, &key, STORE_FACT_OS, key.day);
        }
    }
    /* Others come and take the place of what was not used. */
    store_fact_cache_begin(cache);
    for (key.day = 5000; key.day < 5000 + DAYS; key.day++)
        put(cache, &key, STORE_FACT_USER, key.day);
    for (key.day = 0; key.day < DAYS; key.day++)
        assert_int_equal(get(cache, &key, STORE_FACT_OS), key.day);
}

/* Working memory is kept while there is room, and goes before columns do. */
static void
test_borrow(void **state FZ_UNUSED)
{
    enum { LARGE = FZ_PLATFORM_LARGE };
    FZ_CLEANUP(destroyp) struct store_fact_cache *cache = NULL;
    struct store_fact_key key = {1, 0, 3};
    void *memory[3];
    assert_int_equal(store_fact_cache_create(2 * LARGE + LARGE / 2, &cache, NULL), FZ_OK);
    for (int i = 0; i < 3; i++) {
        memory[i] = store_fact_cache_borrow(cache);
        assert_non_null(memory[i]);
        memset(memory[i], 0xff, LARGE);
    }
    assert_int_equal(store_fact_cache_bytes(cache), 0);
    for (int i = 0; i < 3; i++)
        store_fact_cache_give_back(cache, memory[i]);
    assert_int_equal(store_fact_cache_bytes(cache), 2 * LARGE);
    memory[2] = store_fact_cache_borrow(cache);
    assert_ptr_equal(memory[2], memory[1]);
    store_fact_cache_give_back(cache, memory[2]);
    for (key.day = 0; key.day < 2000; key.day++) {
        put(cache, &key, STORE_FACT_USER, key.day);
        assert_int_equal(get(cache, &key, STORE_FACT_USER), key.day);
        assert_true(store_fact_cache_bytes(cache) <= 2 * LARGE + LARGE / 2);
    }
    assert_int_equal(get(cache, &(const struct store_fact_key){1, 1900, 3}, STORE_FACT_USER), 1900);
    /* Without a cache. */
    memory[0] = store_fact_cache_borrow(NULL);
    assert_non_null(memory[0]);
    store_fact_cache_give_back(NULL, memory[0]);
    store_fact_cache_give_back(cache, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealings),     cmocka_unit_test(test_room),
        cmocka_unit_test(test_little_room),  cmocka_unit_test(test_large),
        cmocka_unit_test(test_sealed_again), cmocka_unit_test(test_recent),
        cmocka_unit_test(test_borrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
