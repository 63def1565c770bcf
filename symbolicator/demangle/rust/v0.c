/*
 * Rust's v0 mangling (RFC 2603): paths and types. Constants are in const.c, names and numbers
 * in ident.c.
 *
 *   _RINvNtC4core3mem8align_ofhE      core::mem::align_of::<u8>
 *     I                    E          generic arguments after a path
 *      Nv Nt C4core 3mem 8align_of    a value in a type's namespace in a crate
 *                              h      u8
 *
 * A back reference ("B" and a number) repeats what begins at that byte after "_R". Such references
 * make the text grow exponentially, and few bytes can nest deeply: depth, steps and text are
 * limited.
 */
#include "symbolicator/demangle/rust/rust.h"

/* Lifetimes are counted from the innermost binder outwards, where 1 is its last one; they are
 * printed as letters from the outermost binder on: 'a to 'z, then 'z1. */
static void
print_lifetime(struct sym_rust_v0 *v, uint64_t index)
{
    /* A lifetime that no binder around this place declares. */
    if (index > v->n_bound)
        sym_rust_v0_fail(v);
    if (v->failed)
        return;
    if (index == 0) {
        sym_rust_v0_put(v, "'_");
        return;
    }
    uint64_t number = v->n_bound - index;
    /* As LLVM names them: the mangling has only numbers. */
    char name[] = {'\'', number < 26 ? (char)('a' + number) : 'z', '\0'};
    sym_rust_v0_put(v, name);
    if (number >= 26)
        sym_rust_v0_put_number(v, number - 25, false);
}

/* "for<'a, 'b> " if there is a binder. The caller restores v->n_bound after the scope of the
 * binder. */
static void
print_binder(struct sym_rust_v0 *v)
{
    uint64_t n = sym_rust_v0_tagged(v, 'G');
    if (n >= v->in.len) /* a name has no room to use more than its bytes */
        sym_rust_v0_fail(v);
    for (uint64_t i = 0; i < n && !v->failed; i++) {
        v->n_bound++;
        sym_rust_v0_put(v, i == 0 ? "for<" : ", ");
        print_lifetime(v, 1);
    }
    if (n > 0)
        sym_rust_v0_put(v, "> ");
}

static void print_type(struct sym_rust_v0 *v, bool unused);

static void
print_generic_arg(struct sym_rust_v0 *v, bool unused)
{
    if (sym_rust_v0_eat(v, 'L'))
        print_lifetime(v, sym_rust_v0_base62(v));
    else if (sym_rust_v0_eat(v, 'K'))
        sym_rust_v0_const(v, false);
    else
        print_type(v, unused);
}

/* Closures and shims have no name of their own, or not only: "{closure#0}", "{shim:vtable#0}". */
static void
print_nested(struct sym_rust_v0 *v, bool is_value)
{
    char space = sym_rust_v0_next(v);
    /* Upper case namespaces are for what the compiler made, lower case ones are implementation
     * detail (RFC 2603). */
    bool is_special = space >= 'A' && space <= 'Z';
    if (!is_special && !(space >= 'a' && space <= 'z'))
        sym_rust_v0_fail(v);
    sym_rust_v0_path(v, is_value);
    uint64_t number = sym_rust_v0_tagged(v, 's');
    struct sym_rust_ident name = sym_rust_v0_ident(v);
    bool has_name = name.ascii.len > 0 || name.punycode.len > 0;
    if (!is_special) {
        sym_rust_v0_put(v, has_name ? "::" : "");
        sym_rust_v0_put_ident(v, name);
        return;
    }
    char letter[] = {space, '\0'};
    sym_rust_v0_put(v, "::{");
    sym_rust_v0_put(v, space == 'C' ? "closure" : space == 'S' ? "shim" : letter);
    sym_rust_v0_put(v, has_name ? ":" : "");
    sym_rust_v0_put_ident(v, name);
    sym_rust_v0_put(v, "#");
    sym_rust_v0_put_number(v, number, false);
    sym_rust_v0_put(v, "}");
}

static void
print_crate(struct sym_rust_v0 *v)
{
    /* Distinguishes versions of a crate in one program; to readers it is noise. */
    uint64_t hash = sym_rust_v0_tagged(v, 's');
    sym_rust_v0_put_ident(v, sym_rust_v0_ident(v));
    if (v->style == RUST_PLAIN && hash != 0) {
        sym_rust_v0_put(v, "[");
        sym_rust_v0_put_number(v, hash, true);
        sym_rust_v0_put(v, "]");
    }
}

/* <Type> or <Type as Trait>. The path of the impl itself is not printed. */
static void
print_impl(struct sym_rust_v0 *v, char tag)
{
    if (tag != 'Y') {
        fz_ignore(sym_rust_v0_tagged(v, 's')); /* distinguishes impls in one module */
        v->n_skips++;
        sym_rust_v0_path(v, false);
        v->n_skips--;
    }
    sym_rust_v0_put(v, "<");
    print_type(v, false);
    if (tag != 'M') {
        sym_rust_v0_put(v, " as ");
        sym_rust_v0_path(v, false);
    }
    sym_rust_v0_put(v, ">");
}

static void
print_path(struct sym_rust_v0 *v, bool is_value)
{
    if (!sym_rust_v0_enter(v))
        return;
    char tag = sym_rust_v0_next(v);
    switch (tag) {
    case 'C':
        print_crate(v);
        break;
    case 'N':
        print_nested(v, is_value);
        break;
    case 'M':
    case 'X':
    case 'Y':
        print_impl(v, tag);
        break;
    case 'I':
        sym_rust_v0_path(v, is_value);
        /* In expressions Rust needs "::<", since "<" would be less-than. */
        sym_rust_v0_put(v, is_value ? "::<" : "<");
        fz_ignore(sym_rust_v0_list(v, print_generic_arg, false, ", "));
        sym_rust_v0_put(v, ">");
        break;
    case 'B':
        sym_rust_v0_backref(v, sym_rust_v0_path, is_value);
        break;
    default:
        sym_rust_v0_fail(v);
    }
    sym_rust_v0_leave(v);
}

/* The trait of a `dyn`. Its generic arguments stay without ">", so that associated types can
 * follow: `open` says whether "<" is printed. */
static void
print_open_trait(struct sym_rust_v0 *v, bool *open)
{
    if (!sym_rust_v0_enter(v))
        return;
    if (sym_rust_v0_eat(v, 'B')) {
        /* A reference must point back, or the run would never end. */
        size_t own = v->pos - 1;
        uint64_t target = sym_rust_v0_base62(v);
        if (target >= own)
            sym_rust_v0_fail(v);
        size_t after = v->pos;
        /* What is not printed need not be followed. */
        if (!v->failed && v->n_skips == 0) {
            v->pos = (size_t)target;
            print_open_trait(v, open);
            v->pos = after;
        }
    } else if (sym_rust_v0_eat(v, 'I')) {
        sym_rust_v0_path(v, false);
        sym_rust_v0_put(v, "<");
        fz_ignore(sym_rust_v0_list(v, print_generic_arg, false, ", "));
        *open = true;
    } else {
        sym_rust_v0_path(v, false);
    }
    sym_rust_v0_leave(v);
}

static void
print_dyn_trait(struct sym_rust_v0 *v, bool unused)
{
    bool open = false;
    print_open_trait(v, &open);
    for (; !v->failed && sym_rust_v0_eat(v, 'p'); open = true) {
        sym_rust_v0_put(v, open ? ", " : "<");
        sym_rust_v0_put_ident(v, sym_rust_v0_ident(v));
        sym_rust_v0_put(v, " = ");
        if (sym_rust_v0_eat(v, 'K'))
            sym_rust_v0_const(v, false);
        else
            print_type(v, unused);
    }
    sym_rust_v0_put(v, open ? ">" : "");
}

static void
print_dyn(struct sym_rust_v0 *v)
{
    uint64_t n_bound = v->n_bound;
    sym_rust_v0_put(v, "dyn ");
    print_binder(v);
    fz_ignore(sym_rust_v0_list(v, print_dyn_trait, false, " + "));
    /* The lifetime of the object is outside the binder's scope (RFC 2603). */
    v->n_bound = n_bound;
    if (!sym_rust_v0_eat(v, 'L'))
        sym_rust_v0_fail(v);
    uint64_t lifetime = sym_rust_v0_base62(v);
    if (lifetime > 0) {
        sym_rust_v0_put(v, " + ");
        print_lifetime(v, lifetime);
    }
}

/* extern "C-unwind": the dashes were mangled to underscores. */
static void
print_abi(struct sym_rust_v0 *v)
{
    sym_rust_v0_put(v, "extern \"");
    if (sym_rust_v0_eat(v, 'C')) {
        sym_rust_v0_put(v, "C");
    } else {
        struct sym_rust_ident abi = sym_rust_v0_ident(v);
        if (abi.punycode.len > 0 || abi.ascii.len == 0)
            sym_rust_v0_fail(v);
        for (size_t i = 0; i < abi.ascii.len && !v->failed; i++) {
            char c = (char)abi.ascii.data[i];
            sym_rust_v0_put_span(v, fz_span_make(c == '_' ? "-" : &c, 1));
        }
    }
    sym_rust_v0_put(v, "\" ");
}

static void
print_function(struct sym_rust_v0 *v)
{
    uint64_t n_bound = v->n_bound;
    print_binder(v);
    if (sym_rust_v0_eat(v, 'U'))
        sym_rust_v0_put(v, "unsafe ");
    if (sym_rust_v0_eat(v, 'K'))
        print_abi(v);
    sym_rust_v0_put(v, "fn(");
    fz_ignore(sym_rust_v0_list(v, print_type, false, ", "));
    sym_rust_v0_put(v, ")");
    /* A function that returns () is printed without a result, as Rust is written. */
    if (!sym_rust_v0_eat(v, 'u')) {
        sym_rust_v0_put(v, " -> ");
        print_type(v, false);
    }
    v->n_bound = n_bound;
}

/* The pattern that restricts a type: "1..=9", "1..=2 | 5..=6", "!null". */
static void
print_pattern(struct sym_rust_v0 *v, bool unused)
{
    if (!sym_rust_v0_enter(v))
        return;
    switch (sym_rust_v0_next(v)) {
    case 'R':
        sym_rust_v0_const(v, true);
        sym_rust_v0_put(v, "..=");
        sym_rust_v0_const(v, true);
        break;
    case 'O':
        fz_ignore(sym_rust_v0_list(v, print_pattern, unused, " | "));
        break;
    case 'N':
        sym_rust_v0_put(v, "!null");
        break;
    default:
        sym_rust_v0_fail(v);
    }
    sym_rust_v0_leave(v);
}

static void
print_reference(struct sym_rust_v0 *v, char tag)
{
    sym_rust_v0_put(v, "&");
    uint64_t lifetime = sym_rust_v0_eat(v, 'L') ? sym_rust_v0_base62(v) : 0;
    if (lifetime > 0) {
        print_lifetime(v, lifetime);
        sym_rust_v0_put(v, " ");
    }
    sym_rust_v0_put(v, tag == 'Q' ? "mut " : "");
    print_type(v, false);
}

static void
print_compound_type(struct sym_rust_v0 *v, char tag)
{
    switch (tag) {
    case 'R':
    case 'Q':
        print_reference(v, tag);
        break;
    case 'P':
    case 'O':
        sym_rust_v0_put(v, tag == 'P' ? "*const " : "*mut ");
        print_type(v, false);
        break;
    case 'A':
    case 'S':
        sym_rust_v0_put(v, "[");
        print_type(v, false);
        if (tag == 'A') {
            sym_rust_v0_put(v, "; ");
            sym_rust_v0_const(v, true);
        }
        sym_rust_v0_put(v, "]");
        break;
    case 'T':
        sym_rust_v0_put(v, "(");
        /* A tuple of one element ends with a comma. */
        sym_rust_v0_put(v, sym_rust_v0_list(v, print_type, false, ", ") == 1 ? ",)" : ")");
        break;
    case 'F':
        print_function(v);
        break;
    case 'D':
        print_dyn(v);
        break;
    case 'W':
        print_type(v, false);
        sym_rust_v0_put(v, " is ");
        print_pattern(v, false);
        break;
    case 'B':
        sym_rust_v0_backref(v, print_type, false);
        break;
    default:
        v->pos--; /* a path's tag */
        sym_rust_v0_path(v, false);
    }
}

static void
print_type(struct sym_rust_v0 *v, bool unused)
{
    (void)unused;
    if (!sym_rust_v0_enter(v))
        return;
    char tag = sym_rust_v0_next(v);
    const char *basic = sym_rust_v0_basic_type(tag);
    if (basic)
        sym_rust_v0_put(v, basic);
    else if (!v->failed)
        print_compound_type(v, tag);
    sym_rust_v0_leave(v);
}

bool
sym_rust_v0_demangle(struct fz_span name, enum sym_rust_style style, struct fz_buffer *out)
{
    struct sym_rust_v0 v = {.in = name, .out = out, .style = style, .path = print_path};
    /* The mangling uses these characters only (RFC 2603). */
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '_'))
            return false;
    }
    sym_rust_v0_path(&v, true);
    if (!v.failed &&
        v.pos < name.len) { /* the crate in which the generic code was instantiated: not printed */
        v.n_skips++;
        sym_rust_v0_path(&v, false);
    }
    return !v.failed && v.pos == name.len && !out->failed;
}
