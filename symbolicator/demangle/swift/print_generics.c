/*
 * Printing generic parameters, signatures and conformances.
 */
#include "symbolicator/demangle/swift/print.h"

enum { PARAMS_SHOWN_MAX = 128 };

/* A to Z, then AB, BB...: base 26, lowest digit first; then the depth, if it is not 0. */
static void
print_param_name(struct sym_swift_printer *p, uint64_t depth, uint64_t index)
{
    do {
        /* As genericParameterName() of Swift's NodePrinter.cpp, which appends the lowest digit
         * first. */
        fz_buffer_char(p->out, (char)('A' + index % 26));
        index /= 26;
    } while (index > 0);
    if (depth > 0)
        sym_swift_print_number(p, (int64_t)depth);
}

void
sym_swift_print_param(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    print_param_name(p, node->depth, (uint64_t)node->index);
}

void
sym_swift_print_generic_type(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *type = sym_swift_node_child(node, 1);
    sym_swift_print(p, sym_swift_node_child(node, 0));
    /* "<A>(A) -> ()" of a function, but "<A> A.Type". */
    if (type && sym_swift_needs_space(type))
        sym_swift_print_text(p, " ");
    sym_swift_print(p, type);
}

static bool
is_marker(const struct sym_swift_node *node)
{
    return node->kind == SWIFT_PACK_MARKER || node->kind == SWIFT_VALUE_MARKER;
}

/* A signature's children: counts, markers, requirements. */
struct parts {
    const struct sym_swift_node *signature;
    uint32_t n_counts, end_of_markers;
};

/* Whether a parameter has a marker of that kind. Each comparison is a step, because a hostile name
 * can have thousands of markers for thousands of parameters. */
static bool
has_marker(struct sym_swift_printer *p, const struct parts *parts, enum sym_swift_kind kind,
           const struct sym_swift_node *param)
{
    uint32_t n = parts->end_of_markers - parts->n_counts;
    p->failed = p->failed || n > *p->steps;
    *p->steps -= p->failed ? 0 : n;
    for (uint32_t i = parts->n_counts; i < parts->end_of_markers && !p->failed; i++) {
        const struct sym_swift_node *marker = parts->signature->children[i];
        const struct sym_swift_node *of = sym_swift_node_child(marker, 0);
        if (marker->kind == kind && of && of->kind == SWIFT_GENERIC_PARAM &&
            of->depth == param->depth && of->index == param->index)
            return true;
    }
    return false;
}

static void
print_param_declaration(struct sym_swift_printer *p, const struct parts *parts,
                        const struct sym_swift_node *param)
{
    if (has_marker(p, parts, SWIFT_PACK_MARKER, param))
        sym_swift_print_text(p, "each ");
    if (has_marker(p, parts, SWIFT_VALUE_MARKER, param)) /* Swift does not print its type */
        sym_swift_print_text(p, "let ");
    sym_swift_print(p, param);
}

/* The parameters of one level, at most as many as Swift prints. */
static void
print_level(struct sym_swift_printer *p, const struct parts *parts, uint32_t depth)
{
    struct sym_swift_node param = {.kind = SWIFT_GENERIC_PARAM, .depth = depth};
    for (; param.index < parts->signature->children[depth]->index && !p->failed; param.index++) {
        if (param.index > 0)
            sym_swift_print_text(p, ", ");
        /* A count comes from the name: a hostile one asks for billions of parameters. */
        if (param.index >= PARAMS_SHOWN_MAX) {
            sym_swift_print_text(p, "...");
            break;
        }
        print_param_declaration(p, parts, &param);
    }
}

void
sym_swift_print_signature(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    struct parts parts = {.signature = node};
    while (parts.n_counts < node->n_children &&
           node->children[parts.n_counts]->kind == SWIFT_PARAM_COUNT)
        parts.n_counts++;
    parts.end_of_markers = parts.n_counts;
    while (parts.end_of_markers < node->n_children &&
           is_marker(node->children[parts.end_of_markers]))
        parts.end_of_markers++;
    sym_swift_print_text(p, "<");
    for (uint32_t depth = 0; depth < parts.n_counts && !p->failed; depth++) {
        if (depth > 0)
            sym_swift_print_text(p, "><");
        print_level(p, &parts, depth);
    }
    /* DisplayWhereClauses is off in the simplified form. */
    if (parts.end_of_markers < node->n_children && p->show_where) {
        sym_swift_print_text(p, " where ");
        sym_swift_print_children(p, node, parts.end_of_markers, node->n_children, ", ");
    }
    sym_swift_print_text(p, ">");
}

void
sym_swift_print_inverse(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *bit = sym_swift_node_child(node, 1);
    sym_swift_print(p, sym_swift_node_child(node, 0));
    sym_swift_print_text(p, ": ~Swift.");
    if (!bit)
        p->failed = true;
    /* The invertible protocols by their bit; later versions of Swift may add some. */
    else if (bit->index == 0 || bit->index == 1)
        sym_swift_print_text(p, bit->index == 0 ? "Copyable" : "Escapable");
    else
        fz_buffer_printf(p->out, "<bit %d>", (int)bit->index);
}

void
sym_swift_print_layout(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'U', "_UnknownLayout"}, {'R', "_RefCountedObject"}, {'N', "_NativeRefCountedObject"},
        {'C', "AnyObject"},      {'D', "_NativeClass"},      {'T', "_Trivial"},
        {'E', "_Trivial"},       {'e', "_Trivial"},          {'M', "_TrivialAtMost"},
        {'m', "_TrivialAtMost"}, {'S', "_TrivialStride"},    {'B', "_BridgeObject"},
        {'A', "AnyReference"},
    };
    sym_swift_print(p, sym_swift_node_child(node, 0));
    sym_swift_print_text(p, ": ");
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (node->text.len > 0 && names[i].letter == (char)node->text.data[0])
            sym_swift_print_text(p, names[i].name);
    }
    /* Size and alignment, of the layouts that have them. */
    if (node->n_children > 1) {
        sym_swift_print_text(p, "(");
        sym_swift_print_children(p, node, 1, 3, ", ");
        sym_swift_print_text(p, ")");
    }
}

void
sym_swift_print_conformance(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (node->n_children == 4)
        sym_swift_print_format(p, node, "property behavior storage of {2} in {0} : {1}");
    else
        sym_swift_print_format(p, node, p->simplified ? "{0}" : "{0} : {1} in {2}");
}

void
sym_swift_print_concrete(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *conditions = sym_swift_node_child(node, 2);
    sym_swift_print_before(p, node);
    sym_swift_print_children(p, node, 0, 2, " to ");
    if (conditions && conditions->n_children > 0) {
        sym_swift_print_text(p, " with conditional requirements: ");
        sym_swift_print(p, conditions);
    }
}

void
sym_swift_print_conformance_list(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (node->n_children == 0)
        return;
    sym_swift_print_text(p, "(");
    sym_swift_print_children(p, node, 0, node->n_children, ", ");
    sym_swift_print_text(p, ")");
}

void
sym_swift_print_dependent(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *index = sym_swift_node_child(node, 0);
    sym_swift_print_before(p, node);
    /* An unknown index is not printed. */
    if (index && index->kind == SWIFT_NUMBER)
        fz_buffer_printf(p->out, "#%d ", (int)index->index);
    sym_swift_print_children(p, node, 1, 3, " to ");
}
