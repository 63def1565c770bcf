/*
 * The index against libdwarf.
 *
 * At the first and last address of every range of every function and inlined call, and at every
 * line row, both must give the same chain: names outward, and for each its file, line and column.
 * libdwarf's answer is put together here the plain way: the innermost entry whose ranges cover the
 * address, its parents with their call sites, the last row at or before it.
 */
#include "symbolicator/macho/macho.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolicator/dwarf/libdwarf_unit.h"

static const uint32_t NONE = UINT32_MAX;
static const size_t MEMORY_CAP = (size_t)2 << 30;
static const uint32_t CODE_ATTRIBUTES = 0x80000400; /* pure or some instructions */

struct sequence {
    uint64_t low, high;
    size_t first, n; /* rows, without the end */
};

struct root {
    uint64_t low, high, reach; /* reach: the highest `high` up to here */
    uint32_t node;
};

/* A function's range, of any unit. */
struct claim {
    uint64_t low, high;
};

struct verify {
    const struct sym_macho *macho;
    const struct sym_index *index;
    sym_verify_fn report;
    void *user;
    struct sym_verify_stats stats;
    struct fz_budget budget;
    struct libdwarf_unit unit;
    struct sym_symbol *symbols; /* by address, in an arena of the caller */
    size_t n_symbols;
    struct sequence *sequences;
    struct root *roots;
    struct claim *claims; /* of the units before this one */
    size_t n_sequences, room_sequences, n_roots, room_roots, n_claims, room_claims;
};

struct expected {
    const char *name; /* NULL: not known (a row outside of functions) */
    const char *file;
    uint64_t line, column;
};

/* True if a unit before this one has a function there: the index keeps the first. */
static bool
is_claimed(const struct verify *v, uint64_t addr)
{
    for (size_t i = 0; i < v->n_claims; i++) {
        if (addr >= v->claims[i].low && addr < v->claims[i].high)
            return true;
    }
    return false;
}

static void
difference(struct verify *v, uint64_t addr, size_t frame, const char *what, const char *index_says,
           const char *libdwarf_says)
{
    char text[2048];
    /* Two units may have code for one address; which one is shown is not a fault. */
    if (is_claimed(v, addr))
        return;
    v->stats.n_differences++;
    /* Names of templates can have many kilobytes; the beginning shows the difference. */
    snprintf(text, sizeof(text), "0x%" PRIx64 " frame %zu: %s '%.700s', libdwarf '%.700s'", addr,
             frame, what, index_says, libdwarf_says);
    v->report(v->user, text);
}

static bool
is_code(const struct verify *v, uint64_t addr)
{
    for (size_t i = 0; i < v->macho->n_sections; i++) {
        const struct sym_section *section = &v->macho->sections[i];
        if ((section->flags & CODE_ATTRIBUTES) && addr >= section->addr &&
            addr - section->addr < section->size)
            return true;
    }
    return false;
}

static bool
covers(const struct verify *v, uint32_t node, uint64_t addr)
{
    const struct libdwarf_node *n = &v->unit.nodes[node];
    for (size_t i = 0; i < n->n_ranges; i++) {
        const struct libdwarf_range *range = &v->unit.ranges[n->first_range + i];
        if (addr >= range->low && addr < range->high)
            return true;
    }
    return false;
}

static int
compare_roots(const void *a, const void *b)
{
    const struct root *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* How many of `n` sorted items, which begin with their address, are at or before `addr`. */
static size_t
count_until(const void *items, size_t n, size_t size, uint64_t addr)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at;
        memcpy(&at, (const char *)items + middle * size, sizeof(at));
        if (at <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The function at `addr` in this unit: of several the one that begins last. */
static uint32_t
find_root(const struct verify *v, uint64_t addr)
{
    size_t low = count_until(v->roots, v->n_roots, sizeof(*v->roots), addr);
    /* A longer function may begin further left; `reach` says when none is left that gets here. */
    while (low > 0 && v->roots[low - 1].reach > addr) {
        if (addr < v->roots[low - 1].high)
            return v->roots[low - 1].node;
        low--;
    }
    return NONE;
}

static int
compare_sequences(const void *a, const void *b)
{
    const struct sequence *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The last row at or before `addr` in the sequence that holds it. */
static const struct libdwarf_row *
find_row(const struct verify *v, uint64_t addr)
{
    size_t low = count_until(v->sequences, v->n_sequences, sizeof(*v->sequences), addr);
    if (low == 0 || addr >= v->sequences[low - 1].high)
        return NULL;
    const struct sequence *sequence = &v->sequences[low - 1];
    const struct libdwarf_row *rows = v->unit.rows + sequence->first;
    low = count_until(rows, sequence->n, sizeof(*rows), addr);
    return low ? &rows[low - 1] : NULL;
}

/* The chain at `addr`, innermost first; 0 if this unit has no function there. */
static size_t
expected_chain(const struct verify *v, uint64_t addr, struct expected chain[SYM_FRAMES_MAX])
{
    const struct libdwarf_unit *unit = &v->unit;
    uint32_t path[SYM_FRAMES_MAX];
    size_t n = 0;
    uint32_t at = find_root(v, addr);
    if (at == NONE)
        return 0;
    while (at != NONE && n < SYM_FRAMES_MAX) {
        path[n++] = at;
        uint32_t parent = at, child = at + 1;
        at = NONE;
        while (child < unit->nodes[parent].end && at == NONE) {
            /* Children of one parent do not overlap, so the first that covers is the one. */
            if (unit->nodes[child].parent == parent && covers(v, child, addr))
                at = child;
            else
                /* Past all that is inlined into it. */
                child = unit->nodes[child].end;
        }
    }
    const struct libdwarf_row *row = find_row(v, addr);
    for (size_t i = 0; i < n; i++) {
        const struct libdwarf_node *node = &unit->nodes[path[n - 1 - i]];
        chain[i].name = node->name;
        /* The innermost frame is where the line table says, the others where they call. */
        if (i == 0) {
            chain[i].file = row ? row->file : "";
            chain[i].line = row ? row->line : 0;
            chain[i].column = row ? row->column : 0;
        }
        if (i + 1 < n) {
            chain[i + 1].file = libdwarf_unit_file(unit, node->call_file);
            chain[i + 1].line = node->call_line;
            chain[i + 1].column = node->call_column;
        }
    }
    return n;
}

/* "a/./b" and "a//b" to "a/b". */
static void
clean_path(const char *path, char ret[PATH_MAX])
{
    size_t n = 0;
    while (*path && n + 1 < PATH_MAX) {
        /* Both sides join the parts of a path as they are, and may differ in slashes and dots. */
        if (n > 0 && ret[n - 1] == '/' && path[0] == '/')
            path++;
        else if ((n == 0 || ret[n - 1] == '/') && path[0] == '.' && path[1] == '/')
            path += 2;
        else
            ret[n++] = *path++;
    }
    ret[n] = '\0';
}

static void
compare_number(struct verify *v, uint64_t addr, size_t frame, const char *what, uint64_t ours,
               uint64_t theirs)
{
    char a[32], b[32];
    if (ours == theirs)
        return;
    snprintf(a, sizeof(a), "%" PRIu64, ours);
    snprintf(b, sizeof(b), "%" PRIu64, theirs);
    difference(v, addr, frame, what, a, b);
}

static void
compare_place(struct verify *v, uint64_t addr, size_t i, const struct sym_frame *frame,
              const struct expected *want)
{
    char joined[PATH_MAX], ours[PATH_MAX], theirs[PATH_MAX];
    compare_number(v, addr, i, "line", frame->line, want->line);
    /* Without a line nothing can be shown of the rest. */
    if (want->line == 0)
        return;
    compare_number(v, addr, i, "column", frame->column, want->column);
    sym_frame_path(frame, joined, sizeof(joined));
    clean_path(joined, ours);
    clean_path(want->file, theirs);
    if (strcmp(ours, theirs) != 0)
        difference(v, addr, i, "file", ours, theirs);
}

/* True if a symbol at `addr` has this name, after Mach-O's underscore. */
static bool
is_symbol(const struct verify *v, uint64_t addr, const char *name)
{
    size_t n = count_until(v->symbols, v->n_symbols, sizeof(*v->symbols), addr);
    for (; n > 0 && v->symbols[n - 1].addr == addr; n--) {
        const char *symbol = v->symbols[n - 1].name;
        if (strcmp(symbol[0] == '_' ? symbol + 1 : symbol, name) == 0)
            return true;
    }
    return false;
}

/* The function itself may go by its symbol instead: old compilers gave linkage names to few, and
 * bitcode builds hid them. */
static bool
same_names(const struct verify *v, const struct sym_frame *frames, size_t n_frames,
           const struct expected *chain, size_t n)
{
    /* A chain of another length differs in its inlining. */
    if (n_frames != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(frames[i].name, chain[i].name) != 0 &&
            (i + 1 < n || !is_symbol(v, frames[i].function_start, frames[i].name)))
            return false;
    }
    return true;
}

static void
append_name(char *text, size_t size, const char *name)
{
    size_t len = strlen(text);
    if (len < size)
        snprintf(text + len, size - len, "%s%s", len ? " < " : "", name);
}

static void
report_chains(struct verify *v, uint64_t addr, const struct sym_frame *frames, size_t n_frames,
              const struct expected *chain, size_t n)
{
    char ours[700] = "", theirs[700] = "";
    for (size_t i = 0; i < n_frames; i++)
        append_name(ours, sizeof(ours), frames[i].name);
    for (size_t i = 0; i < n; i++)
        append_name(theirs, sizeof(theirs), chain[i].name);
    difference(v, addr, 0, "functions", ours, theirs);
}

static void
check_address(struct verify *v, uint64_t addr)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    struct expected chain[SYM_FRAMES_MAX];
    if (!is_code(v, addr))
        return; /* removed by the linker */
    size_t n = expected_chain(v, addr, chain);
    size_t n_frames = sym_index_lookup(v->index, addr, frames, SYM_FRAMES_MAX);
    if (n == 0) {
        /* A line table without a function here: the name, if any, is from a symbol. */
        const struct libdwarf_row *row = find_row(v, addr);
        if (n_frames == 0 || !row || frames[n_frames - 1].source == SYM_SOURCE_DWARF)
            return;
        chain[0] = (struct expected){NULL, row->file, row->line, row->column};
        compare_place(v, addr, 0, &frames[0], &chain[0]);
        return;
    }
    if (!same_names(v, frames, n_frames, chain, n)) {
        report_chains(v, addr, frames, n_frames, chain, n);
        return;
    }
    /* One difference for each address: a wrong file is wrong in every frame. */
    uint64_t before = v->stats.n_differences;
    for (size_t i = 0; i < n && v->stats.n_differences == before; i++)
        compare_place(v, addr, i, &frames[i], &chain[i]);
}

static enum fz_code
list_sequences(struct verify *v, struct fz_error *err)
{
    const struct libdwarf_unit *unit = &v->unit;
    v->n_sequences = 0;
    for (size_t i = 0, first = 0; i < unit->n_rows; i++) {
        if (!unit->rows[i].is_end)
            continue;
        struct sequence *sequences = fz_list_grow(&v->budget, v->sequences, &v->room_sequences,
                                                  v->n_sequences + 1, sizeof(*sequences));
        if (!sequences)
            return fz_budget_fail(&v->budget, err);
        v->sequences = sequences;
        /* Rows of functions that the linker dropped begin outside all code. */
        if (i > first && is_code(v, unit->rows[first].addr))
            sequences[v->n_sequences++] =
                (struct sequence){unit->rows[first].addr, unit->rows[i].addr, first, i - first};
        first = i + 1;
    }
    if (v->n_sequences > 1)
        qsort(v->sequences, v->n_sequences, sizeof(*v->sequences), compare_sequences);
    return FZ_OK;
}

static enum fz_code
list_roots(struct verify *v, struct fz_error *err)
{
    const struct libdwarf_unit *unit = &v->unit;
    v->n_roots = 0;
    for (uint32_t i = 0; i < unit->n_nodes; i++) {
        const struct libdwarf_node *node = &unit->nodes[i];
        for (size_t k = 0; k < node->n_ranges && node->parent == NONE; k++) {
            const struct libdwarf_range *range = &unit->ranges[node->first_range + k];
            struct root *roots =
                fz_list_grow(&v->budget, v->roots, &v->room_roots, v->n_roots + 1, sizeof(*roots));
            if (!roots)
                return fz_budget_fail(&v->budget, err);
            v->roots = roots;
            if (is_code(v, range->low))
                roots[v->n_roots++] = (struct root){range->low, range->high, 0, i};
        }
    }
    if (v->n_roots > 1)
        qsort(v->roots, v->n_roots, sizeof(*v->roots), compare_roots);
    uint64_t reach = 0;
    for (size_t i = 0; i < v->n_roots; i++) {
        reach = v->roots[i].high > reach ? v->roots[i].high : reach;
        v->roots[i].reach = reach;
    }
    return FZ_OK;
}

static enum fz_code
claim_roots(struct verify *v, struct fz_error *err)
{
    struct claim *claims = fz_list_grow(&v->budget, v->claims, &v->room_claims,
                                        v->n_claims + v->n_roots + 1, sizeof(*claims));
    if (!claims)
        return fz_budget_fail(&v->budget, err);
    v->claims = claims;
    for (size_t i = 0; i < v->n_roots; i++)
        claims[v->n_claims++] = (struct claim){v->roots[i].low, v->roots[i].high};
    return FZ_OK;
}

static enum fz_code
check_unit(struct verify *v, struct fz_error *err)
{
    const struct libdwarf_unit *unit = &v->unit;
    enum fz_code code = list_sequences(v, err);
    if (code == FZ_OK)
        code = list_roots(v, err);
    if (code != FZ_OK)
        return code;
    v->stats.n_units++;
    for (uint32_t i = 0; i < unit->n_nodes; i++) {
        const struct libdwarf_node *node = &unit->nodes[i];
        *(node->parent == NONE ? &v->stats.n_functions : &v->stats.n_inlines) += 1;
        for (size_t k = 0; k < node->n_ranges; k++) {
            check_address(v, unit->ranges[node->first_range + k].low);
            /* The last byte too: an end that is off by one shows only there. */
            check_address(v, unit->ranges[node->first_range + k].high - 1);
        }
    }
    for (size_t i = 0; i < unit->n_rows; i++) {
        if (unit->rows[i].is_end)
            continue;
        v->stats.n_rows++;
        check_address(v, unit->rows[i].addr);
    }
    /* After the checks: a unit's claims concern the units after it. */
    return claim_roots(v, err);
}

static enum fz_code
check_all(struct verify *v, struct libdwarf_object *object, struct fz_error *err)
{
    for (;;) {
        bool more = false;
        struct fz_error bad;
        enum fz_code code = libdwarf_unit_next(object, &v->budget, &v->unit, &more, &bad);
        /* A unit that libdwarf refuses is a difference, not the end of the comparison. */
        if (code == FZ_E_MALFORMED) {
            v->stats.n_differences++;
            v->report(v->user, bad.text);
            if (!more)
                return FZ_OK; /* what follows a broken header cannot be found */
            continue;
        }
        if (code == FZ_OK && !more)
            return FZ_OK;
        if (code == FZ_OK)
            code = check_unit(v, &bad);
        if (code != FZ_OK)
            return fz_fail(err, code, "%s", bad.text);
    }
}

/* What only our scanner has found is compared nowhere else. */
static void
compare_counts(struct verify *v)
{
    struct sym_index_info info;
    char text[160];
    sym_index_info(v->index, &info);
    if (info.stats.n_functions == v->stats.n_functions &&
        info.stats.n_inlines == v->stats.n_inlines)
        return;
    snprintf(text, sizeof(text),
             "the index has %llu functions and %llu inlined calls, libdwarf reads %llu and %llu",
             (unsigned long long)info.stats.n_functions, (unsigned long long)info.stats.n_inlines,
             (unsigned long long)v->stats.n_functions, (unsigned long long)v->stats.n_inlines);
    v->stats.n_differences++;
    v->report(v->user, text);
}

enum fz_code
sym_verify(const struct sym_macho *macho, const struct sym_index *index, sym_verify_fn report,
           void *user, struct sym_verify_stats *ret, struct fz_error *err)
{
    FZ_CLEANUP(libdwarf_object_closep) struct libdwarf_object *object = NULL;
    enum fz_code code = libdwarf_object_open(macho, NULL, &object, err);
    if (code != FZ_OK)
        return code;
    struct verify v = {.macho = macho, .index = index, .report = report, .user = user};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(MEMORY_CAP);
    v.budget.cap = MEMORY_CAP;
    /* Problems of the table were reported when the index was built. */
    code = sym_macho_symbols(macho, &arena, &v.symbols, &v.n_symbols, NULL, err);
    if (code == FZ_OK)
        code = check_all(&v, object, err);
    if (code == FZ_OK)
        compare_counts(&v);
    libdwarf_unit_deinit(object, &v.budget, &v.unit);
    free(v.sequences);
    free(v.roots);
    free(v.claims);
    if (code == FZ_OK)
        *ret = v.stats;
    return code;
}
