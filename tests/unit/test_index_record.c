/* Records of the index: each number comes back, whatever its length and that of its neighbours. */
#include "symbolicator/index/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PLACE = 0x40000000, N_FIELDS = 10 };

static const uint64_t edges[] = {0,         1,          0x7f,       0x80,       0xff,
                                 0x100,     0xffff,     0x10000,    0xffffff,   0x1000000,
                                 (1 << 30), UINT32_MAX, 1ull << 32, 1ull << 56, UINT64_MAX};

static uint32_t
at_most(uint64_t value, uint32_t max)
{
    return value < max ? (uint32_t)value : max;
}

/* A record whose fields have these values, as far as each may go. */
static struct index_record
make_record(const uint64_t values[N_FIELDS], bool is_inlined, bool has_rows, bool has_call_file)
{
    struct index_record record = {
        .is_inlined = is_inlined, .has_rows = has_rows, .name = at_most(values[0], UINT32_MAX)};
    if (has_rows) {
        record.file = at_most(values[1], RECORD_FILES_MAX - 1);
        record.base_line = at_most(values[2], UINT32_MAX);
    }
    if (is_inlined) {
        uint32_t distance = at_most(values[3], PLACE - 1);
        record.caller = PLACE - (distance ? distance : 1);
        record.call_line = at_most(values[4], UINT32_MAX);
        record.call_column = at_most(values[5], UINT16_MAX);
        record.has_call_file = has_call_file;
        record.call_file = has_call_file ? at_most(values[6], RECORD_FILES_MAX - 1) : 0;
    } else {
        record.source = (enum sym_source)(values[7] & 3);
        record.start = values[7];
        record.size = values[8];
        record.die = at_most(values[9], UINT32_MAX);
        record.die_len = (uint8_t)index_die_len(values[9]);
    }
    return record;
}

static void
check(const struct index_record *record)
{
    uint8_t bytes[2 * RECORD_BYTES_MAX], copy[2 * RECORD_BYTES_MAX];
    struct index_record read;
    memset(bytes, 0xa5, sizeof(bytes));
    uint8_t *end = index_record_encode(record, PLACE, bytes);
    /* Neither writes nor reads go past the end. */
    assert_true(end + sizeof(uint64_t) <= bytes + RECORD_BYTES_MAX);
    for (size_t i = RECORD_BYTES_MAX; i < sizeof(bytes); i++)
        assert_int_equal(bytes[i], 0xa5);
    for (int filler = 0; filler <= 0xff; filler += 0xff) {
        memcpy(copy, bytes, sizeof(copy));
        memset(copy + (end - bytes), filler, sizeof(copy) - (size_t)(end - bytes));
        assert_true(index_record_decode(copy, PLACE, &read));
        assert_int_equal(read.is_inlined, record->is_inlined);
        assert_int_equal(read.has_rows, record->has_rows);
        assert_int_equal(read.has_call_file, record->has_call_file);
        assert_int_equal(read.source, record->source);
        assert_int_equal(read.name, record->name);
        assert_int_equal(read.file, record->file);
        assert_int_equal(read.base_line, record->base_line);
        assert_int_equal(read.caller, record->caller);
        assert_int_equal(read.call_file, record->call_file);
        assert_int_equal(read.call_line, record->call_line);
        assert_int_equal(read.call_column, record->call_column);
        assert_true(read.start == record->start);
        assert_true(read.size == record->size);
        if (record->die_len)
            assert_int_equal(index_record_die(copy, record->die_len), record->die);
    }
}

static void
test_round_trip(void **state)
{
    (void)state;
    enum { N = FZ_ARRAY_LEN(edges) };
    for (size_t field = 0; field < N_FIELDS; field++) {
        for (size_t i = 0; i < N * N; i++) {
            uint64_t values[N_FIELDS];
            for (size_t k = 0; k < N_FIELDS; k++)
                values[k] = k == field ? edges[i / N] : edges[i % N];
            for (unsigned flags = 0; flags < 8; flags++) {
                struct index_record record = make_record(values, flags & 1, flags & 2, flags & 4);
                check(&record);
            }
        }
    }
}

/* The example of index/format.h. */
static void
test_example(void **state)
{
    (void)state;
    static const uint8_t f[] = {0x02, 0, 0x0d, 0, 0x10, 1, 1, 0x1c};
    static const uint8_t g[] = {0x03, 0, 8, 0x0f, 2, 0x0a, 1, 7};
    struct index_record function = {.has_rows = true,
                                    .name = 13,
                                    .size = 16,
                                    .file = 1,
                                    .base_line = 1,
                                    .die = 0x1c,
                                    .die_len = (uint8_t)index_die_len(0x60)};
    struct index_record call = {.is_inlined = true,
                                .has_rows = true,
                                .name = 15,
                                .caller = 1,
                                .call_line = 2,
                                .call_column = 10,
                                .file = 1,
                                .base_line = 7};
    uint8_t bytes[RECORD_BYTES_MAX];
    assert_int_equal(index_record_encode(&function, 1, bytes) - bytes, sizeof(f));
    assert_memory_equal(bytes, f, sizeof(f));
    assert_int_equal(index_record_encode(&call, 9, bytes) - bytes, sizeof(g));
    assert_memory_equal(bytes, g, sizeof(g));
}

/* A call that is not after its caller could make a cycle. */
static void
test_circles(void **state)
{
    (void)state;
    static const struct {
        uint8_t distance;
        uint32_t place;
        bool is_good;
    } cases[] = {
        {0, 100, false}, {1, 100, true}, {99, 100, true}, {100, 100, false}, {200, 100, false}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint8_t bytes[RECORD_BYTES_MAX] = {RECORD_INLINED, 0, cases[i].distance};
        struct index_record record;
        assert_int_equal(index_record_decode(bytes, cases[i].place, &record), cases[i].is_good);
    }
}

/* As many bytes as the offset of the last byte of .debug_info has, roughly; none for 4 GiB and more. */
static void
test_die_len(void **state)
{
    (void)state;
    static const struct {
        uint64_t info_size;
        unsigned want;
    } cases[] = {{0, 0},          {1, 1},          {0xff, 1},      {0x100, 2},
                 {0xffff, 2},     {0x10000, 3},    {0xffffff, 3},  {0x1000000, 4},
                 {UINT32_MAX, 4}, {1ull << 32, 0}, {UINT64_MAX, 0}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_int_equal(index_die_len(cases[i].info_size), cases[i].want);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_die_len),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
