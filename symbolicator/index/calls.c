/*
 * Which function a call means when several share their code.
 *
 * The linker may fold functions of the same code into one address; a frame there has all their
 * names, and only the caller's debug information knows which one was called. Most files have no
 * such functions, and in those no call site is read: the aliases, which are known by then, decide.
 * Otherwise a second pass over the DIEs collects the calls that name one of the folded functions.
 *
 * Example: _f and _g are at 0x4000, and a call that names g returns to 0x5010: CALLS has
 * (0x5010, "g"). C1 and C2 constructors at one address are one function to a reader.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/macho/symbol_map.h"

enum {
    KNOWN_DIES = 1024, /* a power of two */
    HIDDEN_MAX = 64,   /* bytes of a "__hidden#" name */
    NAME_STEPS_PER_BYTE = 64,
    NAME_STEPS_FREE = 4096,
};

struct folded_name {
    const char *text; /* in the string pool, at `name`: it does not move here */
    uint32_t name;
};

/* The names of folded functions, sorted by text. */
struct folded {
    struct folded_name *names;
    size_t n, room;
};

/* What is known of a callee's DIE. */
struct known_die {
    uint64_t die; /* + 1; 0 = free */
    uint32_t name;
};

struct index_workers {
    struct index_builder *b;
    const struct folded *folded;
    atomic_size_t next; /* unit */
};

struct worker {
    struct index_workers *shared;
    struct index_name *calls;
    size_t n, room;
    uint64_t name_steps;
    bool failed; /* out of memory */
    struct known_die known[KNOWN_DIES];
};

/* Itanium constructors and destructors of one class differ in the digit after C or D, which the
 * readable form does not show. */
static bool
is_variant_digit(const char *name, size_t i)
{
    return i >= 2 && name[i] >= '0' && name[i] <= '5' &&
           (name[i - 1] == 'C' || name[i - 1] == 'D' || (name[i - 1] == 'I' && name[i - 2] == 'C'));
}

static bool
is_same_text(const char *a, const char *b)
{
    size_t i = 0;
    for (; a[i] && b[i]; i++) {
        if (a[i] != b[i] && !(is_variant_digit(a, i) && is_variant_digit(b, i)))
            return false;
    }
    return a[i] == b[i];
}

/* To a reader. Cheap, and wrong only in counting two functions where there is one, which costs a
 * look at call sites that changes nothing. */
static bool
is_same_function(const char *a, const char *b)
{
    return is_same_text(a, b) || (*a == '_' && is_same_text(a + 1, b)) ||
           (*b == '_' && is_same_text(a, b + 1));
}

static bool
is_hidden(const char *name)
{
    return sym_symbol_map_is_hidden(fz_span_make(name, strnlen(name, HIDDEN_MAX)));
}

static bool
add_text(struct index_builder *b, struct folded *folded, uint32_t name)
{
    struct folded_name *names =
        fz_list_grow(&b->budget, folded->names, &folded->room, folded->n + 1, sizeof(*names));
    if (!names)
        return false;
    folded->names = names;
    names[folded->n++] = (struct folded_name){.text = index_pool_text(b, name), .name = name};
    return true;
}

/* In both spellings: an underscore may be DWARF's own or that of the symbol table. */
static bool
add_name(struct index_builder *b, struct folded *folded, uint32_t name)
{
    const char *text = index_pool_text(b, name);
    bool has_underscore = text[0] == '_' && text[1];
    return !*text ||
           (add_text(b, folded, name) && (!has_underscore || add_text(b, folded, name + 1)));
}

/* The aliases first .. last - 1 of one address, and `main`, the name that is shown (0: none). */
static bool
add_group(struct index_builder *b, struct folded *folded, uint32_t main, size_t first, size_t last)
{
    bool is_folded = false;
    const char *shown = index_pool_text(b, main ? main : b->aliases[first].name);
    for (size_t i = first; i < last && !is_folded; i++) {
        const char *name = index_pool_text(b, b->aliases[i].name);
        is_folded = !is_hidden(name) && !is_same_function(shown, name);
    }
    /* Names of one function need no call site: each is right. */
    if (!is_folded)
        return true;
    bool ok = add_name(b, folded, main);
    for (size_t i = first; i < last && ok; i++)
        ok = add_name(b, folded, b->aliases[i].name);
    return ok;
}

static bool
find_groups(struct index_builder *b, struct folded *folded)
{
    size_t piece = 0;
    for (size_t first = 0, last; first < b->n_aliases; first = last) {
        uint64_t addr = b->aliases[first].addr;
        for (last = first; last < b->n_aliases && b->aliases[last].addr == addr;)
            last++;
        /* Both lists ascend, so that one pass is enough. */
        while (piece < b->n_pieces && b->pieces[piece].start < addr)
            piece++;
        uint32_t main = 0;
        /* A piece may also begin in the middle of its function. */
        if (piece < b->n_pieces && b->pieces[piece].start == addr &&
            b->functions[b->pieces[piece].function].start == addr)
            main = b->functions[b->pieces[piece].function].name;
        if (!add_group(b, folded, main, first, last))
            return false;
    }
    return true;
}

static int
compare_name(const void *a, const void *b)
{
    const struct folded_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->name < y->name ? -1 : x->name > y->name;
}

/* Sort; equal texts may be at several places, of which the first represents all. */
static void
sort_names(struct folded *folded)
{
    size_t kept = 0;
    qsort(folded->names, folded->n, sizeof(*folded->names), compare_name);
    for (size_t i = 0; i < folded->n; i++) {
        if (!kept || strcmp(folded->names[kept - 1].text, folded->names[i].text) != 0)
            folded->names[kept++] = folded->names[i];
    }
    folded->n = kept;
}

/* The folded name at the start of `place`; 0 if it is not one. No more of the place is
 * read than is equal. */
static uint32_t
find_folded(const struct folded *folded, struct fz_span place)
{
    size_t low = 0, high = folded->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *text = folded->names[middle].text;
        int order = strncmp((const char *)place.data, text, place.len);
        if (order == 0)
            return memchr(text, 0, place.len) ? folded->names[middle].name : 0;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static uint32_t
name_of_die(struct worker *w, uint64_t die)
{
    struct index_builder *b = w->shared->b;
    struct known_die *known = &w->known[(die * 0x9e3779b97f4a7c15u >> 32) & (KNOWN_DIES - 1)];
    /* Many calls go to the same few functions, and a name may be several DIEs away. */
    if (known->die == die + 1)
        return known->name;
    struct fz_span place = sym_dwarf_name_place(b->dwarf, die, &w->name_steps);
    /* A hidden name is short; for any other the string need not be read to its end. */
    size_t glance = place.len < HIDDEN_MAX ? place.len : HIDDEN_MAX;
    const uint8_t *nul = b->symbol_map && glance ? memchr(place.data, 0, glance) : NULL;
    if (nul) {
        struct fz_span name = fz_span_make(place.data, (size_t)(nul - place.data));
        struct fz_span open = sym_symbol_map_name(b->symbol_map, name);
        if (open.data != name.data) /* it has its NUL in the map */
            place = fz_span_make(open.data, open.len + 1);
    }
    *known = (struct known_die){.die = die + 1,
                                .name = place.len ? find_folded(w->shared->folded, place) : 0};
    return known->name;
}

static bool
add_call(void *user, const struct sym_dwarf_call *call)
{
    struct worker *w = user;
    struct index_builder *b = w->shared->b;
    /* The last call of all code may return to its very end. */
    if (call->return_addr <= b->code_low || call->return_addr > b->code_high)
        return true;
    uint32_t name = name_of_die(w, call->origin);
    /* Calls of functions that share their code with no other are of no use. */
    if (!name)
        return true;
    struct index_name *calls =
        fz_list_grow(&b->budget, w->calls, &w->room, w->n + 1, sizeof(*calls));
    if (!calls)
        return false;
    w->calls = calls;
    calls[w->n++] = (struct index_name){.addr = call->return_addr, .name = name};
    return true;
}

static void *
work(void *user)
{
    struct worker *w = user;
    const struct sym_dwarf *dwarf = w->shared->b->dwarf;
    size_t n_units = sym_dwarf_n_units(dwarf);
    for (size_t i; !w->failed && (i = atomic_fetch_add(&w->shared->next, 1)) < n_units;) {
        const struct sym_dwarf_unit *unit = sym_dwarf_unit(dwarf, i);
        /* Anew for each unit, so that what is found does not depend on who reads which. */
        w->name_steps = (unit->end - unit->offset) * NAME_STEPS_PER_BYTE + NAME_STEPS_FREE;
        memset(w->known, 0, sizeof(w->known));
        w->failed = !sym_dwarf_calls_unit(dwarf, i, add_call, w);
    }
    return NULL;
}

/* Sort, and keep of each return address one name. Where callers were folded themselves, one address
 * may have calls of several functions: which one is unknown, so it is left out. */
static void
settle_calls(struct index_builder *b)
{
    size_t kept = 0;
    if (b->n_calls)
        qsort(b->calls, b->n_calls, sizeof(*b->calls), index_name_compare);
    for (size_t first = 0, last; first < b->n_calls; first = last) {
        for (last = first; last < b->n_calls && b->calls[last].addr == b->calls[first].addr;)
            last++;
        /* Sorted by name too: if the first and the last agree, all do. */
        if (b->calls[last - 1].name == b->calls[first].name)
            b->calls[kept++] = b->calls[first];
    }
    b->n_calls = kept;
}

static bool
merge(struct index_builder *b, const struct worker *w)
{
    if (w->n == 0)
        return !w->failed;
    struct index_name *calls =
        fz_list_grow(&b->budget, b->calls, &b->room_calls, b->n_calls + w->n, sizeof(*calls));
    if (!calls)
        return false;
    b->calls = calls;
    memcpy(calls + b->n_calls, w->calls, w->n * sizeof(*calls));
    b->n_calls += w->n;
    return !w->failed;
}

static bool
scan_units(struct index_builder *b, const struct folded *folded)
{
    struct index_workers shared = {.b = b, .folded = folded};
    size_t n_units = sym_dwarf_n_units(b->dwarf), n_workers = b->n_threads;
    n_workers = n_workers < INDEX_THREADS_MAX ? n_workers : INDEX_THREADS_MAX;
    if (n_workers > n_units)
        n_workers = n_units ? n_units : 1;
    struct worker *workers = fz_list_zeroed(&b->budget, n_workers, sizeof(*workers));
    if (!workers)
        return false;
    for (size_t i = 0; i < n_workers; i++)
        workers[i].shared = &shared;
    index_threads_run(n_workers, work, workers, sizeof(*workers));
    bool ok = true;
    for (size_t i = 0; i < n_workers; i++) {
        /* In any order, because settle_calls() sorts them. */
        ok = ok && merge(b, &workers[i]);
        fz_list_free(&b->budget, workers[i].calls, workers[i].room, sizeof(*workers[i].calls));
    }
    fz_list_free(&b->budget, workers, n_workers, sizeof(*workers));
    return ok;
}

enum fz_code
index_calls_build(struct index_builder *b, struct fz_error *err)
{
    struct folded folded = {NULL, 0, 0};
    /* Most files end here: no function shares its code. */
    if (!b->dwarf || b->n_aliases == 0)
        return FZ_OK;
    bool ok = find_groups(b, &folded);
    if (ok && folded.n) {
        sort_names(&folded);
        ok = scan_units(b, &folded);
        settle_calls(b);
    }
    fz_list_free(&b->budget, folded.names, folded.room, sizeof(*folded.names));
    return ok ? FZ_OK : fz_budget_fail(&b->budget, err);
}
