/*
 * The work of `framezero inspect`: read every slice of a symbol file, build its index, and report
 * what is in it and what is wrong.
 */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "symbolicator/symbolicator.h"

/* Write the result to standard output. `verify` compares the debug information with libdwarf's.
 * Returns the exit code: 1 if a slice could not be read, or libdwarf finds a difference. */
int inspect_file(const struct sym_file *file, bool is_json, bool verify);

#endif
