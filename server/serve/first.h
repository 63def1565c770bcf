/*
 * The first start of `serve`: the first tokens, credentials.json, and the commands to try.
 *
 * A first start may end at any moment. The tokens are written to credentials.json.unfinished before
 * they count, so the next start goes on with them; that file becomes credentials.json when the
 * server's address is known.
 */
#ifndef SERVE_FIRST_H
#define SERVE_FIRST_H

#include "server/config/config.h"
#include "storage/store.h"

enum { SERVE_SETUP_URL = 512 };

struct serve_first { /* of a first start; empty otherwise */
    bool is_first;
    int64_t project_id;
    char ingest_key[STORE_TOKEN_TEXT], admin_token[STORE_TOKEN_TEXT];
    char setup_url[SERVE_SETUP_URL]; /* "" = none */
    bool has_users;                  /* also of later starts: no setup link counts any more */
};

/* Before the database is opened. CONFLICT: there is a credentials.json, but no SQLite database, or
 * an empty one: a new database would not know these tokens, and hide that data was lost. */
FZ_MUST_CHECK enum fz_code serve_first_check(const struct config *config, struct fz_error *err);

/* A database without tokens gets the project "default", an ingest key and an admin token, or what
 * is lacking of them. CONFLICT: there is a credentials.json that it does not know. */
FZ_MUST_CHECK enum fz_code serve_first_tokens(const struct config *config, struct store *store,
                                              struct serve_first *ret, struct fz_error *err);

/* While there are no users: on a first start the link for the first one, else a line in the log. */
FZ_MUST_CHECK enum fz_code serve_first_user(struct store *store, const char *url,
                                            struct serve_first *first, struct fz_error *err);

/* DIR/credentials.json: written on a first start, else brought up to date with the url if it is
 * there. */
FZ_MUST_CHECK enum fz_code serve_first_credentials(const struct config *config, const char *url,
                                                   const struct serve_first *first,
                                                   struct fz_error *err);

/* The setup link was used: it leaves DIR/credentials.json. */
FZ_MUST_CHECK enum fz_code serve_first_set_up(const struct config *config, struct fz_error *err);

/* The tokens and the commands to try with the sample, to standard output. */
void serve_first_print(const struct config *config, const char *url,
                       const struct serve_first *first);

#endif
