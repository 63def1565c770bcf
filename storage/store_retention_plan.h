/*
 * What a sweep of retention is going to delete. Private to storage; the contract is in store_retention.h.
 */
#ifndef STORE_RETENTION_PLAN_H
#define STORE_RETENTION_PLAN_H

#include "storage/store_private.h"
#include "storage/store_retention.h"
#include "storage/store_retention_use.h"

enum { STORE_PLAN_MAX = 20000 /* reports, and as many bodies, that one sweep deletes */ };

struct store_plan_row {
    int64_t key, received_ms;
    int64_t issue; /* issues.id; 0 = none */
    int64_t score; /* of a candidate for thinning */
    char id[STORE_ID_TEXT];
};

struct store_plan_rows {
    struct store_plan_row *rows; /* malloc'ed */
    size_t n, room;
};

/* What was seen of an issue so far, in the order of arrival. */
struct store_plan_issue {
    int64_t id;
    int64_t n;                    /* reports */
    int64_t first, newest, named; /* keys of reports; named: the newest one with all its names */
};

struct store_retention_plan {
    int64_t project_id, now_ms;
    struct store_retention retention;
    struct store_retention_state state;
    struct store_use_sample sample;
    struct store_retention_use use; /* when all reports were looked at */
    struct store_retention_due due;
    struct fz_arena arena;
    const char **named; /* ids that comments and regressions name; sorted */
    size_t n_named;
    struct store_plan_issue *issues; /* malloc'ed; a table by hash */
    size_t n_issues, issue_room;     /* a power of two */
    int64_t after_ms;                /* where to go on looking */
    char after_id[STORE_ID_TEXT];
    struct store_plan_rows aged, heap,
        bodies; /* heap: the highest scores; the lowest one is first */
    bool is_looked;
    size_t n_done, n_bodies_done; /* of aged and then heap; of bodies */
    int64_t symbol_after;         /* keys up to here were looked at for deleting */
    bool symbols_are_done;
};

FZ_MUST_CHECK enum fz_code store_plan_put(struct store_plan_rows *rows,
                                          const struct store_plan_row *row, struct fz_error *err);
/* Of all that are put, the STORE_PLAN_MAX that go first stay. The first of the list is the one that goes last. */
FZ_MUST_CHECK enum fz_code store_plan_put_heap(struct store_plan_rows *heap,
                                               const struct store_plan_row *row,
                                               struct fz_error *err);
/* In the order in which they go: by score, and of two with one score the older one first. */
void store_plan_sort(struct store_plan_rows *rows);

/* What is due of symbol files and of memory, into plan->due. */
FZ_MUST_CHECK enum fz_code store_plan_count(struct store *store, struct store_retention_plan *plan,
                                            struct fz_error *err);
/* Delete some symbol files, and other files, that are not used. In a transaction of its own. */
FZ_MUST_CHECK enum fz_code store_plan_drop_symbols(struct store *store,
                                                   struct store_retention_plan *plan,
                                                   struct store_retention_done *ret_done,
                                                   struct fz_error *err);
/* CONFLICT as in store_retention_portion(). Takes the row of the project's settings. */
FZ_MUST_CHECK enum fz_code store_plan_check(struct sql *tx, const struct store_retention_plan *plan,
                                            uint64_t n, struct fz_error *err);

/* Delete reports in one transaction, as store_report_delete() does; those that are not there any more are passed over. Inside
 * a transaction that holds the project's lock. */
FZ_MUST_CHECK enum fz_code store_reports_delete(struct store *store, int64_t project_id,
                                                const struct store_plan_row *rows, size_t n,
                                                int64_t old_ms, uint64_t *ret_n,
                                                struct fz_error *err);

#endif
