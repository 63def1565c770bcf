/*
 * From the tree of a Swift name to the declaration that it belongs to.
 *
 * The tree is walked along its contexts only, so the time is linear in its depth.
 */
#ifndef SYM_DEMANGLE_SWIFT_DECLARE_H
#define SYM_DEMANGLE_SWIFT_DECLARE_H

#include "symbolicator/demangle/declare.h"
#include "symbolicator/demangle/swift/node.h"

/* The tree of a mangled name, NULL if it is not one. */
typedef struct sym_swift_node *sym_swift_parse_name_fn(struct fz_span name, struct fz_arena *arena);

/* Append the declaration, its module and what was removed. False, with `to` in any state, if the
 * symbol is of none, or its tree is not one that Swift makes. `parse` is for names in names, whose
 * trees are in `arena`. */
bool sym_swift_declare(const struct sym_swift_node *symbol, sym_swift_parse_name_fn *parse,
                       struct fz_arena *arena, struct sym_declared *to);

#endif
