/*
 * The work of `framezero index`: one slice of a symbol file to a file with its symbol index.
 */
#ifndef CLI_INDEX_FILE_H
#define CLI_INDEX_FILE_H

#include "symbolicator/symbolicator.h"

struct index_file_options {
    const char *out; /* the file to write, which is whole or as it was */
    const char
        *symbol_map; /* a .bcsymbolmap; NULL: the one that was found with the slice, if any */
    uint64_t n_jobs; /* threads */
};

/* Write the index and print a line of JSON about it. Errors as sym_index_build(). */
FZ_MUST_CHECK enum fz_code index_file_write(const struct sym_file_slice *slice,
                                            const struct index_file_options *options,
                                            struct fz_error *err);

#endif
