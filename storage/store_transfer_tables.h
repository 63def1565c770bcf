/*
 * What a transfer copies: the tables of the new database and their columns, which the old one must have, too.
 */
#ifndef STORE_TRANSFER_TABLES_H
#define STORE_TRANSFER_TABLES_H

#include "base/arena.h"
#include "storage/sql/sql.h"

struct store_transfer_column {
    const char *name;
    enum sql_kind kind;  /* SQL_INT, SQL_TEXT or SQL_BLOB */
    const char *counter; /* the sequence that gives it its numbers; NULL = none */
};

struct store_transfer_table {
    const char *name;
    struct store_transfer_column *columns;
    size_t n_columns;
    const char *names; /* "\"a\", \"b\"": the columns */
    const char *order; /* the same of its primary key; SQLite's "rowid" without one */
};

/* In the arena, in the order of their names. INTERNAL: the two schemas differ. */
FZ_MUST_CHECK enum fz_code store_transfer_tables(struct sql *from, struct sql *to,
                                                 struct fz_arena *arena,
                                                 struct store_transfer_table **ret, size_t *ret_n,
                                                 struct fz_error *err);

#endif
