/*
 * Function types and argument labels.
 *
 * A function type has its attributes as children, then the parameters (a tuple, or the only
 * parameter) and the result.
 */
#include "symbolicator/demangle/swift/parse.h"

struct sym_swift_node *
sym_swift_clang_type(struct sym_swift_parser *p)
{
    /* Clang's mangling of the C type, which Swift prints as it is. */
    int64_t len = sym_swift_natural(p);
    struct fz_span text;
    if (len <= 0 || !fz_span_sub(p->text, p->pos, (uint64_t)len, &text))
        return NULL;
    p->pos += (size_t)len;
    return sym_swift_make_span(p, SWIFT_CLANG_TYPE, text);
}

static struct sym_swift_node *
pop_parameters(struct sym_swift_parser *p)
{
    if (sym_swift_pop(p, SWIFT_EMPTY_LIST))
        return sym_swift_node_type(sym_swift_make(p, SWIFT_TUPLE));
    return sym_swift_pop_type(p);
}

struct sym_swift_node *
sym_swift_pop_function_type(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    /* In the reverse order of the mangling, as they come from the stack. */
    static const enum sym_swift_kind attributes[] = {
        SWIFT_SENDING_RESULT,     SWIFT_GLOBAL_ACTOR,   SWIFT_ISOLATED_ANY,
        SWIFT_NONISOLATED_CALLER, SWIFT_DIFFERENTIABLE, SWIFT_THROWS,
        SWIFT_TYPED_THROWS,       SWIFT_SENDABLE,       SWIFT_ASYNC,
    };
    struct sym_swift_node *type = sym_swift_make(p, kind);
    for (size_t i = 0; i < FZ_ARRAY_LEN(attributes); i++)
        type = sym_swift_add_if(p, type, sym_swift_pop(p, attributes[i]));
    type = sym_swift_add(p, type, pop_parameters(p));
    return sym_swift_node_type(sym_swift_add(p, type, pop_parameters(p)));
}

struct sym_swift_node *
sym_swift_op_function_type(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    return sym_swift_pop_function_type(p, kind);
}

struct sym_swift_node *
sym_swift_op_c_function_type(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *c_type = sym_swift_clang_type(p);
    struct sym_swift_node *type = sym_swift_pop_function_type(p, kind);
    if (!c_type || !type)
        return NULL;
    /* First, so that parameters and result stay the last two children. */
    struct sym_swift_node *with = sym_swift_make1(p, kind, c_type);
    for (uint32_t i = 0; i < type->n_children; i++)
        with = sym_swift_add(p, with, type->children[i]);
    return sym_swift_node_type(with);
}

struct sym_swift_node *
sym_swift_op_differentiable(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    static const struct sym_swift_word words[] = {
        {'f', "(_forward)"}, {'r', "(reverse)"}, {'l', "(_linear)"}, {'d', ""}, {'\0', NULL}};
    const char *text = sym_swift_next_word(p, words);
    return text ? sym_swift_make_text(p, kind, text) : NULL;
}

/* Swift 4.0 mangles the labels in the tuple: move them out. */
static struct sym_swift_node *
labels_from_tuple(struct sym_swift_parser *p, struct sym_swift_node *tuple, bool *any)
{
    struct sym_swift_node *labels = sym_swift_make(p, SWIFT_LABELS);
    for (uint32_t i = 0; i < tuple->n_children; i++) {
        struct sym_swift_node *element = tuple->children[i];
        bool has_label = element->text.len > 0;
        labels = sym_swift_add(p, labels,
                               has_label ? sym_swift_make_span(p, SWIFT_IDENTIFIER, element->text)
                                         : sym_swift_make(p, SWIFT_FIRST_ELEMENT));
        element->text = (struct fz_span){NULL, 0};
        *any |= has_label;
    }
    return labels;
}

struct sym_swift_node *
sym_swift_pop_labels(struct sym_swift_parser *p, struct sym_swift_node *type)
{
    /* label-list ::= empty-list: no parameter has a label (Mangling.rst). */
    if (!p->labels_in_types && sym_swift_pop(p, SWIFT_EMPTY_LIST))
        return sym_swift_make(p, SWIFT_LABELS);
    if (type && type->kind == SWIFT_GENERIC_TYPE)
        type = type->children[1];
    if (!type || type->n_children < 2 ||
        (type->kind != SWIFT_FUNCTION_TYPE && type->kind != SWIFT_NOESCAPE_FUNCTION_TYPE &&
         type->kind != SWIFT_CALLED_ONCE_FUNCTION_TYPE))
        return NULL;
    /* Attributes come first, their number varies: count from the end. */
    struct sym_swift_node *parameters = type->children[type->n_children - 2];
    bool is_tuple = parameters->kind == SWIFT_TUPLE, any = false;
    /* A single unlabelled parameter is mangled without a tuple around it. */
    uint32_t n = is_tuple ? parameters->n_children : 1;
    if (n == 0)
        return NULL;
    struct sym_swift_node *labels;
    if (p->labels_in_types) {
        labels = is_tuple ? labels_from_tuple(p, parameters, &any) : NULL;
    } else {
        labels = sym_swift_make(p, SWIFT_LABELS);
        for (uint32_t i = 0; i < n && labels; i++) {
            /* A parameter without a label has the mark "_". */
            struct sym_swift_node *label = sym_swift_pop_any(p);
            if (!label || (label->kind != SWIFT_IDENTIFIER && label->kind != SWIFT_FIRST_ELEMENT))
                return NULL;
            any |= label->kind == SWIFT_IDENTIFIER;
            labels = sym_swift_add(p, labels, label);
        }
        sym_swift_node_reverse(labels, 0);
    }
    /* without any label, types are printed without "_:" before them */
    return any ? labels : sym_swift_make(p, SWIFT_LABELS);
}

struct sym_swift_node *
sym_swift_op_type_mangling(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *type = sym_swift_pop_type(p);
    struct sym_swift_node *labels = sym_swift_pop_labels(p, type);
    return sym_swift_add(p, sym_swift_add_if(p, sym_swift_make(p, kind), labels), type);
}
