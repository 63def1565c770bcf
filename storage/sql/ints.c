/*
 * Many rows of numbers. A list of issues reads 150,000 rows, so a driver may have a way of its own for them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/platform.h"
#include "storage/sql/sql.h"

/* Numbers of a chunk: few at first, then a large page, without which there would be a fault for each 4 KB. */
enum { FIRST_CHUNK = 1 << 12, CHUNK = FZ_PLATFORM_LARGE / 8 };

static bool
add_chunk(struct sql_ints *ints)
{
    struct sql_ints_chunk *chunks =
        fz_list_grow(NULL, ints->chunks, &ints->room_chunks, ints->n_chunks + 1, sizeof(*chunks));
    if (!chunks)
        return false;
    ints->chunks = chunks;
    struct sql_ints_chunk chunk = {.room = ints->n_chunks ? CHUNK : FIRST_CHUNK};
    chunk.numbers = ints->n_chunks ? fz_platform_large(FZ_PLATFORM_LARGE)
                                   : malloc(FIRST_CHUNK * sizeof(*chunk.numbers));
    if (!chunk.numbers)
        return false;
    chunks[ints->n_chunks++] = chunk;
    return true;
}

int64_t *
sql_ints_put(struct sql_ints *ints)
{
    struct sql_ints_chunk *last = ints->n_chunks ? &ints->chunks[ints->n_chunks - 1] : NULL;
    if (!last || last->room - last->n < ints->n_columns) {
        if (!add_chunk(ints))
            return NULL;
        last = &ints->chunks[ints->n_chunks - 1];
    }
    int64_t *row = last->numbers + last->n;
    last->n += ints->n_columns;
    return row;
}

static void
drop_chunks(struct sql_ints *ints)
{
    for (size_t i = 0; i < ints->n_chunks; i++) {
        if (ints->chunks[i].room == CHUNK)
            fz_platform_large_drop(ints->chunks[i].numbers, FZ_PLATFORM_LARGE);
        else
            free(ints->chunks[i].numbers);
    }
    free(ints->chunks);
    ints->chunks = NULL;
    ints->n_chunks = 0;
}

enum fz_code
sql_ints_open(struct sql *sql, const char *const *columns, const char *rest,
              const struct sql_value *args, size_t n_args, struct sql_ints *ret,
              struct fz_error *err)
{
    struct sql_ints ints = {.are_read = sql->driver->read_ints != NULL};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    for (; ints.n_columns < SQL_INTS && columns[ints.n_columns]; ints.n_columns++)
        fz_buffer_printf(&text, "%s %s", ints.n_columns ? "," : "SELECT", columns[ints.n_columns]);
    fz_buffer_printf(&text, " %s", rest);
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK && ints.are_read)
        code = sql_read_ints(sql, fz_buffer_cstr(&text), args, n_args, &ints, err);
    else if (code == FZ_OK)
        code = sql_query_once(sql, fz_buffer_cstr(&text), args, n_args, &ints.rows, err);
    if (code == FZ_OK)
        *ret = ints;
    else
        drop_chunks(&ints);
    return code;
}

static bool
next_read(struct sql_ints *ints, int64_t *ret)
{
    if (ints->chunk < ints->n_chunks && ints->at == ints->chunks[ints->chunk].n) {
        ints->chunk++;
        ints->at = 0;
    }
    if (ints->chunk >= ints->n_chunks)
        return false;
    memcpy(ret, ints->chunks[ints->chunk].numbers + ints->at, ints->n_columns * sizeof(*ret));
    ints->at += ints->n_columns;
    return true;
}

bool
sql_ints_next(struct sql_ints *ints, int64_t *ret, enum fz_code *code, struct fz_error *err)
{
    if (ints->are_read)
        return *code == FZ_OK && next_read(ints, ret);
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
    drop_chunks(ints);
}
