/*
 * Function types, argument labels, implementation function types.
 *
 * A function type has its attributes as children, then the parameters (a tuple, or the only
 * parameter) and the result.
 */
#include "symbolicator/demangle/swift/parse.h"

struct swift_node *
swift_clang_type(struct swift_parser *p)
{
    int64_t len = swift_natural(p);
    struct fz_span text;
    if (len <= 0 || !fz_span_sub(p->text, p->pos, (uint64_t)len, &text))
        return NULL;
    p->pos += (size_t)len;
    return swift_node_text(p->arena, SWIFT_CLANG_TYPE, text);
}

static struct swift_node *
pop_parameters(struct swift_parser *p)
{
    if (swift_pop(p, SWIFT_EMPTY_LIST))
        return swift_node_type(swift_make(p, SWIFT_TUPLE));
    return swift_pop_type(p);
}

struct swift_node *
swift_pop_function_type(struct swift_parser *p, enum swift_kind kind)
{
    /* In the reverse order of the mangling. */
    static const enum swift_kind attributes[] = {
        SWIFT_SENDING_RESULT,     SWIFT_GLOBAL_ACTOR,   SWIFT_ISOLATED_ANY,
        SWIFT_NONISOLATED_CALLER, SWIFT_DIFFERENTIABLE, SWIFT_THROWS,
        SWIFT_TYPED_THROWS,       SWIFT_SENDABLE,       SWIFT_ASYNC,
    };
    struct swift_node *type = swift_make(p, kind);
    for (size_t i = 0; i < FZ_ARRAY_LEN(attributes); i++)
        type = swift_node_add_if(p->arena, type, swift_pop(p, attributes[i]));
    type = swift_node_add(p->arena, type, pop_parameters(p));
    return swift_node_type(swift_node_add(p->arena, type, pop_parameters(p)));
}

struct swift_node *
swift_op_function_type(struct swift_parser *p, enum swift_kind kind)
{
    return swift_pop_function_type(p, kind);
}

struct swift_node *
swift_op_c_function_type(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *c_type = swift_clang_type(p);
    struct swift_node *type = swift_pop_function_type(p, kind);
    if (!c_type || !type)
        return NULL;
    struct swift_node *with = swift_make1(p, kind, c_type);
    for (uint32_t i = 0; i < type->n_children; i++)
        with = swift_node_add(p->arena, with, type->children[i]);
    return swift_node_type(with);
}

struct swift_node *
swift_op_differentiable(struct swift_parser *p, enum swift_kind kind)
{
    switch (swift_next(p)) {
    case 'f':
        return swift_make_text(p, kind, "(_forward)");
    case 'r':
        return swift_make_text(p, kind, "(reverse)");
    case 'l':
        return swift_make_text(p, kind, "(_linear)");
    case 'd':
        return swift_make(p, kind);
    default:
        return NULL;
    }
}

/* Swift 4.0 has the labels in the tuple: move them out. */
static struct swift_node *
labels_from_tuple(struct swift_parser *p, struct swift_node *tuple, bool *any)
{
    struct swift_node *labels = swift_make(p, SWIFT_LABELS);
    for (uint32_t i = 0; i < tuple->n_children; i++) {
        struct swift_node *element = tuple->children[i];
        bool has_label = element->text.len > 0;
        labels =
            swift_node_add(p->arena, labels,
                           has_label ? swift_node_text(p->arena, SWIFT_IDENTIFIER, element->text)
                                     : swift_make(p, SWIFT_FIRST_ELEMENT));
        element->text = (struct fz_span){NULL, 0};
        *any |= has_label;
    }
    return labels;
}

struct swift_node *
swift_pop_labels(struct swift_parser *p, struct swift_node *type)
{
    if (!p->labels_in_types && swift_pop(p, SWIFT_EMPTY_LIST))
        return swift_make(p, SWIFT_LABELS);
    if (type && type->kind == SWIFT_GENERIC_TYPE)
        type = type->children[1];
    if (!type || type->n_children < 2 ||
        (type->kind != SWIFT_FUNCTION_TYPE && type->kind != SWIFT_NOESCAPE_FUNCTION_TYPE &&
         type->kind != SWIFT_CALLED_ONCE_FUNCTION_TYPE))
        return NULL;
    struct swift_node *parameters = type->children[type->n_children - 2];
    bool is_tuple = parameters->kind == SWIFT_TUPLE, any = false;
    uint32_t n = is_tuple ? parameters->n_children : 1;
    if (n == 0)
        return NULL;
    struct swift_node *labels;
    if (p->labels_in_types) {
        labels = is_tuple ? labels_from_tuple(p, parameters, &any) : NULL;
    } else {
        labels = swift_make(p, SWIFT_LABELS);
        for (uint32_t i = 0; i < n && labels; i++) {
            struct swift_node *label = swift_pop_any(p);
            if (!label || (label->kind != SWIFT_IDENTIFIER && label->kind != SWIFT_FIRST_ELEMENT))
                return NULL;
            any |= label->kind == SWIFT_IDENTIFIER;
            labels = swift_node_add(p->arena, labels, label);
        }
        swift_node_reverse(labels, 0);
    }
    return any ? labels : swift_make(p, SWIFT_LABELS);
}

struct swift_node *
swift_op_type_mangling(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    return swift_node_add(p->arena, swift_node_add_if(p->arena, swift_make(p, kind), labels), type);
}
