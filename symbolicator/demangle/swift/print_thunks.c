/*
 * Printing thunks, witnesses and derivatives.
 */
#include "symbolicator/demangle/swift/print.h"

void
sym_swift_print_partial_apply(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (p->simplified)
        /* ShortenPartialApply is on in the simplified form. */
        sym_swift_print_text(p, "partial apply");
    else
        sym_swift_print_before(p, node);
    if (node->n_children > 0)
        sym_swift_print_text(p, " for ");
    sym_swift_print_children(p, node, 0, node->n_children, NULL);
}

/* A signature and a space, if there is one. */
static void
print_signature_of(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *signature = sym_swift_node_find(node, SWIFT_SIGNATURE);
    if (signature) {
        sym_swift_print(p, signature);
        sym_swift_print_text(p, " ");
    }
}

void
sym_swift_print_reabstraction(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (p->simplified) {
        /* ShortenThunk: only the type that the thunk is for. */
        sym_swift_print_format(p, node, "thunk for {0}");
        return;
    }
    sym_swift_print_before(p, node);
    print_signature_of(p, node);
    sym_swift_print_format(p, node, "from {0} to {1}");
}

void
sym_swift_print_reabstraction_self(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_before(p, node);
    print_signature_of(p, node);
    sym_swift_print_format(p, node, "from {0} to {1} self {2}");
}

void
sym_swift_print_completion(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    static const char *const flags[] = {"", " nonzero on error", " zero on error"};
    sym_swift_print_before(p, node);
    sym_swift_print_children(p, node, 2, 3, NULL); /* the signature, without a space */
    sym_swift_print_children(p, node, 0, 2, " with result type ");
    /* The index is from the name: any value is possible. */
    sym_swift_print_text(p, node->index < 3 ? flags[node->index] : " <invalid error flag>");
}

/* Declaration : types, with the signature among them. */
void
sym_swift_print_key_path(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_before(p, node);
    sym_swift_print(p, sym_swift_node_child(node, 0));
    sym_swift_print_text(p, " : ");
    for (uint32_t i = 1; i < node->n_children; i++) {
        /* Only the mark has a comma before it, as in Swift's own output. */
        if (node->children[i]->kind == SWIFT_SERIALIZED)
            sym_swift_print_text(p, ", ");
        sym_swift_print(p, node->children[i]);
    }
}

void
sym_swift_print_key_path_index(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    const struct sym_swift_node *signature = sym_swift_node_find(node, SWIFT_SIGNATURE);
    uint32_t n = 0;
    /* The types come first; signature and mark follow them. */
    while (n < node->n_children && node->children[n]->is_type)
        n++;
    sym_swift_print_before(p, node);
    if (signature)
        sym_swift_print(p, signature);
    sym_swift_print_text(p, "(");
    sym_swift_print_children(p, node, 0, n, ", ");
    sym_swift_print_text(p, ")");
}

static uint32_t
kind_position(const struct sym_swift_node *node)
{
    uint32_t i = 0;
    /* Before it is the original function, of any number of nodes; after it the subsets. */
    while (i < node->n_children && node->children[i]->kind != SWIFT_AUTODIFF_KIND)
        i++;
    return i;
}

/* " with respect to parameters {0} and results {0}", the subsets from child `i`. */
static void
print_subsets(struct sym_swift_printer *p, const struct sym_swift_node *node, uint32_t i)
{
    sym_swift_print_text(p, " with respect to parameters ");
    sym_swift_print_children(p, node, i, i + 2, " and results ");
}

void
sym_swift_print_autodiff(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    uint32_t kind = kind_position(node), n = kind;
    const struct sym_swift_node *signature = NULL;
    /* The signature of the derivative is mangled as the last node of the original. */
    if (n > 0 && node->children[n - 1]->kind == SWIFT_SIGNATURE)
        signature = node->children[--n];
    sym_swift_print_before(p, node);
    sym_swift_print(p, sym_swift_node_child(node, kind));
    sym_swift_print_text(p, " of ");
    sym_swift_print_children(p, node, 0, n, NULL);
    if (p->simplified)
        return;
    print_subsets(p, node, kind + 1);
    if (signature) {
        sym_swift_print_text(p, " with ");
        sym_swift_print(p, signature);
    }
}

void
sym_swift_print_self_reordering(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print_text(p, "autodiff self-reordering reabstraction thunk for ");
    sym_swift_print(p, sym_swift_node_child(node, p->simplified ? 0 : 2));
    if (p->simplified)
        return;
    print_signature_of(p, node);
    sym_swift_print_format(p, node, " from {0} to {1}");
}

void
sym_swift_print_subset_thunk(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    uint32_t kind = kind_position(node);
    uint32_t n = kind > 1 ? kind - 1 : kind; /* of several, the last is the target type */
    sym_swift_print_text(p, "autodiff subset parameters thunk for ");
    sym_swift_print(p, sym_swift_node_child(node, kind));
    sym_swift_print_text(p, " from ");
    sym_swift_print_children(p, node, 0, n, NULL);
    if (p->simplified)
        return;
    print_subsets(p, node, kind + 1);
    sym_swift_print_text(p, " to parameters ");
    sym_swift_print(p, sym_swift_node_child(node, kind + 3));
    if (kind > 1) {
        sym_swift_print_text(p, " of type ");
        sym_swift_print(p, node->children[n]);
    }
}

void
sym_swift_print_differentiability(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    uint32_t kind = kind_position(node);
    sym_swift_print(p, sym_swift_node_child(node, kind));
    sym_swift_print_text(p, " differentiability witness for ");
    sym_swift_print_children(p, node, 0, kind, NULL);
    print_subsets(p, node, kind + 1);
    if (node->n_children > kind + 3) {
        sym_swift_print_text(p, " with ");
        sym_swift_print(p, node->children[kind + 3]);
    }
}

void
sym_swift_print_index_subset(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    bool first = true;
    sym_swift_print_text(p, "{");
    for (size_t i = 0; i < node->text.len; i++) {
        /* U: not in the subset, but its place counts. */
        if (node->text.data[i] != 'S')
            continue;
        if (!first)
            sym_swift_print_text(p, ", ");
        sym_swift_print_number(p, (int64_t)i);
        first = false;
    }
    sym_swift_print_text(p, "}");
}

void
sym_swift_print_value_witness(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    /* ShortenValueWitness is on in the simplified form. */
    sym_swift_print_format(p, node, p->simplified ? "{t} for {0}" : "{t} value witness for {0}");
}

void
sym_swift_print_once_list(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    /* Several variables are initialized at once by one pattern: let (a, b) = f(). */
    bool several = node->n_children != 1;
    if (several)
        sym_swift_print_text(p, "(");
    sym_swift_print_children(p, node, 0, node->n_children, ", ");
    if (several)
        sym_swift_print_text(p, ")");
}
