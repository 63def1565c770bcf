/* Columns as bytes: each number comes back, and what is not a column is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/attr.h"
#include "storage/store_block.h"

/* With a table in which the value of each number is its place, if that is not too large. */
static void
check_translate(const struct store_block *block, const char *name)
{
    static uint32_t values[1 << 17];
    static const uint32_t at[] = {3, 2, 1, 0};
    uint32_t found[4];
    if ((uint64_t)block->most - (uint64_t)block->base >= FZ_ARRAY_LEN(values))
        return;
    for (uint32_t i = 0; i < block->n; i++)
        values[store_block_get(block, i) - block->base] = i;
    store_block_translate(block, at + 4 - block->n, block->n, values, found);
    for (size_t i = 0; i < block->n; i++) {
        if (store_block_get(block, found[i]) != store_block_get(block, block->n - 1 - i))
            fail_msg("%s: number %zu is another one", name, block->n - 1 - i);
    }
}

static void
test_round_trip(void **state FZ_UNUSED)
{
    static const struct {
        const char *name;
        size_t width, n;
        int64_t numbers[4];
    } cases[] = {
        {"nothing", 0, 0, {0}},
        {"one number", 0, 1, {77}},
        {"the same", 0, 3, {-5, -5, -5}},
        {"a byte", 1, 3, {1000, 1255, 1000}},
        {"two bytes", 2, 3, {1000, 1258, 1000}},
        {"two bytes, all", 2, 2, {65535, 0}},
        {"three bytes", 3, 3, {0, 65536, 16777215}},
        {"four bytes", 4, 2, {INT64_MAX, INT64_MAX - 16777216}},
        {"five bytes", 5, 2, {-1, INT64_C(1) << 32}},
        {"six bytes", 6, 2, {0, INT64_C(1) << 40}},
        {"seven bytes", 7, 2, {0, INT64_C(1) << 48}},
        {"all numbers", 8, 4, {INT64_MIN, INT64_MAX, 0, -1}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
        struct store_block block;
        store_block_encode(cases[i].numbers, cases[i].n, &bytes);
        if (store_block_open(fz_buffer_span(&bytes), &block, NULL) != FZ_OK)
            fail_msg("%s is refused", cases[i].name);
        assert_int_equal(block.n, cases[i].n);
        assert_int_equal(block.width, cases[i].width);
        uint32_t at[] = {3, 2, 1, 0};
        int64_t numbers[4], most = cases[i].numbers[0], first_id = INT64_MAX;
        uint64_t sum = 0;
        for (size_t k = 0; k < cases[i].n; k++) {
            int64_t number = cases[i].numbers[k];
            most = number > most ? number : most;
            first_id = number > 0 && number < first_id ? number : first_id;
            sum += (uint64_t)number;
        }
        assert_true(block.sum == sum);
        assert_int_equal(block.most, most);
        assert_int_equal(block.first_id, first_id);
        store_block_read(&block, at + 4 - block.n, block.n, numbers);
        check_translate(&block, cases[i].name);
        for (size_t k = 0; k < block.n; k++) {
            if (store_block_get(&block, k) != cases[i].numbers[k])
                fail_msg("%s: number %zu", cases[i].name, k);
            if (numbers[block.n - 1 - k] != cases[i].numbers[k])
                fail_msg("%s: number %zu, read with the others", cases[i].name, k);
        }
    }
}

/* The example of the description. */
static void
test_bytes(void **state FZ_UNUSED)
{
    static const int64_t numbers[] = {1000, 1258, 1000};
    static const uint8_t want[] = {1, 2, 0, 0, 3, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0,
                                   0, 0, 0, 2, 1, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    store_block_encode(numbers, 3, &bytes);
    assert_int_equal(bytes.len, sizeof(want));
    assert_memory_equal(bytes.data, want, sizeof(want));
}

static void
test_malformed(void **state FZ_UNUSED)
{
    static const int64_t numbers[] = {1000, 1258, 1000};
    static const struct {
        const char *name;
        size_t at;
        uint8_t byte;
    } cases[] = {
        {"another format", 0, 2},        {"wide numbers", 1, 9},  {"narrower numbers", 1, 1},
        {"a byte that must be 0", 2, 1}, {"fewer numbers", 4, 2}, {"more numbers", 4, 4},
        {"many numbers", 7, 255},
    };
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    struct store_block block;
    struct fz_error err;
    store_block_encode(numbers, 3, &bytes);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char byte = bytes.data[cases[i].at];
        bytes.data[cases[i].at] = (char)cases[i].byte;
        if (store_block_open(fz_buffer_span(&bytes), &block, &err) != FZ_E_MALFORMED ||
            !strstr(err.text, "a column of"))
            fail_msg("%s: %s", cases[i].name, err.text);
        bytes.data[cases[i].at] = byte;
    }
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(store_block_open(fz_span_make(bytes.data, len), &block, &err),
                         FZ_E_MALFORMED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
