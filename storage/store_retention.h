/*
 * Retention: what a project keeps of what was sent, for how long, and what a sweep deletes.
 *
 * A sweep looks first (store_retention_look()), which changes nothing, and deletes then in portions
 * (store_retention_portion()), so that ingest never waits for it. Reports are deleted as a user deletes them:
 * their facts and all counts stay. Above a number of reports, those of frequent issues go first: the
 * score of a report is the number of bits of (random · 2 · n-th of its issue) plus the logarithm to base 4 of
 * its age in hours, as Bugsink has it, and the highest ones go. A rare issue keeps all of its reports:
 *
 *   n-th of its issue   random · 2 · n   bits       age     log4   score
 *   3                   0 to 5           0 to 3     90 days 5.5    at most 8.5
 *   5,000               0 to 9,999       mostly 13  1 hour  0.5    mostly 13.5
 *
 * A sweep that would delete more than a fifth of something at once, because a setting was changed or the clock
 * was, waits until somebody confirms it (store_retention_hold()).
 */
#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include "storage/store.h"

enum {
    STORE_REPORT_DAYS = 90, /* of a new project */
    STORE_SYMBOL_DAYS = 365,
    STORE_RETENTION_DAYS_MAX = 36500,
    STORE_RETENTION_PORTION = 100, /* reports that one transaction deletes */
};
static const int64_t STORE_RETENTION_COUNT_MAX = INT64_C(1000000000000);

struct store_retention {
    int64_t report_days; /* 0 = no limit, as for all numbers here */
    int64_t report_max;
    int64_t body_days;   /* of bodies as they were sent; the report's result stays */
    int64_t symbol_days; /* that no stored report has needed the file */
    int64_t bytes_max;   /* of everything; reports are thinned out for it */
    bool
        keeps_samples; /* each issue keeps its first, newest and best named report beyond report_days */
};

struct store_retention_state {
    int64_t version;                 /* grows with each change of the settings */
    int64_t swept_ms, swept_version; /* the last sweep that was complete; 0 = none */
    int64_t held_ms, held_n; /* since when one waits, and for deleting how much; 0 = none does */
    int64_t allowed;         /* how much somebody has confirmed */
};

/* NOT_FOUND: there is no such project. `ret_state` may be NULL. */
FZ_MUST_CHECK enum fz_code store_retention_get(struct store *store, int64_t project_id,
                                               struct store_retention *ret,
                                               struct store_retention_state *ret_state,
                                               struct fz_error *err);
bool store_retention_is_same(const struct store_retention *a, const struct store_retention *b);
/* Also has the next sweep begin at once. MALFORMED: a number is negative or above its maximum. */
FZ_MUST_CHECK enum fz_code store_retention_set(struct store *store, int64_t project_id,
                                               const struct store_retention *retention,
                                               struct fz_error *err);
/* The sweep that waits may delete about `n` things. */
FZ_MUST_CHECK enum fz_code store_retention_confirm(struct store *store, int64_t project_id,
                                                   int64_t n, struct fz_error *err);

/* ---- looking ---- */

struct store_stored {
    uint64_t n, bytes;
};
/* Bytes as they are in the database, compressed. Of many reports, they are estimated from some of
 * them; of symbol files, they are those of the files without their indexes. */
struct store_retention_use {
    struct store_stored bodies, results, memory, symbols;
    uint64_t n_reports;
    bool is_estimated;
};
uint64_t store_retention_bytes(const struct store_retention_use *use);

struct store_retention_plan; /* opaque */

struct store_retention_due {
    uint64_t n_reports, n_aged,
        n_thinned;      /* stored; beyond report_days; beyond the number or the bytes */
    uint64_t n_samples; /* beyond report_days, and kept */
    uint64_t n_stored_bodies, n_bodies; /* stored; of reports that stay, beyond body_days */
    uint64_t n_stored_memory,
        n_memory; /* stored; beyond memory_days, which store_sweep_rows() deletes */
    uint64_t n_stored_symbols, n_symbols, symbol_bytes; /* stored; unused for symbol_days */
    uint64_t bytes;    /* of all that is deleted, about; without symbol files */
    bool is_over;      /* bytes_max cannot be kept: symbol files alone need too much of it */
    bool is_estimated; /* by store_retention_estimate() */
    bool is_cut;       /* more is due than one sweep deletes; the next one begins at once */
};

/* Begin to look with these settings, which need not be those of the project. */
FZ_MUST_CHECK enum fz_code store_retention_plan_create(struct store *store, int64_t project_id,
                                                       const struct store_retention *retention,
                                                       struct store_retention_plan **ret,
                                                       struct fz_error *err);
void store_retention_plan_destroy(struct store_retention_plan *plan);
void store_retention_plan_destroyp(struct store_retention_plan **plan);
/* Look at some thousand reports more. Only with *ret_is_done the next ones may be called. */
FZ_MUST_CHECK enum fz_code store_retention_look(struct store *store,
                                                struct store_retention_plan *plan,
                                                bool *ret_is_done, struct fz_error *err);
/* Look no further: what is due of the rest is estimated, and what is stored is what the last sweep has counted. Then nothing may be
 * deleted by the plan. */
FZ_MUST_CHECK enum fz_code store_retention_estimate(struct store *store,
                                                    struct store_retention_plan *plan,
                                                    struct fz_error *err);
const struct store_retention_use *store_retention_use(const struct store_retention_plan *plan);
const struct store_retention_due *store_retention_due(const struct store_retention_plan *plan);
/* All that a sweep would delete. */
uint64_t store_retention_total(const struct store_retention_due *due);

/* ---- deleting ---- */

/* Does the plan have to wait? Notes in the database that it does, or that none does. */
FZ_MUST_CHECK enum fz_code store_retention_hold(struct store *store,
                                                struct store_retention_plan *plan,
                                                bool *ret_is_held, struct fz_error *err);
struct store_retention_done {
    uint64_t n_reports, n_bodies, n_symbols, n_files; /* files: other ones that uploaders sent */
};
/* Delete a portion in one transaction; *ret_done is added to. The last one notes that the sweep is complete.
 * CONFLICT: the settings were changed since the plan was made, and nothing was deleted. */
FZ_MUST_CHECK enum fz_code store_retention_portion(struct store *store,
                                                   struct store_retention_plan *plan,
                                                   struct store_retention_done *ret_done,
                                                   bool *ret_is_done, struct fz_error *err);

/* SQLite: write the database anew without the free pages, which needs as much free disk and keeps writers waiting.
 * UNSUPPORTED: PostgreSQL does so by itself. */
FZ_MUST_CHECK enum fz_code store_vacuum(struct store *store, struct fz_error *err);

#endif
