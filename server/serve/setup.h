/*
 * What `serve` does before it accepts requests: the data directory and its lock, and what an
 * earlier run left. The first start has a file of its own, first.h.
 */
#ifndef SERVE_SETUP_H
#define SERVE_SETUP_H

#include <limits.h>
#include <signal.h>

#include "server/api/api.h"
#include "server/config/config.h"
#include "server/outbox/outbox.h"
#include "storage/blob/blob.h"
#include "storage/store.h"

/* Make the data directory (0700) and its tmp folder. For SQLite, take the lock that keeps a second
 * serve from the same database: *ret_lock_fd is held until the process ends (-1 for PostgreSQL).
 * CONFLICT: another serve has it; the message names its process. */
FZ_MUST_CHECK enum fz_code serve_setup_directory(const struct config *config, int *ret_lock_fd,
                                                 struct fz_error *err);

/* Only that lock, of another database than the configured one; PostgreSQL has none. */
FZ_MUST_CHECK enum fz_code serve_setup_lock(const char *database_url, int *ret_lock_fd,
                                            struct fz_error *err);

/* Wait until the database is up, for up to limits.database_wait_s; later failures are those of whoever opens it. UNAVAILABLE:
 * one of `signals` (blocked) came meanwhile. */
FZ_MUST_CHECK enum fz_code serve_setup_database(const struct config *config,
                                                const sigset_t *signals, struct fz_error *err);

/* Where blobs are, and the folder of `cache` for what an object store keeps here. */
struct blob_config serve_setup_blob_config(const struct config *config, char cache[PATH_MAX]);
/* Wait in the same way until the object store is up and can be written to; a folder is not waited for.
 * DENIED, MALFORMED: what it refuses, at once. UNAVAILABLE: it was not up in that time, or a signal came. */
FZ_MUST_CHECK enum fz_code serve_setup_blobs(const struct config *config, const sigset_t *signals,
                                             struct fz_error *err);

/* Give back the jobs of workers of this machine that were killed (kill -9, power cut): their leases
 * need not run out. Queue jobs that rebuild the indexes which another version of the program wrote.
 * Before workers are started. A database that cannot be written, as on a full disk, is only logged. */
FZ_MUST_CHECK enum fz_code serve_setup_jobs(struct store *store, struct fz_error *err);

/* How alerts are sent, with links to `url`; its texts are those of the arguments. MALFORMED: the
 * mail server, the internal targets. */
FZ_MUST_CHECK enum fz_code serve_setup_alerts(const struct config *config, const char *url,
                                              struct outbox_setup *ret, struct fz_error *err);

/* config->workers, where it is one per core, as a number. */
void serve_setup_workers(struct config *config);

/* How clients reach a server that listens at `bound` (http_url()). */
void serve_setup_url(const struct config *config, const char *bound, char ret[256]);

/* How people log in. The texts are the configuration's, into which the secret of the OpenID provider
 * is read from its file. MALFORMED: what the provider's settings lack. */
FZ_MUST_CHECK enum fz_code serve_setup_login(struct config *config, struct api_login *ret,
                                             struct fz_error *err);

#endif
