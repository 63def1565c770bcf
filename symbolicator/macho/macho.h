/*
 * What a Mach-O slice contains, for the readers inside symbolicator: segments, sections, function
 * symbols.
 */
#ifndef SYM_MACHO_MACHO_H
#define SYM_MACHO_MACHO_H

#include "symbolicator/symbolicator.h"

struct sym_section {
    char segment[17], name[17];
    uint64_t addr, size;
    uint32_t flags;
    struct fz_span
        bytes; /* empty if the file does not carry them: zero-fill, left out of a dSYM, encrypted */
};

struct sym_segment {
    char name[17];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    uint32_t initprot;
};

/* The section, or NULL. The name may be given without regard to the 16 byte limit
 * ("__debug_str_offsets" finds
 * "__debug_str_offs"). */
const struct sym_section *sym_macho_section(const struct sym_macho *macho, const char *segment,
                                            const char *name);

/* A function symbol: a name on an address in a section that holds code. */
struct sym_symbol {
    uint64_t addr;
    const char *name; /* NUL-terminated within the string table, or in the arena if it is an
                         export's; the leading underscore is kept */
    uint32_t name_len;
    bool is_external, is_thumb;
    bool is_export; /* of the exports trie, not of the symbol table */
};

/* Function symbols of the symbol table, sorted by address and then in table order: sections with
 * code only, no stabs, no undefined, no __mh_execute_header. The array is in the arena (malloc'd
 * blocks; cap it for large files). */
FZ_MUST_CHECK enum fz_code sym_macho_symbols(const struct sym_macho *macho, struct fz_arena *arena,
                                             struct sym_symbol **ret, size_t *ret_n,
                                             struct sym_problems *problems, struct fz_error *err);

/*
 * Function symbols of the exports trie, in the same form and order; those of one address in the
 * order of the trie. Re-exports, data, absolute and thread-local symbols are left out. An export
 * with a resolver is a name of both its stub and its resolver.
 *
 * A bad node loses only itself and its children, and is a problem. LIMIT, NO_MEMORY: the arena.
 */
FZ_MUST_CHECK enum fz_code sym_macho_exports(const struct sym_macho *macho, struct fz_arena *arena,
                                             struct sym_symbol **ret, size_t *ret_n,
                                             struct sym_problems *problems, struct fz_error *err);

/* Function symbols of the symbol table, and the exports at addresses that it has no symbol for:
 * what has a name in a slice, sorted by address. */
FZ_MUST_CHECK enum fz_code sym_macho_names(const struct sym_macho *macho, struct fz_arena *arena,
                                           struct sym_symbol **ret, size_t *ret_n,
                                           struct sym_problems *problems, struct fz_error *err);

/* LC_FUNCTION_STARTS as sorted addresses (bit 0 cleared on 32-bit ARM). */
FZ_MUST_CHECK enum fz_code sym_macho_function_starts(const struct sym_macho *macho,
                                                     struct fz_arena *arena, uint64_t **ret,
                                                     size_t *ret_n, struct sym_problems *problems,
                                                     struct fz_error *err);

#endif
