/*
 * Rust names: which mangling, in which style, and their suffixes.
 *
 * There are two suffixes: ".llvm.<hash>", which ThinLTO adds to symbols that it makes visible, and
 * words after dots that other passes append (".cold", ".exit.i", ".0.0"). The words are kept; the
 * hash is of no use to a reader.
 */
#include "symbolicator/demangle/rust/rust.h"

#include "base/text.h"
#include "symbolicator/demangle/language.h"

static bool
is_suffix(struct fz_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        /* Suffixes of LLVM are printable; other bytes say that the symbol is not Rust's. */
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    }
    return text.len == 0 || text.data[0] == '.';
}

/* Cut ".llvm.<hash>" off; empty if there is none. */
static struct fz_span
cut_llvm_hash(struct fz_span *name)
{
    static const char mark[] = ".llvm.";
    size_t mark_len = sizeof(mark) - 1, end = name->len;
    /* The characters that rustc-demangle allows in it. */
    while (end > 0 && strchr("0123456789ABCDEF@", name->data[end - 1]))
        end--;
    if (end < mark_len || memcmp(name->data + end - mark_len, mark, mark_len) != 0)
        return fz_span_make(NULL, 0);
    size_t start = end - mark_len;
    struct fz_span hash = fz_span_make(name->data + start, name->len - start);
    name->len = start;
    return hash;
}

static struct fz_span
cut_at_dot(struct fz_span *name)
{
    const uint8_t *dot = memchr(name->data, '.', name->len);
    size_t len = dot ? (size_t)(dot - name->data) : name->len;
    struct fz_span rest = fz_span_make(name->data + len, name->len - len);
    name->len = len;
    return rest;
}

bool
sym_demangle_rust_style(const char *name, enum sym_rust_style style, struct fz_buffer *out)
{
    struct fz_span rest = fz_span_cstr(name), suffix;
    struct fz_span hash = cut_llvm_hash(&rest);
    bool done, is_v0 = fz_text_has_prefix(name, "_R");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(DEMANGLE_TEXT_MAX);
    if (is_v0) {
        suffix = cut_at_dot(&rest);
        done = sym_rust_v0_demangle(fz_span_make(rest.data + 2, rest.len - 2), style, &text);
    } else {
        size_t len = sym_rust_legacy_demangle(rest, style == RUST_PLAIN, &text);
        suffix = fz_span_make(rest.data + len, rest.len - len);
        done = len > 0;
    }
    /* other text after the name means that it is not Rust */
    done = done && is_suffix(suffix);
    if (done) {
        fz_buffer_append(&text, suffix.data, suffix.len);
        if (is_v0 && style == RUST_LLVM && hash.len > 0)
            fz_buffer_printf(&text, " (%.*s)", (int)hash.len, (const char *)hash.data);
        done = !text.failed && text.len > 0;
    }
    if (done)
        fz_buffer_append(out, text.data, text.len);
    return done;
}

bool
sym_demangle_rust(const char *name, const struct sym_demangle_options *options,
                  struct fz_buffer *out)
{
    if (fz_text_has_prefix(name, "_R"))
        return sym_demangle_rust_style(name, options->simplified ? RUST_BARE : RUST_LLVM, out);
    /* A legacy name is also a C++ name; in doubt it is left to that demangler. */
    return sym_rust_legacy_is_certain(fz_span_cstr(name)) &&
           sym_demangle_rust_style(name, options->keep_hash ? RUST_PLAIN : RUST_BARE, out);
}
