/*
 * Functions, variables, initializers, closures, macros: what is declared somewhere.
 */
#include "symbolicator/demangle/swift/parse.h"

/* Context, name, labels if there are any, type. */
static struct swift_node *
declaration(struct swift_parser *p, enum swift_kind kind, struct swift_node *type,
            struct swift_node *labels)
{
    struct swift_node *name = swift_pop_flag(p, SWIFT_F_DECL_NAME);
    struct swift_node *entity = swift_make2(p, kind, swift_pop_context(p), name);
    entity = swift_node_add_if(p->arena, entity, labels);
    return swift_node_add(p->arena, entity, type);
}

struct swift_node *
swift_op_function(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *type = swift_pop_function_type(p, SWIFT_FUNCTION_TYPE);
    struct swift_node *labels = swift_pop_labels(p, type);
    if (signature)
        type = swift_node_type(swift_make2(p, SWIFT_GENERIC_TYPE, signature, type));
    return declaration(p, kind, type, labels);
}

struct swift_node *
swift_op_entity(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    return declaration(p, kind, type, labels);
}

static struct swift_node *
accessor(struct swift_parser *p, struct swift_node *storage)
{
    static const struct {
        char letters[3];
        enum swift_kind kind;
    } accessors[] = {
        {"m", SWIFT_MATERIALIZE_FOR_SET},
        {"s", SWIFT_SETTER},
        {"g", SWIFT_GETTER},
        {"G", SWIFT_GLOBAL_GETTER},
        {"w", SWIFT_WILL_SET},
        {"W", SWIFT_DID_SET},
        {"r", SWIFT_READ},
        {"y", SWIFT_READ2},
        {"M", SWIFT_MODIFY},
        {"x", SWIFT_MODIFY2},
        {"b", SWIFT_BORROW},
        {"z", SWIFT_MUTATE},
        {"i", SWIFT_INIT_ACCESSOR},
        {"aO", SWIFT_OWNING_MUTABLE_ADDRESSOR},
        {"ao", SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR},
        {"ap", SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR},
        {"aP", SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR},
        {"au", SWIFT_UNSAFE_MUTABLE_ADDRESSOR},
        {"lO", SWIFT_OWNING_ADDRESSOR},
        {"lo", SWIFT_NATIVE_OWNING_ADDRESSOR},
        {"lp", SWIFT_NATIVE_PINNING_ADDRESSOR},
        {"lu", SWIFT_UNSAFE_ADDRESSOR},
    };
    if (swift_next_if(p, 'p')) /* the storage itself */
        return storage;
    for (size_t i = 0; i < FZ_ARRAY_LEN(accessors); i++) {
        if (swift_next_if_text(p, accessors[i].letters))
            return swift_make1(p, accessors[i].kind, storage);
    }
    return NULL;
}

static struct swift_node *
subscript(struct swift_parser *p)
{
    struct swift_node *file = swift_pop(p, SWIFT_PRIVATE_NAME);
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    struct swift_node *entity = swift_make1(p, SWIFT_SUBSCRIPT, swift_pop_context(p));
    entity = swift_node_add(p->arena, swift_node_add_if(p->arena, entity, labels), type);
    return swift_node_add_if(p->arena, entity, file);
}

struct swift_node *
swift_op_storage(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *storage = kind == SWIFT_SUBSCRIPT ? subscript(p) : swift_op_entity(p, kind);
    return storage ? accessor(p, storage) : NULL;
}

struct swift_node *
swift_op_constructor(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *file = swift_pop(p, SWIFT_PRIVATE_NAME);
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    struct swift_node *entity = swift_make1(p, kind, swift_pop_context(p));
    entity = swift_node_add(p->arena, swift_node_add_if(p->arena, entity, labels), type);
    return swift_node_add_if(p->arena, entity, file);
}

struct swift_node *
swift_op_closure(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *index = swift_number(p);
    struct swift_node *type = swift_pop_type(p);
    return swift_make3(p, kind, swift_pop_context(p), index, type);
}

struct swift_node *
swift_op_default_argument(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *index = swift_number(p);
    return swift_make2(p, kind, swift_pop_context(p), index);
}

/* Where a macro without a name was expanded: "X<line><column>" behind module and file. */
static struct swift_node *
macro_location(struct swift_parser *p)
{
    struct swift_node *line = swift_number(p);
    struct swift_node *column = swift_number(p);
    struct swift_node *file = swift_pop(p, SWIFT_IDENTIFIER);
    struct swift_node *module = swift_pop(p, SWIFT_IDENTIFIER);
    return swift_node_add(p->arena, swift_make3(p, SWIFT_MACRO_LOCATION, module, file, line),
                          column);
}

static struct swift_node *
macro_context(struct swift_parser *p)
{
    struct swift_node *expansion = swift_pop_flag(p, SWIFT_F_EXPANSION);
    return expansion ? expansion : swift_pop_context(p);
}

struct swift_node *
swift_op_macro(struct swift_parser *p, enum swift_kind kind)
{
    (void)kind;
    static const struct {
        char letter;
        const char *role;
    } roles[] = {
        {'a', "accessor"},    {'r', "memberAttribute"}, {'m', "member"},   {'p', "peer"},
        {'c', "conformance"}, {'e', "extension"},       {'q', "preamble"}, {'b', "body"},
    };
    char c = swift_next(p);
    if (c == 'X')
        return macro_location(p);
    const char *role = NULL;
    for (size_t i = 0; i < FZ_ARRAY_LEN(roles); i++) {
        if (roles[i].letter == c)
            role = roles[i].role;
    }
    if (!role && c != 'f' && c != 'u')
        return NULL;
    struct swift_node *macro = swift_pop(p, SWIFT_IDENTIFIER);
    struct swift_node *file = c == 'f' ? swift_pop(p, SWIFT_PRIVATE_NAME) : NULL;
    struct swift_node *attached = role ? swift_pop_flag(p, SWIFT_F_DECL_NAME) : NULL;
    struct swift_node *context = macro_context(p);
    struct swift_node *index = swift_number(p);
    if (!role) {
        struct swift_node *expansion =
            swift_make3(p, c == 'f' ? SWIFT_FREESTANDING_MACRO : SWIFT_MACRO_UNIQUE_NAME, context,
                        macro, index);
        return swift_node_add_if(p->arena, expansion, file);
    }
    struct swift_node *expansion = swift_node_add(
        p->arena, swift_make3(p, SWIFT_ATTACHED_MACRO, context, attached, macro), index);
    if (expansion)
        expansion->text = fz_span_cstr(role);
    return expansion;
}
