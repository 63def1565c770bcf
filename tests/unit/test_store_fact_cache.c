/* Columns in memory: what is found under which number, how much there is, and what a holder keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "storage/store_fact_cache.h"
#include "storage/store_fact_days.h"

enum { NUMBERS = 1000 };

static void
destroyp(struct store_fact_cache **cache)
{
    store_fact_cache_destroy(*cache);
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
    store_fact_cache_put(cache, key, column, fz_buffer_span(&out));
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
    /* A column that is no block is not kept. */
    store_fact_cache_put(cache, &new, STORE_FACT_OS, fz_span_cstr("12345"));
    assert_int_equal(get(cache, &new, STORE_FACT_OS), -1);
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
    assert_in_range(n, ROOM / (2 * NUMBERS + 200), ROOM / (2 * NUMBERS));
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealings),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_little_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
