/* Every kind of Mach-O in which symbols come: what it is called, where it slides from, what names
 * it gives, what is reported of it. */
#define _GNU_SOURCE /* memfd_create */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/macho_writer.h"

static const uint32_t CODE = 0x80000400, IN_CACHE = 0x80000000;
static const uint8_t uuid[16] = {3};

enum filetype {
    OBJECT = 1,
    EXECUTE = 2,
    PRELOAD = 5,
    DYLIB = 6,
    DYLINKER = 7,
    BUNDLE = 8,
    DYLIB_STUB = 9,
    DSYM = 10,
    KEXT = 11
};
enum { ONE_SEGMENT = 1, ENCRYPTED = 2, FAR_SYMBOLS = 4, NO_SYMBOLS = 8, WRAPS = 16, NO_UUID = 32 };

/* The code is of `size` bytes at `code` in a segment; __TEXT begins at `text`. */
static const struct kind {
    const char *name;
    uint32_t filetype, flags;
    unsigned what;
    const char *segment;
    uint64_t text, code, size;
    const char *kind;
    uint64_t want_text;
    const char *want_name; /* at code + 0x10, of the symbol table or the function starts */
    const char *problems;
} kinds[] = {
    {"dSYM", DSYM, 0, 0, "__TEXT", 0x100000000, 0x100001000, 0x100, "dsym", 0x100000000, "_work",
     " no_dwarf"},
    {"program", EXECUTE, 0x200085, 0, "__TEXT", 0x100000000, 0x100001000, 0x100, "binary",
     0x100000000, "_work", " no_dwarf"},
    {"program at a fixed address", EXECUTE, 0x1, 0, "__TEXT", 0x1000, 0x2000, 0x100, "binary",
     0x1000, "_work", " no_dwarf"},
    {"static, position-independent", EXECUTE, 0x200001, 0, "__TEXT", 0, 0x4000, 0x100, "binary", 0,
     "_work", " no_dwarf"},
    {"dylib or framework", DYLIB, 0x100085, 0, "__TEXT", 0, 0x1000, 0x100, "binary", 0, "_work",
     " no_dwarf"},
    {"bundle", BUNDLE, 0x85, 0, "__TEXT", 0, 0x1000, 0x100, "binary", 0, "_work", " no_dwarf"},
    {"dyld", DYLINKER, 0x85, 0, "__TEXT", 0x1fe000000, 0x1fe001000, 0x100, "binary", 0x1fe000000,
     "_work", " no_dwarf"},
    {"kext", KEXT, 0x85, 0, "__TEXT_EXEC", 0x8000, 0xc000, 0x100, "binary", 0x8000, "_work",
     " no_dwarf"},
    {"kernel", EXECUTE, 0x200001, 0, "__TEXT_EXEC", 0xfffffff007004000, 0xfffffff0071d4000, 0x100,
     "binary", 0xfffffff007004000, "_work", " no_dwarf"},
    {"old kext in one segment", KEXT, 0, ONE_SEGMENT, "__TEXT", 0, 0x1000, 0x100, "binary", 0,
     "_work", " no_dwarf"},
    {"firmware", PRELOAD, 0, 0, "__CODE", 0, 0x8000, 0x100, "binary", 0, "_work", " no_dwarf"},
    {"library's stub", DYLIB_STUB, 0, 0, "__TEXT", 0, 0x1000, 0x100, "binary", 0, "_work",
     " no_dwarf"},
    {"object file", OBJECT, 0x2000, ONE_SEGMENT | NO_UUID, "__TEXT", 0, 0x1000, 0x100, "binary", 0,
     "_work", " no_dwarf no_uuid not_linked"},
    {"out of a shared cache, put right", DYLIB, 0x100085, 0, "__TEXT", 0x19f3e4000, 0x19f3e5000,
     0x100, "binary", 0x19f3e4000, "_work", " no_dwarf"},
    {"out of a shared cache, unchanged", DYLIB, 0x100085 | IN_CACHE, FAR_SYMBOLS, "__TEXT",
     0x19f3e4000, 0x19f3e5000, 0x100, "binary", 0x19f3e4000, "", " shared_cache no_dwarf stripped"},
    {"cut off before its symbols", DYLIB, 0x100085, FAR_SYMBOLS, "__TEXT", 0, 0x1000, 0x100,
     "binary", 0, "", " truncated no_dwarf stripped"},
    {"encrypted", EXECUTE, 0x200085, ENCRYPTED, "__TEXT", 0x100000000, 0x100001000, 0x100, "binary",
     0x100000000, "_work", " no_dwarf encrypted"},
    {"stripped", EXECUTE, 0x200085, NO_SYMBOLS, "__TEXT", 0x100000000, 0x100001000, 0x100, "binary",
     0x100000000, "", " no_dwarf stripped"},
    {"at the end of the address space", DYLIB, 0, 0, "__TEXT", 0xfffffffffffff000,
     0xfffffffffffff800, 0x700, "binary", 0xfffffffffffff000, "_work", " no_dwarf"},
    {"beyond the address space", DYLIB, 0, WRAPS, "__TEXT", 0x1000, 0xfffffffffffff800, 0x1000,
     "binary", 0x1000, "", " bad_section no_dwarf"},
};

static void
make(const struct kind *k, bool is_64, struct fz_buffer *out)
{
    static const uint8_t code[0x100] = {0};
    struct macho_writer w = macho_writer_make();
    w.is_64 = is_64;
    w.cputype = is_64 ? 0x0100000c : 7;
    w.uuid = k->what & NO_UUID ? NULL : uuid;
    w.filetype = k->filetype;
    w.flags = k->flags;
    w.one_segment = k->what & ONE_SEGMENT;
    w.crypt_id = k->what & ENCRYPTED ? 1 : 0;
    w.crypt_size = 0x10000;
    w.symbols_moved = k->what & FAR_SYMBOLS ? 0x10000000 : 0;
    macho_writer_section(&w, "__TEXT", "__const", k->text, 0, fz_span_make(code, 16));
    /* Sections of an object file have bytes, those of a dSYM need not. */
    macho_writer_section(&w, k->segment, "__text", k->code, CODE,
                         fz_span_make(code, k->filetype == OBJECT ? sizeof(code) : 0));
    w.sections[1].size = k->size;
    if (!(k->what & NO_SYMBOLS)) {
        macho_writer_symbol(&w, "_work", 0x0f, 2, 0, k->code);
        macho_writer_symbol(&w, "_table", 0x0f, 1, 0, k->text);
    }
    fz_buffer_init(out, 0);
    macho_write(&w, out);
}

static void
check(const struct kind *k, bool is_64)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer found = fz_buffer_make(0);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    struct sym_problems problems = {0};
    struct sym_build_stats stats;
    struct sym_features features;
    struct sym_index_info info;
    struct sym_frame frame = {.name = ""};
    struct sym_macho macho;
    make(k, is_64, &bytes);
    assert_int_equal(sym_macho_open(fz_buffer_span(&bytes), &arena, &macho, &problems, NULL),
                     FZ_OK);
    assert_int_equal(sym_macho_is_dsym(&macho), strcmp(k->kind, "dsym") == 0);
    assert_int_equal(macho.text_vmaddr, k->want_text);
    assert_int_equal(sym_index_build(&macho, NULL, fd, &stats, &problems, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
    sym_index_info(index, &info);
    assert_int_equal(info.text_vmaddr, k->want_text);
    sym_index_lookup(index, k->code + 0x10, &frame, 1);
    assert_string_equal(frame.name, k->want_name);
    assert_int_equal(sym_index_lookup(index, k->text, &frame, 1), 0); /* data has no names */
    assert_int_equal(sym_index_lookup(index, k->code + k->size, &frame, 1), 0);
    assert_int_equal(sym_inspect(&macho, &stats, &arena, &features, &problems, NULL), FZ_OK);
    for (size_t i = 0; i < problems.n; i++) {
        assert_true(strlen(problems.list[i].text) + 1 < SYM_PROBLEM_TEXT); /* not cut */
        if (strcmp(sym_problem_kind_name(problems.list[i].kind), "no_names") != 0)
            fz_buffer_printf(&found, " %s", sym_problem_kind_name(problems.list[i].kind));
    }
    assert_string_equal(fz_buffer_cstr(&found), k->problems);
}

static void
test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        print_message("%s\n", kinds[i].name);
        check(&kinds[i], true);
        if (kinds[i].code < INT32_MAX)
            check(&kinds[i], false);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
