/* Compressed debug sections: the same index as of plain ones, the same to libdwarf, and each broken
 * one costs itself alone. */
#define _GNU_SOURCE /* memfd_create */
#include "symbolicator/macho/compressed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/file.h"
#include "symbolicator/macho/macho.h"
#include "tests/unit/dwarf_text.h"
#include "tests/unit/macho_writer.h"

static const uint32_t CODE = 0x80000400;
static const uint8_t uuid[16] = {7};

enum { N_SECTIONS = 7, INFO = 0, LINE = 2, CUT = 6 /* bytes */, CAP = 60000 };

/* One function of DWARF 5 whose every string and range is in a section of its own. */
static const struct {
    const char *plain, *compressed, *text;
} parts[N_SECTIONS] = {
    {"__debug_info", "__zdebug_info", "{ 2:5 1 8 4:0 1 4:8 4:0 4:0 8:1000 4:100 4:c 2 0 u0 0 }"},
    {"__debug_abbrev", "__zdebug_abbrev",
     "1 11 1 72 17 10 17 1b 1f 11 1 12 6 74 17 0 0 2 2e 0 3 25 55 23 0 0 0"},
    {"__debug_line", "__zdebug_line",
     "{ 2:5 8 0 { 1 1 1 fb e d 0 1 1 1 1 0 0 0 1 0 0 1 1 1 1f u1 4:0 2 1 1f 2 b u2 4:5 0 4:5 0 } "
     "0 u9 2 8:1000 5 u3 3 s10 1 2 u16 3 s1 1 2 u16 0 u1 1 }"},
    {"__debug_str", "__zdebug_str", "'spin'"},
    {"__debug_line_str", "__zdebug_line_str", "'/src' 'a.c'"},
    {"__debug_str_offs", "__zdebug_str_offs", "{ 2:5 2:0 4:0 }"},
    {"__debug_rnglists", "__zdebug_rnglists", "{ 2:5 8 0 4:1 4:4 7 8:1000 u32 0 }"},
};

enum harm {
    HARM_NONE,
    HARM_SIZE,
    HARM_CUT,
    HARM_MAGIC,
    HARM_BYTES,
    HARM_SHORT,
    HARM_LESS,
    HARM_BIG
};

static void
compress_section(const char *text, enum harm harm, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer plain = fz_buffer_make(0);
    uint8_t packed[512];
    uLongf len = sizeof(packed);
    dwarf_text_write(text, false, &plain);
    assert_int_equal(compress(packed, &len, (const uint8_t *)plain.data, plain.len), Z_OK);
    uint64_t size = harm == HARM_SIZE ? UINT64_C(1) << 42 : plain.len - (harm == HARM_LESS);
    if (harm == HARM_BIG)
        size = 60000;
    fz_buffer_append(out, harm == HARM_MAGIC ? "zlib" : "ZLIB", 4);
    macho_write_int(out, true, 8, size);
    if (harm == HARM_BYTES)
        memset(packed, 0xff, len);
    fz_buffer_append(out, packed, harm == HARM_CUT ? len - CUT : len);
    if (harm == HARM_SHORT)
        out->len = 11;
}

struct sample {
    struct fz_buffer parts[N_SECTIONS], bytes;
    struct fz_arena arena;
    struct sym_macho macho;
};

static void
sample_init(struct sample *s, bool is_compressed, int harmed, enum harm harm)
{
    struct macho_writer w = macho_writer_make();
    struct sym_problems problems = {0};
    w.uuid = uuid;
    macho_writer_section(&w, "__TEXT", "__text", 0x1000, CODE, (struct fz_span){NULL, 0});
    w.sections[0].size = 0x100;
    for (int i = 0; i < N_SECTIONS; i++) {
        fz_buffer_init(&s->parts[i], 0);
        if (is_compressed)
            compress_section(parts[i].text, i == harmed ? harm : HARM_NONE, &s->parts[i]);
        else
            dwarf_text_write(parts[i].text, false, &s->parts[i]);
        macho_writer_section(&w, "__DWARF", is_compressed ? parts[i].compressed : parts[i].plain,
                             0x2000, 0, fz_buffer_span(&s->parts[i]));
    }
    fz_buffer_init(&s->bytes, 0);
    macho_write(&w, &s->bytes);
    fz_arena_init(&s->arena, 1 << 20);
    assert_int_equal(
        sym_macho_open(fz_buffer_span(&s->bytes), &s->arena, &s->macho, &problems, NULL), FZ_OK);
    assert_int_equal(problems.n, 0);
}

static void
sample_deinit(struct sample *s)
{
    for (int i = 0; i < N_SECTIONS; i++)
        fz_buffer_deinit(&s->parts[i]);
    fz_buffer_deinit(&s->bytes);
    fz_arena_deinit(&s->arena);
}

static void
report(void *user, const char *text)
{
    (void)user;
    print_message("%s\n", text);
}

/* Build, look 0x1004 up, and compare with libdwarf; problems as "kind: text". */
static void
check(const struct sample *s, size_t cap, const char *want_name, uint32_t want_line,
      const char *want_problem)
{
    struct sym_build_options options = {.memory_cap = cap};
    struct sym_problems problems = {0};
    struct sym_build_stats stats;
    struct sym_verify_stats verified = {0};
    struct sym_frame frames[4];
    FZ_CLEANUP(fz_closep) int fd = memfd_create("index", MFD_CLOEXEC);
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    assert_int_equal(sym_index_build(&s->macho, &options, fd, &stats, &problems, NULL), FZ_OK);
    assert_int_equal(sym_index_open_fd(fd, &index, NULL), FZ_OK);
    size_t n = sym_index_lookup(index, 0x1004, frames, 4);
    assert_int_equal(n, want_name ? 1 : 0);
    if (want_name) {
        assert_string_equal(frames[0].name, want_name);
        assert_int_equal(frames[0].line, want_line);
        assert_string_equal(frames[0].file, want_line ? "a.c" : "");
    }
    /* libdwarf gives a unit up where its line program is cut off; it must see no more than we do.
     */
    fz_ignore(sym_verify(&s->macho, index, report, NULL, &verified, NULL));
    if (!want_problem) {
        assert_int_equal(verified.n_functions, 1);
        assert_int_equal(verified.n_rows, 2);
        assert_int_equal(verified.n_differences, 0);
    }
    if (want_problem) {
        assert_string_equal(sym_problem_kind_name(problems.list[0].kind), "bad_section");
        assert_string_equal(problems.list[0].text, want_problem);
    } else {
        assert_int_equal(problems.n, 0);
    }
}

static void
test_as_plain(void **state)
{
    (void)state;
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sample s;
        struct sym_features features;
        struct sym_problems problems = {0};
        sample_init(&s, is_compressed, -1, HARM_NONE);
        check(&s, 0, "spin", 11, NULL);
        assert_int_equal(sym_inspect(&s.macho, NULL, &s.arena, &features, &problems, NULL), FZ_OK);
        assert_true(features.dwarf && features.lines);
        assert_int_equal(features.n_units, 1);
        assert_int_equal(features.dwarf_max, 5);
        sample_deinit(&s);
    }
}

static void
test_harmed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int section;
        enum harm harm;
        const char *want_name;
        uint32_t want_line;
        const char *problem;
    } cases[] = {
        {"claims terabytes", LINE, HARM_SIZE, "spin", 0,
         "__debug_line: claims to inflate from 64 to 4398046511104 bytes"},
        {"cut off", LINE, HARM_CUT, "spin", 0, "__debug_line: inflates to 77 of 80 bytes"},
        {"no header", LINE, HARM_MAGIC, "spin", 0, "__debug_line: no compression header"},
        {"shorter than its header", LINE, HARM_SHORT, "spin", 0,
         "__debug_line: no compression header"},
        {"no stream", LINE, HARM_BYTES, "spin", 0, "__debug_line: inflates to 0 of 80 bytes"},
        {"larger than it says", LINE, HARM_LESS, "spin", 0,
         "__debug_line: inflates to 79 of 79 bytes"},
        {"more than the cap", LINE, HARM_BIG, "spin", 0,
         "__debug_line: its 60000 bytes, inflated, do not fit into memory"},
        {"the units", INFO, HARM_BYTES, NULL, 0, "__debug_info: inflates to 0 of 45 bytes"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct sample s;
        print_message("%s\n", cases[i].name);
        sample_init(&s, true, cases[i].section, cases[i].harm);
        check(&s, CAP, cases[i].want_name, cases[i].want_line, cases[i].problem);
        sample_deinit(&s);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_plain),
        cmocka_unit_test(test_harmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
