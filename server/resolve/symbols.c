#include "server/resolve/symbols.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"
#include "symbolicator/symbolicator.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 1024 * 1024, ALIASES_MAX = 16 };

void
resolve_names_init(struct resolve_names *names, const struct resolve_options *options,
                   struct fz_arena *arena)
{
    names->options = options;
    names->arena = arena;
    fz_buffer_init(&names->text, NAME_BYTES);
}

void
resolve_names_deinit(struct resolve_names *names)
{
    fz_buffer_deinit(&names->text);
}

/* A name that a C compiler could have made: the symbol table has it with one underscore more.
 * Objective-C methods, C++ and Swift names are spelt alike in DWARF and in the table. */
static bool
is_c_identifier(const char *name)
{
    /* Linkage names of C++ and Rust: their readable form is shown, and they are listed as they
     * are. */
    if (!*name || (*name >= '0' && *name <= '9') || fz_text_has_prefix(name, "_Z") ||
        fz_text_has_prefix(name, "_R"))
        return false;
    for (const char *p = name; *p; p++) {
        bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        if (!is_letter && !(*p >= '0' && *p <= '9'))
            return false;
    }
    return true;
}

/* The readable form of a name, in the arena; NULL when memory is exhausted. */
static const char *
readable(struct resolve_names *names, const char *name, bool is_macho_symbol, bool *ret_demangled)
{
    fz_buffer_clear(&names->text);
    *ret_demangled = sym_demangle(name, is_macho_symbol, NULL, &names->text);
    if (names->text.failed) { /* longer than any screen: the raw name says as much */
        *ret_demangled = false;
        return fz_arena_text(names->arena, fz_span_make(name, strnlen(name, NAME_BYTES)));
    }
    /* Linkage names are untrusted bytes, and the model promises UTF-8. */
    return fz_text_clean_utf8(names->arena, fz_buffer_span(&names->text));
}

static bool
set_function(struct resolve_names *names, const struct sym_frame *from, struct report_symbol *to)
{
    bool is_symbol = from->source != SYM_SOURCE_DWARF;
    bool demangled;
    if (!*from->name) /* an inlined call whose compiler gave no name, only file and line */
        return true;
    to->function = readable(names, from->name, is_symbol, &demangled);
    if (!to->function)
        return false;
    /* The name as the linker has it, for those who search in other tools. */
    if (strcmp(to->function, from->name) != 0)
        to->mangled = fz_text_clean_utf8(names->arena, fz_span_cstr(from->name));
    else if (!from->inlined && !is_symbol && is_c_identifier(from->name))
        to->mangled = fz_arena_printf(names->arena, "_%s", from->name);
    else
        return true;
    return to->mangled != NULL;
}

static bool
set_file(struct resolve_names *names, const struct sym_frame *from, struct report_symbol *to)
{
    if (!from->file || !*from->file)
        return true;
    char path[PATH_BYTES];
    sym_frame_path(from, path, sizeof(path));
    const char *shown = path;
    const struct resolve_options *options = names->options;
    for (size_t i = 0; options && i < options->n_cut_prefixes; i++) {
        const char *prefix = options->cut_prefixes[i];
        /* Not if nothing would be left: a prefix may be the whole path. */
        if (*prefix && fz_text_has_prefix(path, prefix) && path[strlen(prefix)]) {
            shown = path + strlen(prefix);
            break;
        }
    }
    to->file = fz_text_clean_utf8(names->arena, fz_span_cstr(shown));
    to->line = from->line;
    to->column = from->column;
    return to->file != NULL;
}

/* Two spellings of one linkage name: the symbol table's has an underscore more than DWARF's. */
static bool
is_same_linkage(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (a[0] == '_' && strcmp(a + 1, b) == 0) ||
           (b[0] == '_' && strcmp(a, b + 1) == 0);
}

static bool
is_listed(const struct report_symbol *symbol, const char *text)
{
    for (size_t i = 0; i < symbol->n_also; i++) {
        if (strcmp(symbol->also[i], text) == 0)
            return true;
    }
    return strcmp(symbol->function, text) == 0;
}

/* All other functions that the linker folded into this one. */
static bool
set_also(struct resolve_names *names, const struct sym_index *index, uint64_t addr,
         const struct sym_frame *from, struct report_symbol *to)
{
    const char *aliases[ALIASES_MAX];
    size_t n = sym_index_aliases(index, addr, aliases, ALIASES_MAX);
    /* It returns how many there are, not how many fit. */
    if (n > ALIASES_MAX)
        n = ALIASES_MAX;
    if (n == 0)
        return true;
    /* Room for one more: the name shown, when the caller says that it meant another one. */
    to->also = fz_arena_array(names->arena, n + 1, sizeof(*to->also));
    if (!to->also)
        return false;
    for (size_t i = 0; i < n; i++) {
        /* The symbol table lists the name that is shown, too. */
        if (is_same_linkage(aliases[i], from->name))
            continue;
        bool demangled;
        const char *text = readable(names, aliases[i], true, &demangled);
        if (!text)
            return false;
        if (!is_listed(to, text))
            to->also[to->n_also++] = text;
    }
    return true;
}

enum fz_code
resolve_names_at(struct resolve_names *names, const struct sym_index *index, uint64_t addr,
                 struct report_frame *frame, struct fz_error *err)
{
    size_t n = sym_index_lookup(index, addr, names->frames, SYM_FRAMES_MAX);
    if (n == 0 || !*names->frames[n - 1].name) /* a function start alone names nothing */
        return FZ_OK;
    struct report_symbol *symbols = fz_arena_array(names->arena, n, sizeof(*symbols));
    if (!symbols)
        return fz_arena_fail(names->arena, err);
    for (size_t i = 0; i < n; i++) {
        const struct sym_frame *from = &names->frames[i];
        struct report_symbol *to = &symbols[i];
        to->inlined = from->inlined;
        to->source = sym_source_name(from->source);
        if (!set_function(names, from, to) || !set_file(names, from, to))
            return fz_arena_fail(names->arena, err);
    }
    const struct sym_frame *outer = &names->frames[n - 1];
    struct report_symbol *last = &symbols[n - 1];
    /* A cold part of a function may be before its start. */
    if (addr >= outer->function_start) {
        last->has_offset = true;
        last->offset = addr - outer->function_start;
    }
    if (!set_also(names, index, addr, outer, last))
        return fz_arena_fail(names->arena, err);
    frame->symbols = symbols;
    frame->n_symbols = n;
    return FZ_OK;
}

enum fz_code
resolve_names_called(struct resolve_names *names, const struct sym_index *index, uint64_t addr,
                     const char *target, struct report_frame *frame, struct fz_error *err)
{
    struct report_symbol *last = &frame->symbols[frame->n_symbols - 1];
    const char *alias = sym_index_find_alias(index, addr, target);
    if (!alias || last->n_also == 0)
        return FZ_OK;
    /* Named as the others are: DWARF's spelling with DWARF, the table's with the table. */
    bool is_dwarf = strcmp(last->source, sym_source_name(SYM_SOURCE_DWARF)) == 0;
    const struct sym_frame from = {.name = is_dwarf ? target : alias,
                                   .source = is_dwarf ? SYM_SOURCE_DWARF : SYM_SOURCE_SYMTAB};
    struct report_symbol called = {0};
    if (!set_function(names, &from, &called))
        return fz_arena_fail(names->arena, err);
    if (!called.function || strcmp(called.function, last->function) == 0)
        return FZ_OK;
    size_t i = 0;
    while (i < last->n_also && strcmp(last->also[i], called.function) != 0)
        i++;
    last->n_also += i == last->n_also; /* one that there was no room to list */
    last->also[i] = last->function;
    last->function = called.function;
    last->mangled = called.mangled;
    return FZ_OK;
}

/* The symbols as those of the frame, with readable names. */
static enum fz_code
set_symbols(struct resolve_names *names, const struct report_symbol *from, size_t n,
            struct report_frame *frame, struct fz_error *err)
{
    struct report_symbol *symbols = fz_arena_array(names->arena, n, sizeof(*symbols));
    if (!symbols)
        return fz_arena_fail(names->arena, err);
    for (size_t i = 0; i < n; i++) {
        bool demangled;
        symbols[i] = from[i];
        symbols[i].function = readable(names, from[i].function, false, &demangled);
        if (!symbols[i].function)
            return fz_arena_fail(names->arena, err);
        if (demangled)
            symbols[i].mangled = from[i].function;
    }
    frame->symbols = symbols;
    frame->n_symbols = n;
    return FZ_OK;
}

enum fz_code
resolve_names_client(struct resolve_names *names, struct report_frame *frame, struct fz_error *err)
{
    return set_symbols(names, frame->client, frame->n_client, frame, err);
}

enum fz_code
resolve_names_found(struct resolve_names *names, const char *name, uint64_t start,
                    struct report_frame *frame, struct fz_error *err)
{
    const struct report_symbol symbol = {.function = name,
                                         .source = "learned",
                                         .has_offset = true,
                                         /* of the address as it is shown */
                                         .offset = frame->image_offset - start};
    frame->status = REPORT_FRAME_SYMBOLICATED;
    return set_symbols(names, &symbol, 1, frame, err);
}
