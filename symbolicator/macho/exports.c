/*
 * The exports trie (LC_DYLD_EXPORTS_TRIE, LC_DYLD_INFO; Mach-O loader.h): names that a library
 * keeps for others when its symbol table is stripped.
 *
 *   node     size:uleb [flags:uleb place] n_children:1 child...     `size` is that of the brackets
 *   place    address:uleb                  distance from the header
 *            ordinal:uleb name\0           flag 8: exported on behalf of another library
 *            stub:uleb resolver:uleb       flag 16: a function picks the implementation
 *   child    edge\0 node:uleb              the next letters of the name; the node's offset
 *
 *   00 01 "_f\0" 06 | 02 00 90 20 00   _f at 0x1010 after the header
 *
 * Offsets can point anywhere, also into other nodes, and each terminal node makes a name as long as
 * its path. So every node is visited once, the path is kept on a stack with a limit, and both the
 * edges that are read and the names that are made have a budget. The trie is walked twice: to
 * count, and then to fill what was allocated.
 */
#include "symbolicator/macho/macho.h"

#include "base/buffer.h"
#include "base/reader.h"
#include "symbolicator/macho/symbols.h"

enum {
    EXPORT_KIND = 0x3, /* 0: an address; else thread-local or absolute */
    EXPORT_REEXPORT = 0x8,
    EXPORT_STUB_AND_RESOLVER = 0x10,
};

/* Symbol tables have one byte for the section. */
enum { DEPTH_MAX = 4096, NAME_MAX_LEN = 64 * 1024, SECTIONS_MAX = 255 };
/* Times the size of the trie. In a sound one the edges follow each other and are part of it. */
enum { NAME_BUDGET = 16, NAME_BUDGET_MIN = 65536, EDGE_BUDGET = 2 };

struct level {
    size_t next_child; /* its offset */
    unsigned n_left;
    size_t name_len; /* of the path to here */
};

struct walk {
    const struct sym_macho *macho;
    struct sym_problems *problems; /* NULL while counting, so that each is reported once */
    uint8_t *visited;              /* a bit for each byte of the trie */
    struct level *levels;
    size_t depth;
    struct fz_buffer name;
    const struct sym_section *sections[SECTIONS_MAX];
    size_t n_sections, last_section;
    uint64_t name_budget, edge_budget;
    struct sym_symbol *symbols; /* NULL while counting */
    char *names;
    size_t n, names_len;
    size_t room, names_room; /* as counted */
};

static void
report(struct walk *walk, size_t node, const char *what)
{
    if (walk->problems)
        sym_problem_add(walk->problems, SYM_PROBLEM_BAD_EXPORTS, "exports: node at byte %zu: %s",
                        node, what);
}

/* True if there is code. Exports of one library come from few sections. */
static bool
is_code_at(struct walk *walk, uint64_t addr)
{
    for (size_t i = 0; i < walk->n_sections; i++) {
        /* From the section of the previous export on: it is nearly always the same one. */
        size_t k = (walk->last_section + i) % walk->n_sections;
        const struct sym_section *section = walk->sections[k];
        if (addr >= section->addr && addr - section->addr < section->size) {
            walk->last_section = k;
            return true;
        }
    }
    return false;
}

static void
add_export(struct walk *walk, uint64_t distance, const char **name)
{
    const struct sym_macho *macho = walk->macho;
    uint64_t addr;
    /* Offsets of exports count from the Mach-O header, where __TEXT begins. */
    if (__builtin_add_overflow(macho->text_vmaddr, distance, &addr))
        return;
    /* On 32-bit ARM bit 0 of an exported address marks Thumb code, as in LC_FUNCTION_STARTS. */
    bool is_thumb = fz_arch_has_thumb(macho->cputype) && (addr & 1) != 0;
    addr -= is_thumb;
    /* The trie lists variables too, and does not say which are code. */
    if (!is_code_at(walk, addr) || (walk->symbols && walk->n == walk->room))
        return;
    size_t len = walk->name.len;
    if (!*name) { /* both places of a resolver share it */
        if (len + 1 > walk->name_budget ||
            (walk->symbols && len + 1 > walk->names_room - walk->names_len))
            return;
        walk->name_budget -= len + 1;
        *name = walk->symbols ? walk->names + walk->names_len : "";
        if (walk->symbols)
            memcpy(walk->names + walk->names_len, fz_buffer_cstr(&walk->name), len + 1);
        walk->names_len += len + 1;
    }
    if (walk->symbols)
        walk->symbols[walk->n] = (struct sym_symbol){.addr = addr,
                                                     .name = *name,
                                                     .name_len = (uint32_t)len,
                                                     .is_external = true,
                                                     .is_thumb = is_thumb,
                                                     .is_export = true};
    walk->n++;
}

/* What is in a node's brackets, after its size. False if it is cut off. */
static bool
read_terminal(struct walk *walk, struct fz_span bytes)
{
    struct fz_reader r = fz_reader_make(bytes, "export");
    const char *name = NULL;
    uint64_t flags = fz_read_uleb(&r);
    /* Thread-local and absolute exports are not code; the code of a re-export is in another
     * library. */
    if (r.failed || (flags & EXPORT_KIND) || (flags & EXPORT_REEXPORT))
        return !r.failed;
    uint64_t place = fz_read_uleb(&r);
    /* The resolver runs once at load time, and its frames need a name as well. */
    uint64_t resolver = flags & EXPORT_STUB_AND_RESOLVER ? fz_read_uleb(&r) : place;
    if (r.failed)
        return false;
    if (walk->name.len == 0 || macho_is_placeholder(fz_buffer_cstr(&walk->name), walk->name.len))
        return true;
    add_export(walk, place, &name);
    if (resolver != place)
        add_export(walk, resolver, &name);
    return true;
}

/* Read the node at `offset`, whose name is walk->name, and put it on the stack. */
static void
enter_node(struct walk *walk, uint64_t offset)
{
    struct fz_reader r = fz_reader_make(walk->macho->exports_trie, "exports");
    if (offset >= r.len) {
        report(walk, (size_t)(offset < SIZE_MAX ? offset : SIZE_MAX), "outside");
        return;
    }
    size_t node = (size_t)offset;
    uint8_t bit = (uint8_t)(1u << (node % 8));
    /* Without this a cycle would never end, and shared nodes would multiply. */
    if (walk->visited[node / 8] & bit) {
        report(walk, node, "two edges lead to it");
        return;
    }
    walk->visited[node / 8] |= bit;
    fz_read_seek(&r, offset);
    /* By its size, so that fields of later versions are skipped. */
    struct fz_span terminal = fz_read_bytes(&r, fz_read_uleb(&r));
    unsigned n_children = fz_read_u8(&r);
    if (r.failed || (terminal.len > 0 && !read_terminal(walk, terminal))) {
        report(walk, node, "truncated");
        return;
    }
    if (n_children == 0)
        return;
    /* One level for each edge: real names have a few dozen. */
    if (walk->depth == DEPTH_MAX) {
        report(walk, node, "too deep");
        return;
    }
    walk->levels[walk->depth++] = (struct level){r.pos, n_children, walk->name.len};
}

/* Cut the name to what it was at that level. */
static void
cut_name(struct walk *walk, size_t len)
{
    /* A name that was too long must not fail its siblings. */
    walk->name.failed = false;
    if (walk->name.data) {
        walk->name.len = len;
        walk->name.data[len] = '\0';
    }
}

static void
walk_trie(struct walk *walk)
{
    struct fz_span trie = walk->macho->exports_trie;
    fz_buffer_clear(&walk->name);
    memset(walk->visited, 0, trie.len / 8 + 1);
    walk->n = walk->names_len = walk->depth = 0;
    walk->name_budget = (uint64_t)trie.len * NAME_BUDGET + NAME_BUDGET_MIN;
    walk->edge_budget = (uint64_t)trie.len * EDGE_BUDGET;
    if (trie.len > 0)
        enter_node(walk, 0);
    while (walk->depth > 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        if (level->n_left == 0) {
            walk->depth--;
            continue;
        }
        struct fz_reader r = fz_reader_make(trie, "exports");
        fz_read_seek(&r, level->next_child);
        /* Children may overlap each other: without the budget each could read the rest of the
         * trie. */
        if (fz_read_left(&r) > walk->edge_budget)
            r.len = r.pos + (size_t)walk->edge_budget;
        struct fz_span edge = fz_read_cstr(&r);
        uint64_t offset = fz_read_uleb(&r);
        walk->edge_budget -= (r.failed ? r.len : r.pos) - level->next_child;
        if (r.failed) {
            report(walk, level->next_child, "an edge is truncated");
            walk->depth--;
            continue;
        }
        level->next_child = r.pos;
        level->n_left--;
        cut_name(walk, level->name_len);
        fz_buffer_append(&walk->name, edge.data, edge.len);
        if (walk->name.failed)
            report(walk, level->next_child, "the name is too long");
        else
            enter_node(walk, offset);
    }
}

static enum fz_code
read_exports(struct walk *walk, struct fz_arena *arena, struct fz_arena *scratch,
             struct sym_problems *problems, struct fz_error *err)
{
    walk->visited = fz_arena_alloc(scratch, walk->macho->exports_trie.len / 8 + 1);
    walk->levels = fz_arena_array(scratch, DEPTH_MAX, sizeof(*walk->levels));
    if (!walk->visited || !walk->levels)
        return fz_arena_fail(scratch, err);
    for (size_t i = 0; i < walk->macho->n_sections && walk->n_sections < SECTIONS_MAX; i++) {
        if (macho_is_code(&walk->macho->sections[i]))
            walk->sections[walk->n_sections++] = &walk->macho->sections[i];
    }
    walk_trie(walk);
    struct sym_symbol *symbols = fz_arena_array(arena, walk->n, sizeof(*symbols));
    walk->names = fz_arena_alloc(arena, walk->names_len);
    walk->room = walk->n;
    walk->names_room = walk->names_len;
    if (!symbols || !walk->names)
        return fz_arena_fail(arena, err);
    walk->symbols = symbols;
    walk->problems = problems;
    walk_trie(walk);
    return macho_sort_symbols(walk->symbols, walk->n, arena, err);
}

enum fz_code
sym_macho_exports(const struct sym_macho *macho, struct fz_arena *arena, struct sym_symbol **ret,
                  size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    struct walk walk = {.macho = macho};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena scratch = fz_arena_make(arena->cap - arena->used);
    fz_buffer_init(&walk.name, NAME_MAX_LEN);
    enum fz_code code = read_exports(&walk, arena, &scratch, problems, err);
    if (code == FZ_OK) {
        *ret = walk.symbols;
        *ret_n = walk.n;
    }
    fz_buffer_deinit(&walk.name);
    return code;
}

/* Move the exports at addresses that are not among the symbols' to the front; how many. */
static size_t
move_uncovered(const struct sym_symbol *symbols, size_t n_symbols, struct sym_symbol *exports,
               size_t n_exports)
{
    size_t n = 0;
    for (size_t i = 0, at = 0; i < n_exports; i++) {
        /* Both lists are sorted, so one pass is enough. */
        while (at < n_symbols && symbols[at].addr < exports[i].addr)
            at++;
        if (at == n_symbols || symbols[at].addr != exports[i].addr)
            exports[n++] = exports[i];
    }
    return n;
}

/* Both lists as one, sorted; the exports' names are copied into the arena. */
static enum fz_code
join(struct sym_symbol **symbols, size_t *n_symbols, const struct sym_symbol *exports,
     size_t n_exports, struct fz_arena *arena, struct fz_error *err)
{
    if (n_exports == 0)
        return FZ_OK;
    struct sym_symbol *all = n_exports <= SIZE_MAX - *n_symbols
                                 ? fz_arena_array(arena, *n_symbols + n_exports, sizeof(*all))
                                 : NULL;
    if (!all)
        return fz_arena_fail(arena, err);
    size_t n = 0;
    for (size_t at = 0, i = 0; at < *n_symbols || i < n_exports;) {
        if (i == n_exports || (at < *n_symbols && (*symbols)[at].addr < exports[i].addr)) {
            all[n++] = (*symbols)[at++];
            continue;
        }
        all[n] = exports[i++];
        /* The scratch arena that has the names is freed by the caller. */
        all[n].name = fz_arena_text(arena, fz_span_make(all[n].name, all[n].name_len));
        if (!all[n++].name)
            return fz_arena_fail(arena, err);
    }
    *symbols = all;
    *n_symbols = n;
    return FZ_OK;
}

enum fz_code
sym_macho_names(const struct sym_macho *macho, struct fz_arena *arena, struct sym_symbol **ret,
                size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    struct sym_symbol *symbols, *exports;
    size_t n_symbols, n_exports;
    enum fz_code code = sym_macho_symbols(macho, arena, &symbols, &n_symbols, problems, err);
    if (code != FZ_OK)
        return code;
    if (macho->exports_trie.len > 0) {
        /* Most exports are in the symbol table too: what is not needed is freed at once. */
        FZ_CLEANUP(fz_arena_deinit)
        struct fz_arena scratch = fz_arena_make(arena->cap - arena->used);
        code = sym_macho_exports(macho, &scratch, &exports, &n_exports, problems, err);
        if (code == FZ_OK) {
            n_exports = move_uncovered(symbols, n_symbols, exports, n_exports);
            code = join(&symbols, &n_symbols, exports, n_exports, arena, err);
        }
        if (code != FZ_OK)
            return code;
    }
    *ret = symbols;
    *ret_n = n_symbols;
    return FZ_OK;
}
