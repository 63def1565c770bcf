/*
 * Moving variants between issues, with their counts. Private to storage.
 *
 * All of it under the project's exclusive lock. Counts stay those of the facts.
 */
#ifndef STORE_MOVES_H
#define STORE_MOVES_H

#include "storage/store_issues.h"
#include "storage/store_private.h"

/* What a change of an issue starts from. */
struct store_issue_row {
    int64_t id, number;
    enum store_issue_state state;
    bool is_regressed, is_placeholder, title_is_ours;
    int64_t n_reports, n_users;
    const char *title, *assignee; /* assignee NULL = no one; arena */
};
/* Take the project's exclusive lock and read the issue. NOT_FOUND; CONFLICT: it was merged. */
FZ_MUST_CHECK enum fz_code store_issue_lock(struct sql *tx, int64_t project_id, int64_t number,
                                            struct fz_arena *arena, struct store_issue_row *ret,
                                            struct fz_error *err);

/* All variants, keys and counts of `from` become `into`'s, where `from` redirects to from then on. */
FZ_MUST_CHECK enum fz_code store_issue_join(struct sql *tx, int64_t from, int64_t into,
                                            const char *actor, struct fz_error *err);
/* `into` takes what people said of `from`, where no one has said it of `into`: state, title, assignee. */
FZ_MUST_CHECK enum fz_code store_issue_inherit(struct sql *tx, int64_t from, int64_t into,
                                               struct fz_error *err);

/* The variant and its counts become another issue's. Then store_issue_total() for both. */
FZ_MUST_CHECK enum fz_code store_variant_move(struct sql *tx, int64_t variant_id, int64_t into,
                                              struct fz_error *err);
/* Counts, times and versions of an issue from those of its variants and users. */
FZ_MUST_CHECK enum fz_code store_issue_total(struct sql *tx, int64_t issue_id,
                                             struct fz_error *err);
/* The title that we give: that of its first key with names, else of its first. `even_if_named`: in
 * place of one that a user has written. */
FZ_MUST_CHECK enum fz_code store_issue_retitle(struct sql *tx, int64_t issue_id, bool even_if_named,
                                               struct fz_error *err);
/* A new issue with the project's next number. */
FZ_MUST_CHECK enum fz_code store_issue_add(struct sql *tx, int64_t project_id, int64_t like,
                                           const char *title, int64_t *ret_id, int64_t *ret_number,
                                           struct fz_error *err);

#endif
