/*
 * Types: builtin, nominal, bound generic and existential types, tuples, packs, metatypes, boxes.
 */
#include "symbolicator/demangle/swift/parse.h"

enum { BUILTIN_BITS_MAX = 4096, NESTED_GENERICS_MAX = 200 };

static struct sym_swift_node *
sized_builtin(struct sym_swift_parser *p, const char *name)
{
    /* Sizes are written as an index, which is one higher. Swift's demangler has the same bound. */
    int64_t bits = sym_swift_index(p) - 1;
    if (bits <= 0 || bits > BUILTIN_BITS_MAX)
        return NULL;
    const char *text = fz_arena_printf(p->arena, "%s%d", name, (int)bits);
    return text ? sym_swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct sym_swift_node *
vector(struct sym_swift_parser *p)
{
    static const char prefix[] = "Builtin.";
    int64_t n = sym_swift_index(p) - 1;
    struct sym_swift_node *element = sym_swift_pop_type(p);
    if (n <= 0 || n > BUILTIN_BITS_MAX || !element || element->kind != SWIFT_BUILTIN_TYPE ||
        element->text.len < sizeof(prefix))
        return NULL;
    /* "Builtin.Vec4xInt32" has the prefix once, the element's own name is "Builtin.Int32". */
    size_t skip = sizeof(prefix) - 1;
    const char *text =
        fz_arena_printf(p->arena, "%sVec%dx%.*s", prefix, (int)n, (int)(element->text.len - skip),
                        (const char *)element->text.data + skip);
    return text ? sym_swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct sym_swift_node *
fixed_array(struct sym_swift_parser *p)
{
    struct sym_swift_node *element = sym_swift_pop_type(p);
    return sym_swift_make2(p, SWIFT_BUILTIN_FIXED_ARRAY, sym_swift_pop_type(p), element);
}

struct sym_swift_node *
sym_swift_op_builtin(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    static const struct sym_swift_word builtins[] = {
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
        {'\0', NULL},
    };
    const char *name = sym_swift_next_word(p, builtins);
    if (name) {
        const char *text = fz_arena_printf(p->arena, "Builtin.%s", name);
        return text ? sym_swift_node_type(sym_swift_make_text(p, kind, text)) : NULL;
    }
    char c = sym_swift_next(p);
    if (c == 'f')
        return sym_swift_node_type(sized_builtin(p, "Builtin.FPIEEE"));
    if (c == 'i')
        return sym_swift_node_type(sized_builtin(p, "Builtin.Int"));
    if (c == 'v')
        return sym_swift_node_type(vector(p));
    if (c == 'V')
        return sym_swift_node_type(fixed_array(p));
    if (c == 'T')
        return sym_swift_node_type(sym_swift_make(p, SWIFT_BUILTIN_TUPLE));
    if (c == 'W')
        return sym_swift_node_type(sym_swift_make1(p, SWIFT_BUILTIN_BORROW, sym_swift_pop_type(p)));
    return NULL;
}

struct sym_swift_node *
sym_swift_op_nominal(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *name = sym_swift_pop_flag(p, SWIFT_F_DECL_NAME);
    struct sym_swift_node *context = sym_swift_pop_context(p);
    /* Nominal types are substitution candidates of their own, apart from their names. */
    return sym_swift_remember(p, sym_swift_node_type(sym_swift_make2(p, kind, context, name)));
}

struct sym_swift_node *
sym_swift_op_extension(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = sym_swift_pop(p, SWIFT_SIGNATURE);
    struct sym_swift_node *module = sym_swift_pop_module(p);
    struct sym_swift_node *extension = sym_swift_make2(p, kind, module, sym_swift_pop_nominal(p));
    return sym_swift_add_if(p, extension, signature);
}

static struct sym_swift_node *
pop_conformances(struct sym_swift_parser *p)
{
    struct sym_swift_node *list = NULL, *conformance;
    while ((conformance = sym_swift_pop(p, SWIFT_RETROACTIVE))) {
        list = sym_swift_add(p, list ? list : sym_swift_make(p, SWIFT_LIST), conformance);
        if (!list)
            return NULL;
    }
    sym_swift_node_reverse(list, 0);
    return list;
}

bool
sym_swift_pop_arguments(struct sym_swift_parser *p, struct sym_swift_arguments *ret)
{
    /* "y" begins the lists and "_" separates them (bound-generic-type in Swift's Mangling.rst);
     * from the stack the innermost comes first. */
    *ret = (struct sym_swift_arguments){.conformances = pop_conformances(p)};
    for (;;) {
        struct sym_swift_node *list = sym_swift_make(p, SWIFT_LIST), *type;
        while (list && (type = sym_swift_pop_type(p)))
            list = sym_swift_add(p, list, type);
        sym_swift_node_reverse(list, 0);
        if (!sym_swift_nodes_add(p, &ret->lists, list))
            return false;
        if (sym_swift_pop(p, SWIFT_EMPTY_LIST))
            return true;
        if (!sym_swift_pop(p, SWIFT_FIRST_ELEMENT))
            return false;
    }
}

/* Variables, closures and the like have no generic parameters of their own. */
static bool
takes_arguments(enum sym_swift_kind kind)
{
    static const enum sym_swift_kind without[] = {
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

static struct sym_swift_node *bind_arguments(struct sym_swift_parser *p,
                                             struct sym_swift_node *nominal,
                                             const struct sym_swift_nodes *lists, size_t i);

/* The nominal with its context bound to the lists from `i`. */
static struct sym_swift_node *
bind_context(struct sym_swift_parser *p, const struct sym_swift_node *nominal,
             const struct sym_swift_nodes *lists, size_t i)
{
    struct sym_swift_node *context = nominal->children[0], *bound;
    if (context->kind == SWIFT_EXTENSION) {
        bound = sym_swift_make2(p, SWIFT_EXTENSION, context->children[0],
                                bind_arguments(p, context->children[1], lists, i));
        bound = sym_swift_add_if(p, bound, sym_swift_node_child(context, 2));
    } else {
        bound = bind_arguments(p, context, lists, i);
    }
    struct sym_swift_node *copy = bound ? sym_swift_copy_as(p, nominal, nominal->kind) : NULL;
    if (copy)
        /* The original may be a substitution that others refer to, so the copy is changed. */
        copy->children[0] = bound;
    return copy;
}

/* Lists are innermost first, so that list `i` belongs to `nominal` and the next to its context. */
static struct sym_swift_node *
bind_arguments(struct sym_swift_parser *p, struct sym_swift_node *nominal,
               const struct sym_swift_nodes *lists, size_t i)
{
    if (!nominal || i >= lists->n || nominal->n_children == 0)
        return NULL;
    struct sym_swift_node *arguments = lists->items[i];
    /* a declaration without own parameters leaves its list to the context */
    bool takes = takes_arguments(nominal->kind);
    if (takes)
        i++;
    if (i < lists->n)
        nominal = bind_context(p, nominal, lists, i);
    if (!nominal || !takes || arguments->n_children == 0)
        return nominal;
    /* A type inside a generic function is bound together with that function. */
    if (nominal->kind == SWIFT_FUNCTION || nominal->kind == SWIFT_CONSTRUCTOR)
        return sym_swift_make2(p, SWIFT_BOUND_FUNCTION, nominal, arguments);
    if (!sym_swift_is(nominal, SWIFT_F_NOMINAL))
        return NULL;
    return sym_swift_make2(p, SWIFT_BOUND_GENERIC, nominal, arguments);
}

struct sym_swift_node *
sym_swift_op_bound_generic(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    (void)kind;
    struct sym_swift_arguments arguments;
    /* bind_arguments() recurses once for each list. */
    if (!sym_swift_pop_arguments(p, &arguments) || arguments.lists.n > NESTED_GENERICS_MAX)
        return NULL;
    struct sym_swift_node *bound = bind_arguments(p, sym_swift_pop_nominal(p), &arguments.lists, 0);
    if (bound &&
        bound->is_type) /* no arguments, but still a new type: the nominal may be a substitution */
        bound = sym_swift_copy_as(p, bound, bound->kind);
    if (bound && bound->kind == SWIFT_BOUND_GENERIC)
        bound = sym_swift_add_if(p, bound, arguments.conformances);
    return sym_swift_remember(p, sym_swift_node_type(bound));
}

struct sym_swift_node *
sym_swift_op_tuple(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *tuple = sym_swift_make(p, kind);
    if (sym_swift_pop(p, SWIFT_EMPTY_LIST))
        return sym_swift_node_type(tuple);
    bool first;
    do {
        first = sym_swift_pop(p, SWIFT_FIRST_ELEMENT) != NULL;
        /* Label and marks follow the type in the mangling (list-type in Mangling.rst). */
        bool variadic = sym_swift_pop(p, SWIFT_VARIADIC) != NULL;
        struct sym_swift_node *label = sym_swift_pop(p, SWIFT_IDENTIFIER);
        struct sym_swift_node *element =
            sym_swift_make1(p, SWIFT_TUPLE_ELEMENT, sym_swift_pop_type(p));
        if (element) {
            element->index = variadic;
            element->text = label ? label->text : element->text;
        }
        tuple = sym_swift_add(p, tuple, element);
    } while (tuple && !first);
    sym_swift_node_reverse(tuple, 0);
    return sym_swift_node_type(tuple);
}

struct sym_swift_node *
sym_swift_op_pack(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    if (kind != SWIFT_PACK) {
        /* SIL packs, of lowered functions, hold their elements or the addresses of them. */
        char direct = sym_swift_next(p);
        if (direct != 'd' && direct != 'i')
            return NULL;
        kind = direct == 'd' ? SWIFT_SIL_PACK_DIRECT : SWIFT_SIL_PACK_INDIRECT;
    }
    return sym_swift_node_type(sym_swift_pop_list(p, kind, sym_swift_pop_type));
}

struct sym_swift_node *
sym_swift_op_pack_element(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *element = sym_swift_make1(p, kind, sym_swift_pop_type(p));
    int64_t level = sym_swift_index(p);
    if (!element || level < 0)
        return NULL;
    element->index = level;
    return sym_swift_node_type(element);
}

const char *
sym_swift_metatype_word(struct sym_swift_parser *p)
{
    static const struct sym_swift_word words[] = {
        {'t', "@thin"}, {'T', "@thick"}, {'o', "@objc_metatype"}, {'\0', NULL}};
    return sym_swift_next_word(p, words);
}

struct sym_swift_node *
sym_swift_op_metatype(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    const char *representation = sym_swift_metatype_word(p);
    struct sym_swift_node *type = sym_swift_make1(p, kind, sym_swift_pop_type(p));
    if (!type || !representation)
        return NULL;
    type->text = fz_span_cstr(representation);
    return sym_swift_node_type(type);
}

struct sym_swift_node *
sym_swift_op_protocols(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    return sym_swift_node_type(sym_swift_pop_list(p, kind, sym_swift_pop_protocol));
}

struct sym_swift_node *
sym_swift_op_protocols_class(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *type = sym_swift_make1(p, kind, sym_swift_pop_type(p));
    /* The superclass comes last in the mangling and is printed first. */
    struct sym_swift_node *protocols = sym_swift_pop_list(p, SWIFT_LIST, sym_swift_pop_protocol);
    for (uint32_t i = 0; protocols && i < protocols->n_children; i++)
        type = sym_swift_add(p, type, protocols->children[i]);
    return protocols ? sym_swift_node_type(type) : NULL;
}

static struct sym_swift_node *
pop_requirement(struct sym_swift_parser *p)
{
    return sym_swift_pop_flag(p, SWIFT_F_REQUIREMENT);
}

struct sym_swift_node *
sym_swift_op_existential(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *requirements =
        sym_swift_pop_list(p, SWIFT_REQUIREMENTS, pop_requirement);
    return sym_swift_node_type(sym_swift_make2(p, kind, sym_swift_pop_type(p), requirements));
}

/* "Xx" has fields; "XX" also generic arguments. A mutable field is an inout type. */
struct sym_swift_node *
sym_swift_op_box(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *signature = NULL, *arguments = NULL;
    if (kind == SWIFT_SIGNATURE) {
        signature = sym_swift_pop(p, SWIFT_SIGNATURE);
        arguments = signature ? sym_swift_pop_type_list(p) : NULL;
        if (!arguments)
            return NULL;
    }
    struct sym_swift_node *fields = sym_swift_pop_type_list(p);
    struct sym_swift_node *layout = fields ? sym_swift_make(p, SWIFT_SIL_BOX_LAYOUT) : NULL;
    for (uint32_t i = 0; fields && i < fields->n_children; i++) {
        struct sym_swift_node *type = fields->children[i];
        /* The mangler writes a mutable field as an inout type (SILBoxTypeWithLayout in
         * Demangler.cpp). */
        bool is_mutable = type->kind == SWIFT_INOUT;
        layout = sym_swift_add(
            p, layout,
            sym_swift_make1(p, is_mutable ? SWIFT_SIL_BOX_MUTABLE : SWIFT_SIL_BOX_IMMUTABLE,
                            is_mutable ? type->children[0] : type));
    }
    struct sym_swift_node *box = sym_swift_make1(p, SWIFT_SIL_BOX_WITH_LAYOUT, layout);
    if (signature)
        box = sym_swift_add(p, sym_swift_add(p, box, signature), arguments);
    return sym_swift_node_type(box);
}

struct sym_swift_node *
sym_swift_op_anonymous(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *types = sym_swift_pop_type_list(p);
    struct sym_swift_node *name = sym_swift_pop(p, SWIFT_IDENTIFIER);
    return sym_swift_make3(p, kind, name, sym_swift_pop_context(p), types);
}

struct sym_swift_node *
sym_swift_op_integer(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* A minus cannot be part of a symbol. */
    bool negative = sym_swift_next_if(p, 'n');
    int64_t value = sym_swift_index(p);
    if (value < 0)
        return NULL;
    return sym_swift_node_type(sym_swift_make_index(p, kind, negative ? -value : value));
}
