/*
 * The stack machine that all operators use: characters, the stack, and what is popped from it.
 *
 *   4Test3FooC3baryyF   ->  push "Test", push "Foo", C: class Foo in Test, push "bar",
 *                           y: no parameters, y: no result, F: function bar in Foo
 */
#include "symbolicator/demangle/swift/parse.h"

#include "base/list.h"

char
sym_swift_peek(const struct sym_swift_parser *p)
{
    /* A NUL is not an operator, so callers need no check for the end. */
    return p->pos < p->text.len ? (char)p->text.data[p->pos] : '\0';
}

char
sym_swift_next(struct sym_swift_parser *p)
{
    return p->pos < p->text.len ? (char)p->text.data[p->pos++] : '\0';
}

bool
sym_swift_next_if(struct sym_swift_parser *p, char c)
{
    if (p->pos >= p->text.len || (char)p->text.data[p->pos] != c)
        return false;
    p->pos++;
    return true;
}

bool
sym_swift_next_if_text(struct sym_swift_parser *p, const char *text)
{
    size_t len = strlen(text);
    if (p->text.len - p->pos < len || memcmp(p->text.data + p->pos, text, len) != 0)
        return false;
    p->pos += len;
    return true;
}

const char *
sym_swift_next_word(struct sym_swift_parser *p, const struct sym_swift_word *words)
{
    while (words->text && !sym_swift_next_if(p, words->letter))
        words++;
    return words->text;
}

enum sym_swift_kind
sym_swift_next_kind(struct sym_swift_parser *p, const struct sym_swift_choice *choices)
{
    while (choices->kind != SWIFT_NONE && !sym_swift_next_if_text(p, choices->letters))
        choices++;
    return choices->kind;
}

int64_t
sym_swift_natural(struct sym_swift_parser *p)
{
    if (sym_swift_peek(p) < '0' || sym_swift_peek(p) > '9')
        return -1;
    int64_t number = 0;
    while (sym_swift_peek(p) >= '0' && sym_swift_peek(p) <= '9') {
        /* 64 bits hold one more digit than the limit, so that this cannot overflow */
        if (number <= INT32_MAX)
            number = number * 10 + (sym_swift_next(p) - '0');
        else if (p->cuts_numbers)
            p->pos++;
        else
            return -1;
    }
    return number <= INT32_MAX ? number : p->cuts_numbers ? INT32_MAX : -1;
}

int64_t
sym_swift_index(struct sym_swift_parser *p)
{
    /* An index saves a digit: "_" is 0, "0_" is 1. */
    if (sym_swift_next_if(p, '_'))
        return 0;
    int64_t number = sym_swift_natural(p);
    return number >= 0 && sym_swift_next_if(p, '_') ? number + 1 : -1;
}

struct sym_swift_node *
sym_swift_number(struct sym_swift_parser *p)
{
    int64_t index = sym_swift_index(p);
    return index >= 0 ? sym_swift_make_index(p, SWIFT_NUMBER, index) : NULL;
}

bool
sym_swift_nodes_add(struct sym_swift_parser *p, struct sym_swift_nodes *nodes,
                    struct sym_swift_node *node)
{
    struct sym_swift_node **items =
        node ? fz_list_grow_in(p->arena, nodes->items, &nodes->room, nodes->n + 1, sizeof(node))
             : NULL;
    if (!items)
        return false;
    nodes->items = items;
    items[nodes->n++] = node;
    return true;
}

bool
sym_swift_push(struct sym_swift_parser *p, struct sym_swift_node *node)
{
    return sym_swift_nodes_add(p, &p->stack, node);
}

static struct sym_swift_node *
top(const struct sym_swift_parser *p)
{
    return p->stack.n > 0 ? p->stack.items[p->stack.n - 1] : NULL;
}

struct sym_swift_node *
sym_swift_pop_any(struct sym_swift_parser *p)
{
    return p->stack.n > 0 ? p->stack.items[--p->stack.n] : NULL;
}

struct sym_swift_node *
sym_swift_pop(struct sym_swift_parser *p, enum sym_swift_kind kind)
{
    struct sym_swift_node *node = top(p);
    /* the mangling distinguishes a type from its declaration as a context */
    return node && node->kind == kind && !node->is_type ? sym_swift_pop_any(p) : NULL;
}

struct sym_swift_node *
sym_swift_pop_flag(struct sym_swift_parser *p, enum sym_swift_flag flag)
{
    struct sym_swift_node *node = top(p);
    /* A type can be of a kind that is also a context: the mark says which role it has here. */
    return node && !node->is_type && sym_swift_is(node, flag) ? sym_swift_pop_any(p) : NULL;
}

struct sym_swift_node *
sym_swift_pop_type(struct sym_swift_parser *p)
{
    return top(p) && top(p)->is_type ? sym_swift_pop_any(p) : NULL;
}

struct sym_swift_node *
sym_swift_pop_nominal(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = sym_swift_pop_type(p);
    return sym_swift_is(type, SWIFT_F_NOMINAL) ? type : NULL;
}

struct sym_swift_node *
sym_swift_pop_entity(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = sym_swift_pop_type(p);
    return type ? type : sym_swift_pop_flag(p, SWIFT_F_CONTEXT);
}

struct sym_swift_node *
sym_swift_pop_module(struct sym_swift_parser *p)
{
    /* A module is written as a plain identifier; only its place says what it is. */
    struct sym_swift_node *name = sym_swift_pop(p, SWIFT_IDENTIFIER);
    return name ? sym_swift_copy_as(p, name, SWIFT_MODULE) : sym_swift_pop(p, SWIFT_MODULE);
}

struct sym_swift_node *
sym_swift_pop_context(struct sym_swift_parser *p)
{
    struct sym_swift_node *module = sym_swift_pop_module(p);
    if (module)
        return module;
    struct sym_swift_node *type = sym_swift_pop_type(p);
    if (type)
        return sym_swift_is(type, SWIFT_F_CONTEXT) ? type : NULL;
    return sym_swift_pop_flag(p, SWIFT_F_CONTEXT);
}

struct sym_swift_node *
sym_swift_pop_protocol(struct sym_swift_parser *p)
{
    struct sym_swift_node *type = sym_swift_pop_type(p);
    if (type)
        return type->kind == SWIFT_PROTOCOL ? type : NULL;
    struct sym_swift_node *name = sym_swift_pop_flag(p, SWIFT_F_DECL_NAME);
    return sym_swift_node_type(sym_swift_make2(p, SWIFT_PROTOCOL, sym_swift_pop_context(p), name));
}

struct sym_swift_node *
sym_swift_pop_list(struct sym_swift_parser *p, enum sym_swift_kind kind,
                   struct sym_swift_node *(*pop)(struct sym_swift_parser *))
{
    struct sym_swift_node *list = sym_swift_make(p, kind);
    if (sym_swift_pop(p, SWIFT_EMPTY_LIST))
        return list;
    bool first;
    do {
        /* The mark is on the first element, which is popped last. */
        first = sym_swift_pop(p, SWIFT_FIRST_ELEMENT) != NULL;
        list = sym_swift_add(p, list, pop(p));
    } while (list && !first);
    /* popped from the last to the first */
    sym_swift_node_reverse(list, 0);
    return list;
}

struct sym_swift_node *
sym_swift_pop_type_list(struct sym_swift_parser *p)
{
    return sym_swift_pop_list(p, SWIFT_LIST, sym_swift_pop_type);
}

struct sym_swift_node *
sym_swift_remember(struct sym_swift_parser *p, struct sym_swift_node *node)
{
    return sym_swift_nodes_add(p, &p->substitutions, node) ? node : NULL;
}
