/*
 * Contexts, nominal types, entities and conformances of Swift 1 to 3.
 */
#include "symbolicator/demangle/swift/old.h"

static struct sym_swift_node *read_context(struct sym_swift_parser *p);

static struct sym_swift_node *
read_module_name(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 's'))
        return sym_swift_make_text(p, SWIFT_MODULE, "Swift");
    if (sym_swift_next_if(p, 'S')) {
        /* A substitution can be anything that came before, also a type. */
        struct sym_swift_node *module = sym_swift_old_substitution(p);
        return module && module->kind == SWIFT_MODULE ? module : NULL;
    }
    return sym_swift_remember(p, sym_swift_old_identifier(p, SWIFT_MODULE));
}

struct sym_swift_node *
sym_swift_old_declaration(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *context = read_context(p);
    struct sym_swift_node *node =
        context ? sym_swift_make2(p, kind, context, sym_swift_old_name(p)) : NULL;
    return sym_swift_remember(p, node);
}

struct sym_swift_node *
sym_swift_old_protocol_in(struct sym_swift_parser *p, struct sym_swift_node *context)
{
    return sym_swift_remember(
        p, sym_swift_node_type(sym_swift_make2(p, SWIFT_PROTOCOL, context, sym_swift_old_name(p))));
}

/* A substitution can be the protocol or its module. */
struct sym_swift_node *
sym_swift_old_protocol(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'S')) {
        struct sym_swift_node *node = sym_swift_old_substitution(p);
        if (node && node->kind == SWIFT_PROTOCOL)
            return node;
        return node && node->kind == SWIFT_MODULE ? sym_swift_old_protocol_in(p, node) : NULL;
    }
    if (sym_swift_next_if(p, 's'))
        return sym_swift_old_protocol_in(p, sym_swift_make_text(p, SWIFT_MODULE, "Swift"));
    return sym_swift_node_type(sym_swift_old_declaration(p, SWIFT_PROTOCOL));
}

static struct sym_swift_node *
read_nominal_type(struct sym_swift_parser *p)
{
    static const struct sym_swift_choice kinds[] = {{"V", SWIFT_STRUCT},
                                                    {"O", SWIFT_ENUM},
                                                    {"C", SWIFT_CLASS},
                                                    {"P", SWIFT_PROTOCOL},
                                                    {"", SWIFT_NONE}};
    if (sym_swift_next_if(p, 'S'))
        return sym_swift_old_substitution(p);
    enum sym_swift_kind kind = sym_swift_next_kind(p, kinds);
    return kind == SWIFT_NONE ? NULL : sym_swift_old_declaration(p, kind);
}

struct sym_swift_node *
sym_swift_old_types(struct sym_swift_parser *p, struct sym_swift_node *list)
{
    while (list && !sym_swift_next_if(p, '_'))
        list = sym_swift_add(p, list, sym_swift_old_type(p));
    return list;
}

/* Each level of nesting has its own arguments, outermost first. */
static struct sym_swift_node *
bind_arguments(struct sym_swift_parser *p, struct sym_swift_node *nominal)
{
    if (!nominal || nominal->n_children == 0 || !sym_swift_old_enter(p))
        return NULL;
    /* These contexts take no arguments, so the outermost list is for the type itself. */
    enum sym_swift_kind context = nominal->children[0]->kind;
    if (context != SWIFT_MODULE && context != SWIFT_FUNCTION && context != SWIFT_EXTENSION) {
        struct sym_swift_node *bound = bind_arguments(p, nominal->children[0]);
        /* A copy, because the type may be a substitution that others refer to. */
        nominal = bound ? sym_swift_copy_as(p, nominal, nominal->kind) : NULL;
        if (nominal)
            nominal->children[0] = bound;
    }
    p->depth--;
    struct sym_swift_node *arguments =
        nominal ? sym_swift_old_types(p, sym_swift_make(p, SWIFT_LIST)) : NULL;
    if (!arguments || arguments->n_children == 0)
        return arguments ? nominal : NULL;
    if (nominal->kind != SWIFT_CLASS && nominal->kind != SWIFT_STRUCT &&
        nominal->kind != SWIFT_ENUM)
        return NULL;
    return sym_swift_make2(p, SWIFT_BOUND_GENERIC, nominal, arguments);
}

struct sym_swift_node *
sym_swift_old_bound_generic(struct sym_swift_parser *p)
{
    return bind_arguments(p, read_nominal_type(p));
}

static struct sym_swift_node *
extension(struct sym_swift_parser *p, bool constrained)
{
    struct sym_swift_node *signature = NULL;
    struct sym_swift_node *module = read_module_name(p);
    /* "e" instead of "E": the extension has a where clause. */
    if (module && constrained && !(signature = sym_swift_old_signature(p)))
        return NULL;
    struct sym_swift_node *node =
        module ? sym_swift_make2(p, SWIFT_EXTENSION, module, read_context(p)) : NULL;
    return sym_swift_add_if(p, node, signature);
}

static bool
starts_entity(char c)
{
    return c != '\0' && strchr("FIvPsZCVO", c) != NULL;
}

static struct sym_swift_node *
read_context(struct sym_swift_parser *p)
{
    struct sym_swift_node *node;
    if (p->pos >= p->text.len || !sym_swift_old_enter(p))
        return NULL;
    if (sym_swift_next_if(p, 'E'))
        node = extension(p, false);
    else if (sym_swift_next_if(p, 'e'))
        node = extension(p, true);
    else if (sym_swift_next_if(p, 'S'))
        node = sym_swift_old_substitution(p);
    else if (sym_swift_next_if(p, 's'))
        node = sym_swift_make_text(p, SWIFT_MODULE, "Swift");
    else if (sym_swift_next_if(p, 'G'))
        node = sym_swift_old_bound_generic(p);
    else if (starts_entity(sym_swift_peek(p)))
        node = sym_swift_old_entity(p);
    else
        node = read_module_name(p);
    p->depth--;
    return node;
}

struct sym_swift_node *
sym_swift_old_conformance(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = sym_swift_old_type(p);
    struct sym_swift_node *protocol = type ? sym_swift_old_protocol(p) : NULL;
    return protocol ? sym_swift_make3(p, SWIFT_CONFORMANCE, type, protocol, read_context(p)) : NULL;
}

static struct sym_swift_node *
as_static(struct sym_swift_parser *p, struct sym_swift_node *entity, bool is_static)
{
    return is_static ? sym_swift_make1(p, SWIFT_STATIC, entity) : entity;
}

/* A variable, or a subscript, which has that name in this mangling. */
static struct sym_swift_node *
storage(struct sym_swift_parser *p, struct sym_swift_node *context, struct sym_swift_node *name)
{
    /* A private subscript has its name within a private name. */
    struct sym_swift_node *plain =
        name && name->kind == SWIFT_PRIVATE_NAME ? sym_swift_node_child(name, 0) : name;
    struct sym_swift_node *type = name ? sym_swift_old_type(p) : NULL;
    if (!type)
        return NULL;
    /* the tree of the current mangling has a kind of its own for subscripts */
    if (!plain || plain->kind != SWIFT_IDENTIFIER || !fz_span_is(plain->text, "subscript"))
        return sym_swift_make3(p, SWIFT_VARIABLE, context, name, type);
    struct sym_swift_node *node = sym_swift_make2(p, SWIFT_SUBSCRIPT, context, type);
    if (plain == name)
        return node;
    return sym_swift_add(p, node, sym_swift_make_span(p, SWIFT_PRIVATE_NAME, name->text));
}

struct entity_row {
    enum sym_swift_kind kind;
    char letters[3];
    char operands; /* - none, t type, s storage, i index and type */
};

static const struct entity_row *
entity_kind(struct sym_swift_parser *p)
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
        if (sym_swift_next_if_text(p, kinds[i].letters))
            return &kinds[i];
    }
    return NULL;
}

static struct sym_swift_node *
initializer(struct sym_swift_parser *p, struct sym_swift_node *context)
{
    if (sym_swift_next_if(p, 'A'))
        return sym_swift_make2(p, SWIFT_DEFAULT_ARGUMENT, context, sym_swift_number(p));
    return sym_swift_next_if(p, 'i') ? sym_swift_make1(p, SWIFT_INITIALIZER, context) : NULL;
}

/* After kind and context: which entity, and its operands. */
static struct sym_swift_node *
entity_in(struct sym_swift_parser *p, struct sym_swift_node *context, enum sym_swift_kind basic)
{
    /* The letter of an accessor or initializer comes before the name. */
    const struct entity_row *row = entity_kind(p);
    struct sym_swift_node *name;
    /* No letter of an entity follows: "I" is for initial values and default arguments. */
    if (!row && basic == SWIFT_INITIALIZER)
        return initializer(p, context);
    if (!row) {
        name = sym_swift_old_name(p);
        return name ? sym_swift_make3(p, basic, context, name, sym_swift_old_type(p)) : NULL;
    }
    switch (row->operands) {
    case 's':
        return sym_swift_make1(p, row->kind, storage(p, context, sym_swift_old_name(p)));
    case 't':
        return sym_swift_make2(p, row->kind, context, sym_swift_old_type(p));
    case 'i':
        name = sym_swift_number(p);
        return name ? sym_swift_make3(p, row->kind, context, name, sym_swift_old_type(p)) : NULL;
    default:
        return row->kind == SWIFT_NONE ? NULL : sym_swift_make1(p, row->kind, context);
    }
}

struct sym_swift_node *
sym_swift_old_entity(struct sym_swift_parser *p)
{
    if (!sym_swift_old_enter(p))
        return NULL;
    /* The prefix is printed before the context, so it becomes the root. */
    bool is_static = sym_swift_next_if(p, 'Z');
    enum sym_swift_kind basic = sym_swift_next_if(p, 'F')   ? SWIFT_FUNCTION
                                : sym_swift_next_if(p, 'v') ? SWIFT_VARIABLE
                                : sym_swift_next_if(p, 'I') ? SWIFT_INITIALIZER
                                : sym_swift_next_if(p, 'i') ? SWIFT_SUBSCRIPT
                                                            : SWIFT_NONE;
    struct sym_swift_node *node;
    if (basic == SWIFT_NONE) { /* "static" does not apply to types: not printed */
        node = read_nominal_type(p);
    } else {
        struct sym_swift_node *context = read_context(p);
        node = context ? as_static(p, entity_in(p, context, basic), is_static) : NULL;
    }
    p->depth--;
    return node;
}
