/*
 * The mangling of Swift 1 to 3, private to the demangler: prefix notation, so it is read by
 * recursive descent. Its tree is the one of the current mangling.
 *
 * Every function returns NULL when the name is malformed, too deep or too large.
 */
#ifndef SYM_DEMANGLE_SWIFT_OLD_H
#define SYM_DEMANGLE_SWIFT_OLD_H

#include "symbolicator/demangle/swift/parse.h"

/* A type has names, a name a context, a context a signature, a signature types: the files of these
 * reach each other through the parser, where old.c sets the readers. */
struct sym_swift_old_readers {
    struct sym_swift_node *(*type)(struct sym_swift_parser *p);
    struct sym_swift_node *(*signature)(struct sym_swift_parser *p);
};
struct sym_swift_node *sym_swift_old_read_type(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_read_signature(struct sym_swift_parser *p);

struct sym_swift_node *sym_swift_old_type(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_entity(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_protocol(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_protocol_in(struct sym_swift_parser *p,
                                                 struct sym_swift_node *context);
struct sym_swift_node *sym_swift_old_conformance(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_declaration(struct sym_swift_parser *p,
                                                 enum sym_swift_kind kind);
struct sym_swift_node *sym_swift_old_name(struct sym_swift_parser *p);
/* `kind` SWIFT_NONE: an identifier or operator. */
struct sym_swift_node *sym_swift_old_identifier(struct sym_swift_parser *p,
                                                enum sym_swift_kind kind);
struct sym_swift_node *sym_swift_old_substitution(struct sym_swift_parser *p); /* after its "S" */
struct sym_swift_node *sym_swift_old_bound_generic(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_signature(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_specialization(struct sym_swift_parser *p); /* after "_TTS" */
/* Types up to "_" into `list`. */
struct sym_swift_node *sym_swift_old_types(struct sym_swift_parser *p, struct sym_swift_node *list);
struct sym_swift_node *sym_swift_old_impl_function(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_generic_param(struct sym_swift_parser *p);
struct sym_swift_node *sym_swift_old_member(struct sym_swift_parser *p,
                                            struct sym_swift_node *base);
struct sym_swift_node *sym_swift_old_member_path(struct sym_swift_parser *p);

/* Enter a level of recursion; false, and not entered, if it is too deep. The caller ends each
 * success with `p->depth--`. */
bool sym_swift_old_enter(struct sym_swift_parser *p);

#endif
