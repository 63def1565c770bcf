/*
 * The declaration that a function belongs to: what it is called in the source, as a key that
 * survives other compilers, other optimisation, and edits elsewhere.
 *
 * docs/grouping.md says what a name keeps. Names are untrusted: time and memory are linear in their
 * length, with the limits of sym_demangle().
 */
#ifndef SYM_DEMANGLE_DECLARATION_H
#define SYM_DEMANGLE_DECLARATION_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

enum sym_language { SYM_C, SYM_OBJC, SYM_CXX, SYM_RUST, SYM_SWIFT }; /* C: or not known */

enum { SYM_DECLARATION_MAX = 1024 }; /* bytes of each text of a declaration */

struct sym_declaration {
    const char *name;    /* "CartView.checkout(items:)", "shop::Cart::add", "-[Cart add:]" */
    const char *module;  /* Swift: the module that the code is in; "" if it is not known. Two
                            declarations differ in name or module */
    const char *removed; /* what the function is of its declaration: "closure #1 in"; "" if it is
                            the declaration itself */
    enum sym_language language;
    bool is_real; /* false: of no declaration (a hidden name, an outlined copy, metadata), so that
                     the caller's frame says more; `name` is then the readable name */
};

/*
 * Find the declaration of a function. `linkage` is its name as a symbol table or
 * DW_AT_linkage_name has it; `readable` is what it is demangled to, or a name without mangling: a
 * method of Objective-C, a C function. `readable` counts where `linkage` is not understood. One of
 * them may be NULL. `stack_room` as in struct sym_demangle_options.
 *
 * The texts are UTF-8 and in the arena. One that is longer is cut to SYM_DECLARATION_MAX bytes, of
 * which the last are a hash of the whole. Errors: only FZ_E_LIMIT and FZ_E_NO_MEMORY, of the arena.
 */
FZ_MUST_CHECK enum fz_code sym_demangle_declaration(const char *linkage, const char *readable,
                                                    size_t stack_room, struct fz_arena *arena,
                                                    struct sym_declaration *ret,
                                                    struct fz_error *err);

#endif
