/*
 * Changes of counts, collected over a batch and written with one statement for each row that they
 * touch. Private to storage.
 *
 * A report that is processed again and now belongs elsewhere is taken away where it was and added
 * where it is, so every count is the number of facts that it stands for.
 */
#ifndef STORE_DELTAS_H
#define STORE_DELTAS_H

#include "storage/store_terms.h"

/* A report as the counts see it: one row of facts, and the issue of its variant. */
enum { STORE_FACT_TERMS = STORE_TERM_USER + 1 }; /* columns of facts; [0] is not used */
struct store_fact {
    int64_t received_ms, report_key;
    int64_t variant_id, issue_id, stack_key;
    int64_t terms[STORE_FACT_TERMS]; /* by enum store_term */
    int64_t status;
    bool is_counted;
    struct fz_span version_sort; /* terms.sort of its version; empty = unknown. Borrowed */
};

struct store_delta; /* of one row */
struct store_deltas {
    struct fz_arena *arena;
    struct store_delta *list;
    size_t n, room;
    /* Out: issues that reports were added to and that are not open. */
    int64_t *closed;
    size_t n_closed, closed_room;
};

/* Count a report, or (sign -1) take it away. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code store_deltas_add(struct store_deltas *deltas,
                                            const struct store_fact *fact, int sign,
                                            struct fz_error *err);
/* Write and forget all of them, in an order that is the same for everyone, so that two workers cannot wait for
 * each other. Inside the transaction. */
FZ_MUST_CHECK enum fz_code store_deltas_write(struct store_deltas *deltas, struct sql *tx,
                                              struct fz_error *err);

#endif
