/*
 * Scopes.
 *
 * The walk goes down from the function through every block and inlined call that covers the pc.
 * What an abstract instance declares and the concrete one does not have is added: static variables,
 * which exist once for all copies, and variables of which nothing is left in this copy.
 */
#include "symbolicator/variables/scope.h"

#include <stdlib.h>

struct walk {
    struct variables_frame *frame;
    struct variables_scope *scopes; /* outermost first */
    size_t n;
    bool is_cut;
};

static void
add_item(struct walk *walk, const struct variables_die *die, unsigned level, bool is_abstract)
{
    struct variables_scope *scope = &walk->scopes[walk->n - 1];
    struct sym_variables *variables = walk->frame->variables;
    size_t total = 0;
    for (size_t i = 0; i < walk->n; i++)
        total += walk->scopes[i].n;
    if (total >= variables->limits.per_frame) {
        scope->n_cut++;
        return;
    }
    struct variables_scope_item *items =
        fz_list_grow_in(variables->arena, scope->items, &scope->room, scope->n + 1, sizeof(*items));
    if (!items) {
        variables->no_memory = true;
        return;
    }
    scope->items = items;
    items[scope->n++] = (struct variables_scope_item){
        .die = *die,
        .level = level,
        .is_param = variables_die_tag(die) == TAG_FORMAL_PARAMETER,
        .is_abstract = is_abstract,
    };
}

static bool
has_origin(const struct variables_scope *scope, uint64_t offset)
{
    for (size_t i = 0; i < scope->n; i++) {
        struct variables_attr attr;
        const struct variables_die *die = &scope->items[i].die;
        if (variables_die_attr(die, AT_ABSTRACT_ORIGIN, &attr) &&
            dwarf_value_reference(die->image->dwarf, die->unit, &attr.value) == offset)
            return true;
    }
    return false;
}

/* What has no name, or one like ".block_descriptor", is of the compiler, not of the program. */
static bool
is_variable(const struct variables_die *die)
{
    unsigned tag = variables_die_tag(die);
    struct fz_span name = variables_die_string_deep(die, AT_NAME);
    return (tag == TAG_FORMAL_PARAMETER || tag == TAG_VARIABLE) && name.len > 0 &&
           name.data[0] != '.' && !(tag == TAG_VARIABLE && variables_die_flag(die, AT_DECLARATION));
}

static void
add_abstract(struct walk *walk, const struct variables_die *concrete, unsigned level)
{
    struct variables_attr attr;
    struct variables_die origin, at;
    if (!variables_die_attr(concrete, AT_ABSTRACT_ORIGIN, &attr) ||
        !variables_die_follow(concrete, &attr, &origin))
        return;
    for (bool more = variables_die_child(&origin, &at); more; more = variables_die_next(&at, &at)) {
        if (is_variable(&at) && !has_origin(&walk->scopes[walk->n - 1], at.offset))
            add_item(walk, &at, level, true);
    }
}

/* The children of one DIE: its variables, and the DIE inside of it that covers the pc. */
static bool
look_inside(struct walk *walk, const struct variables_die *parent, unsigned level,
            struct variables_die *ret_inner)
{
    struct variables_die at;
    bool found = false;
    for (bool more = variables_die_child(parent, &at); more; more = variables_die_next(&at, &at)) {
        unsigned tag = variables_die_tag(&at);
        if (is_variable(&at))
            add_item(walk, &at, level, false);
        else if (!found && (tag == TAG_LEXICAL_BLOCK || tag == TAG_INLINED_SUBROUTINE) &&
                 variables_die_covers(&at, walk->frame->pc)) {
            *ret_inner = at;
            found = true;
        }
    }
    add_abstract(walk, parent, level);
    return found;
}

static int
compare_items(const void *a, const void *b)
{
    const struct variables_scope_item *x = a, *y = b;
    if (x->is_param != y->is_param)
        return x->is_param ? -1 : 1;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    if (x->is_abstract != y->is_abstract)
        return x->is_abstract ? 1 : -1;
    return x->die.offset < y->die.offset ? -1 : x->die.offset > y->die.offset;
}

static void
open_scope(struct walk *walk, const struct variables_die *die)
{
    walk->scopes[walk->n] = (struct variables_scope){.die = *die};
    walk->n++;
}

/* A call's line is where the function around it is. */
static void
set_lines(struct walk *walk)
{
    const struct variables_frame *frame = walk->frame;
    for (size_t i = 0; i < walk->n; i++) {
        uint64_t line = 0;
        if (i + 1 < walk->n)
            variables_die_uint(&walk->scopes[i + 1].die, AT_CALL_LINE, &line);
        else if (!frame->is_optimized)
            line = variables_image_line(frame->image, frame->function.unit, frame->pc);
        walk->scopes[i].line = line > UINT32_MAX ? 0 : (uint32_t)line;
    }
}

size_t
variables_scopes(struct variables_frame *frame, struct variables_scope ret[VARIABLES_SCOPES_MAX],
                 bool *ret_is_cut)
{
    struct variables_scope scopes[VARIABLES_SCOPES_MAX];
    struct walk walk = {.frame = frame, .scopes = scopes};
    struct variables_die at = frame->function, inner;
    unsigned level = 0, n_blocks = 0;
    open_scope(&walk, &at);
    while (look_inside(&walk, &at, level, &inner)) {
        bool is_inlined = variables_die_tag(&inner) == TAG_INLINED_SUBROUTINE;
        if (walk.n == VARIABLES_SCOPES_MAX || n_blocks == VARIABLES_SCOPES_MAX) {
            walk.is_cut = true;
            break;
        }
        if (is_inlined)
            open_scope(&walk, &inner);
        n_blocks = is_inlined ? 0 : n_blocks + 1;
        level = is_inlined ? 0 : level + 1;
        at = inner;
    }
    set_lines(&walk);
    for (size_t i = 0; i < walk.n; i++) {
        struct variables_scope *scope = &scopes[i];
        if (scope->n > 1)
            qsort(scope->items, scope->n, sizeof(*scope->items), compare_items);
        ret[walk.n - 1 - i] = *scope;
    }
    *ret_is_cut = walk.is_cut;
    return walk.n;
}
