/*
 * The index of a slice of the user's own files, built in memory: for sub-commands that need no
 * server.
 */
#ifndef CLI_SLICE_INDEX_H
#define CLI_SLICE_INDEX_H

#include "symbolicator/symbolicator.h"

struct slice_index {
    struct sym_file *file;
    const struct sym_file_slice *slice; /* in file */
    struct sym_index *index;
};

/* Build the index of one slice, with its symbol map, in a memory file. The caller owns *ret_index
 * (sym_index_close()). ret_stats and problems may be NULL. Errors as sym_index_build(). */
FZ_MUST_CHECK enum fz_code slice_index_build(const struct sym_file_slice *slice,
                                             struct sym_index **ret_index,
                                             struct sym_build_stats *ret_stats,
                                             struct sym_problems *problems, struct fz_error *err);

/*
 * Open `path`, choose the slice of architecture `arch` (NULL: the only one) and build its index.
 * Where that slice has no debug information and `path`.dSYM has the same UUID, that one is used.
 *
 * *ret is ended with slice_index_deinit(). Errors as sym_file_open(), sym_file_choose() and
 * sym_index_build().
 */
FZ_MUST_CHECK enum fz_code slice_index_open(const char *path, const char *arch,
                                            struct slice_index *ret, struct fz_error *err);
void slice_index_deinit(struct slice_index *opened);

#endif
