#include "symbolicator/demangle/swift/node.h"

enum { CHILDREN_MAX = 1 << 20 };

struct sym_swift_node *
sym_swift_node_create(struct fz_arena *arena, enum sym_swift_kind kind)
{
    struct sym_swift_node *node = fz_arena_alloc(arena, sizeof(*node));
    if (node)
        node->kind = kind;
    return node;
}

struct sym_swift_node *
sym_swift_node_text(struct fz_arena *arena, enum sym_swift_kind kind, struct fz_span text)
{
    struct sym_swift_node *node = sym_swift_node_create(arena, kind);
    if (node)
        node->text = text;
    return node;
}

struct sym_swift_node *
sym_swift_node_cstr(struct fz_arena *arena, enum sym_swift_kind kind, const char *text)
{
    return sym_swift_node_text(arena, kind, fz_span_cstr(text));
}

struct sym_swift_node *
sym_swift_node_index(struct fz_arena *arena, enum sym_swift_kind kind, int64_t index)
{
    struct sym_swift_node *node = sym_swift_node_create(arena, kind);
    if (node)
        node->index = index;
    return node;
}

struct sym_swift_node *
sym_swift_node_with(struct fz_arena *arena, enum sym_swift_kind kind, struct sym_swift_node *child)
{
    return child ? sym_swift_node_add(arena, sym_swift_node_create(arena, kind), child) : NULL;
}

struct sym_swift_node *
sym_swift_node_pair(struct fz_arena *arena, enum sym_swift_kind kind, struct sym_swift_node *first,
                    struct sym_swift_node *second)
{
    return sym_swift_node_add(arena, sym_swift_node_with(arena, kind, first), second);
}

struct sym_swift_node *
sym_swift_node_add(struct fz_arena *arena, struct sym_swift_node *parent,
                   struct sym_swift_node *child)
{
    if (!parent || !child)
        return NULL;
    if (parent->n_children == parent->room) {
        uint32_t room = parent->room ? parent->room * 2 : 2;
        if (room > CHILDREN_MAX)
            return NULL;
        struct sym_swift_node **children =
            fz_arena_array(arena, room, sizeof(struct sym_swift_node *));
        if (!children)
            return NULL;
        if (parent->n_children > 0)
            memcpy(children, parent->children,
                   parent->n_children * sizeof(struct sym_swift_node *));
        parent->children = children;
        parent->room = room;
    }
    parent->children[parent->n_children++] = child;
    return parent;
}

struct sym_swift_node *
sym_swift_node_add_if(struct fz_arena *arena, struct sym_swift_node *parent,
                      struct sym_swift_node *child)
{
    return child ? sym_swift_node_add(arena, parent, child) : parent;
}

struct sym_swift_node *
sym_swift_node_as(struct fz_arena *arena, const struct sym_swift_node *node,
                  enum sym_swift_kind kind)
{
    struct sym_swift_node *copy = node ? sym_swift_node_create(arena, kind) : NULL;
    if (!copy)
        return NULL;
    *copy = *node;
    copy->kind = kind;
    copy->is_type = false;
    copy->children = NULL;
    copy->n_children = copy->room = 0;
    for (uint32_t i = 0; i < node->n_children && copy; i++)
        copy = sym_swift_node_add(arena, copy, node->children[i]);
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
