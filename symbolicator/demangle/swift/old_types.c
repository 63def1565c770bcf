/*
 * Types of Swift 1 to 3.
 *
 *   FTSiSb_SS    (Swift.Int, Swift.Bool) -> Swift.String        GSaSi_   [Swift.Int]
 */
#include "symbolicator/demangle/swift/old.h"

/* A size and "_", as text behind `name`. */
static struct swift_node *
sized_builtin(struct swift_parser *p, const char *name)
{
    int64_t size = swift_natural(p);
    if (size < 0 || !swift_next_if(p, '_'))
        return NULL;
    const char *text = fz_arena_printf(p->arena, "%s%d", name, (int)size);
    return text ? swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct swift_node *
vector(struct swift_parser *p)
{
    int64_t n = swift_natural(p);
    if (n < 0 || !swift_next_if(p, 'B'))
        return NULL;
    bool is_int = swift_next_if(p, 'i');
    const char *text =
        fz_arena_printf(p->arena, "Builtin.Vec%dx%s", (int)n, is_int ? "Int" : "FPIEEE");
    if (text && (is_int || swift_next_if(p, 'f')))
        return sized_builtin(p, text);
    text = swift_next_if(p, 'p') ? fz_arena_printf(p->arena, "Builtin.Vec%dxRawPointer", (int)n)
                                 : NULL;
    return text ? swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct swift_node *
builtin(struct swift_parser *p)
{
    static const struct {
        char letter;
        const char *name;
    } builtins[] = {
        {'b', "Builtin.BridgeObject"},  {'B', "Builtin.UnsafeValueBuffer"},
        {'O', "Builtin.UnknownObject"}, {'o', "Builtin.NativeObject"},
        {'p', "Builtin.RawPointer"},    {'t', "Builtin.SILToken"},
        {'w', "Builtin.Word"},
    };
    if (swift_next_if(p, 'f'))
        return sized_builtin(p, "Builtin.FPIEEE");
    if (swift_next_if(p, 'i'))
        return sized_builtin(p, "Builtin.Int");
    if (swift_next_if(p, 'v'))
        return vector(p);
    for (size_t i = 0; i < FZ_ARRAY_LEN(builtins); i++) {
        if (swift_next_if(p, builtins[i].letter))
            return swift_make_text(p, SWIFT_BUILTIN_TYPE, builtins[i].name);
    }
    return NULL;
}

static struct swift_node *
function(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *type = swift_make(p, kind);
    if (swift_next_if(p, 'z'))
        type = swift_node_add(p->arena, type, swift_make(p, SWIFT_THROWS));
    if (swift_next_if(p, 'y'))
        type = swift_node_add(p->arena, type, swift_make(p, SWIFT_SENDABLE));
    if (swift_next_if(p, 'Z'))
        type = swift_node_add(p->arena, type, swift_make(p, SWIFT_ASYNC));
    if (swift_next_if(p, 'D'))
        type = swift_node_add(p->arena, type, swift_op_differentiable(p, SWIFT_DIFFERENTIABLE));
    if (type && swift_next_if(p, 'Y'))
        type =
            swift_node_add(p->arena, type, swift_make1(p, SWIFT_GLOBAL_ACTOR, swift_old_type(p)));
    type = type ? swift_node_add(p->arena, type, swift_old_type(p)) : NULL;
    return type ? swift_node_add(p->arena, type, swift_old_type(p)) : NULL;
}

static struct swift_node *
tuple(struct swift_parser *p, bool variadic)
{
    struct swift_node *node = swift_make(p, SWIFT_TUPLE);
    while (node && !swift_next_if(p, '_')) {
        struct swift_node *label = NULL;
        char c = swift_peek(p);
        if ((c >= '0' && c <= '9') || c == 'o') {
            label = swift_old_identifier(p, SWIFT_IDENTIFIER);
            if (!label)
                return NULL;
        }
        struct swift_node *element = swift_make1(p, SWIFT_TUPLE_ELEMENT, swift_old_type(p));
        if (element && label)
            element->text = label->text;
        node = swift_node_add(p->arena, node, element);
    }
    if (node && variadic && node->n_children > 0)
        node->children[node->n_children - 1]->index = 1;
    return node;
}

static struct swift_node *
protocols(struct swift_parser *p)
{
    struct swift_node *list = swift_make(p, SWIFT_PROTOCOL_LIST);
    while (list && !swift_next_if(p, '_'))
        list = swift_node_add(p->arena, list, swift_old_protocol(p));
    return list;
}

static struct swift_node *
metatype(struct swift_parser *p, enum swift_kind kind)
{
    const char *representation = swift_next_if(p, 't')   ? "@thin"
                                 : swift_next_if(p, 'T') ? "@thick"
                                 : swift_next_if(p, 'o') ? "@objc_metatype"
                                                         : NULL;
    struct swift_node *type = representation ? swift_make1(p, kind, swift_old_type(p)) : NULL;
    if (type)
        type->text = fz_span_cstr(representation);
    return type;
}

static struct swift_node *
box(struct swift_parser *p)
{
    struct swift_node *signature = NULL;
    if (swift_next_if(p, 'G') && !(signature = swift_old_signature(p)))
        return NULL;
    struct swift_node *layout = swift_make(p, SWIFT_SIL_BOX_LAYOUT);
    while (layout && !swift_next_if(p, '_')) {
        bool is_mutable = swift_next_if(p, 'm');
        if (!is_mutable && !swift_next_if(p, 'i'))
            return NULL;
        enum swift_kind kind = is_mutable ? SWIFT_SIL_BOX_MUTABLE : SWIFT_SIL_BOX_IMMUTABLE;
        layout = swift_node_add(p->arena, layout, swift_make1(p, kind, swift_old_type(p)));
    }
    struct swift_node *node = swift_make1(p, SWIFT_SIL_BOX_WITH_LAYOUT, layout);
    if (!node || !signature)
        return node;
    node = swift_node_add(p->arena, node, signature);
    return swift_node_add(p->arena, node, swift_old_types(p, swift_make(p, SWIFT_LIST)));
}

static struct swift_node *
special(struct swift_parser *p)
{
    switch (swift_next(p)) {
    case 'b':
        return swift_make1(p, SWIFT_SIL_BOX, swift_old_type(p));
    case 'B':
        return box(p);
    case 'M':
        return metatype(p, SWIFT_METATYPE);
    case 'P':
        return swift_next_if(p, 'M') ? metatype(p, SWIFT_EXISTENTIAL_METATYPE) : protocols(p);
    case 'f':
        return function(p, SWIFT_THIN_FUNCTION_TYPE);
    case 'o':
        return swift_make1(p, SWIFT_UNOWNED, swift_old_type(p));
    case 'u':
        return swift_make1(p, SWIFT_UNMANAGED, swift_old_type(p));
    case 'w':
        return swift_make1(p, SWIFT_WEAK, swift_old_type(p));
    case 'F':
        return swift_old_impl_function(p);
    default:
        return NULL;
    }
}

/* An associated type of an archetype, named from the inside out. */
static struct swift_node *
archetype(struct swift_parser *p)
{
    struct swift_node *root = NULL;
    if (!swift_old_enter(p))
        return NULL;
    if (swift_next_if(p, 'Q'))
        root = archetype(p);
    else if (swift_next_if(p, 'S'))
        root = swift_old_substitution(p);
    else if (swift_next_if(p, 's'))
        root = swift_make_text(p, SWIFT_MODULE, "Swift");
    p->depth--;
    if (!root)
        return NULL;
    return swift_remember(
        p, swift_make2(p, SWIFT_ASSOC_TYPE_REF, root, swift_old_identifier(p, SWIFT_NONE)));
}

static struct swift_node *
opaque_or_archetype(struct swift_parser *p)
{
    if (swift_next_if(p, 'u'))
        return swift_make(p, SWIFT_OPAQUE_RESULT);
    if (swift_next_if(p, 'U'))
        return swift_index(p) < 0 ? NULL : swift_make(p, SWIFT_OPAQUE_RESULT);
    return archetype(p);
}

/* A generic parameter, or a member of any other type. */
static struct swift_node *
dependent(struct swift_parser *p)
{
    char c = swift_peek(p);
    if (c == 'd' || c == '_' || (c >= '0' && c <= '9'))
        return swift_old_generic_param(p);
    struct swift_node *base = swift_old_type(p);
    return base ? swift_old_member(p, base) : NULL;
}

static struct swift_node *
generic_type(struct swift_parser *p)
{
    struct swift_node *signature = swift_old_signature(p);
    return signature ? swift_make2(p, SWIFT_GENERIC_TYPE, signature, swift_old_type(p)) : NULL;
}

static struct swift_node *
member_of_param(struct swift_parser *p)
{
    struct swift_node *base = swift_old_generic_param(p);
    return base ? swift_old_member(p, base) : NULL;
}

static struct swift_node *
existential(struct swift_parser *p)
{
    if (swift_next_if(p, 'M'))
        return swift_make1(p, SWIFT_EXISTENTIAL_METATYPE, swift_old_type(p));
    return protocols(p);
}

static struct swift_node *
first_param(struct swift_parser *p)
{
    return swift_generic_param(p->arena, 0, 0);
}

static struct swift_node *
error_type(struct swift_parser *p)
{
    return swift_next_if_text(p, "RR") ? swift_make(p, SWIFT_ERROR_TYPE) : NULL;
}

/* Letters that have a function, or are a declaration, a function type, or a type in front. */
static struct swift_node *
type_behind(struct swift_parser *p, char c)
{
    static const struct {
        char letter;
        struct swift_node *(*read)(struct swift_parser *);
    } readers[] = {
        {'B', builtin},
        {'E', error_type},
        {'G', swift_old_bound_generic},
        {'P', existential},
        {'Q', opaque_or_archetype},
        {'S', swift_old_substitution},
        {'W', swift_old_member_path},
        {'X', special},
        {'q', dependent},
        {'u', generic_type},
        {'w', member_of_param},
        {'x', first_param},
    };
    static const struct {
        char letter;
        enum swift_kind kind;
        struct swift_node *(*read)(struct swift_parser *, enum swift_kind);
    } kinds[] = {
        {'a', SWIFT_TYPE_ALIAS, swift_old_declaration},
        {'C', SWIFT_CLASS, swift_old_declaration},
        {'V', SWIFT_STRUCT, swift_old_declaration},
        {'O', SWIFT_ENUM, swift_old_declaration},
        {'b', SWIFT_OBJC_BLOCK, function},
        {'c', SWIFT_C_FUNCTION_TYPE, function},
        {'F', SWIFT_FUNCTION_TYPE, function},
        {'f', SWIFT_UNCURRIED_FUNCTION_TYPE, function},
        {'K', SWIFT_AUTOCLOSURE_TYPE, function},
        {'D', SWIFT_DYNAMIC_SELF, NULL},
        {'M', SWIFT_METATYPE, NULL},
        {'R', SWIFT_INOUT, NULL},
        {'k', SWIFT_NO_DERIVATIVE, NULL},
    };
    if (c == 'T' || c == 't')
        return tuple(p, c == 't');
    for (size_t i = 0; i < FZ_ARRAY_LEN(readers); i++) {
        if (readers[i].letter == c)
            return readers[i].read(p);
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (kinds[i].letter == c)
            return kinds[i].read ? kinds[i].read(p, kinds[i].kind)
                                 : swift_make1(p, kinds[i].kind, swift_old_type(p));
    }
    return NULL;
}

struct swift_node *
swift_old_read_type(struct swift_parser *p)
{
    if (p->pos >= p->text.len || !swift_old_enter(p))
        return NULL;
    struct swift_node *type = type_behind(p, swift_next(p));
    p->depth--;
    /* What is no type by itself, a module by substitution, must not become one. */
    if (type && type->kind == SWIFT_MODULE)
        type = swift_node_as(p->arena, type, type->kind);
    return swift_node_type(type);
}
