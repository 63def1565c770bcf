/*
 * What `serve` does around its first start: the data directory and its lock, the first tokens,
 * credentials.json, and the commands to try.
 */
#ifndef SERVE_SETUP_H
#define SERVE_SETUP_H

#include "server/config.h"
#include "storage/store.h"

/* Make the data directory (0700) and its tmp folder. For SQLite, take the lock that keeps a second
 * serve from the same database: *ret_lock_fd is held until the process ends (-1 for PostgreSQL).
 * CONFLICT: another serve has it; the message names its process. */
FZ_MUST_CHECK enum fz_code serve_setup_directory(const struct config *config, int *ret_lock_fd,
                                                 struct fz_error *err);

struct serve_first { /* of a first start; empty otherwise */
    bool is_first;
    int64_t project_id;
    char ingest_key[STORE_TOKEN_TEXT], admin_token[STORE_TOKEN_TEXT];
};
/* A database without tokens gets the project "default", an ingest key and an admin token. */
FZ_MUST_CHECK enum fz_code serve_setup_first(const char *database_url, struct serve_first *ret,
                                             struct fz_error *err);

/* Give back the jobs of workers of this machine that ended without a word (kill -9, power cut), so
 * that they are not waited for until their leases run out. Before workers are started. */
FZ_MUST_CHECK enum fz_code serve_setup_reclaim(const char *database_url, struct fz_error *err);

/* Queue the building anew of indexes that another version of the program wrote. */
FZ_MUST_CHECK enum fz_code serve_setup_rebuild(const char *database_url, struct fz_error *err);

/* How clients reach a server that listens at `bound` (http_url()). */
void serve_setup_url(const struct config *config, const char *bound, char ret[256]);

/* DIR/credentials.json: written on a first start, else brought up to date with the url if it is
 * there. */
FZ_MUST_CHECK enum fz_code serve_setup_credentials(const struct config *config, const char *url,
                                                   const struct serve_first *first,
                                                   struct fz_error *err);

/* The tokens and the commands to try with the sample, to standard output. */
void serve_setup_print_first(const struct config *config, const char *url,
                             const struct serve_first *first);

#endif
