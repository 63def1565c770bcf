/*
 * The user that `serve` and `worker` run as when root starts them.
 *
 * With --user NAME: that user; `root` keeps them root. Without: the owner of the folder for the data, or of the folder
 * that it is to be made in; if that is root, the user `framezero`. Where that user could not do the work, they stay
 * root, and the log says why and what to do.
 */
#ifndef SERVE_USER_H
#define SERVE_USER_H

#include "server/config/config.h"

/*
 * Leave root, if this process is root. The first process does it, before it starts others and before the first thread.
 * `listens`: a port will be opened. A process that is not root stays what it is.
 *
 * NOT_FOUND, DENIED, INTERNAL: of a user that --user names; the text says what is wrong.
 */
FZ_MUST_CHECK enum fz_code serve_user_leave_root(const struct config *config, bool listens,
                                                 struct fz_error *err);

#endif
