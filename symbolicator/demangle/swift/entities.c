/*
 * Declarations: functions, variables, initializers, closures, macros.
 */
#include "symbolicator/demangle/swift/parse.h"

/* Context, name, labels if there are any, type. */
static struct sym_swift_node *
declaration(struct sym_swift_parser *p, enum sym_swift_kind kind, struct sym_swift_node *type,
            struct sym_swift_node *labels)
{
    /* Name and context are mangled first, so they are popped last. */
    struct sym_swift_node *name = sym_swift_pop_flag(p, SWIFT_F_DECL_NAME);
    struct sym_swift_node *entity = sym_swift_make2(p, kind, sym_swift_pop_context(p), name);
    entity = sym_swift_add_if(p, entity, labels);
    return sym_swift_add(p, entity, type);
}

struct sym_swift_node *
sym_swift_op_function(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *type = sym_swift_pop_function_type(p, SWIFT_FUNCTION_TYPE);
    struct sym_swift_node *labels = sym_swift_pop_labels(p, type);
    /* A generic function has the signature around its type, after the labels were taken from it. */
    if (signature)
        type = sym_swift_node_type(sym_swift_make2(p, SWIFT_GENERIC_TYPE, signature, type));
    return declaration(p, kind, type, labels);
}

struct sym_swift_node *
sym_swift_op_entity(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *type = sym_swift_pop_type(p);
    struct sym_swift_node *labels = sym_swift_pop_labels(p, type);
    return declaration(p, kind, type, labels);
}

static struct sym_swift_node *
accessor(struct sym_swift_parser *p, struct sym_swift_node *storage)
{
    static const struct sym_swift_choice accessors[] = {
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
        {"", SWIFT_NONE},
    };
    if (sym_swift_next_if(p, 'p')) /* the storage itself */
        return storage;
    enum sym_swift_kind kind = sym_swift_next_kind(p, accessors);
    return kind == SWIFT_NONE ? NULL : sym_swift_make1(p, kind, storage);
}

/* Subscripts too: neither has a name, and the file of a private one comes last. */
struct sym_swift_node *
sym_swift_op_constructor(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *file = sym_swift_pop(p, SWIFT_PRIVATE_NAME);
    struct sym_swift_node *type = sym_swift_pop_type(p);
    struct sym_swift_node *labels = sym_swift_pop_labels(p, type);
    struct sym_swift_node *entity = sym_swift_make1(p, kind, sym_swift_pop_context(p));
    entity = sym_swift_add(p, sym_swift_add_if(p, entity, labels), type);
    return sym_swift_add_if(p, entity, file);
}

struct sym_swift_node *
sym_swift_op_storage(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *storage =
        kind == SWIFT_SUBSCRIPT ? sym_swift_op_constructor(p, kind) : sym_swift_op_entity(p, kind);
    return storage ? accessor(p, storage) : NULL;
}

struct sym_swift_node *
sym_swift_op_closure(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *index = sym_swift_number(p);
    struct sym_swift_node *type = sym_swift_pop_type(p);
    return sym_swift_make3(p, kind, sym_swift_pop_context(p), index, type);
}

struct sym_swift_node *
sym_swift_op_default_argument(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *index = sym_swift_number(p);
    return sym_swift_make2(p, kind, sym_swift_pop_context(p), index);
}

/* The place where a macro without a name was expanded: "X<line><column>" after module and file. */
static struct sym_swift_node *
macro_location(struct sym_swift_parser *p)
{
    struct sym_swift_node *line = sym_swift_number(p);
    struct sym_swift_node *column = sym_swift_number(p);
    struct sym_swift_node *file = sym_swift_pop(p, SWIFT_IDENTIFIER);
    struct sym_swift_node *module = sym_swift_pop(p, SWIFT_IDENTIFIER);
    return sym_swift_add(p, sym_swift_make3(p, SWIFT_MACRO_LOCATION, module, file, line), column);
}

static struct sym_swift_node *
macro_context(struct sym_swift_parser *p)
{
    /* Expansions nest: a macro may expand to code that uses another one. */
    struct sym_swift_node *expansion = sym_swift_pop_flag(p, SWIFT_F_EXPANSION);
    return expansion ? expansion : sym_swift_pop_context(p);
}

struct sym_swift_node *
sym_swift_op_macro(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    (void)kind;
    static const struct sym_swift_word roles[] = {
        {'a', "accessor"},    {'r', "memberAttribute"}, {'m', "member"},   {'p', "peer"},
        {'c', "conformance"}, {'e', "extension"},       {'q', "preamble"}, {'b', "body"},
        {'\0', NULL},
    };
    const char *role = sym_swift_next_word(p, roles);
    char c = role ? '\0' : sym_swift_next(p);
    if (c == 'X')
        return macro_location(p);
    if (!role && c != 'f' && c != 'u')
        return NULL;
    /* Operands as Swift's demangleMacroExpansion() pops them; the index follows the letter. */
    struct sym_swift_node *macro = sym_swift_pop(p, SWIFT_IDENTIFIER);
    struct sym_swift_node *file = c == 'f' ? sym_swift_pop(p, SWIFT_PRIVATE_NAME) : NULL;
    struct sym_swift_node *attached = role ? sym_swift_pop_flag(p, SWIFT_F_DECL_NAME) : NULL;
    struct sym_swift_node *context = macro_context(p);
    struct sym_swift_node *index = sym_swift_number(p);
    if (!role) {
        struct sym_swift_node *expansion =
            sym_swift_make3(p, c == 'f' ? SWIFT_FREESTANDING_MACRO : SWIFT_MACRO_UNIQUE_NAME,
                            context, macro, index);
        return sym_swift_add_if(p, expansion, file);
    }
    struct sym_swift_node *expansion =
        sym_swift_add(p, sym_swift_make3(p, SWIFT_ATTACHED_MACRO, context, attached, macro), index);
    if (expansion)
        /* One kind serves all roles of attached macros; they differ in this word only. */
        expansion->text = fz_span_cstr(role);
    return expansion;
}
