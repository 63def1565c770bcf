/*
 * Becoming another user: what a server that root has started does before it takes the first byte from outside.
 *
 * Before the first thread is started. user_become() has no way back.
 */
#ifndef PROCESS_USER_H
#define PROCESS_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct user {
    uid_t uid;
    gid_t gid;
    char name[64]; /* its number, if the system has no name for it */
};

/* By name or number. NOT_FOUND: the system has no such user. */
FZ_MUST_CHECK enum fz_code user_find(const char *name, struct user *ret, struct fz_error *err);
/* The one with this number; it need not have a name. */
void user_of(uid_t uid, gid_t gid, struct user *ret);

/*
 * For root: whether `user` may use `path` in the ways of access(): R_OK, W_OK, X_OK. On false errno says why. The
 * process has the rights of the user for the length of the call. If the kernel does not give root's back, it ends here.
 */
bool user_may(const struct user *user, const char *path, int mode);

/*
 * For root: have all rights of `user` and its groups, and no others, for good; programs that are started from now on,
 * too. With `keeps_low_ports` the right to listen on ports below 1,024 stays. INTERNAL: the kernel refuses.
 */
FZ_MUST_CHECK enum fz_code user_become(const struct user *user, bool keeps_low_ports,
                                       struct fz_error *err);

/* For root: make `path`, and all that is below it on the same file system, the user's own; or it alone. Links are not
 * followed. Only for what no other user could have put there. DENIED names what could not be given. */
FZ_MUST_CHECK enum fz_code user_give(const struct user *user, const char *path,
                                     struct fz_error *err);
FZ_MUST_CHECK enum fz_code user_give_one(const struct user *user, const char *path,
                                         struct fz_error *err);

#endif
