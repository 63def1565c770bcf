/*
 * The description of a record's columns: one table that drives messages, the database, filters and
 * lists.
 *
 * The module that knows the records has the table (server/report/columns.h). Messages, storage and
 * the API only walk through it and know nothing of a column but its row. The values of a record are
 * an array with one value per column.
 */
#ifndef BASE_COLUMNS_H
#define BASE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum fz_column_type {
    FZ_COLUMN_TEXT,      /* a text to select by: storage keeps its first 256 bytes */
    FZ_COLUMN_LONG_TEXT, /* a text to search in: 4096 bytes */
    FZ_COLUMN_NUMBER,    /* 0 = unknown */
    FZ_COLUMN_TIME       /* Unix milliseconds; 0 = unknown */
};

struct fz_column {
    const char *name; /* in the database */
    enum fz_column_type type;
    /* Storage sets it itself, since it orders by it or is the only one to know. It is in the table
     * only for its place in lists: messages and results do not carry it as one of the values. */
    bool is_fixed;
    /* Where a list shows it: "app.version" is a member of an object; "user?.id" of one that is
     * left out when empty. NULL: nowhere. Members of one object follow each other. */
    const char *path;
    /* The kind of term of storage's dictionary that it is, "version": then issues are filtered by it.
     * is_detail: it is the second text of the term, as the build is of a version. */
    const char *term;
    bool is_detail;
    size_t offset; /* for the table's owner: where it finds the value */
};

struct fz_columns {
    const struct fz_column *list;
    size_t n;
};

union fz_value {
    const char *text; /* NULL = unknown */
    int64_t number;
};

static inline bool
fz_column_is_text(const struct fz_column *column)
{
    return column->type == FZ_COLUMN_TEXT || column->type == FZ_COLUMN_LONG_TEXT;
}

/* The text of the column with this name; NULL: no such column or unknown. `values` NULL: all
 * unknown. */
static inline const char *
fz_columns_text(const struct fz_columns *columns, const union fz_value *values, const char *name)
{
    for (size_t i = 0; values && i < columns->n; i++) {
        if (strcmp(columns->list[i].name, name) == 0)
            return fz_column_is_text(&columns->list[i]) ? values[i].text : NULL;
    }
    return NULL;
}

/* The same of a number; 0: no such column or unknown. */
static inline int64_t
fz_columns_number(const struct fz_columns *columns, const union fz_value *values, const char *name)
{
    for (size_t i = 0; values && i < columns->n; i++) {
        if (strcmp(columns->list[i].name, name) == 0)
            return fz_column_is_text(&columns->list[i]) ? 0 : values[i].number;
    }
    return 0;
}

#endif
