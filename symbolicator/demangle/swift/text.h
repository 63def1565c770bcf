/*
 * Readable Swift text, private to symbolicator/demangle/swift: its words around an entity, and the
 * entity.
 *
 *   closure #1 in static Cart.add(_:)                                          simplified
 *   closure #1 (Swift.Int) -> () in static Shop.Cart.add(Swift.Int) -> ()      in full
 */
#ifndef SYM_DEMANGLE_SWIFT_TEXT_H
#define SYM_DEMANGLE_SWIFT_TEXT_H

#include "symbolicator/demangle/declare.h"

enum sym_swift_text_result {
    SWIFT_TEXT_DECLARED,
    SWIFT_TEXT_NONE,  /* what compilers make for no declaration */
    SWIFT_TEXT_OTHER, /* not Swift */
};

/* A part of the text, which is between " in " and " in ". */
struct sym_swift_text {
    struct fz_span text; /* what is left of it */
    struct sym_declared *to;
    bool noting; /* what is removed is worth words */
    bool is_static, is_local, is_swift;
    bool is_function; /* it has parameters or a role */
    bool is_full;     /* its type follows */
    size_t n_wrappers;
    struct fz_span witness_type; /* takes the place of the protocol */
    struct fz_buffer name;
    size_t component; /* where the last one begins in the name */
};

/* Where `word` is outside of brackets; SIZE_MAX if it is not. */
size_t sym_swift_text_find(struct fz_span text, const char *word);
/* The position after the bracket that closes the one at `at`; SIZE_MAX if none does. */
size_t sym_swift_text_after(struct fz_span text, size_t at);
bool sym_swift_text_is_word(uint8_t c);
void sym_swift_text_note(struct sym_swift_text *r, struct fz_span words);

/* Take the words before an entity off the text. */
enum sym_swift_text_result sym_swift_text_unwrap(struct sym_swift_text *r);
/* Read an entity into `name`. What is left of the text is its type, or what it is local to. */
bool sym_swift_text_entity(struct sym_swift_text *r);

#endif
