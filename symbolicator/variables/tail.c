/*
 * Ways by tail calls, depth first. Functions of other images are not followed: they know no
 * function here but by pointers. A call through a pointer could go anywhere, so a function that
 * ends in one has no known way; nor has a function that can come back to itself, since it may have
 * done so any number of times, each with other values.
 */
#include "symbolicator/variables/tail.h"

#include "symbolicator/variables/symbols.h"

enum { FUNCTIONS_MAX = 32 };

bool
variables_tail_is_same(const struct variables_die *a, const struct variables_die *b)
{
    struct variables_die x = variables_die_origin(a), y = variables_die_origin(b);
    if (x.image == y.image && x.offset == y.offset)
        return true;
    unsigned names[] = {AT_LINKAGE_NAME, AT_MIPS_LINKAGE_NAME};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        struct fz_span p = variables_die_string_deep(a, names[i]),
                       q = variables_die_string_deep(b, names[i]);
        if (p.len || q.len)
            return p.len && fz_span_equal(p, q);
    }
    struct fz_span p = variables_die_string(&x, AT_NAME), q = variables_die_string(&y, AT_NAME);
    return p.len && fz_span_equal(p, q);
}

bool
variables_tail_site(const struct variables_die *function,
                    bool (*is_wanted)(void *user, const struct variables_die *site), void *user,
                    struct variables_die *ret)
{
    struct variables_die open[VARIABLES_SCOPES_MAX];
    unsigned depth = 0;
    if (!variables_die_child(function, &open[0]))
        return false;
    for (;;) { /* depth first, without recursion */
        struct variables_die *at = &open[depth], child;
        unsigned tag = variables_die_tag(at);
        if ((tag == TAG_CALL_SITE || tag == TAG_GNU_CALL_SITE) && is_wanted(user, at)) {
            *ret = *at;
            return true;
        }
        bool has_sites = tag == TAG_LEXICAL_BLOCK || tag == TAG_INLINED_SUBROUTINE;
        if (has_sites && depth + 1 < VARIABLES_SCOPES_MAX && variables_die_child(at, &child)) {
            open[++depth] = child;
            continue;
        }
        while (!variables_die_next(&open[depth], &open[depth])) {
            if (depth-- == 0)
                return false;
        }
    }
}

struct search {
    const struct variables_die *to;
    struct variables_tail at, found;
    unsigned n_found, n_functions;
    bool is_cut; /* there may be ways that were not seen */
};

/* The code of the function that a call site names, which may be a declaration or inlined
 * elsewhere. */
static bool
find_code(const struct variables_die *function, struct variables_die *ret)
{
    struct variables_attr attr;
    uint64_t addr;
    if (variables_die_attr(function, AT_LOW_PC, &attr) ||
        variables_die_attr(function, AT_RANGES, &attr)) {
        *ret = *function;
        return true;
    }
    struct fz_span name = variables_die_string_deep(function, AT_LINKAGE_NAME);
    name = name.len ? name : variables_die_string_deep(function, AT_NAME);
    return variables_symbols_function(function->image, name, &addr) &&
           variables_image_function(function->image, addr, ret) &&
           variables_tail_is_same(function, ret);
}

static void search_from(struct search *search, const struct variables_die *function);

/* Never accepts, so that every site is seen. */
static bool
see_site(void *user, const struct variables_die *site)
{
    struct search *search = user;
    struct variables_tail *at = &search->at;
    struct variables_die called, code;
    if (!variables_die_flag(site, AT_CALL_TAIL_CALL))
        return false;
    at->sites[at->n - 1] = *site;
    if (!variables_die_ref(site, AT_CALL_ORIGIN, &called)) {
        search->is_cut = true;
        return false;
    }
    if (variables_tail_is_same(&called, search->to)) {
        if (search->n_found++ == 0)
            search->found = *at;
        return false;
    }
    if (!find_code(&called, &code))
        return false;
    for (unsigned i = 0; i < at->n; i++) {
        if (at->functions[i].offset == code.offset) {
            search->is_cut = true;
            return false;
        }
    }
    search_from(search, &code);
    return false;
}

static void
search_from(struct search *search, const struct variables_die *function)
{
    struct variables_die none;
    if (search->at.n == VARIABLES_TAIL_MAX || search->n_functions++ == FUNCTIONS_MAX) {
        search->is_cut = true;
        return;
    }
    search->at.functions[search->at.n++] = *function;
    fz_ignore(
        !variables_tail_site(function, see_site, search, &none)); /* see_site has the result */
    search->at.n--;
}

bool
variables_tail_path(const struct variables_die *from, const struct variables_die *to,
                    struct variables_tail *ret)
{
    struct search search = {.to = to}, again = {.to = to};
    struct variables_die code;
    /* If it can call itself in the end, this may be any of the calls. */
    search_from(&again, to);
    if (again.n_found)
        return false;
    if (!variables_tail_is_same(from, to)) {
        if (from->image != to->image || !find_code(from, &code))
            return false;
        search_from(&search, &code);
        if (search.n_found != 1 || search.is_cut)
            return false;
    }
    *ret = search.found;
    return true;
}
