/*
 * Reading facts that meet a query: sealed days as columns, all other days as rows, in one loop.
 *
 *     struct store_fact_scan *scan;
 *     code = store_fact_scan_open(&facts, &want, &scan, err);
 *     while (store_fact_scan_next(scan, &batch, &code, err))
 *         for (size_t i = 0; i < batch.n; i++)
 *             ... store_block_get(&batch.columns[STORE_FACT_USER], batch.at[i]) ...
 *     store_fact_scan_close(scan);
 *
 * Each day is read in one statement, so it is as it was at one moment. Few facts that an index finds are read as rows, and so is
 * whatever depends on a report's own row. Private to storage.
 */
#ifndef STORE_FACT_SCAN_H
#define STORE_FACT_SCAN_H

#include "storage/store_block.h"
#include "storage/store_fact_day.h"
#include "storage/store_fact_query.h"

enum store_fact_order { STORE_FACTS_ANY_ORDER, STORE_FACTS_NEWEST_FIRST, STORE_FACTS_OLDEST_FIRST };

struct store_fact_want {
    const enum store_fact_column
        *columns; /* at most SQL_INTS; no tags, no texts of rows, and not STORE_FACT_RUN */
    size_t n_columns;
    bool counted_only; /* facts that are counted */
    bool kept_only;    /* facts of reports that are there */
    enum store_fact_order order;
    size_t limit; /* so many are needed; 0 = all */
    size_t
        n_days; /* of this order: only as many sealed days, and what is before and between them; 0 = all */
    bool has_after;
    int64_t after_ms, after_key; /* with an order: only what comes after this fact */
};

struct store_fact_kept;
struct store_fact_batch {
    size_t n;
    const uint32_t *at; /* places in the columns */
    /* Those that are wanted. STORE_FACT_RECEIVED is received_ms; STORE_FACT_REPORT is 0 or negative if the report was deleted. */
    const struct store_block *columns;
    size_t n_others; /* facts of sealed days until now that do not meet the conditions */
    /* What has the column received_ms in memory, where it can be held on to; the facts are in the order of time then. Or NULL. */
    struct store_fact_kept *times;
};

struct store_fact_scan;
/* `facts` and want->columns are borrowed until the end. On success the caller ends it with store_fact_scan_close(). */
FZ_MUST_CHECK enum fz_code store_fact_scan_open(const struct store_fact_query *facts,
                                                const struct store_fact_want *want,
                                                struct store_fact_scan **ret, struct fz_error *err);
/* As sql_row(): true for facts, at least one. With a `*code` of store_fact_scan_open() that failed: false. `ret` is borrowed until the next call. */
bool store_fact_scan_next(struct store_fact_scan *scan, struct store_fact_batch *ret,
                          enum fz_code *code, struct fz_error *err);
/* Facts of the sealed days that are left to read: at most so many meet the query, but for those of other days. */
uint64_t store_fact_scan_expects(const struct store_fact_scan *scan);
/*
 * Instead of store_fact_scan_next(): the next day, not looked through, for another thread. False: it is not all in memory that can be
 * held, or there is none, so store_fact_scan_next() comes next. `ret` is zeros, or had its columns dropped
 * (store_fact_day_drop()); the caller ends it with store_fact_day_deinit(). `*code` is as for store_fact_scan_next().
 */
bool store_fact_scan_lend(struct store_fact_scan *scan, struct store_fact_day *ret,
                          enum fz_code *code, struct fz_error *err);
/* In that thread, while the scan goes on: its facts that meet the query, which may be none. `ret` is borrowed from `lent`. */
FZ_MUST_CHECK enum fz_code store_fact_scan_read(const struct store_fact_scan *scan,
                                                struct store_fact_day *lent,
                                                struct store_fact_batch *ret, struct fz_error *err);
void store_fact_scan_close(struct store_fact_scan *scan);

/*
 * Before store_fact_query_plan(). *ret_all: do all facts that count meet the conditions, so that counts of all time can be used
 * instead? *ret_many: do so many of the newest that no index is better than columns? Both are false where that is not known, as
 * among few facts, which are counted as fast (store_fact_all.c).
 */
FZ_MUST_CHECK enum fz_code store_fact_query_look(const struct store_fact_query *facts,
                                                 bool *ret_all, bool *ret_many,
                                                 struct fz_error *err);
/* It is looked for among so many sealed facts or more; 0 = the default. */
void store_set_all_from(struct store *store, uint64_t facts);

#endif
