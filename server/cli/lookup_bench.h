/*
 * `framezero lookup --bench`: what a lookup costs.
 */
#ifndef CLI_LOOKUP_BENCH_H
#define CLI_LOOKUP_BENCH_H

#include "symbolicator/symbolicator.h"

/*
 * Look the addresses of standard input up, n times in all, and print the nanoseconds of CPU time
 * per lookup: many at once, and one by one.
 *
 * MALFORMED: a line is not an address, or the input is empty. NOT_FOUND: no address has a name.
 */
FZ_MUST_CHECK enum fz_code lookup_bench(const struct sym_index *index, uint64_t n,
                                        struct fz_error *err);

#endif
