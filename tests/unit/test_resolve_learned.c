/* Names from other reports: which frames get them, and which queries are sent. */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/resolve/resolve.h"
#include "tests/unit/tiny_macho.h"

enum { LOAD = 0x14000000, TEXT = 0x10000000, SYSTEM = 0x50000000 };

static struct sym_index *
make_index(void)
{
    static const struct tiny_symbol symbols[] = {{TEXT + 0x1000, "_first"}};
    struct tiny_macho tiny = {.cputype = FZ_ARCH_ARM64,
                              .uuid = {{1}},
                              .text_vmaddr = TEXT,
                              .text_size = 0x2000,
                              .symbols = symbols,
                              .n_symbols = FZ_ARRAY_LEN(symbols)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer file = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct sym_build_options options = {.n_threads = 0};
    struct sym_build_stats stats;
    struct sym_macho macho;
    struct sym_index *index = NULL;
    tiny_macho_write(&tiny, &file);
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sym_macho_open(fz_buffer_span(&file), &arena, &macho, NULL, NULL), FZ_OK);
    assert_int_equal(sym_index_build(&macho, &options, fd, &stats, NULL, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
    return index;
}

static void
make_images(struct report_image images[3])
{
    images[0] = (struct report_image){
        .uuid = {{1}}, .has_uuid = true, .path = "/x/Shop.app/Shop", .addr = LOAD, .size = 0x2000};
    images[1] = (struct report_image){.uuid = {{2}},
                                      .has_uuid = true,
                                      .path = "/usr/lib/system/libsystem_kernel.dylib",
                                      .addr = SYSTEM,
                                      .size = 0x1000};
    images[2] =
        (struct report_image){.path = "/usr/lib/libz.dylib", .addr = 0x60000000, .size = 0x1000};
}

struct learner {
    struct sym_index *index; /* of the app */
    bool is_down;            /* the store of learned names */
    size_t n_calls, n_offsets;
    uint32_t offsets[8];
    uint8_t image;
};

static enum fz_code
find(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
     struct fz_error *err)
{
    struct learner *learner = user;
    if (image->uuid.bytes[0] != 1 || rank > 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    ret->index = learner->index;
    return FZ_OK;
}

/* Known of the system's image: "told" from 0x100 to 0x11f. */
static enum fz_code
find_learned(void *user, const struct report_image *image, const uint32_t *offsets, size_t n,
             struct resolve_learned *ret, struct fz_error *err)
{
    struct learner *learner = user;
    learner->n_calls++;
    learner->image = image->uuid.bytes[0];
    for (size_t i = 0; i < n; i++) {
        if (learner->n_offsets < FZ_ARRAY_LEN(learner->offsets))
            learner->offsets[learner->n_offsets] = offsets[i];
        learner->n_offsets++;
        if (offsets[i] >= 0x100 && offsets[i] < 0x120)
            ret[i] = (struct resolve_learned){"_ZN3foo3barEv", 0x100};
    }
    return learner->is_down ? fz_fail(err, FZ_E_UNAVAILABLE, "no") : FZ_OK;
}

static void
test_learned(void **state FZ_UNUSED)
{
    struct learner learner = {.index = make_index()};
    struct report_image images[3];
    const struct resolve_options options = {.learned = find_learned};
    struct fz_arena arena;
    struct fz_error err;
    fz_arena_init(&arena, 4 * 1024 * 1024);
    make_images(images);
    struct report_symbol own = {.function = "own", .source = "client"};
    struct report_frame frames[] = {
        {.addr = SYSTEM + 0x120, .image = -1}, /* exact: after the known range */
        {.addr = SYSTEM + 0x120, .image = -1}, /* a return address: within */
        {.addr = SYSTEM + 0x104, .image = -1},
        {.addr = SYSTEM + 0x120, .image = -1}, /* asked for once */
        {.addr = SYSTEM + 0x101, .image = -1, .client = &own, .n_client = 1},
        {.addr = LOAD + 0x1105, .image = -1},     /* the symbol file has it */
        {.addr = LOAD + 0x10, .image = -1},       /* the app's own, no name */
        {.addr = 0x60000108, .image = -1},        /* no UUID */
        {.addr = UINT64_C(1) << 40, .image = -1}, /* in no image */
    };
    struct report_thread thread = {.frames = frames, .n_frames = FZ_ARRAY_LEN(frames)};
    struct report_frame thrown = {.addr = SYSTEM + 0x108, .image = -1};
    struct report report = {.arch = "arm64",
                            .threads = &thread,
                            .n_threads = 1,
                            .exception_frames = &thrown,
                            .n_exception_frames = 1,
                            .images = images,
                            .n_images = 3};
    assert_int_equal(resolve_report(&report, find, &learner, &options, &arena, &err), FZ_OK);
    assert_int_equal(learner.n_calls, 1);
    assert_int_equal(learner.image, 2);
    static const uint32_t want[] = {0x103, 0x107, 0x11f, 0x120};
    assert_int_equal(learner.n_offsets, FZ_ARRAY_LEN(want));
    assert_memory_equal(learner.offsets, want, sizeof(want));

    assert_int_equal(frames[0].n_symbols, 0);
    assert_int_equal(frames[0].status, REPORT_FRAME_MISSING_SYMBOL_FILE);
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(frames[i].n_symbols, 1);
        assert_string_equal(frames[i].symbols[0].function, "foo::bar()");
        assert_string_equal(frames[i].symbols[0].mangled, "_ZN3foo3barEv");
        assert_string_equal(frames[i].symbols[0].source, "learned");
        assert_int_equal(frames[i].symbols[0].offset, frames[i].addr - SYSTEM - 0x100);
        assert_int_equal(frames[i].status, REPORT_FRAME_SYMBOLICATED);
    }
    assert_string_equal(thrown.symbols[0].function, "foo::bar()");
    assert_string_equal(frames[4].symbols[0].source, "client");
    assert_string_equal(frames[5].symbols[0].source, "symtab");
    for (size_t i = 6; i < FZ_ARRAY_LEN(frames); i++)
        assert_int_equal(frames[i].n_symbols, 0);
    assert_int_equal(report.images[1].state, REPORT_IMAGE_MISSING);
    assert_int_equal(report.images[1].n_files, 0);

    learner.is_down = true;
    assert_int_equal(resolve_report(&report, find, &learner, &options, &arena, &err),
                     FZ_E_UNAVAILABLE);
    fz_arena_deinit(&arena);
    sym_index_close(learner.index);
}

/* More different addresses than a report may ask for. */
static void
test_learned_limit(void **state FZ_UNUSED)
{
    enum { N = RESOLVE_LEARNED_MAX + 100 };
    struct learner learner = {.index = make_index()};
    struct report_image images[3];
    const struct resolve_options options = {.learned = find_learned};
    static struct report_frame frames[2 * N];
    struct fz_arena arena;
    struct fz_error err;
    fz_arena_init(&arena, 64 * 1024 * 1024);
    make_images(images);
    for (size_t i = 0; i < 2 * N; i++)
        frames[i] = (struct report_frame){
            .addr = SYSTEM + 0x80 + i % N, .image = -1, .adjust = REPORT_ADJUST_EXACT};
    struct report_thread thread = {.frames = frames, .n_frames = 2 * N};
    struct report report = {
        .arch = "arm64", .threads = &thread, .n_threads = 1, .images = images, .n_images = 2};
    report.images[1].size = 0x100000;
    assert_int_equal(resolve_report(&report, find, &learner, &options, &arena, &err), FZ_OK);
    assert_int_equal(learner.n_offsets, RESOLVE_LEARNED_MAX);
    size_t n = 0;
    for (size_t i = 0; i < 2 * N; i++)
        n += frames[i].n_symbols;
    assert_int_equal(n, 2 * 0x20);
    fz_arena_deinit(&arena);
    sym_index_close(learner.index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learned),
        cmocka_unit_test(test_learned_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
