/*
 * Types: builtin, nominal, bound generic, tuples, packs, existential, metatypes, boxes.
 */
#include "symbolicator/demangle/swift/parse.h"

enum { BUILTIN_BITS_MAX = 4096, NESTED_GENERICS_MAX = 200 };

static struct swift_node *
sized_builtin(struct swift_parser *p, const char *name)
{
    int64_t bits = swift_index(p) - 1;
    if (bits <= 0 || bits > BUILTIN_BITS_MAX)
        return NULL;
    const char *text = fz_arena_printf(p->arena, "%s%d", name, (int)bits);
    return text ? swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct swift_node *
vector(struct swift_parser *p)
{
    static const char prefix[] = "Builtin.";
    int64_t n = swift_index(p) - 1;
    struct swift_node *element = swift_pop_type(p);
    if (n <= 0 || n > BUILTIN_BITS_MAX || !element || element->kind != SWIFT_BUILTIN_TYPE ||
        element->text.len < sizeof(prefix))
        return NULL;
    size_t skip = sizeof(prefix) - 1;
    const char *text =
        fz_arena_printf(p->arena, "%sVec%dx%.*s", prefix, (int)n, (int)(element->text.len - skip),
                        (const char *)element->text.data + skip);
    return text ? swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct swift_node *
fixed_array(struct swift_parser *p)
{
    struct swift_node *element = swift_pop_type(p);
    return swift_make2(p, SWIFT_BUILTIN_FIXED_ARRAY, swift_pop_type(p), element);
}

struct swift_node *
swift_op_builtin(struct swift_parser *p, enum swift_kind kind)
{
    static const struct {
        char letter;
        const char *name;
    } builtins[] = {
        {'A', "ImplicitActor"},
        {'b', "BridgeObject"},
        {'B', "UnsafeValueBuffer"},
        {'c', "RawUnsafeContinuation"},
        {'d', "NonDefaultDistributedActorStorage"},
        {'D', "DefaultActorStorage"},
        {'e', "Executor"},
        {'I', "IntLiteral"},
        {'j', "Job"},
        {'o', "NativeObject"},
        {'O', "UnknownObject"},
        {'p', "RawPointer"},
        {'P', "PackIndex"},
        {'t', "SILToken"},
        {'w', "Word"},
    };
    char c = swift_next(p);
    if (c == 'f')
        return swift_node_type(sized_builtin(p, "Builtin.FPIEEE"));
    if (c == 'i')
        return swift_node_type(sized_builtin(p, "Builtin.Int"));
    if (c == 'v')
        return swift_node_type(vector(p));
    if (c == 'V')
        return swift_node_type(fixed_array(p));
    if (c == 'T')
        return swift_node_type(swift_make(p, SWIFT_BUILTIN_TUPLE));
    if (c == 'W')
        return swift_node_type(swift_make1(p, SWIFT_BUILTIN_BORROW, swift_pop_type(p)));
    for (size_t i = 0; i < FZ_ARRAY_LEN(builtins); i++) {
        if (builtins[i].letter == c) {
            const char *text = fz_arena_printf(p->arena, "Builtin.%s", builtins[i].name);
            return text ? swift_node_type(swift_make_text(p, kind, text)) : NULL;
        }
    }
    return NULL;
}

struct swift_node *
swift_op_nominal(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *name = swift_pop_flag(p, SWIFT_F_DECL_NAME);
    struct swift_node *context = swift_pop_context(p);
    return swift_remember(p, swift_node_type(swift_make2(p, kind, context, name)));
}

struct swift_node *
swift_op_extension(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = swift_pop(p, SWIFT_SIGNATURE);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *extension = swift_make2(p, kind, module, swift_pop_nominal(p));
    return swift_node_add_if(p->arena, extension, signature);
}

static struct swift_node *
pop_conformances(struct swift_parser *p)
{
    struct swift_node *list = NULL, *conformance;
    while ((conformance = swift_pop(p, SWIFT_RETROACTIVE))) {
        list = swift_node_add(p->arena, list ? list : swift_make(p, SWIFT_LIST), conformance);
        if (!list)
            return NULL;
    }
    swift_node_reverse(list, 0);
    return list;
}

bool
swift_pop_arguments(struct swift_parser *p, struct swift_arguments *ret)
{
    *ret = (struct swift_arguments){.conformances = pop_conformances(p)};
    for (;;) {
        struct swift_node *list = swift_make(p, SWIFT_LIST), *type;
        while (list && (type = swift_pop_type(p)))
            list = swift_node_add(p->arena, list, type);
        swift_node_reverse(list, 0);
        if (!swift_nodes_add(p->arena, &ret->lists, list))
            return false;
        if (swift_pop(p, SWIFT_EMPTY_LIST))
            return true;
        if (!swift_pop(p, SWIFT_FIRST_ELEMENT))
            return false;
    }
}

/* Variables, closures and the like have no generic parameters of their own. */
static bool
takes_arguments(enum swift_kind kind)
{
    static const enum swift_kind without[] = {
        SWIFT_VARIABLE,
        SWIFT_SUBSCRIPT,
        SWIFT_IMPLICIT_CLOSURE,
        SWIFT_EXPLICIT_CLOSURE,
        SWIFT_INITIALIZER,
        SWIFT_DEFAULT_ARGUMENT,
        SWIFT_STATIC,
        SWIFT_WRAPPER_BACKING_INITIALIZER,
        SWIFT_WRAPPER_PROJECTED_INITIALIZER,
        SWIFT_WRAPPED_FIELD_INIT_ACCESSOR,
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(without); i++) {
        if (without[i] == kind)
            return false;
    }
    return true;
}

static struct swift_node *bind_arguments(struct swift_parser *p, struct swift_node *nominal,
                                         const struct swift_nodes *lists, size_t i);

/* The nominal with its context bound to the lists from `i`. */
static struct swift_node *
bind_context(struct swift_parser *p, const struct swift_node *nominal,
             const struct swift_nodes *lists, size_t i)
{
    struct swift_node *context = nominal->children[0], *bound;
    if (context->kind == SWIFT_EXTENSION) {
        bound = swift_make2(p, SWIFT_EXTENSION, context->children[0],
                            bind_arguments(p, context->children[1], lists, i));
        bound = swift_node_add_if(p->arena, bound, swift_node_child(context, 2));
    } else {
        bound = bind_arguments(p, context, lists, i);
    }
    struct swift_node *copy = bound ? swift_node_as(p->arena, nominal, nominal->kind) : NULL;
    if (copy)
        copy->children[0] = bound;
    return copy;
}

/* Lists are innermost first, so that list `i` belongs to `nominal` and the next to its context. */
static struct swift_node *
bind_arguments(struct swift_parser *p, struct swift_node *nominal, const struct swift_nodes *lists,
               size_t i)
{
    if (!nominal || i >= lists->n || nominal->n_children == 0)
        return NULL;
    struct swift_node *arguments = lists->items[i];
    bool takes = takes_arguments(nominal->kind);
    if (takes)
        i++;
    if (i < lists->n)
        nominal = bind_context(p, nominal, lists, i);
    if (!nominal || !takes || arguments->n_children == 0)
        return nominal;
    if (nominal->kind == SWIFT_FUNCTION || nominal->kind == SWIFT_CONSTRUCTOR)
        return swift_make2(p, SWIFT_BOUND_FUNCTION, nominal, arguments);
    if (!swift_is(nominal, SWIFT_F_NOMINAL))
        return NULL;
    return swift_make2(p, SWIFT_BOUND_GENERIC, nominal, arguments);
}

struct swift_node *
swift_op_bound_generic(struct swift_parser *p, enum swift_kind kind)
{
    (void)kind;
    struct swift_arguments arguments;
    if (!swift_pop_arguments(p, &arguments) || arguments.lists.n > NESTED_GENERICS_MAX)
        return NULL;
    struct swift_node *bound = bind_arguments(p, swift_pop_nominal(p), &arguments.lists, 0);
    if (bound && bound->is_type) /* no arguments at all: a type of its own nevertheless */
        bound = swift_node_as(p->arena, bound, bound->kind);
    if (bound && bound->kind == SWIFT_BOUND_GENERIC)
        bound = swift_node_add_if(p->arena, bound, arguments.conformances);
    return swift_remember(p, swift_node_type(bound));
}

struct swift_node *
swift_op_tuple(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *tuple = swift_make(p, kind);
    if (swift_pop(p, SWIFT_EMPTY_LIST))
        return swift_node_type(tuple);
    bool first;
    do {
        first = swift_pop(p, SWIFT_FIRST_ELEMENT) != NULL;
        bool variadic = swift_pop(p, SWIFT_VARIADIC) != NULL;
        struct swift_node *label = swift_pop(p, SWIFT_IDENTIFIER);
        struct swift_node *element = swift_make1(p, SWIFT_TUPLE_ELEMENT, swift_pop_type(p));
        if (element) {
            element->index = variadic;
            element->text = label ? label->text : element->text;
        }
        tuple = swift_node_add(p->arena, tuple, element);
    } while (tuple && !first);
    swift_node_reverse(tuple, 0);
    return swift_node_type(tuple);
}

struct swift_node *
swift_op_pack(struct swift_parser *p, enum swift_kind kind)
{
    if (kind != SWIFT_PACK) {
        char direct = swift_next(p);
        if (direct != 'd' && direct != 'i')
            return NULL;
        kind = direct == 'd' ? SWIFT_SIL_PACK_DIRECT : SWIFT_SIL_PACK_INDIRECT;
    }
    return swift_node_type(swift_pop_list(p, kind, swift_pop_type));
}

struct swift_node *
swift_op_pack_element(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *element = swift_make1(p, kind, swift_pop_type(p));
    int64_t level = swift_index(p);
    if (!element || level < 0)
        return NULL;
    element->index = level;
    return swift_node_type(element);
}

struct swift_node *
swift_op_metatype(struct swift_parser *p, enum swift_kind kind)
{
    char c = swift_next(p);
    const char *representation = c == 't'   ? "@thin"
                                 : c == 'T' ? "@thick"
                                 : c == 'o' ? "@objc_metatype"
                                            : NULL;
    struct swift_node *type = swift_make1(p, kind, swift_pop_type(p));
    if (!type || !representation)
        return NULL;
    type->text = fz_span_cstr(representation);
    return swift_node_type(type);
}

struct swift_node *
swift_op_protocols(struct swift_parser *p, enum swift_kind kind)
{
    return swift_node_type(swift_pop_list(p, kind, swift_pop_protocol));
}

struct swift_node *
swift_op_protocols_class(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *type = swift_make1(p, kind, swift_pop_type(p));
    struct swift_node *protocols = swift_pop_list(p, SWIFT_LIST, swift_pop_protocol);
    for (uint32_t i = 0; protocols && i < protocols->n_children; i++)
        type = swift_node_add(p->arena, type, protocols->children[i]);
    return protocols ? swift_node_type(type) : NULL;
}

static struct swift_node *
pop_requirement(struct swift_parser *p)
{
    return swift_pop_flag(p, SWIFT_F_REQUIREMENT);
}

struct swift_node *
swift_op_existential(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *requirements = swift_pop_list(p, SWIFT_REQUIREMENTS, pop_requirement);
    return swift_node_type(swift_make2(p, kind, swift_pop_type(p), requirements));
}

/* "Xx" has fields; "XX" generic arguments, too. A mutable field is an inout type. */
struct swift_node *
swift_op_box(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *signature = NULL, *arguments = NULL;
    if (kind == SWIFT_SIGNATURE) {
        signature = swift_pop(p, SWIFT_SIGNATURE);
        arguments = signature ? swift_pop_type_list(p) : NULL;
        if (!arguments)
            return NULL;
    }
    struct swift_node *fields = swift_pop_type_list(p);
    struct swift_node *layout = fields ? swift_make(p, SWIFT_SIL_BOX_LAYOUT) : NULL;
    for (uint32_t i = 0; fields && i < fields->n_children; i++) {
        struct swift_node *type = fields->children[i];
        bool is_mutable = type->kind == SWIFT_INOUT;
        layout = swift_node_add(
            p->arena, layout,
            swift_make1(p, is_mutable ? SWIFT_SIL_BOX_MUTABLE : SWIFT_SIL_BOX_IMMUTABLE,
                        is_mutable ? type->children[0] : type));
    }
    struct swift_node *box = swift_make1(p, SWIFT_SIL_BOX_WITH_LAYOUT, layout);
    if (signature)
        box = swift_node_add(p->arena, swift_node_add(p->arena, box, signature), arguments);
    return swift_node_type(box);
}

struct swift_node *
swift_op_anonymous(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *types = swift_pop_type_list(p);
    struct swift_node *name = swift_pop(p, SWIFT_IDENTIFIER);
    return swift_make3(p, kind, name, swift_pop_context(p), types);
}

struct swift_node *
swift_op_integer(struct swift_parser *p, enum swift_kind kind)
{
    bool negative = swift_next_if(p, 'n');
    int64_t value = swift_index(p);
    if (value < 0)
        return NULL;
    return swift_node_type(swift_node_index(p->arena, kind, negative ? -value : value));
}
