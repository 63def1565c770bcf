/*
 * A sealed day as columns: which of its facts meet a query.
 *
 * A scan has one, and lends others to the thread that counts with it: each thread looks through its own days. Private to storage.
 */
#ifndef STORE_FACT_DAY_H
#define STORE_FACT_DAY_H

#include "storage/store_fact_cache.h"
#include "storage/store_fact_filter.h"

/* What is looked for: the same for all days of a scan, which any thread may read. */
struct store_fact_pick {
    struct store_fact_filter filter;
    int64_t since_ms, until_ms; /* as in the query: 0 = no end */
    bool needs[STORE_FACT_COLUMNS];
    bool counted_only, kept_only;
    bool is_falling; /* the newest fact comes first */
    bool has_after;  /* only what comes after this fact */
    int64_t after_ms, after_key;
};

/* Its columns, as far as they are needed, and places in them. Zeros: none. */
struct store_fact_day {
    size_t n; /* facts that it has */
    struct store_block columns[STORE_FACT_COLUMNS];
    struct store_fact_kept *kept[STORE_FACT_COLUMNS]; /* held; what the columns are of, or NULL */
    uint32_t *at;                                     /* owned: the places of the facts */
    size_t room_at;
    uint32_t *tag_starts; /* owned */
    size_t room_tags;
};
/* Let go of its columns; the memory is used again for the next day. */
void store_fact_day_drop(struct store_fact_day *day);
/* The same, and free its memory. */
void store_fact_day_deinit(struct store_fact_day *day);
/* Have room for the places of `n` facts. */
FZ_MUST_CHECK enum fz_code store_fact_day_room(struct store_fact_day *day, size_t n,
                                               struct fz_error *err);

/* Before it is looked through: `columns` are of this day, which has `n` facts. False: they cannot be, so they are damaged. */
bool store_fact_day_start(struct store_fact_day *day, const struct store_fact_pick *pick,
                          int64_t number, size_t n);
/* The places of the facts that meet the query, to day->at; *ret_others: how many do not. */
FZ_MUST_CHECK enum fz_code store_fact_day_pick(struct store_fact_day *day,
                                               const struct store_fact_pick *pick, size_t *ret_n,
                                               size_t *ret_others, struct fz_error *err);

#endif
