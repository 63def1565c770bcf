/* BCSymbolMaps: read, found beside a dSYM, applied to the names and paths of an index. */
#define _GNU_SOURCE /* memfd_create */
#include "symbolicator/macho/macho.h"
#include "symbolicator/macho/symbol_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/dwarf_text.h"
#include "tests/unit/macho_writer.h"

static const char map_two[] =
    "BCSymbolMap Version: 2.0\n-[Shop pay:]\n_work\n\n\1-[Shop buy]\nlast";
static const char map_one[] = "BCSymbolMap Version: 1.0\r\nwork\r\n\1-[Shop pay:]\r\n";

static void
test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *map, *hidden, *want;
    } cases[] = {
        {"first line", map_two, "__hidden#0_", "-[Shop pay:]"},
        {"as the symbol table has it", map_two, "__hidden#1_", "_work"},
        {"one underscore", map_two, "_hidden#1_", "_work"},
        {"the linker's underscore too", map_two, "___hidden#1_", "_work"},
        {"an empty line hides on", map_two, "__hidden#2_", "__hidden#2_"},
        {"the compiler's mark is dropped", map_two, "__hidden#3_", "-[Shop buy]"},
        {"no newline at the end", map_two, "__hidden#4_", "last"},
        {"after the end", map_two, "__hidden#5_", "__hidden#5_"},
        {"far after the end", map_two, "__hidden#99999999999999999999_",
         "__hidden#99999999999999999999_"},
        {"a suffix is dropped", map_two, "__hidden#1_.cold", "_work"},
        {"no number", map_two, "__hidden#_", "__hidden#_"},
        {"no number but letters", map_two, "__hidden#x1_", "__hidden#x1_"},
        {"number and letters", map_two, "__hidden#1x_", "__hidden#1x_"},
        {"not hidden", map_two, "_main", "_main"},
        {"not hidden either", map_two, "hidden#1_", "hidden#1_"},
        {"empty", map_two, "", ""},
        {"version 1, debug information", map_one, "__hidden#0_", "work"},
        {"version 1, symbol table", map_one, "___hidden#0_", "_work"},
        {"version 1, method", map_one, "___hidden#1_", "-[Shop pay:]"},
        {"version 1, after the end", map_one, "__hidden#2_", "__hidden#2_"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sym_symbol_map map;
        struct fz_arena arena;
        print_message("%s\n", cases[i].name);
        fz_arena_init(&arena, 1 << 16);
        assert_int_equal(sym_symbol_map_read(fz_span_cstr(cases[i].map), &arena, &map, NULL),
                         FZ_OK);
        struct fz_span name = sym_symbol_map_name(&map, fz_span_cstr(cases[i].hidden));
        assert_int_equal(name.len, strlen(cases[i].want));
        assert_memory_equal(name.data, cases[i].want, name.len);
        fz_arena_deinit(&arena);
    }
    assert_string_equal((const char *)sym_symbol_map_name(NULL, fz_span_cstr("__hidden#0_")).data,
                        "__hidden#0_");
}

static void
test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *map, *text;
        enum fz_code code;
        size_t cap;
    } cases[] = {
        {"", "not a BCSymbolMap", FZ_E_UNSUPPORTED, 1 << 16},
        {"BCSymbolMap", "not a BCSymbolMap", FZ_E_UNSUPPORTED, 1 << 16},
        {"_main\n_work\n", "not a BCSymbolMap", FZ_E_UNSUPPORTED, 1 << 16},
        {"BCSymbolMap Version: 3.0\n_work\n", "a BCSymbolMap of version 3.0; 1.0 and 2.0 are read",
         FZ_E_UNSUPPORTED, 1 << 16},
        {"BCSymbolMap Version:", "a BCSymbolMap of version ; 1.0 and 2.0 are read",
         FZ_E_UNSUPPORTED, 1 << 16},
        {map_two, NULL, FZ_E_LIMIT, 16},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sym_symbol_map map;
        struct fz_error err;
        struct fz_arena arena;
        fz_arena_init(&arena, cases[i].cap);
        assert_int_equal(sym_symbol_map_read(fz_span_cstr(cases[i].map), &arena, &map, &err),
                         cases[i].code);
        if (cases[i].text)
            assert_string_equal(err.text, cases[i].text);
        fz_arena_deinit(&arena);
    }
}

#define PLIST(value)                                                                     \
    "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\n\t<key>DBGArchitecture</key>" \
    "<string>arm64</string>\n\t<key>DBGOriginalUUID</key>\n\t" value "\n</dict></plist>"
static const char plist[] = PLIST("<string>11111111-2222-3333-4444-555555555555</string>");

static void
test_plists_and_paths(void **state)
{
    (void)state;
    static const struct {
        const char *plist;
        bool found;
    } plists[] = {
        {plist, true},
        {PLIST("<string>\n 11111111222233334444555555555555 </string>"), true},
        {PLIST("<string>none</string>"), false},
        {"<key>DBGOriginalUUID</key><string>11111111-2222-3333-4444-555555555555", false},
        {PLIST("<data>1111</data>"), false},
        {"<key>DBGOriginalUUID</key>", false},
        {"", false},
    };
    struct fz_uuid uuid, want;
    assert_true(fz_uuid_parse(fz_span_cstr("11111111-2222-3333-4444-555555555555"), &want));
    for (size_t i = 0; i < FZ_ARRAY_LEN(plists); i++) {
        memset(&uuid, 0, sizeof(uuid));
        bool found = sym_symbol_map_original(fz_span_cstr(plists[i].plist), &uuid);
        assert_int_equal(found && fz_uuid_equal(&uuid, &want), i < 2);
        assert_int_equal(found, plists[i].found);
    }
    assert_true(
        sym_symbol_map_path_uuid("a/11111111-2222-3333-4444-555555555555.plist", ".plist", &uuid));
    assert_true(fz_uuid_equal(&uuid, &want));
    assert_false(sym_symbol_map_path_uuid("a/Info.plist", ".plist", &uuid));
    assert_false(sym_symbol_map_path_uuid(".plist", ".plist", &uuid));
    assert_false(sym_symbol_map_path_uuid("11111111-2222-3333-4444-555555555555", ".plist", &uuid));
}

/* 1 unit: name, directory, addresses, lines; 2 function: linkage name; 3 inlined call of 4. */
#define ABBREV                                                                                   \
    "1 11 1 3 8 1b 8 11 1 12 6 10 17 0 0 2 2e 1 6e 8 11 1 12 6 0 0 3 1d 0 31 13 11 1 12 6 58 b " \
    "59 b 0 0 4 2e 0 3 8 0 0 0"
#define INFO                                                                      \
    "{ 2:4 4:0 8 1 '__hidden#2_' '__hidden#3_' 8:1000 4:100 4:0 4 '__hidden#5_' " \
    "2 '__hidden#1_' 8:1000 4:20 3 4:34 8:1008 4:8 1 7 0 0 }"
#define LINE                                                                                   \
    "{ 2:4 { 1 1 1 fb e d 0 1 1 1 1 0 0 0 1 0 0 1 '__hidden#4_' 0 '__hidden#2_' u1 u0 u0 0 } " \
    "0 u9 2 8:1000 3 s10 1 2 u32 0 u1 1 }"
static const char map_all[] = "BCSymbolMap Version: 2.0\n_tail\n_work\nwork.c\n/src\ninc\nstep\n";

static void
build(const struct sym_macho *macho, const struct sym_symbol_map *map,
      struct sym_problems *problems, struct sym_index **ret)
{
    struct sym_build_options options = {.symbol_map = map};
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    assert_int_equal(sym_index_build(macho, &options, fd, NULL, problems, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, ret, NULL), FZ_OK);
}

static void
test_applied(void **state)
{
    (void)state;
    static const struct dwarf_text text = {.info = INFO, .abbrev = ABBREV, .line = LINE};
    struct sym_symbol_map map;
    struct fz_arena arena;
    struct dwarf_sample sample;
    struct sym_problems problems = {0};
    struct sym_index *index;
    struct sym_frame frames[4];
    char path[64];
    fz_arena_init(&arena, 1 << 16);
    dwarf_sample_init(&sample, &text);
    build(&sample.macho, NULL, &problems, &index);
    assert_int_equal(sym_index_lookup(index, 0x1008, frames, 4), 2);
    assert_string_equal(frames[1].name, "__hidden#1_");
    assert_int_equal(problems.n, 1);
    assert_string_equal(sym_problem_kind_name(problems.list[0].kind), "hidden_names");
    sym_index_close(index);

    problems.n = 0;
    assert_int_equal(sym_symbol_map_read(fz_span_cstr(map_all), &arena, &map, NULL), FZ_OK);
    build(&sample.macho, &map, &problems, &index);
    assert_int_equal(problems.n, 0);
    assert_int_equal(sym_index_lookup(index, 0x1008, frames, 4), 2);
    assert_string_equal(frames[0].name, "step");
    assert_string_equal(frames[1].name, "_work");
    sym_frame_path(&frames[1], path, sizeof(path));
    assert_string_equal(path, "/src/inc/work.c");
    sym_index_close(index);

    map.n = 5; /* one name is missing */
    build(&sample.macho, &map, &problems, &index);
    assert_int_equal(problems.n, 1);
    assert_string_equal(problems.list[0].text,
                        "1 names stay hidden (__hidden#), since the BCSymbolMap given does not "
                        "have them: is it that of this build?");
    sym_index_close(index);
    dwarf_sample_deinit(&sample);
    fz_arena_deinit(&arena);
}

static void
put(const char *folder, const char *name, struct fz_span bytes)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    fclose(file);
}

/* A dSYM of a symbol table alone, with its map by a property list, by its own UUID, or not. */
static void
test_found_beside(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plist, *map;
        bool found;
    } cases[] = {
        {"by property list", "0A000000-0000-0000-0000-000000000000.plist",
         "11111111-2222-3333-4444-555555555555.bcsymbolmap", true},
        {"by its own UUID", NULL, "0A000000-0000-0000-0000-000000000000.bcsymbolmap", true},
        {"the property list names another", "0A000000-0000-0000-0000-000000000000.plist",
         "0A000000-0000-0000-0000-000000000000.bcsymbolmap", false},
        {"the property list of another", "0B000000-0000-0000-0000-000000000000.plist",
         "11111111-2222-3333-4444-555555555555.bcsymbolmap", false},
    };
    static const uint8_t uuid[16] = {0x0a};
    struct macho_writer w = macho_writer_make();
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer bytes = fz_buffer_make(0);
    w.uuid = uuid;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, 0x80000400, (struct fz_span){NULL, 0});
    w.sections[0].size = 0x100;
    macho_writer_symbol(&w, "__hidden#1_", 0x0f, 1, 0, 0x1000);
    macho_write(&w, &bytes);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char folder[] = "symbol-map-XXXXXX", command[64];
        struct sym_file *file;
        print_message("%s\n", cases[i].name);
        assert_non_null(mkdtemp(folder));
        put(folder, "Shop", fz_buffer_span(&bytes));
        put(folder, cases[i].map, fz_span_cstr(map_two));
        if (cases[i].plist)
            put(folder, cases[i].plist, fz_span_cstr(plist));
        assert_int_equal(sym_file_open(folder, &file, NULL), FZ_OK);
        assert_int_equal(file->n_slices, 1);
        assert_int_equal(file->problems.n, 0);
        assert_int_equal(file->slices[0]->symbol_map != NULL, cases[i].found);
        if (cases[i].found) {
            struct sym_problems problems = {0};
            struct sym_frame frame;
            struct sym_index *index;
            build(&file->slices[0]->macho, file->slices[0]->symbol_map, &problems, &index);
            assert_int_equal(sym_index_lookup(index, 0x1010, &frame, 1), 1);
            assert_string_equal(frame.name, "_work");
            sym_index_close(index);
        }
        sym_file_close(file);
        snprintf(command, sizeof(command), "rm -r %s", folder);
        assert_int_equal(system(command), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_applied),      cmocka_unit_test(test_plists_and_paths),
        cmocka_unit_test(test_found_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
