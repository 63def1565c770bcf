/*
 * The rows of one table in a transfer: into the new database, and as a sum to compare both sides by.
 */
#ifndef STORE_TRANSFER_ROWS_H
#define STORE_TRANSFER_ROWS_H

#include "storage/store_transfer.h"
#include "storage/store_transfer_tables.h"

/* Independent of the order of the rows. */
struct store_transfer_sum {
    uint64_t n_rows;
    uint64_t hashes[2]; /* sums of the first two words of each row's SHA-256, modulo 2^64 */
};

/* Say to the watch, if there is one, how far a step is. */
void store_transfer_tell(const struct store_transfer_watch *watch, enum store_transfer_step step,
                         const char *what, uint64_t done, uint64_t total);

/* Copy what comes after the first `done` rows of the order; `total` of them is only for the watch. Each commit notes how many rows are
 * there. */
FZ_MUST_CHECK enum fz_code store_transfer_copy(struct sql *from, struct sql *to,
                                               const struct store_transfer_table *table,
                                               uint64_t done, uint64_t total,
                                               const struct store_transfer_watch *watch,
                                               struct fz_error *err);

/* Read the whole table. */
FZ_MUST_CHECK enum fz_code store_transfer_sum(struct sql *sql,
                                              const struct store_transfer_table *table,
                                              uint64_t total,
                                              const struct store_transfer_watch *watch,
                                              struct store_transfer_sum *ret, struct fz_error *err);

#endif
