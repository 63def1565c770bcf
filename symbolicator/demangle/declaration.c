/*
 * Which parser finds the declaration of a name.
 *
 *   $s4Shop3addyyF                       its tree                  swift/declare.c
 *   _ZN4shop3addEi.cold                  shop::add(int) (.cold)    cxx/declare.c
 *   _RNvC4shop3add                       shop::add                 rust/declare.c
 *   __14-[Cart add:]_block_invoke        -[Cart add:] (block)      declare_objc.c
 *   closure #1 in Cart.add()             without linkage name      swift/declare_text.c
 */
#include "symbolicator/demangle/declaration.h"

#include "base/text.h"
#include "symbolicator/demangle/declare.h"
#include "symbolicator/demangle/language.h"

enum { HASH_TEXT_LEN = 17 }; /* "#" and 64 bits */

/* Which language a readable name is in, and its declaration. */
static void
declare_readable(struct fz_span text, struct sym_declared *to)
{
    struct fz_span whole = text;
    if (sym_declared_is_nameless(text)) {
        to->is_real = false;
        to->language =
            fz_span_begins(text, "Swift ") || fz_span_begins(text, "__swift_") ? SYM_SWIFT : SYM_C;
        fz_buffer_append(&to->name, text.data, text.len);
        return;
    }
    text = sym_declared_without_block(text, to);
    if (sym_declare_objc_text(text, to))
        return;
    bool is_rust = fz_text_contains(text, "{{closure}}") ||
                   fz_text_contains(text, "{{vtable.shim}}") ||
                   fz_text_contains(text, "::{closure") ||
                   (fz_span_begins(text, "<") && fz_text_contains(text, ">::"));
    if (is_rust && sym_declare_rust_text(text, to))
        return;
    /* C++ is left: Swift has no "::", and C no brackets. */
    bool is_cxx = fz_text_contains(text, "::");
    if (!is_cxx && sym_declare_swift_text(text, to))
        return;
    sym_declared_clear(to);
    to->language = SYM_C;
    text = sym_declared_without_block(whole, to);
    is_cxx = is_cxx || fz_text_contains(text, "(") || fz_text_contains(text, "<") ||
             fz_span_begins(text, "operator");
    if (is_cxx && sym_declare_cxx_text(text, to))
        return;
    if (is_cxx) { /* not what a demangler prints */
        sym_declared_clear(to);
        to->language = SYM_C;
    }
    struct fz_span name = sym_declared_without_suffix(text);
    if (sym_declared_is_part(fz_span_from(text, name.len)))
        sym_declared_note(to, "part of");
    fz_buffer_append(&to->name, name.data, name.len);
}

/* A mangled name of C++, Rust, or a block, through its readable form. */
static bool
declare_demangled(const char *linkage, size_t stack_room, struct sym_declared *to)
{
    struct sym_demangle_options options = {.stack_room = stack_room};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer plain = fz_buffer_make(0);
    enum sym_language language;
    struct fz_span name = sym_declared_without_suffix(fz_span_cstr(linkage));
    bool has_suffix = name.len < strlen(linkage);
    if (has_suffix)
        fz_buffer_append(&plain, name.data, name.len);
    /* Names of blocks are not understood with a suffix: "__main_block_invoke.12". */
    if (!sym_demangle_mangled(linkage, false, &options, &text, &language) &&
        !(has_suffix &&
          sym_demangle_mangled(fz_buffer_cstr(&plain), false, &options, &text, &language)))
        return false;
    struct fz_span readable = fz_buffer_span(&text);
    bool done = language == SYM_CXX    ? sym_declare_cxx_text(readable, to)
                : language == SYM_RUST ? sym_declare_rust_text(readable, to)
                                       : false;
    if (!done) {
        sym_declared_clear(to);
        to->language = SYM_C;
        declare_readable(readable, to);
    }
    if (has_suffix && sym_declared_is_part(fz_span_from(fz_span_cstr(linkage), name.len)))
        /* the parsers leave it out */
        sym_declared_note_before(to, fz_span_cstr("part of"));
    return !text.failed;
}

/* The block of a C function: only who knows whether the name has the underscore of Mach-O knows
 * whether that function has one. */
static bool
is_ambiguous(const char *linkage)
{
    return fz_text_has_prefix(linkage, "__") &&
           fz_text_contains(fz_span_cstr(linkage), "_block_invoke") &&
           !fz_text_contains(fz_span_cstr(linkage), "[");
}

/* Do the first letters of a name allow Swift? Its parser costs more than most other names. */
static bool
may_be_swift(const char *name)
{
    char second = name[0] == '_' ? name[1] : '\0';
    return name[0] == '$' || name[0] == '@' || name[0] == 'a' || second == '$' || second == 'T';
}

static bool
declare_linkage(const char *linkage, size_t stack_room, struct sym_declared *to)
{
    size_t len = strlen(linkage);
    bool is_cxx = fz_text_has_prefix(linkage, "_Z");
    if (len > DEMANGLE_NAME_MAX ||
        (!is_cxx && sym_declared_is_nameless(fz_span_make(linkage, len))))
        return false;
    /* With or without the underscore of Mach-O. */
    for (size_t i = 0; i < 2 && (i == 0 || linkage[0] == '_'); i++) {
        if (!may_be_swift(linkage + i))
            continue;
        if (sym_declare_swift(linkage + i, to))
            return true;
        sym_declared_clear(to);
        to->language = SYM_C;
        to->is_real = true;
    }
    return declare_demangled(linkage, stack_room, to);
}

/* FNV-1a, as http://www.isthe.com/chongo/tech/comp/fnv/ has it. */
static uint64_t
hash_of(struct fz_span text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ text.data[i]) * 0x100000001b3;
    return hash;
}

/* UTF-8 of at most SYM_DECLARATION_MAX bytes; NULL when memory is exhausted. */
static const char *
bounded(struct fz_arena *arena, struct fz_span text)
{
    if (text.len == 0)
        return "";
    char *clean = fz_text_clean_utf8(arena, fz_span_until(text, SYM_DECLARATION_MAX));
    /* Cleaned text is longer if bytes of it were not UTF-8. */
    if (!clean || (text.len <= SYM_DECLARATION_MAX && strlen(clean) <= SYM_DECLARATION_MAX))
        return clean;
    size_t end = SYM_DECLARATION_MAX - HASH_TEXT_LEN;
    while (end > 0 && ((unsigned char)clean[end] & 0xc0) == 0x80) /* within a character */
        end--;
    return fz_arena_printf(arena, "%.*s#%016llx", (int)end, clean,
                           (unsigned long long)hash_of(text));
}

static void
deinit(struct sym_declared *to)
{
    fz_buffer_deinit(&to->name);
    fz_buffer_deinit(&to->module);
    fz_buffer_deinit(&to->removed);
}

enum fz_code
sym_demangle_declaration(const char *linkage, const char *readable, size_t stack_room,
                         struct fz_arena *arena, struct sym_declaration *ret, struct fz_error *err)
{
    const char *name = readable ? readable : linkage ? linkage : "";
    struct fz_span text = fz_span_make(name, strlen(name));
    FZ_CLEANUP(deinit)
    struct sym_declared to = {.name = fz_buffer_make(DEMANGLE_TEXT_MAX),
                              .module = fz_buffer_make(DEMANGLE_TEXT_MAX),
                              .removed = fz_buffer_make(DEMANGLE_TEXT_MAX),
                              .is_real = true};
    /* Reports often have a mangled name where a readable one belongs. */
    if (readable && linkage && is_ambiguous(linkage))
        linkage = NULL;
    if ((linkage && declare_linkage(linkage, stack_room, &to)) ||
        (readable && declare_linkage(readable, stack_room, &to)))
        text = fz_buffer_span(&to.name);
    else if (text.len <= DEMANGLE_TEXT_MAX) {
        declare_readable(text, &to);
        text = fz_buffer_span(&to.name);
    }
    struct sym_declaration found = {.name = bounded(arena, text),
                                    .module = bounded(arena, fz_buffer_span(&to.module)),
                                    .removed = bounded(arena, fz_buffer_span(&to.removed)),
                                    .language = to.language,
                                    .is_real = to.is_real};
    if (!found.name || !found.module || !found.removed)
        return fz_arena_fail(arena, err);
    *ret = found;
    return FZ_OK;
}
