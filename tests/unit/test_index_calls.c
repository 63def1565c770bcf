/* Calls of folded functions: what a call site names, and where nothing is looked for. */
#include "symbolicator/symbolicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "symbolicator/dwarf/dwarf.h"
#include "symbolicator/index/reader.h"
#include "tests/unit/dwarf_text.h"

/*
 * 1 unit (low_pc), 2 function (name, low_pc, length), 3 declaration (linkage name), 4 call site
 * (return_pc, origin), 5 GNU call site (low_pc, abstract_origin), 6 and 7 the same of tail calls, 8
 * call site with ref_addr, 9 call site without an address, a definition (specification), b
 * declaration (name), c call site by address index, d unit with an address table, e function
 * (origin, low_pc, length), f call site that is not a tail call.
 */
#define ABBREVS                                                                     \
    "1 11 1 11 1 0 0 2 2e 1 3 8 11 1 12 6 0 0 3 2e 0 6e 8 0 0 4 48 0 7d 1 7f 13 0 " \
    "0 5 u16649 0 11 1 31 13 0 0 6 48 0 7d 1 7f 13 u130 19 0 0 "                    \
    "7 u16649 0 11 1 31 13 u8469 19 0 0 8 48 0 7d 1 7f 10 0 0 9 48 1 7f 13 0 0 "    \
    "a 2e 0 47 13 0 0 b 2e 0 3 8 0 0 c 48 0 7d 1b 7f 13 0 0 d 11 1 11 1 73 17 0 0 " \
    "e 2e 1 31 13 11 1 12 6 0 0 f 48 0 7d 1 7f 13 u130 c 0 0 0"
/* The DIE after UNIT is at 0x14 of it, each of these declarations is 3 bytes. */
#define UNIT "{ 2:4 4:0 8 1 8:1000 "
#define G_AND_F "b 'g' b 'f' "
#define G "4:14 "
#define F "4:17 "

struct scan_case {
    const char *name;
    struct dwarf_text text;
    const char *want; /* return address and name of each call */
};

static const struct scan_case scans[] = {
    {"both kinds",
     {.info = UNIT "b 'g' 2 'h' 8:2000 4:20 4 8:2008 " G "5 8:2010 " G "0 0 }"},
     "2008 g\n2010 g\n"},
    {"tail calls do not return",
     {.info = UNIT G_AND_F "2 'h' 8:2000 4:20 6 8:2008 " G "7 8:2010 " G "f 8:2018 " F
                           "1 f 8:201c " F "0 0 0 }"},
     "201c f\n"},
    {"no address, and the parameters below it",
     {.info = UNIT G_AND_F "2 'h' 8:2000 4:20 9 " G "b 'p' 0 4 8:2010 " F "0 0 }"},
     "2010 f\n"},
    {"through a specification, and in another unit",
     {.info = UNIT "3 '_Zg' a 4:14 0 } " UNIT "b 'g' 2 'h' 8:2000 4:20 8 8:2008 4:19 8 8:2010 "
                   "4:33 0 0 }"},
     "2008 _Zg\n2010 g\n"},
    {"an address by index",
     {.info = "{ 2:5 1 8 4:0 d 8:1000 4:8 b 'g' 2 'h' 8:2000 4:20 c u1 4:19 c u7 4:19 0 0 }",
      .addr = "{ 2:5 8 0 8:2008 8:2010 }"},
     "2010 g\n"},
    {"below an inlined function, and after what has no code",
     {.info = UNIT "b 'g' e " G "8:2000 4:20 e " G "8:2004 4:8 4 8:2008 " G "0 0 2 'd' 8:0 4:0 "
                   "4 8:10 " G "0 0 }"},
     "2008 g\n10 g\n"},
    {"an origin that leads nowhere",
     {.info = UNIT "2 'h' 8:2000 4:20 4 8:2008 4:9999 8 8:2010 4:7777 0 0 }"},
     ""},
    {"a unit that breaks gives what is before",
     {.info = UNIT "b 'g' 2 'h' 8:2000 4:20 4 8:2008 " G "7f 4 8:2010 " G "0 0 } " UNIT
                   "b 'g' 4 8:3000 " G "0 }"},
     "2008 g\n3000 g\n"},
    {"cut off", {.info = "4:100 2:4 4:0 8 1 8:1000 b 'g' 4 8:2008 " G "4 8:2010 2:1"}, "2008 g\n"},
    {"big-endian", {.info = UNIT "b 'g' 4 8:2008 " G "0 }", .big_endian = true}, "2008 g\n"},
};

struct print {
    const struct sym_dwarf *dwarf;
    struct fz_buffer text;
    size_t n_left;
};

static bool
print_call(void *user, const struct sym_dwarf_call *call)
{
    struct print *print = user;
    struct sym_dwarf_name name;
    uint64_t steps = 1000;
    sym_dwarf_name(print->dwarf, call->origin, &steps, &name);
    struct fz_span text = name.linkage.len ? name.linkage : name.plain;
    if (text.len)
        fz_buffer_printf(&print->text, "%llx %.*s\n", (unsigned long long)call->return_addr,
                         (int)text.len, (const char *)text.data);
    return --print->n_left > 0;
}

static void
test_scan(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(scans); i++) {
        struct dwarf_text text = scans[i].text;
        struct dwarf_sample sample;
        struct fz_budget budget = {0};
        struct sym_dwarf *dwarf = NULL;
        text.abbrev = ABBREVS;
        dwarf_sample_init(&sample, &text);
        assert_int_equal(sym_dwarf_open(&sample.macho, &budget, NULL, &dwarf, NULL), FZ_OK);
        struct print print = {.dwarf = dwarf, .n_left = 100}, one = {.dwarf = dwarf, .n_left = 1};
        fz_buffer_init(&print.text, 0);
        fz_buffer_init(&one.text, 0);
        for (size_t k = 0; k < sym_dwarf_n_units(dwarf); k++)
            assert_true(sym_dwarf_calls_unit(dwarf, k, print_call, &print));
        if (strcmp(fz_buffer_cstr(&print.text), scans[i].want) != 0)
            fail_msg("%s:\n got %s\nwant %s", scans[i].name, fz_buffer_cstr(&print.text),
                     scans[i].want);
        if (i == 0)
            assert_false(sym_dwarf_calls_unit(dwarf, 0, print_call, &one));
        fz_buffer_deinit(&print.text);
        fz_buffer_deinit(&one.text);
        sym_dwarf_close(dwarf);
        dwarf_sample_deinit(&sample);
    }
}

struct symbol {
    uint64_t addr;
    const char *name;
};

static const struct call_case {
    const char *name;
    struct dwarf_text text;
    struct symbol symbols[4];
    struct {
        uint64_t addr;
        const char *target; /* NULL: not known */
    } want[4];
    uint32_t cputype;
} cases[] = {
    {"two symbols at one address",
     {.info =
          UNIT G_AND_F "2 'f' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G "5 8:2010 " F "0 0 }"},
     {{0x1000, "_f"}, {0x1000, "_g"}},
     {{0x2008, "g"}, {0x2010, "f"}, {0x200c, NULL}, {0x1000, NULL}},
     0},
    {"two functions of two units at one address, no symbols",
     {.info = UNIT "2 'f' 8:1000 4:10 0 0 } " UNIT
                   "2 'g' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G "0 0 }"},
     {{0}},
     {{0x2008, "g"}},
     0},
    {"code that only symbols name",
     {.info = UNIT G_AND_F "2 'h' 8:2000 4:20 4 8:2008 " G "5 8:2010 " F "0 0 }"},
     {{0x1000, "_f"}, {0x1000, "_g"}},
     {{0x2008, "g"}, {0x2010, "f"}},
     0},
    {"nothing is folded",
     {.info = UNIT G_AND_F "2 'f' 8:1000 4:10 0 2 'g' 8:1010 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G
                           "0 0 }"},
     {{0x1000, "_f"}, {0x1010, "_g"}},
     {{0x2008, NULL}},
     0},
    {"C1 and C2 of one constructor are one function",
     {.info =
          UNIT "3 '_ZN1AC1Ev' 2 '_ZN1AC2Ev' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G "0 0 }"},
     {{0x1000, "__ZN1AC1Ev"}, {0x1000, "__ZN1AC2Ev"}},
     {{0x2008, NULL}},
     0},
    {"a hidden name is not another function",
     {.info = UNIT G_AND_F "2 'f' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " F "0 0 }"},
     {{0x1000, "__hidden#12_"}},
     {{0x2008, NULL}},
     0},
    {"a folded caller calls two: unknown, and one twice: known",
     {.info = UNIT G_AND_F "2 'f' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G "4 8:2008 " F
                           "4 8:2010 " G "5 8:2010 " G "0 0 }"},
     {{0x1000, "_f"}, {0x1000, "_g"}},
     {{0x2008, NULL}, {0x2010, "g"}},
     0},
    {"a return address outside of the code",
     {.info = UNIT G_AND_F "2 'f' 8:1000 4:10 0 4 8:0 " G "4 8:1000 " G "4 8:100001 " G
                           "4 8:100000 " G "0 }"},
     {{0x1000, "_f"}, {0x1000, "_g"}},
     {{0, NULL}, {0x1000, NULL}, {0x100001, NULL}, {0x100000, "g"}},
     0},
    {"Thumb: bit 0 of an address is ignored",
     {.info = UNIT G_AND_F "2 'f' 8:1000 4:10 0 2 'h' 8:2000 4:20 4 8:2008 " G "0 0 }"},
     {{0x1000, "_f"}, {0x1000, "_g"}},
     {{0x2008, "g"}, {0x2009, "g"}, {0x200a, NULL}},
     FZ_ARCH_ARM},
};

struct call_sample {
    struct dwarf_sample dwarf;
    struct fz_buffer table, names;
};

static void
sample_init(struct call_sample *sample, struct dwarf_text text, const struct symbol *symbols,
            size_t n)
{
    text.abbrev = ABBREVS;
    dwarf_sample_init(&sample->dwarf, &text);
    fz_buffer_init(&sample->table, 0);
    fz_buffer_init(&sample->names, 0);
    fz_buffer_char(&sample->names, 0);
    struct sym_macho *macho = &sample->dwarf.macho;
    for (size_t i = 0; i < n && symbols[i].name; i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "4:%zx e 1 2:0 8:%llx", sample->names.len,
                 (unsigned long long)symbols[i].addr);
        dwarf_text_write(entry, false, &sample->table);
        fz_buffer_append(&sample->names, symbols[i].name, strlen(symbols[i].name) + 1);
        macho->n_symbols++;
    }
    macho->symbol_table = fz_buffer_span(&sample->table);
    macho->string_table = fz_buffer_span(&sample->names);
}

static void
sample_deinit(struct call_sample *sample)
{
    fz_buffer_deinit(&sample->table);
    fz_buffer_deinit(&sample->names);
    dwarf_sample_deinit(&sample->dwarf);
}

static enum fz_code
build(const struct call_sample *sample, unsigned n_threads, size_t cap, struct fz_buffer *ret)
{
    struct sym_build_options options = {.n_threads = n_threads, .memory_cap = cap};
    FILE *file = tmpfile();
    assert_non_null(file);
    fz_buffer_init(ret, 0);
    enum fz_code code =
        sym_index_build(&sample->dwarf.macho, &options, fileno(file), NULL, NULL, NULL);
    struct fz_map map;
    if (code == FZ_OK) {
        assert_int_equal(fz_map_open_fd(fileno(file), &map, NULL), FZ_OK);
        fz_buffer_append(ret, map.bytes.data, map.bytes.len);
        fz_map_close(&map);
    }
    fclose(file);
    return code;
}

static void
test_targets(void **state)
{
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct call_case *c = &cases[i];
        struct call_sample sample;
        struct fz_buffer bytes;
        struct sym_index *index = NULL;
        sample_init(&sample, c->text, c->symbols, FZ_ARRAY_LEN(c->symbols));
        if (c->cputype)
            sample.dwarf.macho.cputype = c->cputype;
        assert_int_equal(build(&sample, 1, 0, &bytes), FZ_OK);
        assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
        for (size_t k = 0; k < FZ_ARRAY_LEN(c->want) && (k == 0 || c->want[k].addr); k++) {
            const char *got = sym_index_call_target(index, c->want[k].addr);
            if (strcmp(got ? got : "-", c->want[k].target ? c->want[k].target : "-") != 0)
                fail_msg("%s: 0x%llx: got %s", c->name, (unsigned long long)c->want[k].addr,
                         got ? got : "none");
        }
        sym_index_close(index);
        fz_buffer_deinit(&bytes);
        sample_deinit(&sample);
    }
}

static void
test_find_alias(void **state)
{
    (void)state;
    static const struct {
        uint64_t addr;
        const char *name, *want;
    } finds[] = {{0x1008, "g", "_g"}, {0x1008, "_g", "_g"}, {0x1008, "f", NULL},
                 {0x1008, "h", NULL}, {0x2008, "g", NULL},  {0x3000, "g", NULL}};
    struct call_sample sample;
    struct fz_buffer bytes;
    struct sym_index *index = NULL;
    sample_init(&sample, cases[0].text, cases[0].symbols, FZ_ARRAY_LEN(cases[0].symbols));
    assert_int_equal(build(&sample, 1, 0, &bytes), FZ_OK);
    assert_int_equal(index_open_bytes(fz_buffer_span(&bytes), &index, NULL), FZ_OK);
    for (size_t i = 0; i < FZ_ARRAY_LEN(finds); i++) {
        const char *got = sym_index_find_alias(index, finds[i].addr, finds[i].name);
        assert_string_equal(got ? got : "-", finds[i].want ? finds[i].want : "-");
    }
    sym_index_close(index);
    fz_buffer_deinit(&bytes);
    sample_deinit(&sample);
}

/* Many units: the same bytes for any number of threads, and a cap that is too small is a limit. */
static void
test_threads_and_cap(void **state)
{
    (void)state;
    static const unsigned counts[] = {2, 3, 8};
    struct fz_buffer info, one, more;
    struct call_sample sample;
    fz_buffer_init(&info, 0);
    fz_buffer_text(&info, UNIT "2 'f' 8:1000 4:10 0 0 } ");
    for (unsigned i = 0; i < 60; i++)
        fz_buffer_printf(&info,
                         UNIT G_AND_F "2 'h%u' 8:%x 4:20 4 8:%x 4:%x 5 8:%x 4:%x 4 8:9000 4:%x "
                                      "%s 0 } ",
                         i, 0x2000 + i * 32, 0x2008 + i * 32, i % 2 ? 0x14 : 0x17, 0x2010 + i * 32,
                         i % 3 ? 0x14 : 0x17, i % 5 ? 0x14 : 0x17, i == 17 ? "7f" : "0");
    struct dwarf_text text = {.info = fz_buffer_cstr(&info)};
    sample_init(&sample, text, cases[0].symbols, FZ_ARRAY_LEN(cases[0].symbols));
    assert_int_equal(build(&sample, 1, 0, &one), FZ_OK);
    const uint8_t *calls = (const uint8_t *)one.data + INDEX_SECTIONS + 16 * INDEX_CALLS;
    assert_int_equal(load64(calls + 8), 120 * INDEX_ALIAS); /* all but the one at 0x9000 */
    for (size_t i = 0; i < 20 * FZ_ARRAY_LEN(counts); i++) {
        assert_int_equal(build(&sample, counts[i % FZ_ARRAY_LEN(counts)], 0, &more), FZ_OK);
        assert_int_equal(more.len, one.len);
        assert_memory_equal(more.data, one.data, one.len);
        fz_buffer_deinit(&more);
    }
    enum fz_code code = FZ_E_LIMIT;
    for (size_t cap = 4096; code != FZ_OK; cap += 4096) {
        code = build(&sample, 1 + (unsigned)(cap >> 12) % 4, cap, &more);
        assert_true(code == FZ_OK || code == FZ_E_LIMIT);
        assert_true(cap < 4 << 20);
        fz_buffer_deinit(&more);
    }
    fz_buffer_deinit(&one);
    fz_buffer_deinit(&info);
    sample_deinit(&sample);
}

/* Damage is never believed, and with checks put right no offset leads outside. */
static void
test_lies(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7f, 0xff};
    struct call_sample sample;
    struct fz_buffer bytes;
    sample_init(&sample, cases[0].text, cases[0].symbols, FZ_ARRAY_LEN(cases[0].symbols));
    assert_int_equal(build(&sample, 1, 0, &bytes), FZ_OK);
    uint8_t *data = (uint8_t *)bytes.data;
    size_t checks = (size_t)load64(data + INDEX_SECTIONS + 16 * INDEX_CHECKS);
    for (size_t i = 0; i < (checks - INDEX_HEADER) * FZ_ARRAY_LEN(values); i++) {
        struct sym_index *index = NULL;
        size_t at = INDEX_HEADER + i / FZ_ARRAY_LEN(values);
        uint8_t was = data[at], value = values[i % FZ_ARRAY_LEN(values)];
        for (int is_mended = 0; is_mended < 2 && value != was; is_mended++) {
            data[at] = value;
            if (is_mended)
                store32(data + checks, index_check(data + INDEX_HEADER, checks - INDEX_HEADER));
            if (index_open_bytes(fz_buffer_span(&bytes), &index, NULL) != FZ_OK)
                continue;
            const char *name = sym_index_call_target(index, 0x2008);
            assert_true(!name || (is_mended && strlen(name) < bytes.len));
            sym_index_find_alias(index, 0x1000, "g"); /* only that it ends */
            sym_index_close(index);
            index = NULL;
        }
        data[at] = was;
        store32(data + checks, index_check(data + INDEX_HEADER, checks - INDEX_HEADER));
    }
    fz_buffer_deinit(&bytes);
    sample_deinit(&sample);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scan), cmocka_unit_test(test_targets),
                                       cmocka_unit_test(test_find_alias),
                                       cmocka_unit_test(test_threads_and_cap),
                                       cmocka_unit_test(test_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
