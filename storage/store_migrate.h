/*
 * The check of the schema that store_open() makes; store_migrate() itself is declared in store.h.
 */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include "storage/sql/sql.h"

/* CONFLICT: the schema is older than this program, or newer by more than expansions (NNNN_expand_WHAT.sql: nodes of the version before
 * go on beside the new ones), or was made by other migrations, or a transfer into the database is not complete. */
FZ_MUST_CHECK enum fz_code store_migrate_check(struct sql *sql, struct fz_error *err);

/* Whether a transfer into this database (store_transfer.h) was begun and is not complete. */
FZ_MUST_CHECK enum fz_code store_transfer_has_begun(struct sql *sql, bool *ret,
                                                    struct fz_error *err);

#endif
