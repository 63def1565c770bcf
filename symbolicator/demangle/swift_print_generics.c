/*
 * Printing generic parameters and signatures, and conformances.
 */
#include "symbolicator/demangle/swift_print.h"

enum { PARAMS_SHOWN_MAX = 128 };

/* A to Z, then AB, BB...: the lowest digit first; then the depth, if it is not the first. */
static void
print_param_name(struct swift_printer *p, uint64_t depth, uint64_t index)
{
    do {
        fz_buffer_char(p->out, (char)('A' + index % 26));
        index /= 26;
    } while (index > 0);
    if (depth > 0)
        swift_print_number(p, (int64_t)depth);
}

void
swift_print_param(struct swift_printer *p, const struct swift_node *node)
{
    print_param_name(p, node->depth, (uint64_t)node->index);
}

void
swift_print_generic_type(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *type = swift_node_child(node, 1);
    swift_print(p, swift_node_child(node, 0));
    if (type && swift_needs_space(type))
        swift_print_text(p, " ");
    swift_print(p, type);
}

static bool
is_marker(const struct swift_node *node)
{
    return node->kind == SWIFT_PACK_MARKER || node->kind == SWIFT_VALUE_MARKER;
}

/* The marker of that kind for a parameter, or NULL. */
static const struct swift_node *
marker_of(const struct swift_node *signature, enum swift_kind kind, uint32_t depth, int64_t index)
{
    for (uint32_t i = 0; i < signature->n_children; i++) {
        const struct swift_node *marker = signature->children[i];
        const struct swift_node *param = swift_node_child(marker, 0);
        if (marker->kind == kind && param && param->kind == SWIFT_GENERIC_PARAM &&
            param->depth == depth && param->index == index)
            return marker;
    }
    return NULL;
}

static void
print_param_declaration(struct swift_printer *p, const struct swift_node *signature, uint32_t depth,
                        int64_t index)
{
    const struct swift_node *value = marker_of(signature, SWIFT_VALUE_MARKER, depth, index);
    if (marker_of(signature, SWIFT_PACK_MARKER, depth, index))
        swift_print_text(p, "each ");
    if (value)
        swift_print_text(p, "let ");
    print_param_name(p, depth, (uint64_t)index);
    if (value) {
        swift_print_text(p, ": ");
        swift_print(p, swift_node_child(value, 1));
    }
}

void
swift_print_signature(struct swift_printer *p, const struct swift_node *node)
{
    uint32_t depth = 0;
    swift_print_text(p, "<");
    for (; depth < node->n_children && node->children[depth]->kind == SWIFT_PARAM_COUNT; depth++) {
        if (depth > 0)
            swift_print_text(p, "><");
        for (int64_t i = 0; i < node->children[depth]->index && !p->failed; i++) {
            if (i > 0)
                swift_print_text(p, ", ");
            if (i >= PARAMS_SHOWN_MAX) {
                swift_print_text(p, "...");
                break;
            }
            print_param_declaration(p, node, depth, i);
        }
    }
    uint32_t first = depth;
    while (first < node->n_children && is_marker(node->children[first]))
        first++;
    if (first < node->n_children && p->show_where) {
        swift_print_text(p, " where ");
        swift_print_children(p, node, first, node->n_children, ", ");
    }
    swift_print_text(p, ">");
}

void
swift_print_inverse(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *bit = swift_node_child(node, 1);
    swift_print(p, swift_node_child(node, 0));
    swift_print_text(p, ": ~Swift.");
    if (!bit)
        p->failed = true;
    else if (bit->index == 0 || bit->index == 1)
        swift_print_text(p, bit->index == 0 ? "Copyable" : "Escapable");
    else
        fz_buffer_printf(p->out, "<bit %d>", (int)bit->index);
}

void
swift_print_layout(struct swift_printer *p, const struct swift_node *node)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'U', "_UnknownLayout"}, {'R', "_RefCountedObject"}, {'N', "_NativeRefCountedObject"},
        {'C', "AnyObject"},      {'D', "_NativeClass"},      {'T', "_Trivial"},
        {'E', "_Trivial"},       {'e', "_Trivial"},          {'M', "_TrivialAtMost"},
        {'m', "_TrivialAtMost"},
    };
    swift_print(p, swift_node_child(node, 0));
    swift_print_text(p, ": ");
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (node->text.len > 0 && names[i].letter == (char)node->text.data[0])
            swift_print_text(p, names[i].name);
    }
    if (node->n_children > 1) {
        swift_print_text(p, "(");
        swift_print_children(p, node, 1, 3, ", ");
        swift_print_text(p, ")");
    }
}

void
swift_print_conformance(struct swift_printer *p, const struct swift_node *node)
{
    if (node->n_children == 4) {
        swift_print_text(p, "property behavior storage of ");
        swift_print(p, node->children[2]);
        swift_print_text(p, " in ");
        swift_print(p, node->children[0]);
        swift_print_text(p, " : ");
        swift_print(p, node->children[1]);
        return;
    }
    swift_print(p, swift_node_child(node, 0));
    if (p->simplified)
        return;
    swift_print_text(p, " : ");
    swift_print(p, swift_node_child(node, 1));
    swift_print_text(p, " in ");
    swift_print(p, swift_node_child(node, 2));
}

void
swift_print_concrete(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *conditions = swift_node_child(node, 2);
    swift_print_text(p, swift_kind_info(node->kind)->before);
    swift_print_children(p, node, 0, 2, " to ");
    if (conditions && conditions->n_children > 0) {
        swift_print_text(p, " with conditional requirements: ");
        swift_print(p, conditions);
    }
}

void
swift_print_conformance_list(struct swift_printer *p, const struct swift_node *node)
{
    if (node->n_children == 0)
        return;
    swift_print_text(p, "(");
    swift_print_children(p, node, 0, node->n_children, ", ");
    swift_print_text(p, ")");
}

void
swift_print_dependent(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *index = swift_node_child(node, 0);
    swift_print_text(p, swift_kind_info(node->kind)->before);
    if (index && index->kind == SWIFT_NUMBER)
        fz_buffer_printf(p->out, "#%d ", (int)index->index);
    swift_print_children(p, node, 1, 3, " to ");
}
