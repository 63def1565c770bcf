/*
 * A range of time without columns, read as rows of facts, which become columns of 8 bytes. Private to storage.
 */
#ifndef STORE_FACT_GAP_H
#define STORE_FACT_GAP_H

#include "storage/store_fact_scan.h"

enum { STORE_FACT_GAP_ROWS = 1024 /* of a batch, at most */ };

struct store_fact_range {
    int64_t from_ms, to_ms; /* without to_ms; INT64_MAX: no end */
    bool is_falling;        /* the newest fact comes first, if there is an order */
};

/* Zeros: none was opened. */
struct store_fact_gap {
    struct sql_ints ints;
    bool is_open;
    uint8_t *bytes; /* of the columns of a batch; owned */
};

FZ_MUST_CHECK enum fz_code store_fact_gap_open(struct store_fact_gap *gap,
                                               const struct store_fact_query *facts,
                                               const struct store_fact_want *want,
                                               const struct store_fact_range *range,
                                               struct fz_error *err);
/* The next facts, as a batch: `ret_at` has room for STORE_FACT_GAP_ROWS. Returns how many; after the last, the gap is not open any
 * more. The columns are borrowed until the next call. */
size_t store_fact_gap_read(struct store_fact_gap *gap, const struct store_fact_want *want,
                           struct store_block *ret_columns, uint32_t *ret_at, enum fz_code *code,
                           struct fz_error *err);
void store_fact_gap_close(struct store_fact_gap *gap);

#endif
