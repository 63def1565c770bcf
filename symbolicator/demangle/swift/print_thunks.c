/*
 * Printing thunks, witnesses and derivatives.
 */
#include "symbolicator/demangle/swift/print.h"

void
swift_print_partial_apply(struct swift_printer *p, const struct swift_node *node)
{
    if (p->simplified)
        swift_print_text(p, "partial apply");
    else
        swift_print_before(p, node);
    if (node->n_children > 0)
        swift_print_text(p, " for ");
    swift_print_children(p, node, 0, node->n_children, NULL);
}

void
swift_print_resume(struct swift_printer *p, const struct swift_node *node)
{
    if (p->simplified)
        return;
    swift_print_text(p, "(");
    swift_print(p, swift_node_child(node, 0));
    swift_print_text(p, ")");
    swift_print_before(p, node);
}

void
swift_print_outlined_index(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_before(p, node);
    swift_print_number(p, node->index);
    swift_print_text(p, " of ");
}

/* A signature and a space behind it, if there is one. */
static void
print_signature_of(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *signature = swift_node_find(node, SWIFT_SIGNATURE);
    if (signature) {
        swift_print(p, signature);
        swift_print_text(p, " ");
    }
}

void
swift_print_reabstraction(struct swift_printer *p, const struct swift_node *node)
{
    if (p->simplified) {
        swift_print_text(p, "thunk for ");
        swift_print(p, swift_node_child(node, 0));
        return;
    }
    swift_print_before(p, node);
    print_signature_of(p, node);
    swift_print_text(p, "from ");
    swift_print_children(p, node, 0, 2, " to ");
}

void
swift_print_reabstraction_self(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_before(p, node);
    print_signature_of(p, node);
    swift_print_text(p, "from ");
    swift_print_children(p, node, 0, 2, " to ");
    swift_print_text(p, " self ");
    swift_print(p, swift_node_child(node, 2));
}

void
swift_print_completion(struct swift_printer *p, const struct swift_node *node)
{
    static const char *const flags[] = {"", " nonzero on error", " zero on error"};
    swift_print_before(p, node);
    swift_print_children(p, node, 2, 3, NULL); /* the signature, without a space */
    swift_print_children(p, node, 0, 2, " with result type ");
    swift_print_text(p, node->index < 3 ? flags[node->index] : " <invalid error flag>");
}

/* Declaration : types, with the signature among them. */
void
swift_print_key_path(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_before(p, node);
    swift_print(p, swift_node_child(node, 0));
    swift_print_text(p, " : ");
    for (uint32_t i = 1; i < node->n_children; i++) {
        if (node->children[i]->kind == SWIFT_SERIALIZED)
            swift_print_text(p, ", ");
        swift_print(p, node->children[i]);
    }
}

void
swift_print_key_path_index(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *signature = swift_node_find(node, SWIFT_SIGNATURE);
    uint32_t n = 0;
    while (n < node->n_children && node->children[n]->is_type)
        n++;
    swift_print_before(p, node);
    if (signature)
        swift_print(p, signature);
    swift_print_text(p, "(");
    swift_print_children(p, node, 0, n, ", ");
    swift_print_text(p, ")");
}

static uint32_t
kind_position(const struct swift_node *node)
{
    uint32_t i = 0;
    while (i < node->n_children && node->children[i]->kind != SWIFT_AUTODIFF_KIND)
        i++;
    return i;
}

/* " with respect to parameters {0} and results {0}", the subsets from child `i`. */
static void
print_subsets(struct swift_printer *p, const struct swift_node *node, uint32_t i)
{
    swift_print_text(p, " with respect to parameters ");
    swift_print_children(p, node, i, i + 2, " and results ");
}

void
swift_print_autodiff(struct swift_printer *p, const struct swift_node *node)
{
    uint32_t kind = kind_position(node), n = kind;
    const struct swift_node *signature = NULL;
    if (n > 0 && node->children[n - 1]->kind == SWIFT_SIGNATURE)
        signature = node->children[--n];
    swift_print_before(p, node);
    swift_print(p, swift_node_child(node, kind));
    swift_print_text(p, " of ");
    swift_print_children(p, node, 0, n, NULL);
    if (p->simplified)
        return;
    print_subsets(p, node, kind + 1);
    if (signature) {
        swift_print_text(p, " with ");
        swift_print(p, signature);
    }
}

void
swift_print_self_reordering(struct swift_printer *p, const struct swift_node *node)
{
    const struct swift_node *signature = swift_node_find(node, SWIFT_SIGNATURE);
    swift_print_text(p, "autodiff self-reordering reabstraction thunk for ");
    if (p->simplified) {
        swift_print(p, swift_node_child(node, 0));
        return;
    }
    swift_print(p, swift_node_child(node, 2));
    if (signature) {
        swift_print(p, signature);
        swift_print_text(p, " ");
    }
    swift_print_text(p, " from ");
    swift_print_children(p, node, 0, 2, " to ");
}

void
swift_print_subset_thunk(struct swift_printer *p, const struct swift_node *node)
{
    uint32_t kind = kind_position(node);
    uint32_t n = kind > 1 ? kind - 1 : kind; /* the last of several is the type it becomes */
    swift_print_text(p, "autodiff subset parameters thunk for ");
    swift_print(p, swift_node_child(node, kind));
    swift_print_text(p, " from ");
    swift_print_children(p, node, 0, n, NULL);
    if (p->simplified)
        return;
    print_subsets(p, node, kind + 1);
    swift_print_text(p, " to parameters ");
    swift_print(p, swift_node_child(node, kind + 3));
    if (kind > 1) {
        swift_print_text(p, " of type ");
        swift_print(p, node->children[n]);
    }
}

void
swift_print_differentiability(struct swift_printer *p, const struct swift_node *node)
{
    uint32_t kind = kind_position(node);
    swift_print(p, swift_node_child(node, kind));
    swift_print_text(p, " differentiability witness for ");
    swift_print_children(p, node, 0, kind, NULL);
    print_subsets(p, node, kind + 1);
    if (node->n_children > kind + 3) {
        swift_print_text(p, " with ");
        swift_print(p, node->children[kind + 3]);
    }
}

void
swift_print_index_subset(struct swift_printer *p, const struct swift_node *node)
{
    bool first = true;
    swift_print_text(p, "{");
    for (size_t i = 0; i < node->text.len; i++) {
        if (node->text.data[i] != 'S')
            continue;
        if (!first)
            swift_print_text(p, ", ");
        swift_print_number(p, (int64_t)i);
        first = false;
    }
    swift_print_text(p, "}");
}

void
swift_print_value_witness(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_span(p, node->text);
    swift_print_text(p, p->simplified ? " for " : " value witness for ");
    swift_print(p, swift_node_child(node, 0));
}

void
swift_print_assoc_conformance(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_before(p, node);
    swift_print_children(p, node, 0, 2, ".");
    swift_print_text(p, ": ");
    swift_print(p, swift_node_child(node, 2));
}

/* Children: conformance, path, protocol. */
void
swift_print_assoc_witness(struct swift_printer *p, const struct swift_node *node)
{
    swift_print_text(p, "associated type witness table accessor for ");
    swift_print_children(p, node, 1, 3, " : ");
    swift_print_text(p, " in ");
    swift_print(p, swift_node_child(node, 0));
}

void
swift_print_once_list(struct swift_printer *p, const struct swift_node *node)
{
    bool several = node->n_children != 1;
    if (several)
        swift_print_text(p, "(");
    swift_print_children(p, node, 0, node->n_children, ", ");
    if (several)
        swift_print_text(p, ")");
}
