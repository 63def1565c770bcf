/*
 * The two manglings of Rust, private to symbolicator/demangle/rust/.
 *
 *   legacy   _ZN 4core 3fmt 17h0123456789abcdef E       lengths and names, a hash last
 *   v0       _R Nv Cs1234_ 4core 3fmt                   RFC 2603: a grammar of paths and types
 *
 * LLVM's passes can append suffixes to both (".llvm.1234", ".cold").
 */
#ifndef SYM_DEMANGLE_RUST_H
#define SYM_DEMANGLE_RUST_H

#include "base/buffer.h"

enum sym_rust_style {
    RUST_LLVM,  /* v0 as LLVM's tools print it: RUST_BARE, with ".llvm.<hash>" in brackets */
    RUST_BARE,  /* for readers: no hashes, no types after numbers */
    RUST_PLAIN, /* everything: core[1234]::f::<1u8>, core::fmt::h0123456789abcdef */
};

/* Append the readable form of a name that begins with "_R", or "_ZN" or "ZN". False, and nothing
 * appended, if it is neither. Legacy names that could also be C++ are taken for Rust. */
bool sym_demangle_rust_style(const char *name, enum sym_rust_style style, struct fz_buffer *out);

/* True if a legacy name has what C++ names do not have: a hash, an escape ("$LT$"), "..", or a
 * single name in the brackets of nested names. */
bool sym_rust_legacy_is_certain(struct fz_span name);

/* Append a legacy name without its brackets ("_ZN" and "E"), which `name` has. Returns its length
 * in `name`; 0 if it is not a legacy name. */
size_t sym_rust_legacy_demangle(struct fz_span name, bool with_hash, struct fz_buffer *out);

/* Append a v0 name, given without "_R" and without suffix. False if it is not a v0 name or
 * exceeds a limit; `out` may then hold a part of it. */
bool sym_rust_v0_demangle(struct fz_span name, enum sym_rust_style style, struct fz_buffer *out);

struct sym_rust_v0;
typedef void sym_rust_v0_print_fn(struct sym_rust_v0 *v, bool flag);

/* A run over a v0 name. Failure is sticky: after it, reading returns 0 and empty text, and nothing
 * is printed. */
struct sym_rust_v0 {
    struct fz_span in;
    size_t pos;
    struct fz_buffer *out;
    enum sym_rust_style style;
    unsigned depth, n_skips; /* n_skips > 0: parse without printing */
    size_t n_steps;
    uint64_t n_bound; /* lifetimes bound by the binders around this place */
    bool failed;
    sym_rust_v0_print_fn *path; /* set by v0.c: paths have constants, and constants paths */
};

/* Enter a level of nesting. False, and the run fails, if a limit is exceeded. */
bool sym_rust_v0_enter(struct sym_rust_v0 *v);
void sym_rust_v0_leave(struct sym_rust_v0 *v);

/* The next character; '\0' at the end, which fails the run. */
char sym_rust_v0_next(struct sym_rust_v0 *v);
bool sym_rust_v0_eat(struct sym_rust_v0 *v, char c);
void sym_rust_v0_fail(struct sym_rust_v0 *v);

/* <base-62-number>: "_" is 0, "0_" is 1. */
uint64_t sym_rust_v0_base62(struct sym_rust_v0 *v);
/* The same after `tag`, plus one; 0 without the tag. */
uint64_t sym_rust_v0_tagged(struct sym_rust_v0 *v, char tag);

struct sym_rust_ident {
    struct fz_span ascii, punycode; /* adjacent in the name; the second is empty without "u" */
};
struct sym_rust_ident sym_rust_v0_ident(struct sym_rust_v0 *v);

void sym_rust_v0_put(struct sym_rust_v0 *v, const char *text);
void sym_rust_v0_put_span(struct sym_rust_v0 *v, struct fz_span text);
void sym_rust_v0_put_number(struct sym_rust_v0 *v, uint64_t number, bool hex);
void sym_rust_v0_put_ident(struct sym_rust_v0 *v, struct sym_rust_ident ident);

/* Print items up to "E" with `separator` between them; returns their number. */
size_t sym_rust_v0_list(struct sym_rust_v0 *v, sym_rust_v0_print_fn *print, bool flag,
                        const char *separator);
/* After "B": print what begins at the offset that follows. */
void sym_rust_v0_backref(struct sym_rust_v0 *v, sym_rust_v0_print_fn *print, bool flag);

/* In the path of a value, "::" comes before generic arguments. */
void sym_rust_v0_path(struct sym_rust_v0 *v, bool is_value);
/* A constant that is more than a literal has braces, unless it is part of another one. */
void sym_rust_v0_const(struct sym_rust_v0 *v, bool is_part);
/* "u8" for 'h'; NULL if the tag is not one of a basic type. */
const char *sym_rust_v0_basic_type(char tag);

#endif
