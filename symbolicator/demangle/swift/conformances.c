/*
 * Conformances of types to protocols: as an entity's context, and as arguments at run time.
 */
#include "symbolicator/demangle/swift/parse.h"

/* Type, protocol, module; with a generic signature the type is generic. Without a type on the
 * stack it is a property's behaviour: type, name, protocol, module. */
struct swift_node *
swift_pop_conformance(struct swift_parser *p)
{
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    struct swift_node *type = swift_pop_type(p), *name = NULL;
    if (!type) {
        name = swift_pop(p, SWIFT_IDENTIFIER);
        type = swift_pop_type(p);
    }
    if (signature)
        type = swift_node_type(swift_make2(p, SWIFT_GENERIC_TYPE, signature, type));
    return swift_node_add_if(p->arena, swift_make3(p, SWIFT_CONFORMANCE, type, protocol, module),
                             name);
}

static struct swift_node *
pop_any_conformance(struct swift_parser *p)
{
    return swift_pop_flag(p, SWIFT_F_CONFORMANCE);
}

static struct swift_node *
pop_reference(struct swift_parser *p)
{
    struct swift_node *reference = swift_pop(p, SWIFT_CONFORMANCE_IN_TYPE_MODULE);
    if (!reference)
        reference = swift_pop(p, SWIFT_CONFORMANCE_IN_PROTOCOL_MODULE);
    if (reference)
        return reference;
    struct swift_node *module = swift_pop_module(p);
    return swift_make2(p, SWIFT_CONFORMANCE_ELSEWHERE, swift_pop_protocol(p), module);
}

struct swift_node *
swift_op_concrete_conformance(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *conditions = swift_pop_list(p, SWIFT_CONFORMANCE_LIST, pop_any_conformance);
    struct swift_node *reference = pop_reference(p);
    return swift_make3(p, kind, swift_pop_type(p), reference, conditions);
}

struct swift_node *
swift_op_conformance_list(struct swift_parser *p, enum swift_kind kind)
{
    return swift_make1(p, kind, swift_pop_list(p, SWIFT_CONFORMANCE_LIST, pop_any_conformance));
}

/* The index counts from 2; 1 stands for one that is not known. */
static struct swift_node *
conformance_index(struct swift_parser *p)
{
    int64_t index = swift_index(p);
    if (index <= 0)
        return NULL;
    return index == 1 ? swift_make(p, SWIFT_UNKNOWN_INDEX)
                      : swift_node_index(p->arena, SWIFT_NUMBER, index - 2);
}

struct swift_node *
swift_op_dependent_conformance(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *index = conformance_index(p);
    struct swift_node *to = swift_pop_protocol(p);
    if (kind == SWIFT_DEPENDENT_ASSOCIATED)
        to = swift_make2(p, SWIFT_ASSOCIATED_CONFORMANCE, swift_pop_type(p), to);
    struct swift_node *from =
        kind == SWIFT_DEPENDENT_ROOT ? swift_pop_type(p) : swift_pop_flag(p, SWIFT_F_DEPENDENT);
    return swift_make3(p, kind, index, from, to);
}

struct swift_node *
swift_op_retroactive(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *index = swift_number(p);
    return swift_make2(p, kind, index, pop_any_conformance(p));
}
