/* The lines of `framezero atos`. */
#include "server/cli/atos.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/cli/slice_index.h"
#include "symbolicator/macho/macho.h"

static void
test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {
        {"0x100003f50", true, 0x100003f50},
        {"0X1F", true, 0x1f},
        {"4096", true, 4096},
        {"0000000100003f50", true, 0x100003f50},
        {"010", true, 0x10},
        {"1f", true, 0x1f},
        {"0", true, 0},
        {"0xffffffffffffffff", true, UINT64_MAX},
        {"0x10000000000000000", false, 0},
        {"main", false, 0},
        {"", false, 0},
        {"0x", false, 0},
        {"-1", false, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint64_t value = 0;
        print_message("%s\n", cases[i].text);
        assert_int_equal(atos_parse(cases[i].text, &value), cases[i].ok);
        assert_int_equal(value, cases[i].value);
    }
}

/* The lowest address of the function whose table name is `symbol`. */
static uint64_t
address_of(const struct sym_file_slice *slice, const char *symbol)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    struct sym_symbol *symbols;
    size_t n;
    assert_int_equal(sym_macho_symbols(&slice->macho, &arena, &symbols, &n, NULL, NULL), FZ_OK);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(symbols[i].name, symbol) == 0)
            return symbols[i].addr;
    }
    fail_msg("no %s", symbol);
    return 0;
}

static void
check(const struct slice_index *opened, uint64_t addr, const struct atos_options *options,
      const char *want)
{
    struct fz_buffer line;
    char word[32];
    snprintf(word, sizeof(word), "0x%llx", (unsigned long long)addr);
    fz_buffer_init(&line, 0);
    atos_line(opened->index, "calls", word, options, &line);
    assert_string_equal(fz_buffer_cstr(&line), want);
    fz_buffer_deinit(&line);
}

static void
test_debug_information_and_address_modes(void **state)
{
    (void)state;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    assert_int_equal(
        slice_index_open(FZ_FIXTURES "/calls-x86_64-dw5-O0/calls.dSYM", NULL, &opened, NULL),
        FZ_OK);
    uint64_t text = opened.slice->macho.text_vmaddr;
    uint64_t addr = address_of(opened.slice, "_main");
    struct fz_buffer want;
    struct sym_frame frame;
    fz_buffer_init(&want, 0);
    assert_int_equal(sym_index_lookup(opened.index, addr, &frame, 1), 1);
    fz_buffer_printf(&want, "main (in calls) (calls.c:%u)\n", frame.line);
    assert_true(frame.line > 0);
    struct atos_options options = {.inlines = false};
    check(&opened, addr, &options, fz_buffer_cstr(&want));
    options.is_offset = true;
    check(&opened, addr - text, &options, fz_buffer_cstr(&want));
    options = (struct atos_options){.has_slide = true, .slide = 0x5000};
    check(&opened, addr + 0x5000, &options, fz_buffer_cstr(&want));
    options = (struct atos_options){.has_load = true, .load = 0x7f0000000000};
    check(&opened, addr - text + 0x7f0000000000, &options, fz_buffer_cstr(&want));
    check(&opened, 0x10, &options, "0x10\n");
    options = (struct atos_options){.full_path = true};
    char path[512];
    sym_frame_path(&frame, path, sizeof(path));
    fz_buffer_clear(&want);
    fz_buffer_printf(&want, "main (in calls) (%s:%u)\n", path, frame.line);
    assert_non_null(strchr(path, '/'));
    check(&opened, addr, &options, fz_buffer_cstr(&want));
    fz_buffer_deinit(&want);
}

static void
test_symbol_table_only(void **state)
{
    (void)state;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    struct atos_options options = {.inlines = true};
    assert_int_equal(slice_index_open(FZ_FIXTURES "/calls-stripped/calls", NULL, &opened, NULL),
                     FZ_OK);
    uint64_t addr = address_of(opened.slice, "_main");
    check(&opened, addr, &options, "main (in calls) + 0\n");
    check(&opened, addr + 4, &options, "main (in calls) + 4\n");
}

/* The lowest start of a function that is not exported either. */
static uint64_t
nameless_start(const struct sym_macho *macho)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(16 << 20);
    struct sym_symbol *exports;
    uint64_t *starts, found = 0;
    size_t n_exports, n_starts;
    assert_int_equal(sym_macho_exports(macho, &arena, &exports, &n_exports, NULL, NULL), FZ_OK);
    assert_int_equal(sym_macho_function_starts(macho, &arena, &starts, &n_starts, NULL, NULL),
                     FZ_OK);
    for (size_t i = n_starts; i-- > 0;) {
        bool is_export = false;
        for (size_t k = 0; k < n_exports; k++)
            is_export |= exports[k].addr == starts[i];
        found = is_export ? found : starts[i];
    }
    assert_true(n_exports > 0 && found > 0);
    return found;
}

/* Function starts give a place without a name: the address comes back, and not the name of what is
 * exported before it. */
static void
test_no_names(void **state)
{
    (void)state;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    struct atos_options options = {.inlines = true};
    assert_int_equal(slice_index_open(FZ_FIXTURES "/calls-starts/calls", NULL, &opened, NULL),
                     FZ_OK);
    uint64_t addr = nameless_start(&opened.slice->macho);
    char want[32];
    snprintf(want, sizeof(want), "0x%llx\n", (unsigned long long)addr);
    check(&opened, addr, &options, want);
}

static void
test_inlined_calls(void **state)
{
    (void)state;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    /* The program itself: the dSYM beside it is taken. */
    assert_int_equal(slice_index_open(FZ_FIXTURES "/calls-arm64-dw5-O2/calls", NULL, &opened, NULL),
                     FZ_OK);
    assert_true(sym_file_slice_has_dwarf(opened.slice));
    const struct sym_section *code = sym_macho_section(&opened.slice->macho, "__TEXT", "__text");
    struct sym_frame frames[SYM_FRAMES_MAX];
    size_t n = 0;
    uint64_t addr = code->addr;
    /* The two lines must differ, or the test could not distinguish them. */
    while (addr < code->addr + code->size &&
           ((n = sym_index_lookup(opened.index, addr, frames, SYM_FRAMES_MAX)) < 2 ||
            frames[0].line == frames[n - 1].line))
        addr += 4;
    assert_true(n >= 2);
    char word[32];
    snprintf(word, sizeof(word), "%llu", (unsigned long long)addr);
    for (int inlines = 0; inlines < 2; inlines++) {
        struct atos_options options = {.inlines = inlines, .delimiter = " ; "};
        struct fz_buffer line;
        size_t n_parts = 1;
        fz_buffer_init(&line, 0);
        atos_line(opened.index, "calls", word, &options, &line);
        for (const char *p = fz_buffer_cstr(&line); (p = strstr(p, " ; ")); p += 3)
            n_parts++;
        assert_int_equal(n_parts, inlines ? n : 1);
        /* Innermost first; alone, the function itself with the innermost place. */
        struct fz_buffer want;
        fz_buffer_init(&want, 0);
        for (size_t i = inlines ? 0 : n - 1; i < n; i++)
            fz_buffer_printf(&want, "%s (in calls) (%s:%u)%s", frames[i].name,
                             fz_text_base_name(frames[inlines ? i : 0].file),
                             frames[inlines ? i : 0].line, i + 1 < n ? " ; " : "\n");
        assert_string_equal(fz_buffer_cstr(&line), fz_buffer_cstr(&want));
        fz_buffer_deinit(&want);
        fz_buffer_deinit(&line);
    }
}

static void
test_fat_file_wants_an_architecture(void **state)
{
    (void)state;
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    struct fz_error err;
    assert_int_equal(slice_index_open(FZ_FIXTURES "/calls-fat/calls.dSYM", NULL, &opened, &err),
                     FZ_E_CONFLICT);
    assert_int_equal(slice_index_open(FZ_FIXTURES "/calls-fat/calls.dSYM", "x86_64", &opened, &err),
                     FZ_OK);
    assert_string_equal(opened.slice->arch, "x86_64");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_debug_information_and_address_modes),
        cmocka_unit_test(test_symbol_table_only),
        cmocka_unit_test(test_no_names),
        cmocka_unit_test(test_inlined_calls),
        cmocka_unit_test(test_fat_file_wants_an_architecture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
