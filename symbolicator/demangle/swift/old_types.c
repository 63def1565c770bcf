/*
 * Types of Swift 1 to 3.
 *
 *   FTSiSb_SS    (Swift.Int, Swift.Bool) -> Swift.String        GSaSi_   [Swift.Int]
 */
#include "symbolicator/demangle/swift/old.h"

/* `name` with a size, which "_" ends. */
static struct sym_swift_node *
sized_builtin(struct sym_swift_parser *p, const char *name)
{
    /* A plain number, unlike the index of the current mangling. */
    int64_t size = sym_swift_natural(p);
    if (size < 0 || !sym_swift_next_if(p, '_'))
        return NULL;
    const char *text = fz_arena_printf(p->arena, "%s%d", name, (int)size);
    return text ? sym_swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct sym_swift_node *
vector(struct sym_swift_parser *p)
{
    int64_t n = sym_swift_natural(p);
    if (n < 0 || !sym_swift_next_if(p, 'B'))
        return NULL;
    bool is_int = sym_swift_next_if(p, 'i');
    const char *text =
        fz_arena_printf(p->arena, "Builtin.Vec%dx%s", (int)n, is_int ? "Int" : "FPIEEE");
    if (text && (is_int || sym_swift_next_if(p, 'f')))
        return sized_builtin(p, text);
    text = sym_swift_next_if(p, 'p') ? fz_arena_printf(p->arena, "Builtin.Vec%dxRawPointer", (int)n)
                                     : NULL;
    return text ? sym_swift_make_text(p, SWIFT_BUILTIN_TYPE, text) : NULL;
}

static struct sym_swift_node *
builtin(struct sym_swift_parser *p)
{
    static const struct sym_swift_word builtins[] = {
        {'b', "Builtin.BridgeObject"},  {'B', "Builtin.UnsafeValueBuffer"},
        {'O', "Builtin.UnknownObject"}, {'o', "Builtin.NativeObject"},
        {'p', "Builtin.RawPointer"},    {'t', "Builtin.SILToken"},
        {'w', "Builtin.Word"},          {'\0', NULL},
    };
    if (sym_swift_next_if(p, 'f'))
        return sized_builtin(p, "Builtin.FPIEEE");
    if (sym_swift_next_if(p, 'i'))
        return sized_builtin(p, "Builtin.Int");
    if (sym_swift_next_if(p, 'v'))
        return vector(p);
    const char *name = sym_swift_next_word(p, builtins);
    return name ? sym_swift_make_text(p, SWIFT_BUILTIN_TYPE, name) : NULL;
}

static struct sym_swift_node *
function(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *type = sym_swift_make(p, kind);
    if (sym_swift_next_if(p, 'z'))
        type = sym_swift_add(p, type, sym_swift_make(p, SWIFT_THROWS));
    if (sym_swift_next_if(p, 'y'))
        type = sym_swift_add(p, type, sym_swift_make(p, SWIFT_SENDABLE));
    if (sym_swift_next_if(p, 'Z'))
        type = sym_swift_add(p, type, sym_swift_make(p, SWIFT_ASYNC));
    if (sym_swift_next_if(p, 'D'))
        type = sym_swift_add(p, type, sym_swift_op_differentiable(p, SWIFT_DIFFERENTIABLE));
    if (type && sym_swift_next_if(p, 'Y'))
        type =
            sym_swift_add(p, type, sym_swift_make1(p, SWIFT_GLOBAL_ACTOR, sym_swift_old_type(p)));
    type = type ? sym_swift_add(p, type, sym_swift_old_type(p)) : NULL;
    return type ? sym_swift_add(p, type, sym_swift_old_type(p)) : NULL;
}

static struct sym_swift_node *
tuple(struct sym_swift_parser *p, bool variadic)
{
    struct sym_swift_node *node = sym_swift_make(p, SWIFT_TUPLE);
    while (node && !sym_swift_next_if(p, '_')) {
        /* An element begins with a digit or an operator's "o" only if it has a label. */
        struct sym_swift_node *label = NULL;
        char c = sym_swift_peek(p);
        if ((c >= '0' && c <= '9') || c == 'o') {
            label = sym_swift_old_identifier(p, SWIFT_IDENTIFIER);
            if (!label)
                return NULL;
        }
        struct sym_swift_node *element =
            sym_swift_make1(p, SWIFT_TUPLE_ELEMENT, sym_swift_old_type(p));
        if (element && label)
            element->text = label->text;
        node = sym_swift_add(p, node, element);
    }
    /* "t" instead of "T" says that the last element is variadic */
    if (node && variadic && node->n_children > 0)
        node->children[node->n_children - 1]->index = 1;
    return node;
}

static struct sym_swift_node *
protocols(struct sym_swift_parser *p)
{
    struct sym_swift_node *list = sym_swift_make(p, SWIFT_PROTOCOL_LIST);
    while (list && !sym_swift_next_if(p, '_'))
        list = sym_swift_add(p, list, sym_swift_old_protocol(p));
    return list;
}

static struct sym_swift_node *
metatype(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    const char *representation = sym_swift_metatype_word(p);
    struct sym_swift_node *type =
        representation ? sym_swift_make1(p, kind, sym_swift_old_type(p)) : NULL;
    if (type)
        type->text = fz_span_cstr(representation);
    return type;
}

static struct sym_swift_node *
box(struct sym_swift_parser *p)
{
    struct sym_swift_node *signature = NULL;
    if (sym_swift_next_if(p, 'G') && !(signature = sym_swift_old_signature(p)))
        return NULL;
    struct sym_swift_node *layout = sym_swift_make(p, SWIFT_SIL_BOX_LAYOUT);
    while (layout && !sym_swift_next_if(p, '_')) {
        /* Each field says which it is; the current mangling uses inout types. */
        bool is_mutable = sym_swift_next_if(p, 'm');
        if (!is_mutable && !sym_swift_next_if(p, 'i'))
            return NULL;
        enum sym_swift_kind kind = is_mutable ? SWIFT_SIL_BOX_MUTABLE : SWIFT_SIL_BOX_IMMUTABLE;
        layout = sym_swift_add(p, layout, sym_swift_make1(p, kind, sym_swift_old_type(p)));
    }
    struct sym_swift_node *node = sym_swift_make1(p, SWIFT_SIL_BOX_WITH_LAYOUT, layout);
    if (!node || !signature)
        return node;
    node = sym_swift_add(p, node, signature);
    return sym_swift_add(p, node, sym_swift_old_types(p, sym_swift_make(p, SWIFT_LIST)));
}

static struct sym_swift_node *
special(struct sym_swift_parser *p)
{
    switch (sym_swift_next(p)) {
    case 'b':
        return sym_swift_make1(p, SWIFT_SIL_BOX, sym_swift_old_type(p));
    case 'B':
        return box(p);
    case 'M':
        return metatype(p, SWIFT_METATYPE);
    case 'P':
        return sym_swift_next_if(p, 'M') ? metatype(p, SWIFT_EXISTENTIAL_METATYPE) : protocols(p);
    case 'f':
        return function(p, SWIFT_THIN_FUNCTION_TYPE);
    case 'o':
        return sym_swift_make1(p, SWIFT_UNOWNED, sym_swift_old_type(p));
    case 'u':
        return sym_swift_make1(p, SWIFT_UNMANAGED, sym_swift_old_type(p));
    case 'w':
        return sym_swift_make1(p, SWIFT_WEAK, sym_swift_old_type(p));
    case 'F':
        return sym_swift_old_impl_function(p);
    default:
        return NULL;
    }
}

/* An associated type of an archetype; the names are innermost first. */
static struct sym_swift_node *
archetype(struct sym_swift_parser *p)
{
    struct sym_swift_node *root = NULL;
    if (!sym_swift_old_enter(p))
        return NULL;
    if (sym_swift_next_if(p, 'Q'))
        root = archetype(p);
    else if (sym_swift_next_if(p, 'S'))
        root = sym_swift_old_substitution(p);
    else if (sym_swift_next_if(p, 's'))
        root = sym_swift_make_text(p, SWIFT_MODULE, "Swift");
    p->depth--;
    if (!root)
        return NULL;
    return sym_swift_remember(
        p, sym_swift_make2(p, SWIFT_ASSOC_TYPE_REF, root, sym_swift_old_identifier(p, SWIFT_NONE)));
}

static struct sym_swift_node *
opaque_or_archetype(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'u'))
        return sym_swift_make(p, SWIFT_OPAQUE_RESULT);
    if (sym_swift_next_if(p, 'U'))
        return sym_swift_index(p) < 0 ? NULL : sym_swift_make(p, SWIFT_OPAQUE_RESULT);
    return archetype(p);
}

/* A generic parameter, or a member of any other type. */
static struct sym_swift_node *
dependent(struct sym_swift_parser *p)
{
    char c = sym_swift_peek(p);
    /* These begin an index, and no type begins with them. */
    if (c == 'd' || c == '_' || (c >= '0' && c <= '9'))
        return sym_swift_old_generic_param(p);
    struct sym_swift_node *base = sym_swift_old_type(p);
    return base ? sym_swift_old_member(p, base) : NULL;
}

static struct sym_swift_node *
generic_type(struct sym_swift_parser *p)
{
    struct sym_swift_node *signature = sym_swift_old_signature(p);
    return signature ? sym_swift_make2(p, SWIFT_GENERIC_TYPE, signature, sym_swift_old_type(p))
                     : NULL;
}

static struct sym_swift_node *
member_of_param(struct sym_swift_parser *p)
{
    struct sym_swift_node *base = sym_swift_old_generic_param(p);
    return base ? sym_swift_old_member(p, base) : NULL;
}

static struct sym_swift_node *
existential(struct sym_swift_parser *p)
{
    if (sym_swift_next_if(p, 'M'))
        return sym_swift_make1(p, SWIFT_EXISTENTIAL_METATYPE, sym_swift_old_type(p));
    return protocols(p);
}

static struct sym_swift_node *
first_param(struct sym_swift_parser *p)
{
    return sym_swift_generic_param(p, 0, 0);
}

static struct sym_swift_node *
error_type(struct sym_swift_parser *p)
{
    return sym_swift_next_if_text(p, "RR") ? sym_swift_make(p, SWIFT_ERROR_TYPE) : NULL;
}

/* Letters with a reader of their own, and declarations, function types and modifiers of a type. */
static struct sym_swift_node *
type_after(struct sym_swift_parser *p, char c)
{
    static const struct {
        char letter;
        struct sym_swift_node *(*read)(struct sym_swift_parser *);
    } readers[] = {
        {'B', builtin},
        {'E', error_type},
        {'G', sym_swift_old_bound_generic},
        {'P', existential},
        {'Q', opaque_or_archetype},
        {'S', sym_swift_old_substitution},
        {'W', sym_swift_old_member_path},
        {'X', special},
        {'q', dependent},
        {'u', generic_type},
        {'w', member_of_param},
        {'x', first_param},
    };
    static const struct {
        char letter;
        enum sym_swift_kind kind;
        struct sym_swift_node *(*read)(struct sym_swift_parser *, enum sym_swift_kind);
    } kinds[] = {
        {'a', SWIFT_TYPE_ALIAS, sym_swift_old_declaration},
        {'C', SWIFT_CLASS, sym_swift_old_declaration},
        {'V', SWIFT_STRUCT, sym_swift_old_declaration},
        {'O', SWIFT_ENUM, sym_swift_old_declaration},
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
                                 : sym_swift_make1(p, kinds[i].kind, sym_swift_old_type(p));
    }
    return NULL;
}

struct sym_swift_node *
sym_swift_old_read_type(struct sym_swift_parser *p)
{
    if (p->pos >= p->text.len || !sym_swift_old_enter(p))
        return NULL;
    struct sym_swift_node *type = type_after(p, sym_swift_next(p));
    p->depth--;
    /* A substitution can return a module, which is shared: the copy is marked, not the module. */
    if (type && type->kind == SWIFT_MODULE)
        type = sym_swift_copy_as(p, type, type->kind);
    return sym_swift_node_type(type);
}
