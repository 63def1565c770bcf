#include "symbolicator/demangle/swift/node.h"

#include "base/list.h"
#include "symbolicator/demangle/swift/parse.h"

struct sym_swift_node *
sym_swift_make(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *node = fz_arena_alloc(p->arena, sizeof(*node));
    if (node) {
        node->kind = kind;
        node->room = 1; /* a list doubles it: most nodes have two children at most */
    }
    return node;
}

struct sym_swift_node *
sym_swift_make_span(struct sym_swift_parser *p, enum sym_swift_kind kind, struct fz_span text)
{
    struct sym_swift_node *node = sym_swift_make(p, kind);
    if (node)
        node->text = text;
    return node;
}

struct sym_swift_node *
sym_swift_make_text(struct sym_swift_parser *p, enum sym_swift_kind kind, const char *text)
{
    return sym_swift_make_span(p, kind, fz_span_cstr(text));
}

struct sym_swift_node *
sym_swift_make_index(struct sym_swift_parser *p, enum sym_swift_kind kind, int64_t index)
{
    struct sym_swift_node *node = sym_swift_make(p, kind);
    if (node)
        node->index = index;
    return node;
}

struct sym_swift_node *
sym_swift_make1(struct sym_swift_parser *p, enum sym_swift_kind kind, struct sym_swift_node *a)
{
    return sym_swift_add(p, sym_swift_make(p, kind), a);
}

struct sym_swift_node *
sym_swift_make2(struct sym_swift_parser *p, enum sym_swift_kind kind, struct sym_swift_node *a,
                struct sym_swift_node *b)
{
    return sym_swift_add(p, sym_swift_make1(p, kind, a), b);
}

struct sym_swift_node *
sym_swift_make3(struct sym_swift_parser *p, enum sym_swift_kind kind, struct sym_swift_node *a,
                struct sym_swift_node *b, struct sym_swift_node *c)
{
    return sym_swift_add(p, sym_swift_make2(p, kind, a, b), c);
}

struct sym_swift_node *
sym_swift_add(struct sym_swift_parser *p, struct sym_swift_node *parent,
              struct sym_swift_node *child)
{
    if (!parent || !child)
        return NULL;
    struct sym_swift_node **children = fz_list_grow_in(p->arena, parent->children, &parent->room,
                                                       parent->n_children + 1, sizeof(child));
    if (!children)
        return NULL;
    parent->children = children;
    children[parent->n_children++] = child;
    return parent;
}

struct sym_swift_node *
sym_swift_add_if(struct sym_swift_parser *p, struct sym_swift_node *parent,
                 struct sym_swift_node *child)
{
    return child ? sym_swift_add(p, parent, child) : parent;
}

struct sym_swift_node *
sym_swift_copy_as(struct sym_swift_parser *p, const struct sym_swift_node *node,
                  enum sym_swift_kind kind)
{
    struct sym_swift_node *copy = node ? sym_swift_make(p, kind) : NULL;
    if (!copy)
        return NULL;
    copy->depth = node->depth;
    copy->index = node->index;
    copy->text = node->text;
    for (uint32_t i = 0; i < node->n_children && copy; i++)
        copy = sym_swift_add(p, copy, node->children[i]);
    return copy;
}

void
sym_swift_node_reverse(struct sym_swift_node *node, uint32_t from)
{
    if (!node || from >= node->n_children)
        return;
    for (uint32_t a = from, b = node->n_children - 1; a < b; a++, b--) {
        struct sym_swift_node *swapped = node->children[a];
        node->children[a] = node->children[b];
        node->children[b] = swapped;
    }
}

struct sym_swift_node *
sym_swift_node_type(struct sym_swift_node *node)
{
    if (node)
        node->is_type = true;
    return node;
}

struct sym_swift_node *
sym_swift_node_child(const struct sym_swift_node *node, uint32_t i)
{
    return node && i < node->n_children ? node->children[i] : NULL;
}

struct sym_swift_node *
sym_swift_node_find(const struct sym_swift_node *node, enum sym_swift_kind kind)
{
    for (uint32_t i = 0; node && i < node->n_children; i++) {
        if (node->children[i]->kind == kind)
            return node->children[i];
    }
    return NULL;
}
