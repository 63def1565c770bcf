/* The function at an address: by the DIE that the index remembers, which is believed only if it is one. */
#include "symbolicator/variables/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/file.h"
#include "symbolicator/index/reader.h"
#include "symbolicator/unwind/frame_base.h"
#include "symbolicator/unwind/image.h"
#include "symbolicator/variables/context.h"
#include "tests/unit/dwarf_text.h"

/* 1 unit, 2 function with a range, 3 function in two parts, 4 inlined call, 5 function by index into
 * .debug_addr, 6 variable. f is at 0x1100 to 0x1200 and calls an inlined g at 0x1140; h is at 0x1300
 * to 0x1340 and 0x1400 to 0x1480; g is abstract. */
#define ABBREVS                                                                           \
    "1 11 1 11 1 12 6 0 0 2 2e 1 3 8 11 1 12 6 40 18 0 0 3 2e 0 3 8 55 17 40 18 0 0 "     \
    "4 1d 0 31 13 11 1 12 6 0 0 5 2e 0 3 8 11 1b 12 6 40 18 0 0 6 34 0 3 8 0 0 7 2e 0 3 " \
    "8 0 0 0"
#define DIES                                                                     \
    "1 8:1000 4:1000 7 'g' 2 'f' 8:1100 4:100 u1 6d 4 4:%x 8:1140 4:20 6 'v' 0 " \
    "3 'h' 4:%x u1 6d"

enum { SLIDE = 0x100000, TEXT = 0x1000 };

struct sample {
    const char *name, *header;
    unsigned abstract, ranges_at; /* offset of g's DIE in its unit; of h's list */
    const char *tail;             /* of DIES */
    const char *ranges, *rnglists, *addr;
};

static const struct sample samples[] = {
    {"DWARF 4", "2:4 4:0 8", 0x18, 0, "", "8:300 8:340 8:400 8:480 8:0 8:0", NULL, NULL},
    {"DWARF 5", "2:5 1 8 4:0", 0x19, 0xc, "5 'k' u0 4:40 u1 6d", NULL,
     "{ 2:5 8 0 4:0 4 u768 u832 4 u1024 u1152 0 }", "{ 2:5 8 0 8:1600 }"},
};

struct run {
    struct dwarf_sample dwarf;
    struct fz_buffer bytes; /* of the index */
    struct sym_index *index;
    struct fz_arena arena;
    struct sym_process *process;
};

static enum fz_code
files_of(void *user, size_t image, struct sym_process_files *ret, struct fz_error *err)
{
    struct run *run = user;
    (void)image;
    (void)err;
    *ret = (struct sym_process_files){.dsym = &run->dwarf.macho, .index = run->index};
    return FZ_OK;
}

static void
build_index(struct run *run)
{
    struct fz_map map;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(sym_index_build(&run->dwarf.macho, NULL, fileno(file), NULL, NULL, NULL),
                     FZ_OK);
    assert_int_equal(fz_map_open_fd(fileno(file), &map, NULL), FZ_OK);
    fz_buffer_init(&run->bytes, 0);
    fz_buffer_append(&run->bytes, map.bytes.data, map.bytes.len);
    fz_map_close(&map);
    fclose(file);
}

static void
run_init(struct run *run, const struct sample *sample)
{
    char info[1024], dies[512];
    snprintf(dies, sizeof(dies), DIES, sample->abstract, sample->ranges_at);
    snprintf(info, sizeof(info), "{ %s %s %s 0 }", sample->header, dies, sample->tail);
    const struct dwarf_text text = {.info = info,
                                    .abbrev = ABBREVS,
                                    .ranges = sample->ranges,
                                    .rnglists = sample->rnglists,
                                    .addr = sample->addr};
    *run = (struct run){.arena = fz_arena_make(16 << 20)};
    dwarf_sample_init(&run->dwarf, &text);
    run->dwarf.macho.text_vmaddr = TEXT;
    run->dwarf.macho.text_vmsize = 0xff000;
    build_index(run);
}

static void
run_deinit(struct run *run)
{
    fz_buffer_deinit(&run->bytes);
    dwarf_sample_deinit(&run->dwarf);
    fz_arena_deinit(&run->arena);
}

/* What is found for one address; die 0 = none. */
struct found {
    uint64_t die;
    bool by_walk;
    struct unwind_base base;
};

static struct found
find(struct run *run, bool with_index, uint64_t addr)
{
    const struct sym_process_image image = {.addr = TEXT + SLIDE, .size = 0xff000};
    const struct sym_process_source source = {
        .cpu = FZ_CPU_ARM64, .images = &image, .n_images = 1, .files = files_of, .user = run};
    struct found ret = {0};
    struct variables_die die;
    struct sym_variables *variables;
    run->index = NULL;
    if (with_index)
        assert_int_equal(index_open_bytes(fz_buffer_span(&run->bytes), &run->index, NULL), FZ_OK);
    assert_int_equal(sym_process_create(&source, &run->arena, &run->process, NULL), FZ_OK);
    assert_int_equal(sym_variables_create(run->process, NULL, &run->arena, &variables, NULL),
                     FZ_OK);
    variables->dies_left = VARIABLES_DIES_MAX;
    variables->ranges_left = VARIABLES_RANGES_MAX;
    struct variables_image *opened = variables_image_get(variables, 0);
    assert_non_null(opened);
    if (variables_image_function(opened, addr, &die))
        ret.die = die.offset;
    ret.by_walk = opened->has_code;
    ret.base = unwind_base_find(unwind_image_get(run->process, 0), FZ_CPU_ARM64, addr);
    sym_variables_destroy(variables);
    sym_process_destroy(run->process);
    sym_index_close(run->index);
    return ret;
}

static const uint64_t addrs[] = {0x1100, 0x1150, 0x11ff, 0x1320, 0x1440, 0x1610, 0x1200, 0x1500};

static void
assert_same(const struct found *a, const struct found *b, const char *name, uint64_t addr)
{
    if (a->die != b->die || a->base.kind != b->base.kind || a->base.low != b->base.low ||
        a->base.high != b->base.high)
        fail_msg("%s at %#llx: DIE %#llx instead of %#llx", name, (unsigned long long)addr,
                 (unsigned long long)a->die, (unsigned long long)b->die);
}

/* With an index and without the same functions are found; with it no unit is scanned. */
static void
test_index(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(samples); i++) {
        struct run run;
        size_t n_found = 0;
        run_init(&run, &samples[i]);
        for (size_t k = 0; k < FZ_ARRAY_LEN(addrs); k++) {
            struct found want = find(&run, false, addrs[k]), got = find(&run, true, addrs[k]);
            assert_same(&got, &want, samples[i].name, addrs[k]);
            assert_true(want.by_walk);
            assert_int_equal(got.by_walk, got.die == 0);
            n_found += got.die != 0;
        }
        assert_int_equal(n_found, samples[i].addr ? 6 : 5);
        run_deinit(&run);
    }
}

static void
fix_checks(struct run *run)
{
    uint8_t *data = (uint8_t *)run->bytes.data;
    uint64_t checks = load64(data + INDEX_SECTIONS + 16 * INDEX_CHECKS);
    store32(data + checks, index_check(data + INDEX_HEADER, checks - INDEX_HEADER));
}

/* The byte of the index that is the DIE of the function at an address. */
static uint8_t *
find_byte(struct run *run, uint64_t addr)
{
    uint8_t *data = (uint8_t *)run->bytes.data;
    struct sym_function_die first = {0}, now;
    uint64_t records = load64(data + INDEX_SECTIONS + 16 * INDEX_RECORDS),
             size = load64(data + INDEX_SECTIONS + 16 * INDEX_RECORDS + 8);
    for (uint64_t i = 0; i <= size; i++) {
        struct sym_index *index = NULL;
        /* First as it is, then each byte changed. */
        uint8_t *at = i ? data + records + i - 1 : data + records;
        *at ^= i > 0;
        fix_checks(run);
        assert_int_equal(index_open_bytes(fz_buffer_span(&run->bytes), &index, NULL), FZ_OK);
        bool is_found = sym_index_function_die(index, addr, i ? &now : &first);
        sym_index_close(index);
        *at ^= i > 0;
        assert_true(i > 0 || is_found);
        if (i > 0 && is_found && now.die == (first.die ^ 1) && now.start == first.start &&
            now.size == first.size)
            return at;
    }
    fail_msg("no such record");
    return NULL;
}

/* Whatever offset the index has, never another function is taken. */
static void
test_lies(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(samples); i++) {
        struct run run;
        size_t n_by_walk = 0;
        run_init(&run, &samples[i]);
        struct found want = find(&run, true, 0x1150);
        uint8_t *at = find_byte(&run, 0x1150);
        for (unsigned lie = 0; lie < 256; lie++) {
            *at = (uint8_t)lie;
            fix_checks(&run);
            struct found got = find(&run, true, 0x1150);
            assert_same(&got, &want, samples[i].name, lie);
            n_by_walk += got.by_walk;
        }
        assert_int_equal(n_by_walk, 255);
        run_deinit(&run);
    }
}

/* An index of another file of the same UUID, or of none: its DIEs do not count. */
static void
test_other_file(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 0x1000, UINT64_C(1) << 32, UINT64_MAX};
    struct run run;
    run_init(&run, &samples[0]);
    struct found want = find(&run, false, 0x1150);
    uint8_t *data = (uint8_t *)run.bytes.data;
    for (size_t i = 0; i < FZ_ARRAY_LEN(sizes); i++) {
        store64(data + INDEX_INFO_SIZE, sizes[i]);
        store32(data + 12, 0);
        store32(data + 12, index_check(data, INDEX_HEADER));
        struct found got = find(&run, true, 0x1150);
        assert_same(&got, &want, "another size", sizes[i]);
        assert_true(got.by_walk);
    }
    run_deinit(&run);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_other_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
