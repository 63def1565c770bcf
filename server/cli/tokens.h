/*
 * The work of `framezero token`: create and list tokens and ingest keys in the database.
 */
#ifndef CLI_TOKENS_H
#define CLI_TOKENS_H

#include "server/config/options.h"
#include "storage/store.h"

struct token_request {
    const char *project, *label;
    const char *sentry_url; /* NULL: a token of our own form */
    unsigned scopes;        /* STORE_SCOPE_*; 0 = not given */
};

/* The setter of the scopes: "read,upload" to STORE_SCOPE_*. */
FZ_MUST_CHECK enum fz_code token_scopes_set(const struct option_spec *option, void *field,
                                            const char *text, const char *where,
                                            struct fz_error *err);
/* MALFORMED: what the options ask for does not exist. */
FZ_MUST_CHECK enum fz_code token_request_check(const struct token_request *request,
                                               struct fz_error *err);
FZ_MUST_CHECK enum fz_code token_id_parse(const char *text, int64_t *ret, struct fz_error *err);

/* The token alone goes to standard output, so that a script can use it; its id to standard error. */
FZ_MUST_CHECK enum fz_code token_create(struct store *store, const struct token_request *request,
                                        struct fz_error *err);

/* One line per token on standard output: id, first characters, project, scopes, time, state, label. */
FZ_MUST_CHECK enum fz_code token_list(struct store *store, struct fz_error *err);

#endif
