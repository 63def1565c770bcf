/*
 * The work of `framezero user`: users of the page in the database, and links that let them in.
 */
#ifndef CLI_USERS_H
#define CLI_USERS_H

#include "base/error.h"
#include "storage/store_users.h"

struct user_request {
    const char *email, *project, *role;
    const char *url; /* how browsers reach the server */
};

/* Prints a link with which somebody with this address becomes a user. One who is a user already
 * gets the role. The first user is invited as admin of all projects. */
FZ_MUST_CHECK enum fz_code user_invite(struct store *store, const struct user_request *request,
                                       struct fz_error *err);
/* Prints a link with which a user sets a new password. */
FZ_MUST_CHECK enum fz_code user_reset(struct store *store, const struct user_request *request,
                                      struct fz_error *err);
FZ_MUST_CHECK enum fz_code user_remove(struct store *store, const struct user_request *request,
                                       struct fz_error *err);
/* One line per user on standard output: id, address, name, state, last login, roles. */
FZ_MUST_CHECK enum fz_code user_list(struct store *store, struct fz_error *err);

#endif
