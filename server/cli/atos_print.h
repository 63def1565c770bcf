/*
 * The work of `framezero atos`: addresses from the command line, a file or standard input, and a
 * line for each on standard output.
 */
#ifndef CLI_ATOS_PRINT_H
#define CLI_ATOS_PRINT_H

#include "server/cli/atos.h"
#include "server/cli/slice_index.h"

/* The addresses of the file `path` (NULL = none), then those of the array; without either, those of
 * standard input. Returns the exit code. */
int atos_print(const struct slice_index *opened, const struct atos_options *options,
               const char *path, const char *const *addresses, size_t n_addresses);

#endif
