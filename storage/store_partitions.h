/*
 * Months of reports on PostgreSQL: tables for those to come, and the space of those that are over.
 *
 * Reports, their bodies, results and memory have a partition for each month in which reports came (migrations/postgresql/
 * 0035_expand_months.sql), by the server's clock. When retention deletes reports of a month that is over because of their age, it
 * deletes their rows, and leaves bodies and results, which are nearly all of the bytes, until the whole month goes:
 *
 *   left of the month               what happens
 *   no report                       its tables are dropped
 *   a tenth or less (samples)       the reports that stay are copied into new tables, and the old tables dropped
 *   more                            nothing yet; after STORE_MONTH_WAIT_DAYS, the same as with a tenth
 *
 * A report that somebody deletes leaves nothing, and no query finds what has no report. SQLite has no partitions: nothing happens.
 */
#ifndef STORE_PARTITIONS_H
#define STORE_PARTITIONS_H

#include "storage/sql/sql.h"
#include "storage/store.h"

enum { STORE_MONTHS_AHEAD = 2, STORE_MONTH_WAIT_DAYS = 35 };

struct store_months_done {
    uint64_t n_made, n_dropped,
        n_copied;       /* months; copied: what stays, and the old tables dropped */
    uint64_t n_reports; /* that were copied */
    uint64_t bytes;     /* given back to the disk */
};

/* Make the tables of this month and the next ones, then give back what months that are over have left. UNAVAILABLE: others
 * use the tables; what is left is for the next call. */
FZ_MUST_CHECK enum fz_code store_months_sweep(struct store *store, struct store_months_done *ret,
                                              struct fz_error *err);

/* Tables that ANALYZE has found empty are planned to be read whole, and kept plans would do so while they fill. One that is made
 * empty anew is planned like one of ten pages. UNAVAILABLE: others use them. */
FZ_MUST_CHECK enum fz_code store_months_settle(struct sql *sql, struct fz_error *err);

/* In a transaction that is about to delete the reports of these keys: of months that are over, bodies and results stay until the
 * month goes. */
FZ_MUST_CHECK enum fz_code store_months_leave(struct sql *tx, const int64_t *keys, size_t n,
                                              struct fz_error *err);

#endif
