/* What a report does not say of its process: the architecture and the name. */
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

enum { LOAD = 0x14000000, TEXT = 0x4000, SYSTEM = 0x50000000 };

static struct sym_index *
make_index(uint32_t cputype, uint32_t cpusubtype)
{
    static const struct tiny_symbol symbols[] = {
        {TEXT + 0x1000, "_first"}, {TEXT + 0x1100, "_second"}, {TEXT + 0x1200, "_main"}};
    struct tiny_macho tiny = {.cputype = cputype,
                              .cpusubtype = cpusubtype,
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

static enum fz_code
find(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
     struct fz_error *err)
{
    if (image->uuid.bytes[0] != 1 || rank > 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "none");
    ret->index = user;
    return FZ_OK;
}

/* The frames of one thread, newest first: the system, then the app. */
struct sample {
    struct fz_arena arena;
    struct report_image images[2];
    struct report_frame frames[4];
    struct report_thread thread;
    struct report report;
};

static void
make_sample(struct sample *s)
{
    *s = (struct sample){
        .images = {{.name = "libsystem.dylib", .addr = SYSTEM, .size = 0x1000},
                   {.name = "Shop", .uuid = {{1}}, .has_uuid = true, .addr = LOAD, .size = 0x2000}},
        .frames = {{.addr = SYSTEM + 0x11, .image = -1},
                   {.addr = LOAD + 0x1101, .image = -1},
                   {.addr = LOAD + 0x1201, .image = 1},
                   {.addr = LOAD + 0x1211, .image = 1}}};
    fz_arena_init(&s->arena, 1024 * 1024);
    s->thread = (struct report_thread){.frames = s->frames, .n_frames = 4};
    s->report =
        (struct report){.images = s->images, .n_images = 2, .threads = &s->thread, .n_threads = 1};
}

struct architecture_case {
    uint32_t cputype, cpusubtype;     /* of the symbol file */
    const char *of_report, *of_image; /* of the system's image */
    const char *wanted;               /* of the report, once resolved */
    const char *functions[3];         /* of the app's frames */
};

/* 0x1101 on Thumb returns to 0x1100, so the call before it is in `first`. */
static const struct architecture_case architecture_cases[] = {
    {FZ_ARCH_ARM, 9, "armv7", NULL, "armv7", {"first", "second", "main"}},
    {FZ_ARCH_ARM, 9, NULL, "armv7", NULL, {"first", "second", "main"}},
    {FZ_ARCH_ARM, 9, "", NULL, "armv7", {"first", "second", "main"}},
    {FZ_ARCH_ARM, 11, NULL, NULL, "armv7s", {"first", "second", "main"}},
    {FZ_ARCH_X86_64, 3, NULL, NULL, "x86_64", {"second", "main", "main"}},
};

static void
test_architecture(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(architecture_cases); i++) {
        const struct architecture_case *c = &architecture_cases[i];
        struct sample s;
        struct fz_error err;
        struct sym_index *index = make_index(c->cputype, c->cpusubtype);
        bool thumb = c->cputype == FZ_ARCH_ARM;
        make_sample(&s);
        s.report.arch = c->of_report;
        s.images[0].arch = c->of_image;
        assert_int_equal(resolve_report(&s.report, find, index, NULL, &s.arena, &err), FZ_OK);
        if (c->wanted)
            assert_string_equal(s.report.arch, c->wanted);
        else
            assert_null(s.report.arch);
        /* The frame before the first one with symbols is corrected as well. */
        assert_int_equal(s.frames[0].lookup_addr, thumb ? SYSTEM + 0x10 : SYSTEM + 0x11);
        assert_int_equal(s.frames[1].image_offset, thumb ? 0x1100 : 0x1101);
        for (size_t k = 0; k < 3; k++)
            assert_string_equal(s.frames[k + 1].symbols[0].function, c->functions[k]);
        sym_index_close(index);
        fz_arena_deinit(&s.arena);
    }
}

/* The image of main() is the process; what the report says is kept. */
static void
test_process(void **state)
{
    (void)state;
    static const struct {
        const char *image, *process, *app, *wanted;
        size_t n_frames;
    } cases[] = {
        {"Shop", NULL, NULL, "Shop", 4},          {"Shop.debug.dylib", NULL, NULL, "Shop", 4},
        {"__preview.dylib", NULL, NULL, NULL, 4}, {"Shop", "Store", NULL, "Store", 4},
        {"Shop", NULL, "Store", NULL, 4},         {"Shop", NULL, NULL, NULL, 2}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sample s;
        struct fz_error err;
        struct sym_index *index = make_index(FZ_ARCH_X86_64, 3);
        make_sample(&s);
        s.thread.n_frames = cases[i].n_frames;
        s.images[1].name = cases[i].image;
        s.report.process.name = cases[i].process;
        s.report.app_name = cases[i].app;
        assert_int_equal(resolve_report(&s.report, find, index, NULL, &s.arena, &err), FZ_OK);
        if (cases[i].wanted)
            assert_string_equal(s.report.process.name, cases[i].wanted);
        else
            assert_null(s.report.process.name);
        const char *app = cases[i].app ? cases[i].app : cases[i].wanted;
        assert_int_equal(!s.report.app_name, !app);
        if (app)
            assert_string_equal(s.report.app_name, app);
        sym_index_close(index);
        fz_arena_deinit(&s.arena);
    }
}

/* Mangled types of exceptions; words of other languages stay. */
static void
test_exception_types(void **state)
{
    (void)state;
    static const struct {
        const char *came, *shown;
    } cases[] = {
        {"P16kaboom_exception", "kaboom_exception*"},
        {"16kaboom_exception", "kaboom_exception"},
        {"St13runtime_error", "std::runtime_error"},
        {"N4Shop5Error4MineE", "Shop::Error::Mine"},
        {"PKc", "char const*"},
        {"St11logic_error", "std::logic_error"},
        {"_ZTSSt9bad_alloc", "std::bad_alloc"},
        {"NSt3__112system_errorE", "std::__1::system_error"},
        {"_TtC4Shop8NotFound", "Shop.NotFound"},
        {"NSRangeException", NULL},
        {"NSInvalidArgumentException", NULL},
        {"RangeError", NULL},
        {"Error", NULL},
        {"i", NULL},
        {"e", NULL},
        {"System", NULL},
        {"std::runtime_error", NULL},
        {"EXC_BAD_ACCESS", NULL},
        {"Error404", NULL},
        {"P2P", NULL},
        {"PHP8Error", NULL},
        {"16short", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        struct report report = {.crash.exception = cases[i].came};
        assert_int_equal(resolve_report(&report, find, NULL, NULL, &arena, NULL), FZ_OK);
        if (strcmp(report.crash.exception, cases[i].shown ? cases[i].shown : cases[i].came) != 0)
            fail_msg("%s: %s", cases[i].came, report.crash.exception);
        if (!cases[i].shown)
            assert_null(report.crash.exception_mangled);
        else
            assert_string_equal(report.crash.exception_mangled, cases[i].came);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_architecture),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_exception_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
