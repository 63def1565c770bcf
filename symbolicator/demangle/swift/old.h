/*
 * The mangling of Swift 1 to 3, private to the demangler: prefix notation, so it is read by
 * recursive descent. Its tree is the one of the mangling of today.
 *
 * Every function returns NULL when the name is malformed, too deep or too large.
 */
#ifndef SYM_DEMANGLE_SWIFT_OLD_H
#define SYM_DEMANGLE_SWIFT_OLD_H

#include "symbolicator/demangle/swift/parse.h"

/* A type has names, a name a context, a context a signature, a signature types: the files of these
 * reach each other through the parser, where old.c sets the readers. */
struct swift_old_readers {
    struct swift_node *(*type)(struct swift_parser *p);
    struct swift_node *(*signature)(struct swift_parser *p);
};
struct swift_node *swift_old_read_type(struct swift_parser *p);
struct swift_node *swift_old_read_signature(struct swift_parser *p);

struct swift_node *swift_old_type(struct swift_parser *p);
struct swift_node *swift_old_entity(struct swift_parser *p);
struct swift_node *swift_old_protocol(struct swift_parser *p);
struct swift_node *swift_old_protocol_in(struct swift_parser *p, struct swift_node *context);
struct swift_node *swift_old_conformance(struct swift_parser *p);
struct swift_node *swift_old_declaration(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_old_name(struct swift_parser *p);
/* `kind` SWIFT_NONE: an identifier or operator. */
struct swift_node *swift_old_identifier(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_old_substitution(struct swift_parser *p); /* behind its "S" */
struct swift_node *swift_old_bound_generic(struct swift_parser *p);
struct swift_node *swift_old_signature(struct swift_parser *p);
struct swift_node *swift_old_specialization(struct swift_parser *p); /* behind "_TTS" */
/* Types up to "_" into `list`. */
struct swift_node *swift_old_types(struct swift_parser *p, struct swift_node *list);
struct swift_node *swift_old_impl_function(struct swift_parser *p);
struct swift_node *swift_old_generic_param(struct swift_parser *p);
struct swift_node *swift_old_member(struct swift_parser *p, struct swift_node *base);
struct swift_node *swift_old_member_path(struct swift_parser *p);

/* Count one more level of recursion; false, and nothing counted, if it is too deep. Each success
 * is paired with `p->depth--`. */
bool swift_old_enter(struct swift_parser *p);

#endif
