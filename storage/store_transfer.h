/*
 * The content of a SQLite database into a PostgreSQL database: all tables, row by row, with their numbers.
 *
 * The new database must be empty. While the transfer is not complete, store_open() refuses it, so that no server works on a part.
 * A transfer that was interrupted goes on where it was committed last. At the end, both sides are read again and compared by the number
 * of their rows and a sum of the rows' hashes. Nothing else may change the old database meanwhile.
 */
#ifndef STORE_TRANSFER_H
#define STORE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum store_transfer_step { STORE_TRANSFER_COPY, STORE_TRANSFER_COMPARE, STORE_TRANSFER_INDEX };

struct store_transfer_watch {
    /* Now and then: rows of a table, or indexes, that are done. */
    void (*on_progress)(void *user, enum store_transfer_step step, const char *what, uint64_t done,
                        uint64_t total);
    void *user;
};

struct store_transfer_result {
    uint64_t n_tables, n_rows;
    bool has_gone_on; /* with a transfer that was begun earlier */
};

/* `from` as "sqlite:PATH", of this program's version; `to` as "postgresql://...". A complete transfer is only compared again. CONFLICT: the new database has another content, or the old
 * one is of another version. MALFORMED: the two sides differ; what differs is removed, and the same call copies it again. UNSUPPORTED: other
 * engines. */
FZ_MUST_CHECK enum fz_code store_transfer(const char *from, const char *to,
                                          const struct store_transfer_watch *watch,
                                          struct store_transfer_result *ret, struct fz_error *err);

#endif
