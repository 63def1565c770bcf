/* Folded functions in a report: the name that the caller's call site names comes first. */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/resolve/resolve.h"
#include "tests/unit/dwarf_text.h"

enum { LOAD = 0x14000000, MANY = 40 };

/* 1 unit (low_pc), 2 function (name, low_pc, length), 3 call site (return_pc, origin), 4
 * declaration (linkage name). */
#define ABBREVS                                                              \
    "1 11 1 11 1 0 0 2 2e 1 3 8 11 1 12 6 0 0 3 48 0 7d 1 7f 13 0 0 4 2e 0 " \
    "6e 8 0 0 0"
/* Declarations after the header: add at 14, _Z3cutv at 19, other at 22, x30 at 29. */
#define NAMES "4 'add' 4 '_Z3cutv' 4 'other' 4 'x30' "
#define CALL(addr, origin) "3 8:" addr " 4:" origin " "
#define INFO                                                                                     \
    "{ 2:4 4:0 8 1 8:1000 " NAMES "2 'sub' 8:1000 4:20 0 2 'h' 8:2000 4:100 " CALL("2008", "14") \
        CALL("2010", "19") CALL("2018", "22") CALL("2020", "29") "0 2 'all' 8:3000 4:10 0 0 }"

struct sample {
    struct dwarf_sample dwarf;
    struct fz_buffer table, names;
    struct sym_index *index, *second; /* of rank 0 and 1; NULL: no such index */
};

static void
add_symbol(struct sample *sample, uint64_t addr, const char *name)
{
    char entry[64];
    snprintf(entry, sizeof(entry), "4:%zx e 1 2:0 8:%llx", sample->names.len,
             (unsigned long long)addr);
    dwarf_text_write(entry, false, &sample->table);
    fz_buffer_append(&sample->names, name, strlen(name) + 1);
    sample->dwarf.macho.n_symbols++;
}

static struct sym_index *
make_index(const struct sym_macho *macho)
{
    struct sym_index *index = NULL;
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    assert_int_equal(sym_index_build(macho, NULL, fd, NULL, NULL, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
    return index;
}

static void
sample_init(struct sample *sample, const struct dwarf_text *text)
{
    dwarf_sample_init(&sample->dwarf, text);
    sample->index = sample->second = NULL;
    fz_buffer_init(&sample->table, 0);
    fz_buffer_init(&sample->names, 0);
    fz_buffer_char(&sample->names, 0);
    add_symbol(sample, 0x1000, "_sub");
    add_symbol(sample, 0x1000, "_add");
    add_symbol(sample, 0x1000, "__Z3cutv");
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "_x%d", i);
        add_symbol(sample, 0x3000, name);
    }
    add_symbol(sample, 0x4000, "_alone");
    add_symbol(sample, 0x4000, "_add");
    sample->dwarf.macho.symbol_table = fz_buffer_span(&sample->table);
    sample->dwarf.macho.string_table = fz_buffer_span(&sample->names);
    sample->index = make_index(&sample->dwarf.macho);
}

static void
sample_deinit(struct sample *sample)
{
    sym_index_close(sample->index);
    sym_index_close(sample->second);
    fz_buffer_deinit(&sample->table);
    fz_buffer_deinit(&sample->names);
    dwarf_sample_deinit(&sample->dwarf);
}

static enum fz_code
find(void *user, const struct report_image *image FZ_UNUSED, unsigned rank,
     struct resolve_found *ret, struct fz_error *err)
{
    const struct sample *sample = user;
    ret->index = rank == 0 ? sample->index : rank == 1 ? sample->second : NULL;
    return ret->index ? FZ_OK : fz_fail(err, FZ_E_NOT_FOUND, "no more");
}

static const struct call_case {
    const char *name;
    uint64_t callee, caller; /* offsets; caller 0: no caller */
    enum report_adjust adjust;
    const char *function, *mangled; /* NULL: as without a caller */
    size_t n_also;
} cases[] = {
    {"no caller", 0x1004, 0, REPORT_ADJUST_AUTO, "sub", "_sub", 2},
    {"a C function", 0x1004, 0x2008, REPORT_ADJUST_AUTO, "add", "_add", 2},
    {"a C++ function", 0x1004, 0x2010, REPORT_ADJUST_RETURN, "cut()", "_Z3cutv", 2},
    {"the call names something else", 0x1004, 0x2018, REPORT_ADJUST_AUTO, "sub", "_sub", 2},
    {"no call returns there", 0x1004, 0x200c, REPORT_ADJUST_AUTO, "sub", "_sub", 2},
    {"not a return address", 0x1004, 0x2008, REPORT_ADJUST_EXACT, "sub", "_sub", 2},
    {"the one shown already", 0x4004, 0x2008, REPORT_ADJUST_AUTO, "add", "_add", 1},
    {"more names than are listed", 0x3004, 0x2020, REPORT_ADJUST_AUTO, "x30", "_x30", 17},
};

static bool
is_also(const struct report_symbol *symbol, const char *name)
{
    for (size_t i = 0; i < symbol->n_also; i++) {
        if (strcmp(symbol->also[i], name) == 0)
            return true;
    }
    return false;
}

static struct report_image
sample_image(void)
{
    return (struct report_image){
        .uuid = {{1}}, .has_uuid = true, .arch = "arm64", .addr = LOAD, .size = 0x100000};
}

static enum fz_code
resolve(struct sample *sample, struct report_frame *frames, size_t n, bool is_exception,
        struct fz_arena *arena)
{
    struct report_image image = sample_image();
    struct report_thread thread = {.frames = frames, .n_frames = n};
    struct report report = {.images = &image, .n_images = 1};
    struct fz_error err;
    if (is_exception) {
        report.exception_frames = frames;
        report.n_exception_frames = n;
    } else {
        report.threads = &thread;
        report.n_threads = 1;
    }
    return resolve_report(&report, find, sample, NULL, arena, &err);
}

static void
test_cases(void **state FZ_UNUSED)
{
    static const struct dwarf_text text = {.info = INFO, .abbrev = ABBREVS};
    struct sample sample;
    sample_init(&sample, &text);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct call_case *c = &cases[i];
        struct fz_arena arena;
        struct report_frame frames[] = {
            {.addr = LOAD + c->callee, .image = -1},
            {.addr = LOAD + c->caller, .image = -1, .adjust = c->adjust}};
        fz_arena_init(&arena, 1024 * 1024);
        assert_int_equal(resolve(&sample, frames, c->caller ? 2 : 1, false, &arena), FZ_OK);
        assert_int_equal(frames[0].n_symbols, 1);
        const struct report_symbol *got = &frames[0].symbols[0];
        if (strcmp(got->function, c->function) != 0 || !got->mangled ||
            strcmp(got->mangled, c->mangled) != 0 || got->n_also != c->n_also ||
            is_also(got, c->function))
            fail_msg("%s: %s (%s), %zu more", c->name, got->function, got->mangled, got->n_also);
        if (c->callee == 0x1004 && strcmp(c->function, "sub") != 0)
            assert_true(is_also(got, "sub"));
        if (c->caller)
            assert_string_equal(frames[1].symbols[0].function, "h");
        fz_arena_deinit(&arena);
    }
    sample_deinit(&sample);
}

/* A chain of them, and a thrown exception, whose first frame is a caller too. */
static void
test_exception(void **state FZ_UNUSED)
{
    static const struct dwarf_text text = {.info = INFO, .abbrev = ABBREVS};
    struct sample sample;
    struct fz_arena arena;
    struct report_frame frames[] = {{.addr = LOAD + 0x1004, .image = -1},
                                    {.addr = LOAD + 0x2010, .image = -1},
                                    {.addr = LOAD + 0x1004, .image = -1},
                                    {.addr = LOAD + 0x2008, .image = -1}};
    sample_init(&sample, &text);
    fz_arena_init(&arena, 1024 * 1024);
    assert_int_equal(resolve(&sample, frames, FZ_ARRAY_LEN(frames), true, &arena), FZ_OK);
    assert_string_equal(frames[0].symbols[0].function, "cut()");
    assert_string_equal(frames[2].symbols[0].function, "add");
    assert_int_equal(frames[2].symbols[0].offset, 4);
    fz_arena_deinit(&arena);
    sample_deinit(&sample);
}

/* The names come from the dSYM, the folded code from a binary of rank 1 with a table only. */
static void
test_ranks(void **state FZ_UNUSED)
{
    static const struct dwarf_text text = {.info = INFO, .abbrev = ABBREVS}, none = {.info = NULL};
    struct sample sample;
    struct fz_arena arena;
    struct report_frame frames[] = {{.addr = LOAD + 0x1004, .image = -1},
                                    {.addr = LOAD + 0x2008, .image = -1}};
    sample_init(&sample, &text);
    struct dwarf_sample bare;
    dwarf_sample_init(&bare, &none);
    sample.second = sample.index;
    sample.index = make_index(&bare.macho); /* names nothing */
    dwarf_sample_deinit(&bare);
    fz_arena_init(&arena, 1024 * 1024);
    assert_int_equal(resolve(&sample, frames, 2, false, &arena), FZ_OK);
    assert_string_equal(frames[0].symbols[0].function, "add");
    fz_arena_deinit(&arena);
    sample_deinit(&sample);
}

static void
test_out_of_memory(void **state FZ_UNUSED)
{
    static const struct dwarf_text text = {.info = INFO, .abbrev = ABBREVS};
    struct sample sample;
    sample_init(&sample, &text);
    enum fz_code code = FZ_E_NO_MEMORY;
    for (unsigned n = 0; code != FZ_OK; n++) {
        struct report_frame frames[] = {{.addr = LOAD + 0x1004, .image = -1},
                                        {.addr = LOAD + 0x2010, .image = -1}};
        struct fz_arena arena;
        fz_arena_init(&arena, 1024 * 1024);
        arena.fail_after = n;
        code = resolve(&sample, frames, 2, false, &arena);
        assert_true(code == FZ_OK || code == FZ_E_NO_MEMORY);
        assert_true(n < 100);
        if (code == FZ_OK)
            assert_string_equal(frames[0].symbols[0].function, "cut()");
        fz_arena_deinit(&arena);
    }
    sample_deinit(&sample);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_exception),
        cmocka_unit_test(test_ranks), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
