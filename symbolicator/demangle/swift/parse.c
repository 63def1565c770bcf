/*
 * The stack machine that all operators use: characters, the stack, and what is popped from it.
 *
 *   4Test3FooC3baryyF   ->  push "Test", push "Foo", C: class Foo in Test, push "bar",
 *                           y: no parameters, y: no result, F: function bar in Foo
 */
#include "symbolicator/demangle/swift/parse.h"

char
swift_peek(const struct swift_parser *p)
{
    return p->pos < p->text.len ? (char)p->text.data[p->pos] : '\0';
}

char
swift_next(struct swift_parser *p)
{
    return p->pos < p->text.len ? (char)p->text.data[p->pos++] : '\0';
}

bool
swift_next_if(struct swift_parser *p, char c)
{
    if (p->pos >= p->text.len || (char)p->text.data[p->pos] != c)
        return false;
    p->pos++;
    return true;
}

bool
swift_next_if_text(struct swift_parser *p, const char *text)
{
    size_t len = strlen(text);
    if (p->text.len - p->pos < len || memcmp(p->text.data + p->pos, text, len) != 0)
        return false;
    p->pos += len;
    return true;
}

int64_t
swift_natural(struct swift_parser *p)
{
    if (swift_peek(p) < '0' || swift_peek(p) > '9')
        return -1;
    int64_t number = 0;
    while (swift_peek(p) >= '0' && swift_peek(p) <= '9') {
        if (number <= INT32_MAX)
            number = number * 10 + (swift_next(p) - '0');
        else if (p->cuts_numbers)
            p->pos++;
        else
            return -1;
    }
    return number <= INT32_MAX ? number : p->cuts_numbers ? INT32_MAX : -1;
}

int64_t
swift_index(struct swift_parser *p)
{
    if (swift_next_if(p, '_'))
        return 0;
    int64_t number = swift_natural(p);
    return number >= 0 && swift_next_if(p, '_') ? number + 1 : -1;
}

struct swift_node *
swift_number(struct swift_parser *p)
{
    int64_t index = swift_index(p);
    return index >= 0 ? swift_node_index(p->arena, SWIFT_NUMBER, index) : NULL;
}

bool
swift_nodes_add(struct fz_arena *arena, struct swift_nodes *nodes, struct swift_node *node)
{
    if (!node)
        return false;
    if (nodes->n == nodes->room) {
        size_t room = nodes->room ? nodes->room * 2 : 32;
        struct swift_node **items = fz_arena_array(arena, room, sizeof(struct swift_node *));
        if (!items)
            return false;
        if (nodes->n > 0)
            memcpy(items, nodes->items, nodes->n * sizeof(struct swift_node *));
        nodes->items = items;
        nodes->room = room;
    }
    nodes->items[nodes->n++] = node;
    return true;
}

bool
swift_push(struct swift_parser *p, struct swift_node *node)
{
    return swift_nodes_add(p->arena, &p->stack, node);
}

static struct swift_node *
top(const struct swift_parser *p)
{
    return p->stack.n > 0 ? p->stack.items[p->stack.n - 1] : NULL;
}

struct swift_node *
swift_pop_any(struct swift_parser *p)
{
    return p->stack.n > 0 ? p->stack.items[--p->stack.n] : NULL;
}

struct swift_node *
swift_pop(struct swift_parser *p, enum swift_kind kind)
{
    struct swift_node *node = top(p);
    return node && node->kind == kind && !node->is_type ? swift_pop_any(p) : NULL;
}

struct swift_node *
swift_pop_flag(struct swift_parser *p, enum swift_flag flag)
{
    struct swift_node *node = top(p);
    return node && !node->is_type && swift_is(node, flag) ? swift_pop_any(p) : NULL;
}

struct swift_node *
swift_pop_type(struct swift_parser *p)
{
    return top(p) && top(p)->is_type ? swift_pop_any(p) : NULL;
}

struct swift_node *
swift_pop_nominal(struct swift_parser *p)
{
    struct swift_node *type = swift_pop_type(p);
    return swift_is(type, SWIFT_F_NOMINAL) ? type : NULL;
}

struct swift_node *
swift_pop_entity(struct swift_parser *p)
{
    struct swift_node *type = swift_pop_type(p);
    return type ? type : swift_pop_flag(p, SWIFT_F_CONTEXT);
}

struct swift_node *
swift_pop_module(struct swift_parser *p)
{
    struct swift_node *name = swift_pop(p, SWIFT_IDENTIFIER);
    return name ? swift_node_as(p->arena, name, SWIFT_MODULE) : swift_pop(p, SWIFT_MODULE);
}

struct swift_node *
swift_pop_context(struct swift_parser *p)
{
    struct swift_node *module = swift_pop_module(p);
    if (module)
        return module;
    struct swift_node *type = swift_pop_type(p);
    if (type)
        return swift_is(type, SWIFT_F_CONTEXT) ? type : NULL;
    return swift_pop_flag(p, SWIFT_F_CONTEXT);
}

struct swift_node *
swift_pop_protocol(struct swift_parser *p)
{
    struct swift_node *type = swift_pop_type(p);
    if (type)
        return type->kind == SWIFT_PROTOCOL ? type : NULL;
    struct swift_node *name = swift_pop_flag(p, SWIFT_F_DECL_NAME);
    return swift_node_type(swift_make2(p, SWIFT_PROTOCOL, swift_pop_context(p), name));
}

struct swift_node *
swift_pop_list(struct swift_parser *p, enum swift_kind kind,
               struct swift_node *(*pop)(struct swift_parser *))
{
    struct swift_node *list = swift_make(p, kind);
    if (swift_pop(p, SWIFT_EMPTY_LIST))
        return list;
    bool first;
    do {
        first = swift_pop(p, SWIFT_FIRST_ELEMENT) != NULL;
        list = swift_node_add(p->arena, list, pop(p));
    } while (list && !first);
    swift_node_reverse(list, 0);
    return list;
}

struct swift_node *
swift_pop_type_list(struct swift_parser *p)
{
    return swift_pop_list(p, SWIFT_LIST, swift_pop_type);
}

struct swift_node *
swift_make(struct swift_parser *p, enum swift_kind kind)
{
    return swift_node_create(p->arena, kind);
}

struct swift_node *
swift_make1(struct swift_parser *p, enum swift_kind kind, struct swift_node *a)
{
    return swift_node_with(p->arena, kind, a);
}

struct swift_node *
swift_make2(struct swift_parser *p, enum swift_kind kind, struct swift_node *a,
            struct swift_node *b)
{
    return swift_node_pair(p->arena, kind, a, b);
}

struct swift_node *
swift_make3(struct swift_parser *p, enum swift_kind kind, struct swift_node *a,
            struct swift_node *b, struct swift_node *c)
{
    return swift_node_add(p->arena, swift_node_pair(p->arena, kind, a, b), c);
}

struct swift_node *
swift_make_text(struct swift_parser *p, enum swift_kind kind, const char *text)
{
    return swift_node_cstr(p->arena, kind, text);
}

struct swift_node *
swift_remember(struct swift_parser *p, struct swift_node *node)
{
    return swift_nodes_add(p->arena, &p->substitutions, node) ? node : NULL;
}
