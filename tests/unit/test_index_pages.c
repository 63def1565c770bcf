/* Pages against a plain model: random pieces, gaps and rows, looked up at every address. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolicator/index/builder.h"

enum { BASE = 0x10000, SPAN = 0x60000, ROUNDS = 12 };

/* What the lookup must say of one address: 0 = nothing. */
struct wanted {
    uint32_t function, line, column; /* function: its number from 1 */
};

static uint32_t
next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* One function at [start, end) with rows of random lines, in the builder and in the model. */
static void
add_function(struct index_builder *b, struct wanted *model, uint32_t number, uint64_t start,
             uint64_t end, uint32_t step, uint32_t *seed)
{
    char name[16];
    struct index_record record = {
        .has_rows = true, .base_line = 10, .start = start - BASE, .size = end - start};
    struct index_function function = {.start = start, .size = end - start};
    struct index_piece piece = {.origin = start,
                                .start = start,
                                .end = end,
                                .first_row = (uint32_t)b->n_rows,
                                .unit = UNIT_NONE};
    snprintf(name, sizeof(name), "f%u", (unsigned)number);
    assert_true(index_pool_string(b, fz_span_cstr(name), &record.name));
    assert_true(index_pool_file(b, fz_span_cstr("/d"), fz_span_cstr("a.c"), &record.file));
    uint32_t id;
    assert_true(index_record_add(b, &record, &id));
    assert_true(index_function_add(b, &function, &piece.function));
    for (uint64_t at = start; at < end; piece.n_rows++) {
        uint32_t line = next_random(seed) % 4 ? 10 + next_random(seed) % 900 : 0;
        uint32_t column = next_random(seed) % 3 ? next_random(seed) % 120 : 65535;
        struct index_row row = {.offset = (uint32_t)(at - start),
                                .record = id,
                                .line_code = line ? line - 10 + 1 : 0,
                                .column = (uint16_t)column};
        struct index_row *place = index_rows_reserve(b, 1);
        assert_non_null(place);
        *place = row;
        b->row_offsets |= row.offset;
        /* Now and then a row of many pages. */
        uint64_t len =
            (uint64_t)step * (1 + next_random(seed) % (next_random(seed) % 50 ? 9 : 9000));
        for (uint64_t until = at + len; at < until && at < end; at++)
            model[at - BASE] = (struct wanted){number, line, column};
    }
    assert_true(index_piece_add(b, &piece));
}

static void
check(const struct sym_index *index, const struct wanted *model, uint64_t addr)
{
    struct sym_frame frame;
    char name[16];
    const struct wanted *want = &model[addr - BASE];
    size_t n = sym_index_lookup(index, addr, &frame, 1);
    if (n != (want->function != 0))
        fail_msg("0x%llx: %zu frames", (unsigned long long)addr, n);
    if (n == 0)
        return;
    snprintf(name, sizeof(name), "f%u", (unsigned)want->function);
    if (strcmp(frame.name, name) != 0 || frame.line != want->line || frame.column != want->column ||
        strcmp(frame.file, "a.c") != 0 || strcmp(frame.directory, "/d") != 0)
        fail_msg("0x%llx: %s:%u:%u, wanted %s:%u:%u", (unsigned long long)addr, frame.name,
                 (unsigned)frame.line, (unsigned)frame.column, name, (unsigned)want->line,
                 (unsigned)want->column);
}

static void
test_random(void **state)
{
    (void)state;
    struct wanted *model = calloc(SPAN, sizeof(*model));
    assert_non_null(model);
    uint32_t seed = 1;
    size_t most_parts = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static const uint8_t none = 0;
        uint32_t step = 1u << round % 3, number = 0, unused;
        struct sym_macho macho = {.cputype = FZ_ARCH_ARM64};
        struct index_builder b = {
            .macho = &macho, .code_low = BASE, .code_high = BASE + SPAN, .n_threads = 3};
        struct index_function nothing = {0};
        memset(model, 0, SPAN * sizeof(*model));
        fz_arena_init(&b.arena, SIZE_MAX);
        assert_true(index_bytes_add(&b, &b.strings, &none, 1) &&
                    index_bytes_add(&b, &b.records, &none, 1));
        assert_true(index_function_add(&b, &nothing, &unused));
        uint64_t at = BASE;
        while (at < BASE + SPAN - 0x4000) {
            uint64_t gap =
                next_random(&seed) % 3 ? 0 : next_random(&seed) % (number % 7 ? 99 : 9999);
            uint64_t len = 1 + next_random(&seed) % (number % 11 ? 400 : 9000);
            at += gap * step;
            if (at + len * step > BASE + SPAN)
                break;
            add_function(&b, model, ++number, at, at + len * step, step, &seed);
            at += len * step;
        }
        FILE *file = tmpfile();
        struct sym_index *index = NULL;
        assert_non_null(file);
        assert_int_equal(index_pages_build(&b, NULL), FZ_OK);
        assert_int_equal(b.unit_shift, round % 3);
        assert_int_equal(index_write(&b, fileno(file), NULL), FZ_OK);
        assert_int_equal(sym_index_open_fd(fileno(file), &index, NULL), FZ_OK);
        for (uint64_t addr = BASE; addr < BASE + SPAN; addr++)
            check(index, model, addr);
        most_parts = b.n_parts > most_parts ? b.n_parts : most_parts;
        print_message("%zu rows in %zu parts\n", b.n_rows, b.n_parts);
        sym_index_close(index);
        fclose(file);
        index_builder_deinit(&b);
    }
    assert_true(most_parts > 2);
    free(model);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
