/*
 * Group commit: one thread takes all reports that wait and stores them in one durable transaction.
 *
 * Thread-safe. The callback runs on the committer's thread after the commit is on disk (or has
 * failed) and must not block.
 */
#ifndef STORE_COMMITTER_H
#define STORE_COMMITTER_H

#include "storage/store.h"

struct store_committer; /* opaque */

/* `item` is the caller's, untouched by others until the callback. code FZ_OK: it is durable (see
 * is_duplicate). */
typedef void (*store_commit_fn)(void *user, struct store_report_new *item, enum fz_code code,
                                const char *text);

FZ_MUST_CHECK enum fz_code
store_committer_start(const char *database_url, struct store_committer **ret, struct fz_error *err);
/* UNAVAILABLE: more than the limit of waiting bytes (64 MiB) or items; nothing was taken, no
 * callback comes.
 */
FZ_MUST_CHECK enum fz_code store_committer_submit(struct store_committer *committer,
                                                  struct store_report_new *item,
                                                  store_commit_fn done, void *user,
                                                  struct fz_error *err);
/* Commits what waits, then ends the thread. */
void store_committer_stop(struct store_committer *committer);

struct store_committer_stats {
    uint64_t n_commits, n_items, n_failures;
};
void store_committer_stats(struct store_committer *committer, struct store_committer_stats *ret);

#endif
