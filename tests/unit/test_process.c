#include "symbolicator/process/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolicator/macho/macho.h"

enum { CAP = 1 << 20 };

static const uint8_t letters[] = "abcdefghijklmnopqrstuvwxyz";

struct fixture {
    struct fz_arena arena;
    struct sym_process *process;
};

static void
make(struct fixture *fixture, const struct sym_process_source *source)
{
    fz_arena_init(&fixture->arena, CAP);
    fixture->process = NULL;
    assert_int_equal(sym_process_create(source, &fixture->arena, &fixture->process, NULL), FZ_OK);
}

static void
end(struct fixture *fixture)
{
    sym_process_destroy(fixture->process);
    fz_arena_deinit(&fixture->arena);
}

/* Regions in any order, overlapping, adjoining, at the top of the address space. */
static void
test_reads(void **state)
{
    (void)state;
    const struct sym_process_region regions[] = {
        {0x2008, fz_span_make(letters + 8, 8)}, /* adjoins the next one */
        {0x2000, fz_span_make(letters, 8)},
        {0x2004, fz_span_make(letters + 16, 10)}, /* both cover it but for two of its bytes */
        {0x1000, {NULL, 0}},
        {UINT64_MAX - 3, fz_span_make(letters, 20)},
    };
    static const struct {
        uint64_t addr;
        size_t n;
        const char *want; /* NULL: not captured */
    } cases[] = {
        {0x2000, 1, "a"},
        {0x2000, 8, "abcdefgh"},
        {0x2004, 8, "efghuvwx"},
        {0x2006, 10, "ghuvwxyzop"},
        {0x2000, 17, NULL},
        {0x200f, 1, "p"},
        {0x2010, 1, NULL},
        {0x1fff, 1, NULL},
        {0x1000, 1, NULL},
        {UINT64_MAX - 3, 3, "abc"},
        {UINT64_MAX - 3, 8, NULL},
        {UINT64_MAX, 1, NULL},
        {0, 1, NULL},
        {0x2000, SIZE_MAX, NULL},
        {0x2000, 0, ""},
    };
    struct fixture f;
    make(&f, &(struct sym_process_source){
                 .cpu = FZ_CPU_X86_64, .regions = regions, .n_regions = FZ_ARRAY_LEN(regions)});
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char got[32] = "untouched";
        bool is_there = sym_process_read(f.process, cases[i].addr, got, cases[i].n);
        if (is_there != (cases[i].want != NULL))
            fail_msg("case %zu", i);
        if (!is_there)
            assert_string_equal(got, "untouched");
        if (is_there)
            assert_memory_equal(got, cases[i].want, cases[i].n);
    }
    uint64_t value = 7;
    assert_true(sym_process_read_uint(f.process, 0x2000, 2, &value));
    assert_int_equal(value, 'a' | 'b' << 8);
    assert_true(sym_process_read_pointer(f.process, 0x2000, &value));
    assert_int_equal(value, 0x6867666564636261);
    assert_false(sym_process_read_uint(f.process, 0x2000, 9, &value));
    assert_false(sym_process_read_uint(f.process, 0x2000, 0, &value));
    assert_int_equal(sym_process_bytes(f.process, 0x2002, 99).len, 6);
    assert_int_equal(sym_process_bytes(f.process, 0x1fff, 99).len, 0);
    end(&f);
}

static void
test_limits(void **state)
{
    (void)state;
    enum { N = SYM_PROCESS_REGIONS_MAX + 10, BIG = SYM_PROCESS_REGION_BYTES_MAX + 4096 };
    struct sym_process_region *regions = calloc(N, sizeof(*regions));
    uint8_t *big = calloc(1, BIG);
    struct fixture f;
    uint8_t byte;
    assert_non_null(regions);
    assert_non_null(big);
    for (size_t i = 0; i < N; i++)
        regions[i] = (struct sym_process_region){0x1000 + (N - i) * 16, fz_span_make(letters, 4)};
    struct sym_process_source source = {.cpu = FZ_CPU_ARM64, .regions = regions, .n_regions = N};
    make(&f, &source);
    /* The last ones are left out, here those of the smallest addresses. */
    assert_true(sym_process_read(f.process, 0x1000 + N * 16, &byte, 1));
    assert_true(sym_process_read(f.process, 0x1000 + 11 * 16, &byte, 1));
    assert_false(sym_process_read(f.process, 0x1000 + 10 * 16, &byte, 1));
    end(&f);
    /* 1 MiB of each, 8 MiB of all. */
    for (size_t i = 0; i < 10; i++)
        regions[i] = (struct sym_process_region){i << 24, fz_span_make(big, BIG)};
    source.n_regions = 10;
    make(&f, &source);
    assert_true(sym_process_read(f.process, SYM_PROCESS_REGION_BYTES_MAX - 1, &byte, 1));
    assert_false(sym_process_read(f.process, SYM_PROCESS_REGION_BYTES_MAX, &byte, 1));
    assert_true(sym_process_read(f.process, UINT64_C(7) << 24, &byte, 1));
    assert_false(sym_process_read(f.process, UINT64_C(8) << 24, &byte, 1));
    end(&f);
    free(big);
    free(regions);
}

static void
test_images(void **state)
{
    (void)state;
    static const struct sym_process_image images[] = {
        {0x5000, 0x1000}, {0x1000, 0}, {0x2000, 0x10000}, {UINT64_MAX - 0xfff, 0x2000}};
    static const struct {
        uint64_t addr;
        int image;
    } cases[] = {{0xfff, -1},      {0x1000, 1}, {0x1fff, 1},        {0x2000, 2},  {0x4fff, 2},
                 {0x5000, 0},      {0x5fff, 0}, {0x6000, 2},        {0x11fff, 2}, {0x12000, -1},
                 {1ull << 40, -1}, {0, -1},     {UINT64_MAX - 1, 3}};
    struct fixture f;
    make(&f, &(struct sym_process_source){
                 .cpu = FZ_CPU_ARM64, .images = images, .n_images = FZ_ARRAY_LEN(images)});
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++)
        assert_int_equal(sym_process_image_at(f.process, cases[i].addr), cases[i].image);
    assert_null(sym_process_files(f.process, 0)->dsym);
    assert_null(sym_process_files(f.process, -1)->dsym);
    assert_null(sym_process_files(f.process, 4)->dsym);
    uint64_t untouched = 5;
    assert_false(sym_process_to_file(f.process, 0, 0x5000, &untouched));
    assert_int_equal(untouched, 5);
    end(&f);
}

struct files {
    struct sym_macho binary, dsym;
    unsigned asked;
};

static enum fz_code
give_files(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct files *files = user;
    files->asked++;
    if (image == 1)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    *ret = (struct sym_process_files){.binary = &files->binary, .dsym = &files->dsym};
    return FZ_OK;
}

static unsigned n_destroyed;

static void
count_destroyed(void *object)
{
    *(unsigned *)object += 1;
}

/* __TEXT of a binary is readable where nothing was captured; its data is not. */
static void
test_files(void **state)
{
    (void)state;
    static const struct sym_process_image images[] = {{0x104000000, 0x8000}, {0x1000, 0x1000}};
    struct sym_section sections[] = {
        {.segment = "__DATA", .name = "__data", .addr = 0x100004000, .bytes = {letters, 8}},
        {.segment = "__TEXT", .name = "__text", .addr = 0x100001000, .bytes = {letters, 16}},
        {.segment = "__TEXT", .name = "__bss", .addr = 0x100002000, .size = 16},
    };
    struct files files = {
        .binary = {.sections = sections, .n_sections = 3, .text_vmaddr = 0x100000000}};
    const struct sym_process_region region = {0x104001008, fz_span_make("XY", 2)};
    struct fixture f;
    uint8_t got[16];
    uint64_t addr;
    make(&f, &(struct sym_process_source){.cpu = FZ_CPU_ARM64,
                                          .regions = &region,
                                          .n_regions = 1,
                                          .images = images,
                                          .n_images = 2,
                                          .files = give_files,
                                          .user = &files});
    assert_true(sym_process_to_file(f.process, 0, 0x104001010, &addr));
    assert_int_equal(addr, 0x100001010);
    assert_true(sym_process_from_file(f.process, 0, 0x100001010, &addr));
    assert_int_equal(addr, 0x104001010);
    assert_false(sym_process_to_file(f.process, 1, 0x1000, &addr));
    assert_true(sym_process_read(f.process, 0x104001000, got, 8));
    assert_memory_equal(got, "abcdefgh", 8);
    /* What was captured counts more. */
    assert_true(sym_process_read(f.process, 0x104001008, got, 4));
    assert_memory_equal(got, "XYkl", 4);
    assert_false(sym_process_read(f.process, 0x104001000, got, 17));
    assert_false(sym_process_read(f.process, 0x104004000, got, 1));
    assert_false(sym_process_read(f.process, 0x104002000, got, 1));
    assert_false(sym_process_read(f.process, 0x1000, got, 1));
    assert_int_equal(files.asked, 2);
    assert_null(sym_process_kept(f.process, 0));
    sym_process_keep(f.process, 0, &n_destroyed, count_destroyed);
    assert_ptr_equal(sym_process_kept(f.process, 0), &n_destroyed);
    assert_null(sym_process_kept(f.process, -1));
    assert_int_equal(n_destroyed, 0);
    end(&f);
    assert_int_equal(n_destroyed, 1);
}

static void
test_code(void **state)
{
    (void)state;
    static const struct sym_process_image images[] = {
        {0x104000000, 0x8000}, {0x7ff800000000, 0x1000}, {0x4000, 0x1000}};
    static const struct {
        enum fz_arch_cpu cpu;
        uint64_t pointer, want; /* want 0: no image */
    } cases[] = {
        {FZ_CPU_ARM64, 0x104000010, 0x104000010},
        {FZ_CPU_ARM64, 0x8f2a000104000010, 0x104000010}, /* 47 bits leave the address */
        {FZ_CPU_ARM64, 0x002affb104000010, 0x104000010}, /* 36 bits do */
        {FZ_CPU_ARM64, 0x1234fff800000010, 0x7ff800000010},
        {FZ_CPU_ARM64, 0x10, 0},
        {FZ_CPU_ARM64, 0x104000011, 0x104000011},
        {FZ_CPU_X86_64, 0x8f2a000104000010, 0},
        {FZ_CPU_X86_64, 0x104000011, 0x104000011},
        {FZ_CPU_ARM, 0x4011, 0x4010},
        {FZ_CPU_ARM, 0x14011, 0},
        {FZ_CPU_X86, 0x4011, 0x4011},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fixture f;
        uint64_t got = 0;
        make(&f, &(struct sym_process_source){
                     .cpu = cases[i].cpu, .images = images, .n_images = FZ_ARRAY_LEN(images)});
        bool found = sym_process_code(f.process, cases[i].pointer, &got);
        if (found != (cases[i].want != 0) ||
            got != (cases[i].want ? cases[i].want : cases[i].pointer))
            fail_msg("case %zu: 0x%llx", i, (unsigned long long)got);
        end(&f);
    }
}

static void
test_registers(void **state)
{
    (void)state;
    struct sym_registers registers = {.known = {false}};
    uint64_t value = 1;
    sym_registers_set(&registers, 29, 5);
    sym_registers_set(&registers, -1, 5);
    sym_registers_set(&registers, FZ_REGISTER_NUMBERS, 5);
    assert_true(sym_registers_get(&registers, 29, &value));
    assert_int_equal(value, 5);
    assert_false(sym_registers_get(&registers, 28, &value));
    assert_false(sym_registers_get(&registers, -1, &value));
    assert_false(sym_registers_get(&registers, FZ_REGISTER_NUMBERS, &value));
}

static void
test_out_of_memory(void **state)
{
    (void)state;
    static const struct sym_process_image images[] = {{0x1000, 0x1000}};
    const struct sym_process_region regions[] = {{0x1000, fz_span_make(letters, 4)}};
    struct sym_process_source source = {
        .cpu = FZ_CPU_ARM64, .regions = regions, .n_regions = 1, .images = images, .n_images = 1};
    int64_t n = 0;
    enum fz_code code;
    do {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(CAP);
        struct sym_process *process = NULL;
        arena.fail_after = n++;
        code = sym_process_create(&source, &arena, &process, NULL);
        assert_true(code == FZ_OK ? process != NULL : code == FZ_E_NO_MEMORY && !process);
        sym_process_destroy(process);
    } while (code != FZ_OK);
    assert_true(n > 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),         cmocka_unit_test(test_limits),
        cmocka_unit_test(test_images),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_code),          cmocka_unit_test(test_registers),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
