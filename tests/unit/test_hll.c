/* The error of the counter, merging, and its bytes. */
#include "base/hll.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

enum { RUNS = 40 };

static void
add_texts(struct fz_hll *hll, unsigned run, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char text[64];
        int len = snprintf(text, sizeof(text), "user-%u-%u", run, i);
        fz_hll_add(hll, fz_hll_hash(fz_span_make(text, (size_t)len)));
    }
}

static double
error_of(const struct fz_hll *hll, unsigned n)
{
    return ((double)fz_hll_count(hll) - n) / n;
}

/* 1.04 / sqrt(4096) is 1.6 %: of many runs the mean square is near that, and none is five times as far off. */
static void
test_error(void **state FZ_UNUSED)
{
    static const unsigned sizes[] = {1, 10, 100, 1000, 5000, 12000, 50000};
    for (size_t s = 0; s < FZ_ARRAY_LEN(sizes); s++) {
        double squares = 0, sum = 0;
        for (unsigned run = 0; run < RUNS; run++) {
            struct fz_hll texts = {{0}}, numbers = {{0}};
            add_texts(&texts, run, 0, sizes[s]);
            for (unsigned i = 0; i < sizes[s]; i++)
                fz_hll_add(&numbers, fz_hll_hash_number((int64_t)run * 1000000 + i));
            double errors[] = {error_of(&texts, sizes[s]), error_of(&numbers, sizes[s])};
            for (size_t i = 0; i < 2; i++) {
                /* Of ten things, two may share a register. */
                if (fabs(errors[i]) > 0.08 && fabs(errors[i]) * sizes[s] > 2)
                    fail_msg("%u things, run %u: error %.3f", sizes[s], run, errors[i]);
                squares += errors[i] * errors[i];
                sum += errors[i];
            }
        }
        double rms = sqrt(squares / (2 * RUNS)), mean = sum / (2 * RUNS);
        if (rms > 0.0163 * 1.25 || fabs(mean) > 0.006)
            fail_msg("%u things: rms %.4f, mean %.4f", sizes[s], rms, mean);
    }
}

static void
test_same_counts_once(void **state FZ_UNUSED)
{
    struct fz_hll hll = {{0}};
    assert_int_equal(fz_hll_count(&hll), 0);
    assert_true(fz_hll_add(&hll, fz_hll_hash_number(7)));
    assert_false(fz_hll_add(&hll, fz_hll_hash_number(7)));
    assert_int_equal(fz_hll_count(&hll), 1);
    assert_true(fz_hll_hash_number(7) != fz_hll_hash_number(8));
    assert_true(fz_hll_hash_number(0) != 0);
}

/* A merged counter is that of all things. */
static void
test_merge(void **state FZ_UNUSED)
{
    struct fz_hll a = {{0}}, b = {{0}}, all = {{0}};
    add_texts(&a, 1, 0, 3000);
    add_texts(&b, 1, 2000, 6000);
    add_texts(&all, 1, 0, 6000);
    fz_hll_merge(&a, &b);
    assert_memory_equal(&a, &all, sizeof(a));
}

static void
test_bytes(void **state FZ_UNUSED)
{
    static const unsigned sizes[] = {0, 1, 300, 1500, 20000};
    struct fz_error err;
    for (size_t s = 0; s < FZ_ARRAY_LEN(sizes); s++) {
        struct fz_hll hll = {{0}}, got = {{0}};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        add_texts(&hll, 2, 0, sizes[s]);
        fz_hll_encode(&hll, &out);
        assert_true(out.len <= 2200);
        assert_true(out.len <= 1 + 3 * (size_t)sizes[s]);
        assert_int_equal(fz_hll_merge_encoded(&got, fz_buffer_span(&out), &err), FZ_OK);
        assert_memory_equal(&got, &hll, sizeof(got));
    }
    struct fz_hll got = {{0}};
    assert_int_equal(fz_hll_merge_encoded(&got, (struct fz_span){NULL, 0}, &err), FZ_OK);
    assert_int_equal(fz_hll_count(&got), 0);
}

/* All values, at all distances from the lowest. */
static void
test_high_registers(void **state FZ_UNUSED)
{
    static const struct {
        uint8_t lowest, others;
        size_t n_others, len;
    } rows[] = {
        {1, 16, 4095, 2 + 2048}, {1, 17, 1, 2 + 2048 + 3}, {30, 53, 681, 2 + 2048 + 3 * 681},
        {0, 53, 683, 1 + 4096},  {52, 53, 4000, 2 + 2048}, {0, 53, 682, 1 + 3 * 682},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_hll hll, got = {{0}};
        struct fz_error err;
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        memset(&hll, rows[i].lowest, sizeof(hll));
        memset(hll.registers + FZ_HLL_REGISTERS - rows[i].n_others, rows[i].others,
               rows[i].n_others);
        fz_hll_encode(&hll, &out);
        assert_int_equal(out.len, rows[i].len);
        assert_true(out.len <= FZ_HLL_BYTES_MAX);
        assert_int_equal(fz_hll_merge_encoded(&got, fz_buffer_span(&out), &err), FZ_OK);
        assert_memory_equal(&got, &hll, sizeof(got));
    }
}

/* One byte for each register, as earlier versions stored them. */
static void
test_bytes_of_all(void **state FZ_UNUSED)
{
    uint8_t bytes[FZ_HLL_BYTES_MAX] = {2};
    struct fz_hll hll = {{0}};
    struct fz_error err;
    memset(bytes + 1, 7, FZ_HLL_REGISTERS);
    assert_int_equal(fz_hll_merge_encoded(&hll, fz_span_make(bytes, sizeof(bytes)), &err), FZ_OK);
    assert_memory_equal(hll.registers, bytes + 1, FZ_HLL_REGISTERS);
}

static void
test_malformed(void **state FZ_UNUSED)
{
    uint8_t all[FZ_HLL_BYTES_MAX + 1] = {2}, halves[2 + 2048 + 4] = {3, 39};
    uint8_t lowest[2 + 2048] = {3, 54}, sum[2 + 2048] = {3, 39, [100] = 0xf1};
    static const uint8_t outside[] = {1, 0, 0x10, 1}, cut[] = {1, 5, 0}, high[] = {1, 5, 0, 54},
                         other[] = {4, 5, 0, 1};
    const struct {
        const void *bytes;
        size_t len;
        const char *text;
    } rows[] = {
        {outside, sizeof(outside), "counter: it has a register that there is not"},
        {cut, sizeof(cut), "counter: truncated at byte 3 of 3"},
        {high, sizeof(high), "counter: it has a register that there is not"},
        {other, sizeof(other), "counter: it has a register that there is not"},
        {all, sizeof(all), "counter: it has a register that there is not"},
        {all, sizeof(all) - 2, "counter: truncated at byte 1 of 4096"},
        {halves, 2 + 2047, "counter: truncated at byte 2 of 2049"},
        {halves, sizeof(halves), "counter: truncated at byte 2053 of 2054"},
        {lowest, sizeof(lowest), "counter: it has a register that there is not"},
        {sum, sizeof(sum), "counter: it has a register that there is not"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_hll hll = {{0}};
        struct fz_error err;
        fz_hll_add(&hll, 5);
        assert_int_equal(fz_hll_merge_encoded(&hll, fz_span_make(rows[i].bytes, rows[i].len), &err),
                         FZ_E_MALFORMED);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(fz_hll_count(&hll), 1);
    }
}

/* What no things could have made is a large number, and no endless loop. */
static void
test_full(void **state FZ_UNUSED)
{
    struct fz_hll hll;
    memset(&hll, 53, sizeof(hll));
    assert_true(fz_hll_count(&hll) >= UINT64_C(1000000000000000000));
    memset(&hll, 255, sizeof(hll));
    assert_true(fz_hll_count(&hll) >= UINT64_C(1000000000000000000));
    memset(hll.registers, 0, FZ_HLL_REGISTERS / 2);
    assert_true(fz_hll_count(&hll) > 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error),          cmocka_unit_test(test_same_counts_once),
        cmocka_unit_test(test_merge),          cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_high_registers), cmocka_unit_test(test_bytes_of_all),
        cmocka_unit_test(test_malformed),      cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests_name("hll", tests, NULL, NULL);
}
