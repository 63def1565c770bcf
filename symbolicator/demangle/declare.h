/*
 * From names to declarations, private to symbolicator/demangle.
 *
 * Swift names are reduced on their tree. The other languages, and names that come without mangling,
 * are readable text, which a small parser per language reads. Each parser goes over the text once:
 * its time and memory are linear. All append to `to` and return false, with `to` in any state, for
 * text that they do not understand.
 */
#ifndef SYM_DEMANGLE_DECLARE_H
#define SYM_DEMANGLE_DECLARE_H

#include "base/buffer.h"
#include "symbolicator/demangle/declaration.h"

struct sym_declared {
    struct fz_buffer name, module;
    struct fz_buffer removed; /* separated by blanks, outermost first */
    enum sym_language language;
    bool is_real;
};

/* Append words to `removed`. */
void sym_declared_note(struct sym_declared *to, const char *words);
void sym_declared_note_span(struct sym_declared *to, struct fz_span words);
/* The same before what is there: text has the outermost of several last. */
void sym_declared_note_before(struct sym_declared *to, struct fz_span words);
/* Keep the first `len` bytes of the name. */
void sym_declared_cut(struct sym_declared *to, size_t len);
void sym_declared_clear(struct sym_declared *to); /* all texts */

/* A mangled Swift name. */
bool sym_declare_swift(const char *name, struct sym_declared *to);

/* "static CartView.f(x:)", "closure #1 in f()": as Swift's demangler prints, in both forms. */
bool sym_declare_swift_text(struct fz_span text, struct sym_declared *to);

/* "int shop::Cart<int>::add(int) const": as the C++ demanglers print. */
bool sym_declare_cxx_text(struct fz_span text, struct sym_declared *to);

/* "<shop::Cart<T> as shop::Add>::add::{{closure}}". */
bool sym_declare_rust_text(struct fz_span text, struct sym_declared *to);

/* "-[Cart(Adding) add:]"; the block of a method or C function is found by sym_demangle(). */
bool sym_declare_objc_text(struct fz_span text, struct sym_declared *to);

/* The text without " (block 2)" at its end, of which a note is made. */
struct fz_span sym_declared_without_block(struct fz_span text, struct sym_declared *to);

/* The name without what compilers append to it: ".cold.1", ".llvm.123", ".isra.0". */
struct fz_span sym_declared_without_suffix(struct fz_span name);
/* Does such an end say that the symbol is a part that was split off, not a copy or a new name? */
bool sym_declared_is_part(struct fz_span suffix);

/* A name that compilers, linkers or crash reporters give to what has none in the source. */
bool sym_declared_is_nameless(struct fz_span name);

#endif
