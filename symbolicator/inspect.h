/*
 * What a symbol file holds and what is wrong with it: for `framezero inspect` and for the answer to
 * an upload.
 */
#ifndef SYM_INSPECT_H
#define SYM_INSPECT_H

#include "symbolicator/index.h"
#include "symbolicator/macho.h"

struct sym_features {
    bool symtab, function_starts, dwarf, lines, inlines, variables,
        unwind;                    /* what the slice carries */
    unsigned dwarf_min, dwarf_max; /* versions of its units; 0 without DWARF */
    uint64_t n_symbols, n_functions, n_inlines, n_lines, n_units;
};

/* Read what the slice carries without building an index; problems say what a user should know (no
 * DWARF, no line tables, __hidden# names, encrypted, truncated) and what to do. Counts of DWARF
 * functions, inlines and lines come from `stats` when it is given (the stats of a finished
 * sym_index_build), else stay 0. */
FZ_MUST_CHECK enum fz_code sym_inspect(const struct sym_macho *macho,
                                       const struct sym_build_stats *stats, struct fz_arena *arena,
                                       struct sym_features *ret, struct sym_problems *problems,
                                       struct fz_error *err);

/* One difference between our scanner and libdwarf, as text for a person. */
typedef void (*sym_verify_fn)(void *user, const char *text);

struct sym_verify_stats {
    uint64_t n_units, n_functions, n_inlines, n_rows; /* compared */
    uint64_t n_differences;
};

/* Read the slice a second time through libdwarf (our own Mach-O sections through
 * dwarf_object_init_b) and compare functions, ranges, inline trees and line rows with what `index`
 * answers. Slow, for tests and `inspect --verify`. */
FZ_MUST_CHECK enum fz_code sym_verify(const struct sym_macho *macho, const struct sym_index *index,
                                      sym_verify_fn tell, void *user, struct sym_verify_stats *ret,
                                      struct fz_error *err);

#endif
