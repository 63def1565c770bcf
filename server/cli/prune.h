/*
 * What `framezero prune` does, on a database that is open: print what projects keep no longer, and delete it.
 */
#ifndef CLI_PRUNE_H
#define CLI_PRUNE_H

#include <stdbool.h>

#include "storage/store.h"

struct prune_request {
    const char *project; /* NULL = all */
    bool is_dry, is_confirmed, wants_vacuum;
};

/* *ret_is_held: something was left out that needs a confirmation. NOT_FOUND: there is no such project. */
FZ_MUST_CHECK enum fz_code prune(struct store *store, const struct prune_request *request,
                                 bool *ret_is_held, struct fz_error *err);

#endif
