/* Load commands, sections that are there and those that only claim so. */
#include "symbolicator/macho/macho.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/macho_writer.h"

static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint32_t CODE = 0x80000400;

struct opened {
    struct fz_buffer bytes;
    struct fz_arena arena;
    struct sym_macho macho;
    struct sym_problems problems;
    struct fz_error err;
    enum fz_code code;
};

static void
open_it(const struct macho_writer *w, struct opened *o)
{
    memset(o, 0, sizeof(*o));
    fz_buffer_init(&o->bytes, 0);
    macho_write(w, &o->bytes);
    fz_arena_init(&o->arena, 1 << 20);
    o->code =
        sym_macho_open(fz_buffer_span(&o->bytes), &o->arena, &o->macho, &o->problems, &o->err);
}

static void
close_it(struct opened *o)
{
    fz_buffer_deinit(&o->bytes);
    fz_arena_deinit(&o->arena);
}

static const struct sym_problem *
problem(const struct sym_problems *problems, const char *kind)
{
    for (size_t i = 0; i < problems->n; i++) {
        if (strcmp(sym_problem_kind_name(problems->list[i].kind), kind) == 0)
            return &problems->list[i];
    }
    return NULL;
}

static struct macho_writer
sample(bool is_64, bool big_endian)
{
    struct macho_writer w = macho_writer_make();
    w.is_64 = is_64;
    w.big_endian = big_endian;
    w.cputype = is_64 ? FZ_ARCH_ARM64 : FZ_ARCH_PPC;
    w.uuid = uuid;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, CODE, (struct fz_span){NULL, 0});
    w.sections[0].size = 0x100;
    macho_writer_section(&w, "__DWARF", "__debug_info", 0x2000, 0, fz_span_cstr("info"));
    macho_writer_section(&w, "__DWARF", "__debug_str_offs", 0x2004, 0, fz_span_cstr("offsets"));
    macho_writer_symbol(&w, "_main", 0x0f, 1, 0, 0x1000);
    return w;
}

static void
test_reads_every_width_and_order(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool is_64 = i & 1, big_endian = i & 2;
        struct macho_writer w = sample(is_64, big_endian);
        struct opened o;
        open_it(&w, &o);
        assert_int_equal(o.code, FZ_OK);
        assert_int_equal(o.problems.n, 0);
        assert_int_equal(o.macho.is_64, is_64);
        assert_int_equal(o.macho.big_endian, big_endian);
        assert_true(o.macho.has_uuid);
        assert_memory_equal(o.macho.uuid.bytes, uuid, 16);
        assert_int_equal(o.macho.text_vmaddr, 0x1000);
        assert_int_equal(o.macho.text_vmsize, 0x100);
        assert_int_equal(o.macho.n_sections, 3);
        assert_int_equal(o.macho.n_symbols, 1);
        assert_true(sym_macho_is_dsym(&o.macho));
        close_it(&o);
    }
}

static void
test_only_real_bytes_get_a_span(void **state)
{
    (void)state;
    struct macho_writer w = sample(true, false);
    struct opened o;
    open_it(&w, &o);
    const struct sym_section *text = sym_macho_section(&o.macho, "__TEXT", "__text");
    const struct sym_section *info = sym_macho_section(&o.macho, "__DWARF", "__debug_info");
    assert_non_null(text);
    assert_int_equal(text->size, 0x100);
    assert_int_equal(text->bytes.len, 0);
    assert_true(fz_span_is(info->bytes, "info"));
    /* A name longer than the field finds the cut one. */
    const struct sym_section *cut = sym_macho_section(&o.macho, "__DWARF", "__debug_str_offsets");
    assert_non_null(cut);
    assert_true(fz_span_is(cut->bytes, "offsets"));
    assert_null(sym_macho_section(&o.macho, "__DWARF", "__debug_inf"));
    assert_null(sym_macho_section(&o.macho, "__TEXT", "__debug_info"));
    close_it(&o);
}

static void
test_zero_fill_and_encrypted_have_no_bytes(void **state)
{
    (void)state;
    struct macho_writer w = macho_writer_make();
    w.filetype = 2;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, CODE, fz_span_cstr("secret"));
    macho_writer_section(&w, "__DATA", "__bss", 0x2000, 1, fz_span_cstr("zeros"));
    macho_writer_section(&w, "__DATA", "__data", 0x2005, 0, fz_span_cstr("plain"));
    struct opened o;
    open_it(&w, &o);
    size_t at = (size_t)(o.macho.sections[0].bytes.data - (const uint8_t *)o.bytes.data);
    assert_int_equal(o.macho.sections[0].bytes.len, 6);
    assert_int_equal(o.macho.sections[1].bytes.len, 0);
    assert_false(o.macho.is_encrypted);
    close_it(&o);
    w.crypt_id = 1;
    w.crypt_offset = (uint32_t)at + 24; /* after the new load command */
    w.crypt_size = 6;
    open_it(&w, &o);
    assert_true(o.macho.is_encrypted);
    assert_int_equal(o.macho.sections[0].bytes.len, 0);
    assert_true(fz_span_is(o.macho.sections[2].bytes, "plain"));
    assert_false(sym_macho_is_dsym(&o.macho));
    close_it(&o);
}

/* One field of the 64-bit sample overwritten (offset, 4 bytes), and what becomes of it. The header
 * has 32 bytes; the first command is __TEXT (72 + 80), then __DWARF (72 + 160). */
static void
test_lies(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
        uint32_t value;
        enum fz_code code;
        const char *kind; /* NULL: no problem */
        size_t n_sections;
    } cases[] = {
        {"too many commands", 16, 1000000, FZ_OK, "bad_load_command", 3},
        {"commands beyond the file", 20, 1000000, FZ_OK, "truncated", 3},
        {"no commands", 16, 0, FZ_OK, NULL, 0},
        {"first command of size 0", 36, 0, FZ_E_MALFORMED, "bad_load_command", 0},
        {"first command beyond the file", 36, 0x7fffffff, FZ_E_MALFORMED, "bad_load_command", 0},
        {"segment command too small", 36, 16, FZ_OK, "bad_load_command", 0},
        {"too many sections", 32 + 64, 0xffffffff, FZ_OK, "bad_segment", 3},
        {"section outside its segment", 32 + 152 + 72 + 48, 1, FZ_OK, "bad_section", 3},
        {"section size wraps", 32 + 152 + 72 + 44, 0xffffffff, FZ_OK, "bad_section", 3},
        {"segment beyond the file", 32 + 152 + 48, 0xffff, FZ_OK, "truncated", 3},
        {"symbol table beyond the file", 32 + 152 + 232 + 24 + 8, 0xffffff, FZ_OK, "truncated", 3},
        {"more symbols than bytes", 32 + 152 + 232 + 24 + 12, 0xffffffff, FZ_OK, "truncated", 3},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct macho_writer w = sample(true, false);
        struct opened o;
        open_it(&w, &o);
        for (unsigned k = 0; k < 4; k++)
            o.bytes.data[cases[i].offset + k] = (char)(uint8_t)(cases[i].value >> (8 * k));
        memset(&o.problems, 0, sizeof(o.problems));
        struct sym_macho macho = {0};
        enum fz_code code =
            sym_macho_open(fz_buffer_span(&o.bytes), &o.arena, &macho, &o.problems, &o.err);
        assert_int_equal(code, cases[i].code);
        assert_int_equal(macho.n_sections, cases[i].n_sections);
        if (cases[i].kind)
            assert_non_null(problem(&o.problems, cases[i].kind));
        else
            assert_int_equal(o.problems.n, 0);
        close_it(&o);
    }
}

static void
test_every_truncation_is_told(void **state)
{
    (void)state;
    struct macho_writer w = sample(true, false);
    struct opened o;
    open_it(&w, &o);
    for (size_t len = 0; len < o.bytes.len; len++) {
        /* A copy of exactly that size, for the address sanitizer. */
        struct fz_buffer cut;
        fz_buffer_init(&cut, 0);
        fz_buffer_append(&cut, o.bytes.data, len);
        struct sym_problems problems = {0};
        struct sym_macho macho;
        enum fz_code code =
            sym_macho_open(fz_span_make(cut.data, cut.len), &o.arena, &macho, &problems, &o.err);
        if (code == FZ_OK)
            assert_true(problems.n > 0);
        else
            assert_int_equal(code, len < 4 ? FZ_E_UNSUPPORTED : FZ_E_MALFORMED);
        fz_buffer_deinit(&cut);
    }
    close_it(&o);
}

static void
test_message_names_the_place(void **state)
{
    (void)state;
    struct macho_writer w = sample(true, false);
    struct opened o;
    open_it(&w, &o);
    struct sym_macho macho;
    struct fz_error err;
    assert_int_equal(sym_macho_open(fz_span_make(o.bytes.data, 20), &o.arena, &macho, NULL, &err),
                     FZ_E_MALFORMED);
    assert_string_equal(err.text, "macho header: truncated at byte 20 of 20");
    assert_int_equal(sym_macho_open(fz_span_cstr("hello"), &o.arena, &macho, NULL, &err),
                     FZ_E_UNSUPPORTED);
    assert_string_equal(err.text, "not a Mach-O slice but text");
    fz_arena_deinit(&o.arena);
    fz_arena_init(&o.arena, 100);
    assert_int_equal(sym_macho_open(fz_buffer_span(&o.bytes), &o.arena, &macho, NULL, &err),
                     FZ_E_LIMIT);
    close_it(&o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_width_and_order),
        cmocka_unit_test(test_only_real_bytes_get_a_span),
        cmocka_unit_test(test_zero_fill_and_encrypted_have_no_bytes),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_every_truncation_is_told),
        cmocka_unit_test(test_message_names_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
