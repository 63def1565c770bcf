/*
 * The declaration of a Rust function, from its readable text.
 *
 *   <shop::Cart<T> as shop::Add<u8>>::add::<i32>::{{closure}}::h0123456789abcdef
 *   <shop::Cart as shop::Add>::add                                    removed: closure in
 *
 * Generic arguments follow a name or "::"; other angle brackets, which hold a type and a trait,
 * stay, and so do those of "<impl Add for Cart>". What is in braces has no name: closures, shims, constants. The old mangling has
 * "shop::Cart::add" where the current one has "<shop::Cart>::add": brackets around a path alone
 * are left out.
 */
#include "symbolicator/demangle/declare.h"

struct reader {
    struct fz_span text;
    size_t at;
    struct sym_declared *to;
    size_t n_open; /* brackets that stay */
    size_t n_as;   /* " as " and the like: the first bracket holds more than a path */
};

static bool
is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

static bool
at_text(const struct reader *r, const char *text)
{
    return fz_span_begins(fz_span_from(r->text, r->at), text);
}

/* The position after the bracket that closes the one at `at`; SIZE_MAX if none does. */
static size_t
after_bracket(struct fz_span text, size_t at, char open, char close)
{
    size_t depth = 0;
    for (; at < text.len; at++) {
        bool is_arrow = close == '>' && at > 0 && text.data[at - 1] == '-';
        depth += text.data[at] == (uint8_t)open;
        if (text.data[at] == (uint8_t)close && !is_arrow && --depth == 0)
            return at + 1;
    }
    return SIZE_MAX;
}

static bool
ends_with_path(const struct reader *r)
{
    struct fz_span name = fz_buffer_span(&r->to->name);
    return name.len > 0 && (is_word(name.data[name.len - 1]) || fz_span_ends(name, "::") ||
                            (name.data[name.len - 1] == '>' && !fz_span_ends(name, "->")));
}

static void
cut_colons(const struct reader *r)
{
    if (fz_span_ends(fz_buffer_span(&r->to->name), "::"))
        sym_declared_cut(r->to, r->to->name.len - 2);
}

static bool
skip(struct reader *r, char open, char close)
{
    size_t end = after_bracket(r->text, r->at, open, close);
    if (end == SIZE_MAX)
        return false;
    /* The colons before it belong to it: "f::<u8>", "f::{{closure}}". */
    cut_colons(r);
    r->at = end;
    return true;
}

/* The end of the name itself: a suffix of LLVM, or the hash of an instance. */
static bool
is_end(const struct reader *r)
{
    enum { HASH_LEN = 17 };
    struct fz_span rest = fz_span_from(r->text, r->at);
    if (r->n_open > 0)
        return false;
    if (rest.data[0] == '.' || fz_span_begins(rest, " (."))
        return true;
    if (!fz_span_begins(rest, "::h") || rest.len < 2 + HASH_LEN)
        return false;
    for (size_t i = 3; i < 2 + HASH_LEN; i++) {
        uint8_t c = rest.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return rest.len == 2 + HASH_LEN || !is_word(rest.data[2 + HASH_LEN]);
}

static bool
read_step(struct reader *r)
{
    uint8_t c = r->text.data[r->at];
    if (c == '{') {
        if (at_text(r, "{{closure}}") || at_text(r, "{closure"))
            sym_declared_note(r->to, "closure in");
        else if (at_text(r, "{shim") || at_text(r, "{{vtable.shim}}"))
            sym_declared_note(r->to, "shim for");
        return skip(r, '{', '}');
    }
    if (c == '<' && ends_with_path(r) && !at_text(r, "<impl "))
        return skip(r, '<', '>');
    if (c == '<')
        r->n_open++;
    if (c == '>' && !fz_span_ends(fz_buffer_span(&r->to->name), "-")) {
        if (r->n_open == 0)
            return false;
        r->n_open--;
    }
    /* A reference, a slice, a trait: not a path alone. */
    if (c != '<' && c != '>' && c != ':' && !is_word(c))
        r->n_as++;
    fz_buffer_char(&r->to->name, (char)c);
    r->at++;
    return true;
}

/* "<shop::Cart>::add" to "shop::Cart::add". */
static void
unbracket(struct sym_declared *to)
{
    struct fz_span name = fz_buffer_span(&to->name);
    const uint8_t *close = fz_span_begins(name, "<") ? memchr(name.data, '>', name.len) : NULL;
    if (!close)
        return;
    size_t inner_len = (size_t)(close - name.data) - 1;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer rest = fz_buffer_make(0);
    fz_buffer_append(&rest, name.data + 1, inner_len);
    fz_buffer_append(&rest, close + 1, name.len - inner_len - 2);
    fz_buffer_clear(&to->name);
    fz_buffer_append(&to->name, rest.data, rest.len);
}

bool
sym_declare_rust_text(struct fz_span text, struct sym_declared *to)
{
    struct reader r = {.text = text, .to = to};
    to->language = SYM_RUST;
    while (r.at < text.len && !is_end(&r)) {
        if (!read_step(&r) || to->name.failed)
            return false;
    }
    cut_colons(&r);
    if (r.n_as == 0)
        unbracket(to);
    return r.n_open == 0 && to->name.len > 0;
}
