/*
 * What the parsers of all languages use, what compilers append to names, and names that compilers,
 * linkers and crash reporters give to what has none.
 *
 *   load.cold.1           ->  load
 *   __hidden#12_          no name
 *   objectdestroy.4Tm     no name: a helper that the compiler made
 */
#include "symbolicator/demangle/declare.h"

#include "base/attr.h"
#include "base/text.h"

void
sym_declared_note_span(struct sym_declared *to, struct fz_span words)
{
    struct fz_buffer *removed = &to->removed;
    struct fz_span text = fz_text_trim(words);
    /* A number follows its word directly: "closure #1". */
    if (removed->len > 0 && text.len > 0 && removed->data[removed->len - 1] != '#')
        fz_buffer_char(removed, ' ');
    fz_buffer_append(removed, text.data, text.len);
}

void
sym_declared_note(struct sym_declared *to, const char *words)
{
    sym_declared_note_span(to, fz_span_cstr(words));
}

void
sym_declared_note_before(struct sym_declared *to, struct fz_span words)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer inner = fz_buffer_make(0);
    fz_buffer_append(&inner, to->removed.data, to->removed.len);
    fz_buffer_clear(&to->removed);
    sym_declared_note_span(to, words);
    sym_declared_note_span(to, fz_buffer_span(&inner));
}

void
sym_declared_cut(struct sym_declared *to, size_t len)
{
    if (len >= to->name.len)
        return;
    to->name.len = len;
    to->name.data[len] = '\0';
}

void
sym_declared_clear(struct sym_declared *to)
{
    fz_buffer_clear(&to->name);
    fz_buffer_clear(&to->module);
    fz_buffer_clear(&to->removed);
}

static bool
is_number(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    }
    return text.len > 0;
}

static bool
is_hash(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (fz_text_hex_digit((char)text.data[i]) < 0)
            return false;
    }
    return text.len > 0;
}

static size_t
last_dot(struct fz_span text)
{
    size_t at = text.len;
    while (at > 0 && text.data[at - 1] != '.')
        at--;
    return at > 0 ? at - 1 : SIZE_MAX;
}

struct fz_span
sym_declared_without_suffix(struct fz_span name)
{
    static const char *const words[] = {
        "cold",   "part",    "isra",     "constprop",   "lto_priv",   "unlikely", "hot",
        "warm",   "startup", "exit",     "clone",       "localalias", "resume",   "destroy",
        "island", "cleanup", "__uniq",   "llvm",        "cfi",        "cfi_jt",   "eh",
        "stub",   "thunk",   "outlined", "specialized",
    };
    struct fz_span rest = name, cut = name;
    size_t dot;
    if (name.len == 0 || !memchr(name.data, '.', name.len)) /* nearly all */
        return name;
    /* From the end: words, numbers after them, and the hash after "llvm". */
    while ((dot = last_dot(rest)) != SIZE_MAX && dot > 0) {
        struct fz_span word = fz_span_from(rest, dot + 1);
        struct fz_span before = fz_span_until(rest, dot);
        bool known = is_number(word);
        for (size_t i = 0; i < FZ_ARRAY_LEN(words) && !known; i++)
            known = fz_span_is(word, words[i]);
        if (!known && !(is_hash(word) && fz_span_ends(before, ".llvm")))
            break;
        rest = cut = before;
    }
    return cut;
}

bool
sym_declared_is_part(struct fz_span suffix)
{
    static const char *const words[] = {".cold",    ".part",    ".unlikely", ".resume",
                                        ".destroy", ".cleanup", ".outlined"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (fz_text_contains(suffix, words[i]))
            return true;
    }
    return false;
}

bool
sym_declared_is_nameless(struct fz_span name)
{
    static const char *const whole[] = {
        "",
        "?",
        "??",
        "???",
        "(null)",
        "<redacted>",
        "<unknown>",
        "<deduplicated_symbol>",
        "<compiler-generated>",
        "unnamed",
        "_mh_execute_header",
        "__mh_execute_header",
        "_mh_dylib_header",
        "__mh_dylib_header",
        "_mh_bundle_header",
        "__mh_bundle_header",
        "objectdestroy",
        "block_copy_helper",
        "block_destroy_helper",
        "keypath_get",
        "keypath_set",
        "get_witness_table",
        "get_type_metadata",
    };
    /* With what follows them: a number, a hash, a type. */
    static const char *const prefixes[] = {
        "OUTLINED_FUNCTION_",
        "__swift_",
        "Swift runtime failure: ",
        "symbol stub for: ",
        "DYLD-STUB$$",
        "globalinit_",
        "symbolic ",
        "get_enum_tag_for_layout_string",
        "_OBJC_",
        "OBJC_",
        "l_OBJC_",
        "GCC_except_table",
        "ltmp",
    };
    /* Compilers write these with one underscore or two, and Mach-O adds one. */
    static const char *const helpers[] = {"Block_byref_",         "copy_helper_block",
                                          "destroy_helper_block", "block_descriptor",
                                          "block_literal",        "hidden#"};
    struct fz_span plain = name;
    while (plain.len > 0 && plain.data[0] == '_')
        plain = fz_span_from(plain, 1);
    for (size_t i = 0; i < FZ_ARRAY_LEN(helpers) && plain.len < name.len; i++) {
        if (fz_span_begins(plain, helpers[i]))
            return true;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(prefixes); i++) {
        if (name.len > 0 && (char)name.data[0] == prefixes[i][0] &&
            fz_span_begins(name, prefixes[i]))
            return true;
    }
    name = sym_declared_without_suffix(name);
    /* "objectdestroy.4Tm": merged. */
    size_t dot = last_dot(name);
    if (fz_span_ends(name, "Tm") && dot != SIZE_MAX)
        name = fz_span_until(name, dot);
    for (size_t i = 0; i < FZ_ARRAY_LEN(whole); i++) {
        if ((name.len == 0 || (char)name.data[0] == whole[i][0]) && fz_span_is(name, whole[i]))
            return true;
    }
    return false;
}
