/*
 * All that is stored about one user of an app, by the user's id: what there is, and how it is erased.
 *
 * Erasing deletes the user's reports, a few in each transaction, and then takes the id out of what stays: counts of
 * issues, versions and days are of no one any more. It is a row of its own, so a process that is killed leaves work
 * that the next sweep goes on with. Counters of distinct users (HyperLogLog) hold no id, and stay.
 */
#ifndef STORE_PERSON_H
#define STORE_PERSON_H

#include "storage/store.h"

enum { STORE_PERSON_ID_MAX = 256 };

struct store_person {
    uint64_t n_reports;        /* stored ones */
    uint64_t n_facts;          /* reports that were counted, also those deleted since */
    int64_t first_ms, last_ms; /* received; 0 = none */
};
/* NOT_FOUND: nothing is known of the id. */
FZ_MUST_CHECK enum fz_code store_person_get(struct store *store, int64_t project_id, const char *id,
                                            struct store_person *ret, struct fz_error *err);
struct store_person_query {
    int64_t project_id;
    const char *id;
    const char *after; /* NULL = from the start */
    size_t limit;
};
/* Ids of the user's reports after `after`, in the order of the ids. */
FZ_MUST_CHECK enum fz_code store_person_reports(struct store *store,
                                                const struct store_person_query *query,
                                                struct fz_arena *arena, const char ***ret,
                                                size_t *ret_n, struct fz_error *err);

/* Begin to erase; what is being erased already is not begun again. NOT_FOUND: nothing is known of the id. */
FZ_MUST_CHECK enum fz_code store_erasure_begin(struct store *store, int64_t project_id,
                                               const char *id, int64_t *ret_erasure,
                                               struct fz_error *err);
/* One step of the oldest erasure, of any project. *ret_more: there is more to do. Two at once do no harm. Connections that store
 * reports call it now and then, also when there is none: it makes them forget numbers of texts that were erased. */
FZ_MUST_CHECK enum fz_code store_erasure_step(struct store *store, bool *ret_more,
                                              struct fz_error *err);

struct store_erasure {
    int64_t id, created_ms, finished_ms; /* 0 = it is under way */
    uint64_t n_reports;                  /* deleted so far */
};
FZ_MUST_CHECK enum fz_code store_erasure_get(struct store *store, int64_t project_id, int64_t id,
                                             struct store_erasure *ret, struct fz_error *err);

#endif
