/*
 * Selects the demangler for a name, and demangles block names.
 *
 * Blocks (clang's names, without the underscore that Mach-O adds; the number is the length of the
 * method):
 *
 *   __41-[Foo bar]_block_invoke_2     ->  -[Foo bar] (block 2)        Objective-C method
 *   __main_block_invoke               ->  main (block)                C function
 *   ___CFRelease_block_invoke         ->  _CFRelease (block)          with an underscore of its own
 *   ___ZN3Foo3barEv_block_invoke      ->  invocation function for block in Foo::bar()   C++
 *
 * The method comes first, so that a list sorts a method and its blocks together.
 */
#include "symbolicator/symbolicator.h"

#include <stdlib.h>

#include "base/text.h"
#include "symbolicator/demangle/language.h"

/* The name up to "_block_invoke" or "_block_invoke_<digits>", and the digits; false if it has no
 * such end. */
static bool
split_block(struct fz_span name, struct fz_span *ret_function, struct fz_span *ret_number)
{
    static const char mark[] = "_block_invoke";
    size_t mark_len = sizeof(mark) - 1, end = name.len;
    /* The second and later blocks of a function have a number. */
    while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
        end--;
    *ret_number = fz_span_make(name.data + end, name.len - end);
    if (ret_number->len > 0) {
        if (end == 0 || name.data[end - 1] != '_')
            return false;
        end--;
    }
    if (end <= mark_len || memcmp(name.data + end - mark_len, mark, mark_len) != 0)
        return false;
    *ret_function = fz_span_make(name.data, end - mark_len);
    return true;
}

/* "41-[Foo bar]" to "-[Foo bar]", and "main" unchanged; false if it is neither a method of that
 * length nor a C function. */
static bool
strip_method_length(struct fz_span *function)
{
    size_t digits = 0, len = 0;
    /* No name that is demangled has a length of more digits (DEMANGLE_NAME_MAX). */
    while (digits < function->len && digits < 6 && function->data[digits] >= '0' &&
           function->data[digits] <= '9')
        len = len * 10 + (size_t)(function->data[digits++] - '0');
    /* Only C functions come without a length. */
    if (digits == 0)
        return !memchr(function->data, '[', function->len);
    struct fz_span rest = fz_span_make(function->data + digits, function->len - digits);
    /* The length must fit exactly, so that a C function "__3d_block_invoke" is not taken for
     * one. */
    if (len != rest.len || rest.len < 2 || (rest.data[0] != '-' && rest.data[0] != '+') ||
        rest.data[1] != '[')
        return false;
    *function = rest;
    return true;
}

/* "_ZN3Foo3barEv", "ZN3Foo3barEv", with or without the underscore of Mach-O. */
static bool
is_cxx(struct fz_span function)
{
    size_t at = 0;
    /* Mach-O's underscore and that of "_Z". */
    while (at < function.len && at < 2 && function.data[at] == '_')
        at++;
    return at < function.len && function.data[at] == 'Z';
}

/* Blocks in Objective-C methods and C functions. */
static bool
demangle_block(const char *name, const struct sym_demangle_options *options, struct fz_buffer *out)
{
    if (options->keep_blocks)
        return false;
    struct fz_span function, number;
    /* Blocks in C++ functions are a production of the Itanium demangler. */
    if (!split_block(fz_span_cstr(name + 2), &function, &number) || is_cxx(function) ||
        !strip_method_length(&function))
        return false;
    fz_buffer_append(out, function.data, function.len);
    fz_buffer_text(out, number.len ? " (block " : " (block");
    fz_buffer_append(out, number.data, number.len);
    fz_buffer_char(out, ')');
    return true;
}

static const struct {
    const char *prefix;
    bool (*demangle)(const char *name, const struct sym_demangle_options *options,
                     struct fz_buffer *out);
    enum sym_language language;
} languages[] = {
    /* Legacy Rust names are valid C++ names that end in a hash, so Rust comes first. */
    {"_R", sym_demangle_rust, SYM_RUST},
    {"_ZN", sym_demangle_rust, SYM_RUST},
    {"ZN", sym_demangle_rust, SYM_RUST},
    {"_Z", sym_demangle_cxx, SYM_CXX},
    {"___Z", sym_demangle_cxx, SYM_CXX},
    {"__", demangle_block, SYM_OBJC},
    {"$", sym_demangle_swift, SYM_SWIFT},
    {"_$", sym_demangle_swift, SYM_SWIFT},
    {"_T", sym_demangle_swift, SYM_SWIFT},
    {"@__swiftmacro_", sym_demangle_swift, SYM_SWIFT},
    {"async_Main", sym_demangle_swift, SYM_SWIFT},
};

static bool
demangle_any(const char *name, const struct sym_demangle_options *options, struct fz_buffer *out,
             enum sym_language *ret_language)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(languages); i++) {
        /* A name may fit several prefixes: what turns out not to be Rust is tried as C++. */
        if (fz_text_has_prefix(name, languages[i].prefix) &&
            languages[i].demangle(name, options, out)) {
            *ret_language = languages[i].language;
            return true;
        }
    }
    return false;
}

bool
sym_demangle_mangled(const char *name, bool is_macho_symbol,
                     const struct sym_demangle_options *options, struct fz_buffer *out,
                     enum sym_language *ret_language)
{
    const char *inner = name[0] == '_' ? name + 1 : name;
    const char *plain = is_macho_symbol ? inner : name;
    /* Names from DWARF have no underscore of Mach-O; lists that users paste, as of nm, do. */
    /* Longer names cost more than a reader gains; the limit also bounds the stack that C++
     * needs. */
    return strlen(name) <= DEMANGLE_NAME_MAX &&
           (demangle_any(plain, options, out, ret_language) ||
            (plain == name && inner != name && demangle_any(inner, options, out, ret_language)));
}

bool
sym_demangle(const char *name, bool is_macho_symbol, const struct sym_demangle_options *options,
             struct fz_buffer *out)
{
    static const struct sym_demangle_options defaults = {.simplified = false};
    enum sym_language language;
    if (sym_demangle_mangled(name, is_macho_symbol, options ? options : &defaults, out, &language))
        return true;
    fz_buffer_text(out, is_macho_symbol && name[0] == '_' ? name + 1 : name);
    return false;
}

bool
sym_demangle_is_hidden(const char *name)
{
    /* One to three, depending on the language and on Mach-O. */
    while (*name == '_')
        name++;
    return fz_text_has_prefix(name, "hidden#");
}
