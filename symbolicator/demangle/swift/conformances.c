/*
 * Conformances of types to protocols: as the context of an entity, and as arguments at run time.
 */
#include "symbolicator/demangle/swift/parse.h"

/* Type, protocol, module; with a generic signature the type is generic. A name instead of the type
 * is a property behaviour, which Swift no longer has: type, name, protocol, module. */
struct sym_swift_node *
sym_swift_pop_conformance(struct sym_swift_parser *p)
{
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *module = sym_swift_pop_module(p);
    struct sym_swift_node *protocol = sym_swift_pop_protocol(p);
    struct sym_swift_node *type = sym_swift_pop_type(p), *name = NULL;
    if (!type) {
        name = sym_swift_pop(p, SWIFT_IDENTIFIER);
        type = sym_swift_pop_type(p);
    }
    if (signature)
        type = sym_swift_node_type(sym_swift_make2(p, SWIFT_GENERIC_TYPE, signature, type));
    return sym_swift_add_if(p, sym_swift_make3(p, SWIFT_CONFORMANCE, type, protocol, module), name);
}

static struct sym_swift_node *
pop_any_conformance(struct sym_swift_parser *p)
{
    return sym_swift_pop_flag(p, SWIFT_F_CONFORMANCE);
}

static struct sym_swift_node *
pop_reference(struct sym_swift_parser *p)
{
    struct sym_swift_node *reference = sym_swift_pop(p, SWIFT_CONFORMANCE_IN_TYPE_MODULE);
    if (!reference)
        reference = sym_swift_pop(p, SWIFT_CONFORMANCE_IN_PROTOCOL_MODULE);
    if (reference)
        return reference;
    struct sym_swift_node *module = sym_swift_pop_module(p);
    return sym_swift_make2(p, SWIFT_CONFORMANCE_ELSEWHERE, sym_swift_pop_protocol(p), module);
}

struct sym_swift_node *
sym_swift_op_concrete_conformance(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *conditions =
        sym_swift_pop_list(p, SWIFT_CONFORMANCE_LIST, pop_any_conformance);
    struct sym_swift_node *reference = pop_reference(p);
    return sym_swift_make3(p, kind, sym_swift_pop_type(p), reference, conditions);
}

struct sym_swift_node *
sym_swift_op_conformance_list(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    return sym_swift_make1(p, kind,
                           sym_swift_pop_list(p, SWIFT_CONFORMANCE_LIST, pop_any_conformance));
}

/* Indices start at 2: an early compiler misused 0, and 1 is an unknown index. */
static struct sym_swift_node *
conformance_index(struct sym_swift_parser *p)
{
    int64_t index = sym_swift_index(p);
    if (index <= 0)
        return NULL;
    return index == 1 ? sym_swift_make(p, SWIFT_UNKNOWN_INDEX)
                      : sym_swift_make_index(p, SWIFT_NUMBER, index - 2);
}

struct sym_swift_node *
sym_swift_op_dependent_conformance(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *index = conformance_index(p);
    struct sym_swift_node *to = sym_swift_pop_protocol(p);
    /* Here the protocol is required of an associated type, which is mangled before it. */
    if (kind == SWIFT_DEPENDENT_ASSOCIATED)
        to = sym_swift_make2(p, SWIFT_ASSOCIATED_CONFORMANCE, sym_swift_pop_type(p), to);
    /* The root of a chain begins at a generic parameter, each further step at the conformance
     * before it. */
    struct sym_swift_node *from = kind == SWIFT_DEPENDENT_ROOT
                                      ? sym_swift_pop_type(p)
                                      : sym_swift_pop_flag(p, SWIFT_F_DEPENDENT);
    return sym_swift_make3(p, kind, index, from, to);
}

struct sym_swift_node *
sym_swift_op_retroactive(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *index = sym_swift_number(p);
    return sym_swift_make2(p, kind, index, pop_any_conformance(p));
}
