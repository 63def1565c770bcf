/*
 * Contexts, nominal types, entities and conformances of Swift 1 to 3.
 */
#include "symbolicator/demangle/swift/old.h"

static struct swift_node *read_context(struct swift_parser *p);

static struct swift_node *
read_module_name(struct swift_parser *p)
{
    if (swift_next_if(p, 's'))
        return swift_make_text(p, SWIFT_MODULE, "Swift");
    if (swift_next_if(p, 'S')) {
        struct swift_node *module = swift_old_substitution(p);
        return module && module->kind == SWIFT_MODULE ? module : NULL;
    }
    return swift_remember(p, swift_old_identifier(p, SWIFT_MODULE));
}

struct swift_node *
swift_old_declaration(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *context = read_context(p);
    struct swift_node *node = context ? swift_make2(p, kind, context, swift_old_name(p)) : NULL;
    return swift_remember(p, node);
}

struct swift_node *
swift_old_protocol_in(struct swift_parser *p, struct swift_node *context)
{
    return swift_remember(
        p, swift_node_type(swift_make2(p, SWIFT_PROTOCOL, context, swift_old_name(p))));
}

/* A substitution can stand for the protocol or for its module. */
struct swift_node *
swift_old_protocol(struct swift_parser *p)
{
    if (swift_next_if(p, 'S')) {
        struct swift_node *node = swift_old_substitution(p);
        if (node && node->kind == SWIFT_PROTOCOL)
            return node;
        return node && node->kind == SWIFT_MODULE ? swift_old_protocol_in(p, node) : NULL;
    }
    if (swift_next_if(p, 's'))
        return swift_old_protocol_in(p, swift_make_text(p, SWIFT_MODULE, "Swift"));
    return swift_node_type(swift_old_declaration(p, SWIFT_PROTOCOL));
}

static struct swift_node *
read_nominal_type(struct swift_parser *p)
{
    if (swift_next_if(p, 'S'))
        return swift_old_substitution(p);
    if (swift_next_if(p, 'V'))
        return swift_old_declaration(p, SWIFT_STRUCT);
    if (swift_next_if(p, 'O'))
        return swift_old_declaration(p, SWIFT_ENUM);
    if (swift_next_if(p, 'C'))
        return swift_old_declaration(p, SWIFT_CLASS);
    return swift_next_if(p, 'P') ? swift_old_declaration(p, SWIFT_PROTOCOL) : NULL;
}

struct swift_node *
swift_old_types(struct swift_parser *p, struct swift_node *list)
{
    while (list && !swift_next_if(p, '_'))
        list = swift_node_add(p->arena, list, swift_old_type(p));
    return list;
}

/* Each level of nesting has its arguments, outermost first. */
static struct swift_node *
bind_arguments(struct swift_parser *p, struct swift_node *nominal)
{
    if (!nominal || nominal->n_children == 0 || !swift_old_enter(p))
        return NULL;
    enum swift_kind context = nominal->children[0]->kind;
    if (context != SWIFT_MODULE && context != SWIFT_FUNCTION && context != SWIFT_EXTENSION) {
        struct swift_node *bound = bind_arguments(p, nominal->children[0]);
        nominal = bound ? swift_node_as(p->arena, nominal, nominal->kind) : NULL;
        if (nominal)
            nominal->children[0] = bound;
    }
    p->depth--;
    struct swift_node *arguments = nominal ? swift_old_types(p, swift_make(p, SWIFT_LIST)) : NULL;
    if (!arguments || arguments->n_children == 0)
        return arguments ? nominal : NULL;
    if (nominal->kind != SWIFT_CLASS && nominal->kind != SWIFT_STRUCT &&
        nominal->kind != SWIFT_ENUM)
        return NULL;
    return swift_make2(p, SWIFT_BOUND_GENERIC, nominal, arguments);
}

struct swift_node *
swift_old_bound_generic(struct swift_parser *p)
{
    return bind_arguments(p, read_nominal_type(p));
}

static struct swift_node *
extension(struct swift_parser *p, bool constrained)
{
    struct swift_node *signature = NULL;
    struct swift_node *module = read_module_name(p);
    if (module && constrained && !(signature = swift_old_signature(p)))
        return NULL;
    struct swift_node *node =
        module ? swift_make2(p, SWIFT_EXTENSION, module, read_context(p)) : NULL;
    return swift_node_add_if(p->arena, node, signature);
}

static bool
starts_entity(char c)
{
    return c != '\0' && strchr("FIvPsZCVO", c) != NULL;
}

static struct swift_node *
read_context(struct swift_parser *p)
{
    struct swift_node *node;
    if (p->pos >= p->text.len || !swift_old_enter(p))
        return NULL;
    if (swift_next_if(p, 'E'))
        node = extension(p, false);
    else if (swift_next_if(p, 'e'))
        node = extension(p, true);
    else if (swift_next_if(p, 'S'))
        node = swift_old_substitution(p);
    else if (swift_next_if(p, 's'))
        node = swift_make_text(p, SWIFT_MODULE, "Swift");
    else if (swift_next_if(p, 'G'))
        node = swift_old_bound_generic(p);
    else if (starts_entity(swift_peek(p)))
        node = swift_old_entity(p);
    else
        node = read_module_name(p);
    p->depth--;
    return node;
}

struct swift_node *
swift_old_conformance(struct swift_parser *p)
{
    struct swift_node *type = swift_old_type(p);
    struct swift_node *protocol = type ? swift_old_protocol(p) : NULL;
    return protocol ? swift_make3(p, SWIFT_CONFORMANCE, type, protocol, read_context(p)) : NULL;
}

static struct swift_node *
as_static(struct swift_parser *p, struct swift_node *entity, bool is_static)
{
    return is_static ? swift_make1(p, SWIFT_STATIC, entity) : entity;
}

/* A variable, or the subscript that is named so. */
static struct swift_node *
storage(struct swift_parser *p, struct swift_node *context, struct swift_node *name)
{
    struct swift_node *plain =
        name && name->kind == SWIFT_PRIVATE_NAME ? swift_node_child(name, 0) : name;
    struct swift_node *type = name ? swift_old_type(p) : NULL;
    if (!type)
        return NULL;
    if (!plain || plain->kind != SWIFT_IDENTIFIER || !fz_span_is(plain->text, "subscript"))
        return swift_make3(p, SWIFT_VARIABLE, context, name, type);
    struct swift_node *node = swift_make2(p, SWIFT_SUBSCRIPT, context, type);
    if (plain == name)
        return node;
    return swift_node_add(p->arena, node,
                          swift_node_text(p->arena, SWIFT_PRIVATE_NAME, name->text));
}

struct entity_row {
    enum swift_kind kind;
    char letters[3];
    char operands; /* - none, t type, s storage, i index and type */
};

static const struct entity_row *
entity_kind(struct swift_parser *p)
{
    static const struct entity_row kinds[] = {
        {SWIFT_DEALLOCATOR, "D", '-'},
        {SWIFT_DESTRUCTOR, "d", '-'},
        {SWIFT_ISOLATED_DEALLOCATOR, "Z", '-'},
        {SWIFT_IVAR_INITIALIZER, "e", '-'},
        {SWIFT_IVAR_DESTROYER, "E", '-'},
        {SWIFT_ALLOCATOR, "C", 't'},
        {SWIFT_CONSTRUCTOR, "c", 't'},
        {SWIFT_OWNING_MUTABLE_ADDRESSOR, "aO", 's'},
        {SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR, "ao", 's'},
        {SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR, "ap", 's'},
        {SWIFT_UNSAFE_MUTABLE_ADDRESSOR, "au", 's'},
        {SWIFT_OWNING_ADDRESSOR, "lO", 's'},
        {SWIFT_NATIVE_OWNING_ADDRESSOR, "lo", 's'},
        {SWIFT_NATIVE_PINNING_ADDRESSOR, "lp", 's'},
        {SWIFT_UNSAFE_ADDRESSOR, "lu", 's'},
        {SWIFT_NONE, "a", '-'},
        {SWIFT_NONE, "l", '-'},
        {SWIFT_GETTER, "g", 's'},
        {SWIFT_GLOBAL_GETTER, "G", 's'},
        {SWIFT_SETTER, "s", 's'},
        {SWIFT_MATERIALIZE_FOR_SET, "m", 's'},
        {SWIFT_WILL_SET, "w", 's'},
        {SWIFT_DID_SET, "W", 's'},
        {SWIFT_READ, "r", 's'},
        {SWIFT_MODIFY, "M", 's'},
        {SWIFT_EXPLICIT_CLOSURE, "U", 'i'},
        {SWIFT_IMPLICIT_CLOSURE, "u", 'i'},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (swift_next_if_text(p, kinds[i].letters))
            return &kinds[i];
    }
    return NULL;
}

static struct swift_node *
initializer(struct swift_parser *p, struct swift_node *context)
{
    if (swift_next_if(p, 'A'))
        return swift_make2(p, SWIFT_DEFAULT_ARGUMENT, context, swift_number(p));
    return swift_next_if(p, 'i') ? swift_make1(p, SWIFT_INITIALIZER, context) : NULL;
}

/* Kind, context, what of it, its operands. */
static struct swift_node *
entity_in(struct swift_parser *p, struct swift_node *context, enum swift_kind basic)
{
    const struct entity_row *row = entity_kind(p);
    struct swift_node *name;
    if (!row && basic == SWIFT_INITIALIZER)
        return initializer(p, context);
    if (!row) {
        name = swift_old_name(p);
        return name ? swift_make3(p, basic, context, name, swift_old_type(p)) : NULL;
    }
    switch (row->operands) {
    case 's':
        return swift_make1(p, row->kind, storage(p, context, swift_old_name(p)));
    case 't':
        return swift_make2(p, row->kind, context, swift_old_type(p));
    case 'i':
        name = swift_number(p);
        return name ? swift_make3(p, row->kind, context, name, swift_old_type(p)) : NULL;
    default:
        return row->kind == SWIFT_NONE ? NULL : swift_make1(p, row->kind, context);
    }
}

struct swift_node *
swift_old_entity(struct swift_parser *p)
{
    if (!swift_old_enter(p))
        return NULL;
    bool is_static = swift_next_if(p, 'Z');
    enum swift_kind basic = swift_next_if(p, 'F')   ? SWIFT_FUNCTION
                            : swift_next_if(p, 'v') ? SWIFT_VARIABLE
                            : swift_next_if(p, 'I') ? SWIFT_INITIALIZER
                            : swift_next_if(p, 'i') ? SWIFT_SUBSCRIPT
                                                    : SWIFT_NONE;
    struct swift_node *node;
    if (basic == SWIFT_NONE) { /* a type is never told to be static */
        node = read_nominal_type(p);
    } else {
        struct swift_node *context = read_context(p);
        node = context ? as_static(p, entity_in(p, context, basic), is_static) : NULL;
    }
    p->depth--;
    return node;
}
