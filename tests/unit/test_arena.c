#include "base/arena.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_alloc(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    uint8_t *last = NULL;
    /* Sizes below, at and above a block; each zeroed, aligned and apart from the others. */
    static const size_t sizes[] = {1, 15, 16, 17, 1000, 4095, 4097, 40000, 65536, 65537, 200000, 3};
    uint8_t *all[FZ_ARRAY_LEN(sizes)];
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        uint8_t *p = fz_arena_alloc(&arena, sizes[i]);
        assert_non_null(p);
        assert_ptr_not_equal(p, last);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(p[k], 0);
        if (sizes[i])
            memset(p, (int)i + 1, sizes[i]);
        all[i] = last = p;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(all[i][k], i + 1);
    }
    assert_non_null(fz_arena_alloc(&arena, 0));
    assert_true(arena.used <= arena.cap);
    fz_arena_deinit(&arena);
    fz_arena_deinit(&arena);
    fz_arena_deinit(NULL);
}

/* An arena that holds little takes little: the first block is small, later ones are not. */
static void
test_first_block_is_small(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    assert_non_null(fz_arena_alloc(&arena, 16));
    assert_in_range(arena.used, 4096, 4200);
    assert_non_null(fz_arena_alloc(&arena, 4096));
    assert_in_range(arena.used, 4096 + 65536, 4096 + 65800);
    fz_arena_deinit(&arena);
}

/* Big blocks do not waste the room that the current one still has. */
static void
test_room_is_kept(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 24);
    uint8_t *a = fz_arena_alloc(&arena, 16);
    assert_non_null(fz_arena_alloc(&arena, 100000));
    uint8_t *b = fz_arena_alloc(&arena, 16);
    assert_ptr_equal(b, a + 16);
    fz_arena_deinit(&arena);
}

static void
test_cap(void **state)
{
    (void)state;
    struct fz_arena arena;
    struct fz_error err;
    fz_arena_init(&arena, 10000);
    assert_non_null(fz_arena_alloc(&arena, 9000));
    assert_null(fz_arena_alloc(&arena, 1000));
    assert_int_equal(fz_arena_fail(&arena, &err), FZ_E_LIMIT);
    assert_string_equal(err.text, "needs more than its limit of 10000 bytes of memory");
    assert_non_null(fz_arena_alloc(&arena, 100)); /* what fits is still given */
    fz_arena_deinit(&arena);

    /* One allocation far above the cap, with hardly anything used. */
    fz_arena_init(&arena, 1 << 20);
    assert_null(fz_arena_alloc(&arena, 1 << 21));
    assert_int_equal(fz_arena_fail(&arena, NULL), FZ_E_LIMIT);
    fz_arena_deinit(&arena);

    fz_arena_init(&arena, SIZE_MAX);
    assert_null(fz_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(fz_arena_alloc(&arena, SIZE_MAX));
    assert_null(fz_arena_alloc(&arena, SIZE_MAX - 32));
    assert_int_equal(fz_arena_fail(&arena, NULL), FZ_E_LIMIT);
    assert_non_null(fz_arena_array(&arena, 0, 8));
    fz_arena_deinit(&arena);
}

static void
test_fail_after(void **state)
{
    (void)state;
    struct fz_arena arena;
    struct fz_error err;
    fz_arena_init(&arena, 1 << 20);
    arena.fail_after = 2;
    assert_non_null(fz_arena_alloc(&arena, 1));
    assert_non_null(fz_arena_strdup(&arena, "x"));
    assert_null(fz_arena_alloc(&arena, 1));
    assert_null(fz_arena_printf(&arena, "%d", 1));
    assert_int_equal(fz_arena_fail(&arena, &err), FZ_E_NO_MEMORY);
    assert_string_equal(err.text, "out of memory");
    fz_arena_deinit(&arena);
}

static void
test_texts(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 1 << 20);
    assert_string_equal(fz_arena_text(&arena, fz_span_make("abcdef", 3)), "abc");
    assert_string_equal(fz_arena_text(&arena, fz_span_make(NULL, 0)), "");
    assert_string_equal(fz_arena_strdup(&arena, "copy"), "copy");
    assert_string_equal(fz_arena_printf(&arena, "%s-%d", "a", 7), "a-7");
    assert_null(fz_arena_text(&arena, fz_span_make("", SIZE_MAX)));
    fz_arena_deinit(&arena);
}

/* Bytes that are not zeroed do not make others so. */
static void
test_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 5000, 65536, 65537, 400000};
    struct fz_arena arena = fz_arena_make(2 * 1024 * 1024);
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        /* What is free is not zero. */
        uint8_t *used = malloc(70000);
        volatile uint8_t *fill = used;
        assert_non_null(used);
        for (size_t k = 0; k < 70000; k++)
            fill[k] = 0xff;
        free(used);
        uint8_t *bytes = fz_arena_bytes(&arena, sizes[i]), *after = fz_arena_alloc(&arena, 64);
        assert_true(bytes && after);
        memset(bytes, 0xff, sizes[i]);
        uint8_t *next = fz_arena_alloc(&arena, 3000);
        assert_non_null(next);
        for (size_t k = 0; k < 64; k++)
            assert_int_equal(after[k], 0);
        for (size_t k = 0; k < 3000; k++)
            assert_int_equal(next[k], 0);
    }
    assert_null(fz_arena_bytes(&arena, 2 * 1024 * 1024));
    assert_true(arena.over_cap);
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_first_block_is_small),
        cmocka_unit_test(test_room_is_kept),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_fail_after),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
