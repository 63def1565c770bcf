/*
 * What a slice carries, read from section sizes, unit headers and abbreviations alone: fast enough
 * for the answer to an upload.
 *
 * The abbreviations (DWARF 5, 7.5.3) say which kinds of entries the units contain:
 *
 *   code:uleb  tag:uleb  children:1  { attribute:uleb form:uleb [value:sleb] }... 0 0     ... 0
 */
#include "symbolicator/macho/macho.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/reader.h"
#include "symbolicator/macho/compressed.h"
#include "symbolicator/macho/format.h"

enum { TAG_FORMAL_PARAMETER = 0x05, TAG_INLINED_SUBROUTINE = 0x1d, TAG_VARIABLE = 0x34 };
enum { AT_LOCATION = 0x02, AT_CONST_VALUE = 0x1c, FORM_IMPLICIT_CONST = 0x21 };

static struct fz_span
section(const struct sym_macho *macho, const char *segment, const char *name)
{
    const struct sym_section *found = sym_macho_section(macho, segment, name);
    return found ? found->bytes : (struct fz_span){NULL, 0};
}

/* The bytes of a debug section. A compressed one is inflated as far as that works; the
 * reader of the units reports what is wrong with it. */
static struct fz_span
debug_section(const struct sym_macho *macho, const char *name, struct fz_arena *arena)
{
    bool is_compressed;
    size_t size, len;
    struct fz_span bytes = macho_debug_bytes(macho, name, &is_compressed);
    if (!is_compressed)
        return bytes;
    /* What is wrong with it is reported when the index is built. */
    if (macho_compressed_size(bytes, name, &size, NULL) != FZ_OK || size == 0)
        return (struct fz_span){NULL, 0};
    uint8_t *out = fz_arena_alloc(arena, size);
    if (!out)
        return (struct fz_span){NULL, 0};
    fz_ignore(macho_inflate(bytes, name, out, size, &len, NULL)); /* what came out is used */
    return fz_span_make(out, len);
}

static bool
has_debug_section(const struct sym_macho *macho, const char *name)
{
    bool is_compressed;
    return macho_debug_bytes(macho, name, &is_compressed).len > 0;
}

/* Versions and number of units; stops without a problem at the first wrong header, since the
 * reader of the units reports it in detail. */
static void
read_units(struct fz_span info, bool big_endian, struct sym_features *features)
{
    struct fz_reader r = fz_reader_make(info, "debug_info");
    r.big_endian = big_endian;
    while (fz_read_left(&r) > 0) {
        uint64_t len = fz_read_u32(&r);
        if (len == 0xffffffff)
            len = fz_read_u64(&r);
        size_t start = r.pos;
        unsigned version = fz_read_u16(&r);
        /* After a wrong length there is no next header to be found. */
        if (r.failed || len < 2 || version < 2 || version > 5)
            return;
        fz_read_seek(&r, start);
        fz_read_skip(&r, len);
        features->n_units++;
        /* Several compilers may have made the parts of one program. */
        if (features->dwarf_min == 0 || version < features->dwarf_min)
            features->dwarf_min = version;
        if (version > features->dwarf_max)
            features->dwarf_max = version;
    }
}

static void
read_abbreviations(struct fz_span abbrevs, struct sym_features *features)
{
    struct fz_reader r = fz_reader_make(abbrevs, "abbrev");
    while (fz_read_left(&r) > 0 && !r.failed) {
        if (fz_read_uleb(&r) == 0)
            continue; /* the end of a table */
        uint64_t tag = fz_read_uleb(&r);
        fz_read_skip(&r, 1);
        bool has_value = false;
        for (;;) {
            uint64_t attribute = fz_read_uleb(&r);
            uint64_t form = fz_read_uleb(&r);
            if (form == FORM_IMPLICIT_CONST)
                fz_read_sleb(&r);
            if (r.failed || (attribute == 0 && form == 0))
                break;
            /* A variable that was optimized away has neither: a debugger could not show it. */
            if (attribute == AT_LOCATION || attribute == AT_CONST_VALUE)
                has_value = true;
        }
        /* That entries of the kind are declared is enough: compilers declare what they use. */
        if (tag == TAG_INLINED_SUBROUTINE)
            features->inlines = true;
        if (has_value && (tag == TAG_VARIABLE || tag == TAG_FORMAL_PARAMETER))
            features->variables = true;
    }
}

/* Linkers leave a lone common entry in __eh_frame when compact unwind information covers all
 * functions; only one that describes a function counts. */
static bool
has_frame_entries(const struct sym_macho *macho, struct fz_span bytes)
{
    struct fz_reader r = fz_reader_make(bytes, "eh_frame");
    r.big_endian = macho->big_endian;
    while (fz_read_left(&r) > 4) {
        uint64_t len = fz_read_u32(&r);
        if (len == 0xffffffff)
            len = fz_read_u64(&r);
        if (len < 4)
            return false;
        size_t start = r.pos;
        uint32_t common = fz_read_u32(&r);
        fz_read_seek(&r, start);
        fz_read_skip(&r, len);
        if (r.failed)
            return false;
        /* 0 marks a common entry (CIE); in that of a function it is the distance to its CIE. */
        if (common != 0)
            return true;
    }
    return false;
}

static void
count_hidden(const struct sym_symbol *symbols, size_t n, struct sym_problems *problems)
{
    uint64_t n_hidden = 0;
    for (size_t i = 0; i < n; i++)
        n_hidden += sym_demangle_is_hidden(symbols[i].name);
    if (n_hidden)
        sym_problem_add(problems, SYM_PROBLEM_HIDDEN_NAMES,
                        "%llu of %zu names are hidden by a bitcode build (__hidden#): give the "
                        "whole .xcarchive, or the dSYM and its .bcsymbolmap in one archive",
                        (unsigned long long)n_hidden, n);
}

/* As sym_problem_add(), but replaces the text of a problem that is there: building an index has
 * reported the same already, this text says what to do about it. */
static void FZ_PRINTF(3, 4)
    replace(struct sym_problems *problems, enum sym_problem_kind kind, const char *fmt, ...)
{
    char text[SYM_PROBLEM_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct sym_problem *problem = sym_problem_find(problems, kind);
    if (problem)
        memcpy(problem->text, text, sizeof(text));
    else
        sym_problem_add(problems, kind, "%s", text);
}

static void
report_missing(const struct sym_macho *macho, const struct sym_features *features,
               struct sym_problems *problems)
{
    /* What is normal for a binary is a fault of a dSYM. */
    bool is_dsym = sym_macho_is_dsym(macho);
    if (!macho->has_uuid)
        replace(problems, SYM_PROBLEM_NO_UUID,
                "no UUID: reports cannot be matched to it; link without -no_uuid");
    if (macho->filetype == MACHO_OBJECT)
        replace(problems, SYM_PROBLEM_NOT_LINKED,
                "an object file: code has other addresses once it is linked, so no report fits it; "
                "upload the dSYM of the linked program");
    if (macho->flags & MACHO_DYLIB_IN_CACHE)
        replace(problems, SYM_PROBLEM_SHARED_CACHE,
                "an image as it is in a dyld shared cache, whose local names are kept there: take "
                "it out with a tool that puts them back (dsc_extractor, ipsw dyld extract)");
    if (macho->is_encrypted)
        replace(problems, SYM_PROBLEM_ENCRYPTED,
                "the code is encrypted by the App Store: unwinding cannot use it; upload "
                "the binary of the archive instead");
    if (!features->dwarf && is_dsym && features->symtab)
        replace(problems, SYM_PROBLEM_NO_DWARF,
                "a stub dSYM without debug information: names only, no files and lines. "
                "In an Xcode debug build it belongs to the .debug.dylib beside it");
    else if (!features->dwarf && is_dsym)
        replace(problems, SYM_PROBLEM_NO_DWARF,
                "a dSYM without debug information and names: build with -g and "
                "DEBUG_INFORMATION_FORMAT=dwarf-with-dsym");
    else if (!features->dwarf)
        replace(problems, SYM_PROBLEM_NO_DWARF,
                "no debug information, as in every linked binary: names without files and "
                "lines; upload its dSYM too");
    else if (!features->lines)
        replace(problems, SYM_PROBLEM_NO_LINES,
                "debug information without line tables: no files and lines; build with -g "
                "or -gline-tables-only");
    if (!features->dwarf && !features->symtab)
        replace(problems, SYM_PROBLEM_STRIPPED, "no function names at all%s",
                features->function_starts ? ": only where functions begin is known" : "");
}

static void
add_stats(const struct sym_build_stats *stats, struct sym_features *features)
{
    features->n_functions = stats->n_functions;
    features->n_inlines = stats->n_inlines;
    features->n_lines = stats->n_lines;
    features->inlines = features->inlines || stats->n_inlines > 0;
    /* The units of a compressed section were counted by the build. */
    if (features->n_units == 0) {
        features->n_units = stats->n_units;
        features->dwarf_min = stats->min_dwarf_version;
        features->dwarf_max = stats->max_dwarf_version;
    }
}

enum fz_code
sym_inspect(const struct sym_macho *macho, const struct sym_build_stats *stats,
            struct fz_arena *arena, struct sym_features *ret, struct sym_problems *problems,
            struct fz_error *err)
{
    struct sym_features features = {0};
    struct sym_symbol *symbols = NULL;
    size_t n_symbols = 0;
    enum fz_code code = sym_macho_symbols(macho, arena, &symbols, &n_symbols, problems, err);
    if (code != FZ_OK)
        return code;
    features.n_symbols = n_symbols;
    /* A stripped file keeps a table of undefined symbols, which name nothing. */
    features.symtab = n_symbols > 0;
    features.function_starts = macho->function_starts.len > 0;
    features.dwarf = has_debug_section(macho, "__debug_info");
    features.lines = has_debug_section(macho, "__debug_line");
    features.unwind = section(macho, "__TEXT", "__unwind_info").len > 0 ||
                      section(macho, "__DWARF", "__debug_frame").len > 0 ||
                      has_frame_entries(macho, section(macho, "__TEXT", "__eh_frame"));
    /* Not inflated a second time if its units have been counted. */
    if (!stats || section(macho, "__DWARF", "__debug_info").len > 0)
        read_units(debug_section(macho, "__debug_info", arena), macho->big_endian, &features);
    read_abbreviations(debug_section(macho, "__debug_abbrev", arena), &features);
    if (stats)
        add_stats(stats, &features);
    else /* the build has counted the names that its symbol map does not restore */
        count_hidden(symbols, n_symbols, problems);
    report_missing(macho, &features, problems);
    *ret = features;
    return FZ_OK;
}
