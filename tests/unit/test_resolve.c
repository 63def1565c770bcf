/* From addresses of a report to names: which address is looked up, in which image, and what is reported
 * where no name is found. The indexes are real ones, of tiny dSYMs. */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/report/image_map.h"
#include "server/resolve/resolve.h"
#include "tests/unit/dwarf_text.h"
#include "tests/unit/tiny_macho.h"

enum { LOAD = 0x14000000, TEXT = 0x10000000, SYSTEM = 0x50000000 };

static const struct tiny_symbol symbols[] = {
    {TEXT + 0x1000, "_first"},       {TEXT + 0x1100, "__ZN4Shop3buyEi"},
    {TEXT + 0x1200, "-[Cart add:]"}, {TEXT + 0x1300, "_folded_a"},
    {TEXT + 0x1300, "_folded_b"},    {TEXT + 0x1400, "_last"},
};

/* The index of the app, of the system image never; broken ones on demand. */
struct finder {
    struct sym_index *index;
    enum fz_code system;      /* what asking for any other image gives */
    struct sym_index *second; /* the file of rank 1, NULL = none */
    size_t n_asked, n_asked_further;
};

static enum fz_code
find(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
     struct fz_error *err)
{
    struct finder *finder = user;
    if (rank == 0)
        finder->n_asked++;
    else
        finder->n_asked_further++;
    if (image->uuid.bytes[0] != 1)
        return fz_fail(err, rank ? FZ_E_NOT_FOUND : finder->system, "no");
    ret->index = rank == 0 ? finder->index : rank == 1 ? finder->second : NULL;
    ret->file.kind = rank == 0 ? "dsym" : "binary";
    return ret->index ? FZ_OK : fz_fail(err, FZ_E_NOT_FOUND, "no more");
}

static struct sym_index *
make_index(uint32_t cputype, uint64_t text_vmaddr, const struct tiny_symbol *list, size_t n)
{
    struct tiny_macho tiny = {.cputype = cputype,
                              .uuid = {{1}},
                              .text_vmaddr = text_vmaddr,
                              .text_size = 0x2000,
                              .symbols = list,
                              .n_symbols = n};
    struct fz_buffer file;
    struct fz_arena arena;
    struct sym_macho macho;
    struct sym_build_options options = {.n_threads = 0};
    struct sym_build_stats stats;
    struct sym_index *index = NULL;
    struct fz_error err;
    fz_buffer_init(&file, 0);
    fz_arena_init(&arena, 1024 * 1024);
    tiny_macho_write(&tiny, &file);
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    assert_true(fd >= 0);
    enum fz_code code = sym_macho_open(fz_buffer_span(&file), &arena, &macho, NULL, &err);
    if (code == FZ_OK)
        code = sym_index_build(&macho, &options, fd, &stats, NULL, &err);
    if (code == FZ_OK)
        code = sym_index_open_fd(fd, &index, &err);
    if (code != FZ_OK)
        fail_msg("%s", err.text);
    fz_arena_deinit(&arena);
    fz_buffer_deinit(&file);
    return index;
}

static int
set_up(void **state)
{
    struct finder *finder = calloc(1, sizeof(*finder));
    assert_non_null(finder);
    finder->system = FZ_E_NOT_FOUND;
    finder->index = make_index(FZ_ARCH_ARM64, TEXT, symbols, FZ_ARRAY_LEN(symbols));
    *state = finder;
    return 0;
}

static int
tear_down(void **state)
{
    struct finder *finder = *state;
    sym_index_close(finder->index);
    free(finder);
    return 0;
}

/* The report all cases start from; the caller sets threads. */
static struct report_image *
sample_images(void)
{
    static struct report_image images[3];
    images[0] = (struct report_image){.uuid = {{1}},
                                      .has_uuid = true,
                                      .name = "Shop",
                                      .path = "/private/var/containers/Shop.app/Shop",
                                      .arch = "arm64",
                                      .addr = LOAD,
                                      .size = 0x2000};
    images[1] = (struct report_image){.uuid = {{2}},
                                      .has_uuid = true,
                                      .name = "libsystem_kernel.dylib",
                                      .path = "/usr/lib/system/libsystem_kernel.dylib",
                                      .addr = SYSTEM,
                                      .size = 0x1000};
    images[2] = (struct report_image){
        .name = "Plugin", .path = "/x/Shop.app/PlugIns/Plugin", .addr = 0x60000000, .size = 0x1000};
    return images;
}

static enum fz_code
resolve(struct report *report, struct finder *finder, struct fz_arena *arena)
{
    struct fz_error err;
    report->images = sample_images();
    report->n_images = 3;
    finder->n_asked = 0;
    return resolve_report(report, find, finder, NULL, arena, &err);
}

struct address_case {
    const char *name;
    uint64_t addr;
    size_t place; /* number of the frame in its thread */
    enum report_adjust adjust;
    const char *arch;
    /* wanted */
    uint64_t lookup;
    int image;
    enum report_frame_status status;
    const char *function; /* NULL: none */
    int64_t offset;       /* of the symbol; -1 = none */
};

static const struct address_case address_cases[] = {
    {"crash frame is exact", LOAD + 0x1100, 0, REPORT_ADJUST_AUTO, "arm64", LOAD + 0x1100, 0,
     REPORT_FRAME_SYMBOLICATED, "Shop::buy(int)", 0},
    {"a caller is looked up before the return address", LOAD + 0x1100, 1, REPORT_ADJUST_AUTO,
     "arm64", LOAD + 0x10ff, 0, REPORT_FRAME_SYMBOLICATED, "first", 0x100},
    {"adjusted by the client", LOAD + 0x1100, 1, REPORT_ADJUST_EXACT, "arm64", LOAD + 0x1100, 0,
     REPORT_FRAME_SYMBOLICATED, "Shop::buy(int)", 0},
    {"exception backtrace", LOAD + 0x1100, 0, REPORT_ADJUST_RETURN, "arm64", LOAD + 0x10ff, 0,
     REPORT_FRAME_SYMBOLICATED, "first", 0x100},
    {"a call that ends the image", LOAD + 0x2000, 1, REPORT_ADJUST_AUTO, "arm64", LOAD + 0x1fff, 0,
     REPORT_FRAME_SYMBOLICATED, "last", 0xc00},
    {"after the image", LOAD + 0x2000, 0, REPORT_ADJUST_AUTO, "arm64", LOAD + 0x2000, -1,
     REPORT_FRAME_UNKNOWN_IMAGE, NULL, -1},
    {"before the first symbol", LOAD + 0x10, 0, REPORT_ADJUST_AUTO, "arm64", LOAD + 0x10, 0,
     REPORT_FRAME_NO_SYMBOL, NULL, -1},
    {"signed pointer, 47 bits", UINT64_C(0x0011800000000000) | (LOAD + 0x1204), 1,
     REPORT_ADJUST_AUTO, "arm64e", LOAD + 0x1203, 0, REPORT_FRAME_SYMBOLICATED, "-[Cart add:]", 4},
    {"signed pointer, 39 bits", UINT64_C(0x0bad008000000000) | (LOAD + 0x1204), 0,
     REPORT_ADJUST_AUTO, "arm64e", LOAD + 0x1204, 0, REPORT_FRAME_SYMBOLICATED, "-[Cart add:]", 4},
    {"no signatures on x86_64", UINT64_C(0x0bad008000000000) | (LOAD + 0x1204), 0,
     REPORT_ADJUST_AUTO, "x86_64", UINT64_C(0x0bad008000000000) | (LOAD + 0x1204), -1,
     REPORT_FRAME_UNKNOWN_IMAGE, NULL, -1},
    {"Thumb bit", LOAD + 0x1101, 0, REPORT_ADJUST_AUTO, "armv7", LOAD + 0x1100, 0,
     REPORT_FRAME_SYMBOLICATED, "Shop::buy(int)", 0},
    {"Thumb bit of a return address", LOAD + 0x1101, 1, REPORT_ADJUST_AUTO, "armv7", LOAD + 0x10ff,
     0, REPORT_FRAME_SYMBOLICATED, "first", 0x100},
    {"missing symbol file", SYSTEM + 8, 1, REPORT_ADJUST_AUTO, "arm64", SYSTEM + 7, 1,
     REPORT_FRAME_MISSING_SYMBOL_FILE, NULL, -1},
    {"image without a UUID", 0x60000008, 0, REPORT_ADJUST_AUTO, "arm64", 0x60000008, 2,
     REPORT_FRAME_MISSING_SYMBOL_FILE, NULL, -1},
    {"null", 0, 0, REPORT_ADJUST_AUTO, "arm64", 0, -1, REPORT_FRAME_UNKNOWN_IMAGE, NULL, -1},
    {"null as return address", 0, 1, REPORT_ADJUST_AUTO, "arm64", 0, -1, REPORT_FRAME_UNKNOWN_IMAGE,
     NULL, -1},
};

static void
check_address(struct finder *finder, const struct address_case *c)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct report_frame frames[2] = {{.addr = SYSTEM, .image = -1}, {.addr = SYSTEM, .image = -1}};
    struct report_frame *frame = &frames[c->place];
    frame->addr = c->addr;
    frame->adjust = c->adjust;
    struct report_thread thread = {.frames = frames, .n_frames = 2};
    struct report report = {.arch = c->arch, .threads = &thread, .n_threads = 1};
    assert_int_equal(resolve(&report, finder, &arena), FZ_OK);
    const char *function = frame->n_symbols ? frame->symbols[frame->n_symbols - 1].function : NULL;
    bool same_name = c->function ? function && strcmp(function, c->function) == 0 : !function;
    if (frame->addr != c->addr || frame->lookup_addr != c->lookup || frame->image != c->image ||
        frame->status != c->status || !same_name)
        fail_msg("%s: lookup %#llx image %d status %d %s", c->name,
                 (unsigned long long)frame->lookup_addr, frame->image, (int)frame->status,
                 function ? function : "-");
    if (c->offset >= 0) {
        assert_true(frame->symbols[0].has_offset);
        assert_int_equal(frame->symbols[0].offset, c->offset);
        assert_string_equal(frame->symbols[0].source, "symtab");
    }
    fz_arena_deinit(&arena);
}

static void
test_addresses(void **state)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(address_cases); i++)
        check_address(*state, &address_cases[i]);
}

/* Where the best file has no name, the next one may; both are listed. */
static void
test_second_file(void **state)
{
    struct finder *finder = *state;
    static const struct tiny_symbol early[] = {{TEXT + 0x10, "_early"}};
    finder->second = make_index(FZ_ARCH_ARM64, TEXT, early, FZ_ARRAY_LEN(early));
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct report_frame frames[] = {{.addr = LOAD + 0x1100, .image = -1},
                                    {.addr = LOAD + 0x21, .image = -1},
                                    {.addr = LOAD + 0x22, .image = -1}};
    struct report_thread thread = {.frames = frames, .n_frames = FZ_ARRAY_LEN(frames)};
    struct report report = {.arch = "arm64", .threads = &thread, .n_threads = 1};
    finder->n_asked_further = 0;
    assert_int_equal(resolve(&report, finder, &arena), FZ_OK);
    assert_string_equal(frames[0].symbols[0].function, "Shop::buy(int)");
    assert_string_equal(frames[1].symbols[0].function, "early");
    assert_int_equal(finder->n_asked_further, 1);
    assert_int_equal(report.images[0].n_files, 2);
    assert_string_equal(report.images[0].files[0].kind, "dsym");
    assert_string_equal(report.images[0].files[1].kind, "binary");
    fz_arena_deinit(&arena);
    sym_index_close(finder->second);
    finder->second = NULL;
}

static void
test_names_and_states(void **state)
{
    struct finder *finder = *state;
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct report_symbol mangled = {.function = "_ZN3foo3barEv", .source = "client"};
    struct report_symbol worse = {.function = "not this one", .source = "client"};
    struct report_frame frames[] = {
        {.addr = LOAD + 0x1304, .image = -1},
        {.addr = LOAD + 0x1105, .image = -1},
        {.addr = SYSTEM + 5, .image = -1, .client = &mangled, .n_client = 1},
        {.addr = SYSTEM + 9, .image = -1},
        {.addr = LOAD + 0x1105, .image = -1, .client = &worse, .n_client = 1},
    };
    struct report_thread thread = {.frames = frames, .n_frames = FZ_ARRAY_LEN(frames)};
    struct report report = {.arch = "arm64", .threads = &thread, .n_threads = 1};
    assert_int_equal(resolve(&report, finder, &arena), FZ_OK);

    /* Folded functions: all names are returned. */
    assert_int_equal(frames[0].n_symbols, 1);
    assert_int_equal(frames[0].symbols[0].n_also, 1);
    const char *one = frames[0].symbols[0].function, *other = frames[0].symbols[0].also[0];
    assert_true((strcmp(one, "folded_a") == 0 && strcmp(other, "folded_b") == 0) ||
                (strcmp(one, "folded_b") == 0 && strcmp(other, "folded_a") == 0));
    assert_true(frames[0].in_app);
    assert_true(frames[0].has_image_offset);
    assert_int_equal(frames[0].image_offset, 0x1304);

    assert_string_equal(frames[1].symbols[0].function, "Shop::buy(int)");
    assert_string_equal(frames[1].symbols[0].mangled, "__ZN4Shop3buyEi");
    assert_int_equal(frames[1].image_offset, 0x1105); /* of the address as it is shown */

    /* What the client knew, where there is nothing better. */
    assert_string_equal(frames[2].symbols[0].function, "foo::bar()");
    assert_string_equal(frames[2].symbols[0].source, "client");
    assert_int_equal(frames[2].status, REPORT_FRAME_SYMBOLICATED);
    assert_false(frames[2].in_app);
    assert_string_equal(frames[4].symbols[0].function, "Shop::buy(int)");

    assert_int_equal(report.images[0].state, REPORT_IMAGE_FOUND);
    assert_int_equal(report.images[1].state, REPORT_IMAGE_MISSING);
    assert_int_equal(report.images[2].state, REPORT_IMAGE_UNUSED);
    assert_int_equal(finder->n_asked, 2); /* once per image, and only for those with frames */

    finder->system = FZ_E_MALFORMED;
    assert_int_equal(resolve(&report, finder, &arena), FZ_OK);
    assert_int_equal(report.images[1].state, REPORT_IMAGE_FAILED);
    assert_int_equal(frames[3].status, REPORT_FRAME_MALFORMED_SYMBOL_FILE);

    finder->system = FZ_E_UNAVAILABLE; /* no verdict on the report: the job is tried again */
    frames[2].image = frames[3].image = -1;
    assert_int_equal(resolve(&report, finder, &arena), FZ_E_UNAVAILABLE);
    fz_arena_deinit(&arena);
}

/* A format may give the image and the offset itself (.ips); no load address is needed then. */
static void
test_given_image_and_offset(void **state)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct report_frame frames[] = {
        {.addr = 0x1100, .image = 0, .has_image_offset = true, .image_offset = 0x1100},
        {.addr = 0x1100, .image = 0, .has_image_offset = true, .image_offset = 0x1100},
        {.addr = 0x1100, .image = 99},
    };
    struct report_thread thread = {.frames = frames, .n_frames = FZ_ARRAY_LEN(frames)};
    struct report report = {.arch = "arm64", .threads = &thread, .n_threads = 1};
    assert_int_equal(resolve(&report, *state, &arena), FZ_OK);
    assert_string_equal(frames[0].symbols[0].function, "Shop::buy(int)");
    assert_string_equal(frames[1].symbols[0].function, "first");
    assert_int_equal(frames[1].image_offset, 0x1100);
    assert_int_equal(frames[2].status, REPORT_FRAME_UNKNOWN_IMAGE);
    assert_int_equal(frames[2].image, -1);
    fz_arena_deinit(&arena);
}

static void
test_frames_from_registers(void **state)
{
    struct fz_arena arena;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    struct report_register in_image[] = {{.value = 1, .number = 0},
                                         {.value = LOAD + 0x1100, .number = FZ_ARM64_LR},
                                         {.value = LOAD + 0x1204, .number = FZ_ARM64_PC}};
    struct report_register outside[] = {{.value = LOAD + 0x1204, .number = FZ_ARM64_PC},
                                        {.value = 0x10, .number = FZ_ARM64_LR}};
    struct report_register no_pc[] = {{.value = LOAD + 0x1100, .number = FZ_ARM64_LR}};
    struct report_thread threads[] = {
        {.registers = in_image, .n_registers = 3, .crashed = true},
        {.registers = outside, .n_registers = 2},
        {.registers = no_pc, .n_registers = 1},
    };
    struct report report = {.arch = "arm64", .threads = threads, .n_threads = 3};
    assert_int_equal(resolve(&report, *state, &arena), FZ_OK);
    assert_int_equal(threads[0].n_frames, 2);
    assert_int_equal(threads[0].frames[0].trust, REPORT_TRUST_CONTEXT);
    assert_string_equal(threads[0].frames[0].symbols[0].function, "-[Cart add:]");
    assert_string_equal(threads[0].frames[1].symbols[0].function, "first");
    assert_int_equal(threads[1].n_frames, 1);
    assert_int_equal(threads[2].n_frames, 0);
    fz_arena_deinit(&arena);
}

/* The remembered answers are those of report_image_at(), whatever the images look like. */
static void
test_image_map(void **state FZ_UNUSED)
{
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        struct report_image images[12] = {{.addr = 0}};
        struct fz_arena arena;
        struct report_image_map map;
        fz_arena_init(&arena, 1024 * 1024);
        struct report report = {.images = images, .n_images = (size_t)round % 13};
        for (size_t i = 0; i < report.n_images; i++) {
            seed = seed * 1664525 + 1013904223;
            images[i].addr = (seed >> 8) % 97; /* close together, so that they overlap */
            images[i].size = (seed >> 20) % 3 == 0 ? 0 : (seed >> 16) % 31;
            if ((seed >> 24) % 16 == 0)
                images[i].addr = UINT64_MAX - (seed >> 8) % 50;
        }
        assert_int_equal(report_image_map_make(&report, &arena, &map, NULL), FZ_OK);
        for (uint64_t addr = 0; addr < 140; addr++) {
            const uint64_t at[] = {addr, UINT64_MAX - addr, (UINT64_C(1) << 32) + addr};
            for (size_t k = 0; k < FZ_ARRAY_LEN(at); k++)
                assert_int_equal(report_image_map_at(&map, at[k]), report_image_at(&report, at[k]));
        }
        fz_arena_deinit(&arena);
    }
}

/* Each allocation failing in turn: a clean error, never a crash. */
static void
test_out_of_memory(void **state)
{
    for (int64_t n = 0;; n++) {
        struct fz_arena arena;
        fz_arena_init(&arena, 4 * 1024 * 1024);
        arena.fail_after = n;
        struct report_frame frames[] = {{.addr = LOAD + 0x1304, .image = -1},
                                        {.addr = LOAD + 0x1105, .image = -1}};
        struct report_register registers[] = {{.value = LOAD + 0x1204, .number = FZ_ARM64_PC}};
        struct report_thread threads[] = {{.frames = frames, .n_frames = 2},
                                          {.registers = registers, .n_registers = 1}};
        struct report report = {.arch = "arm64", .threads = threads, .n_threads = 2};
        enum fz_code code = resolve(&report, *state, &arena);
        fz_arena_deinit(&arena);
        if (code == FZ_OK) {
            assert_true(n > 5);
            return;
        }
        assert_int_equal(code, FZ_E_NO_MEMORY);
    }
}

/* An inlined call without a name: only its place is known. */
static void
test_nameless_inlined_call(void **state FZ_UNUSED)
{
    static const struct dwarf_text text = {
        .abbrev = "01 11 01 03 08 11 01 12 06 00 00 02 2e 01 03 08 11 01 12 06 00 00 "
                  "03 1d 00 11 01 12 06 59 0b 00 00 00",
        .info = "{ 2:4 4:0 08 01 'a.c' 8:1000 4:1000 "
                "02 'outer' 8:1000 4:100 03 8:1010 4:10 07 00 00 }",
    };
    struct dwarf_sample sample;
    dwarf_sample_init(&sample, &text);
    struct sym_build_options options = {.n_threads = 0};
    struct sym_build_stats stats;
    struct fz_error err;
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    struct finder finder = {0};
    assert_int_equal(sym_index_build(&sample.macho, &options, fd, &stats, NULL, &err), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &finder.index, &err), FZ_OK);
    struct sym_index_info info;
    sym_index_info(finder.index, &info);

    struct report_image image = {
        .uuid = {{1}}, .has_uuid = true, .arch = "arm64", .addr = LOAD, .size = 0x100000};
    struct report_frame frame = {.addr = LOAD + 0x1014 - info.text_vmaddr, .image = -1};
    struct report_thread thread = {.frames = &frame, .n_frames = 1, .crashed = true};
    struct report report = {.images = &image, .n_images = 1, .threads = &thread, .n_threads = 1};
    struct fz_arena arena;
    fz_arena_init(&arena, 1024 * 1024);
    assert_int_equal(resolve_report(&report, find, &finder, NULL, &arena, &err), FZ_OK);
    assert_int_equal(frame.n_symbols, 2);
    assert_null(frame.symbols[0].function);
    assert_true(frame.symbols[0].inlined);
    assert_string_equal(frame.symbols[1].function, "outer");
    fz_arena_deinit(&arena);
    sym_index_close(finder.index);
    dwarf_sample_deinit(&sample);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_second_file),
        cmocka_unit_test(test_names_and_states),
        cmocka_unit_test(test_given_image_and_offset),
        cmocka_unit_test(test_nameless_inlined_call),
        cmocka_unit_test(test_frames_from_registers),
        cmocka_unit_test(test_image_map),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
