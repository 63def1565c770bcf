/*
 * Users within a transaction, for the files of the store.
 */
#ifndef STORE_USER_ROWS_H
#define STORE_USER_ROWS_H

#include "storage/store_private.h"
#include "storage/store_users.h"

/* As store_user_add(). */
FZ_MUST_CHECK enum fz_code store_user_insert(struct sql *tx, const struct store_user *user,
                                             const struct store_user_role *role, int64_t *ret_id,
                                             struct fz_error *err);
/* As admin of all projects. CONFLICT: there is a user already. */
FZ_MUST_CHECK enum fz_code store_user_insert_first(struct sql *tx, const struct store_user *user,
                                                   int64_t *ret_id, struct fz_error *err);
/* As store_user_set_password(). */
FZ_MUST_CHECK enum fz_code store_user_password(struct sql *tx, int64_t id, const char *password,
                                               int64_t except_session, struct fz_error *err);

#endif
