/*
 * Many rows of numbers.
 *
 * libpq takes a microsecond for each row of a result. A list of issues reads 150,000 rows, so PostgreSQL sends each column as one
 * array (array_send(): dimensions, flags, type, then for the dimension its size and lower bound, then each element as a length
 * and its bytes; all big-endian), which is ten times as fast.
 */
#include <stdio.h>

#include "base/buffer.h"
#include "storage/sql/sql.h"

enum { ARRAY_HEADER = 20, ELEMENT = 12 /* a length of 4 bytes, a bigint */ };

static uint64_t
big_endian(const uint8_t *at, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | at[i];
    return value;
}

enum fz_code
sql_ints_open(struct sql *sql, const char *const *columns, const char *rest,
              const struct sql_value *args, size_t n_args, struct sql_ints *ret,
              struct fz_error *err)
{
    bool is_packed = sql->driver->packs_rows;
    size_t n_columns = 0;
    while (n_columns < SQL_INTS && columns[n_columns])
        n_columns++;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_text(&text, "SELECT ");
    for (size_t i = 0; is_packed && i < n_columns; i++)
        fz_buffer_printf(&text, "%sarray_agg(coalesce(c%zu, 0))", i ? ", " : "", i);
    fz_buffer_text(&text, is_packed ? " FROM (SELECT " : "");
    for (size_t i = 0; i < n_columns; i++)
        fz_buffer_printf(&text, "%s%s AS c%zu", i ? ", " : "", columns[i], i);
    fz_buffer_printf(&text, " %s%s", rest, is_packed ? ") AS rows" : "");
    struct sql_ints ints = {.n_columns = n_columns, .is_packed = is_packed};
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query_once(sql, fz_buffer_cstr(&text), args, n_args, &ints.rows, err);
    if (code == FZ_OK)
        *ret = ints;
    return code;
}

/* The arrays of the one row that there is. */
static enum fz_code
unpack(struct sql_ints *ints, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    if (!sql_row(&ints->rows, &code, err))
        return code;
    for (size_t i = 0; i < ints->n_columns; i++) {
        struct fz_span bytes = sql_col_bytes(&ints->rows, (int)i);
        uint64_t n = bytes.len < ARRAY_HEADER ? 0 : big_endian(bytes.data + 12, 4);
        /* NULL: there are no rows. */
        if (bytes.len && bytes.len != ARRAY_HEADER + n * ELEMENT)
            return fz_fail(err, FZ_E_INTERNAL, "database: an array of %zu bytes", bytes.len);
        ints->arrays[i] = fz_span_from(bytes, ARRAY_HEADER);
        ints->n_left = n;
    }
    return FZ_OK;
}

static bool
next_packed(struct sql_ints *ints, int64_t *ret, enum fz_code *code, struct fz_error *err)
{
    if (*code == FZ_OK && ints->rows.row < 0)
        *code = unpack(ints, err);
    if (*code != FZ_OK || ints->n_left == 0)
        return false;
    ints->n_left--;
    for (size_t i = 0; i < ints->n_columns; i++) {
        ret[i] = (int64_t)big_endian(ints->arrays[i].data + 4, 8);
        ints->arrays[i].data += ELEMENT;
    }
    return true;
}

bool
sql_ints_next(struct sql_ints *ints, int64_t *ret, enum fz_code *code, struct fz_error *err)
{
    if (ints->is_packed)
        return next_packed(ints, ret, code, err);
    bool row = sql_row(&ints->rows, code, err);
    /* The driver's functions at once: NULL is 0 for them, too. */
    for (size_t i = 0; row && i < ints->n_columns; i++)
        ret[i] = ints->rows.sql->driver->number(&ints->rows, (int)i);
    return row;
}

void
sql_ints_close(struct sql_ints *ints)
{
    sql_rows_close(&ints->rows);
}
