#include "storage/store_transfer_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sha256.h"

/* Rows and bytes of one statement, and of one transaction. */
enum { ROWS_MAX = 64, STATEMENT_BYTES = 4 << 20, COMMIT_BYTES = 16 << 20, COMMIT_ROWS = 4096 };
/* Rows that a cursor fetches first, at most, and the bytes that it should fetch then. */
enum { FETCH_FIRST = 16, FETCH_MAX = 4096, FETCH_BYTES = 4 << 20 };
enum { WATCH_ROWS = 1000, QUERY = 8192 };

void
store_transfer_tell(const struct store_transfer_watch *watch, enum store_transfer_step step,
                    const char *what, uint64_t done, uint64_t total)
{
    if (watch && watch->on_progress)
        watch->on_progress(watch->user, step, what, done, total);
}

/* ---- the copy ---- */

struct copy {
    struct sql *to, *tx;
    const struct store_transfer_table *table;
    struct fz_arena arena; /* of the values */
    struct sql_value values[SQL_MAX_PARAMS];
    size_t n_rows, rows_max, n_bytes;
    uint64_t n_tx_rows, n_tx_bytes, done;
};

static enum fz_code
make_insert(const struct store_transfer_table *table, size_t n_rows, struct fz_buffer *ret,
            struct fz_error *err)
{
    size_t n = 0;
    fz_buffer_printf(ret, "INSERT INTO \"%s\" (%s) OVERRIDING SYSTEM VALUE VALUES ", table->name,
                     table->names);
    for (size_t row = 0; row < n_rows; row++) {
        fz_buffer_text(ret, row ? ", (" : "(");
        for (size_t i = 0; i < table->n_columns; i++)
            fz_buffer_printf(ret, "%s$%zu", i ? ", " : "", ++n);
        fz_buffer_text(ret, ")");
    }
    return ret->failed ? fz_fail(err, FZ_E_NO_MEMORY, "out of memory") : FZ_OK;
}

static enum fz_code
insert(struct copy *c, struct fz_error *err)
{
    size_t n_args = c->n_rows * c->table->n_columns;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    enum fz_code code = FZ_OK;
    if (c->n_rows == 0)
        return FZ_OK;
    if (!c->tx)
        code = sql_begin(c->to, &c->tx, err);
    if (code == FZ_OK)
        code = make_insert(c->table, c->n_rows, &text, err);
    /* Prepared once for all full ones. */
    if (code == FZ_OK && c->n_rows == c->rows_max) {
        code = sql_exec(c->tx, text.data, c->values, n_args, NULL, err);
    } else if (code == FZ_OK) {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query_once(c->tx, text.data, c->values, n_args, &rows, err);
    }
    c->n_tx_rows += c->n_rows;
    c->n_tx_bytes += c->n_bytes;
    c->n_rows = 0;
    c->n_bytes = 0;
    fz_arena_deinit(&c->arena);
    fz_arena_init(&c->arena, SIZE_MAX);
    return code;
}

static enum fz_code
commit(struct copy *c, struct fz_error *err)
{
    enum fz_code code = insert(c, err);
    if (code != FZ_OK || !c->tx)
        return code;
    c->done += c->n_tx_rows;
    const struct sql_value args[] = {sql_text(c->table->name), sql_int((int64_t)c->done)};
    code = sql_exec(c->tx,
                    "INSERT INTO transfer_tables (name, n_rows) VALUES ($1, $2) ON CONFLICT (name) "
                    "DO UPDATE SET n_rows = excluded.n_rows",
                    args, FZ_ARRAY_LEN(args), NULL, err);
    c->n_tx_rows = c->n_tx_bytes = 0;
    return code == FZ_OK ? sql_commit(&c->tx, err) : code;
}

static enum fz_code
take(struct copy *c, struct sql_rows *rows, struct fz_error *err)
{
    struct sql_value *values = &c->values[c->n_rows * c->table->n_columns];
    for (size_t i = 0; i < c->table->n_columns; i++) {
        enum sql_kind kind = c->table->columns[i].kind;
        bool is_null = rows->sql->driver->is_null(rows, (int)i);
        values[i] = (struct sql_value){.kind = kind, .is_null = is_null};
        if (is_null)
            continue;
        if (kind == SQL_INT) {
            values[i].number = sql_col_int(rows, (int)i);
            continue;
        }
        struct fz_span bytes = sql_col_bytes(rows, (int)i);
        /* Ended by NUL, as texts of other queries are. */
        const char *copy = fz_arena_text(&c->arena, bytes);
        if (!copy)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        values[i].bytes = fz_span_make(copy, bytes.len);
        c->n_bytes += bytes.len;
    }
    c->n_rows++;
    return FZ_OK;
}

static enum fz_code
copy_rows(struct copy *c, struct sql_rows *rows, uint64_t total,
          const struct store_transfer_watch *watch, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    while (sql_row(rows, &code, err)) {
        code = take(c, rows, err);
        if (code == FZ_OK && (c->n_rows == c->rows_max || c->n_bytes >= STATEMENT_BYTES))
            code = insert(c, err);
        if (code == FZ_OK && (c->n_tx_rows >= COMMIT_ROWS || c->n_tx_bytes >= COMMIT_BYTES)) {
            code = commit(c, err);
            store_transfer_tell(watch, STORE_TRANSFER_COPY, c->table->name, c->done, total);
        }
    }
    return code == FZ_OK ? commit(c, err) : code;
}

enum fz_code
store_transfer_copy(struct sql *from, struct sql *to, const struct store_transfer_table *table,
                    uint64_t done, uint64_t total, const struct store_transfer_watch *watch,
                    struct fz_error *err)
{
    struct copy c = {.to = to, .table = table, .done = done, .arena = fz_arena_make(SIZE_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char text[QUERY];
    c.rows_max =
        SQL_MAX_PARAMS / table->n_columns < ROWS_MAX ? SQL_MAX_PARAMS / table->n_columns : ROWS_MAX;
    /* The old database does not change, so the order is what it was before an interruption. */
    snprintf(text, sizeof(text), "SELECT %s FROM \"%s\" ORDER BY %s LIMIT -1 OFFSET $1",
             table->names, table->name, table->order);
    const struct sql_value args[] = {sql_int((int64_t)done)};
    enum fz_code code = sql_query_once(from, text, args, 1, &rows, err);
    if (code == FZ_OK)
        code = copy_rows(&c, &rows, total, watch, err);
    if (code == FZ_OK)
        store_transfer_tell(watch, STORE_TRANSFER_COPY, table->name, c.done, total);
    else
        fz_wrap(err, "%s, row %llu", table->name,
                (unsigned long long)(c.done + c.n_tx_rows + c.n_rows));
    sql_rollbackp(&c.tx);
    fz_arena_deinit(&c.arena);
    return code;
}

/* ---- the sum ---- */

/* A byte for the kind, then the number or the length, little-endian, then the bytes. */
static void
add_value(struct fz_sha256 *hash, uint8_t tag, uint64_t number, struct fz_span bytes)
{
    uint8_t head[9] = {tag};
    for (size_t i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(number >> (8 * i));
    fz_sha256_add(hash, fz_span_make(head, sizeof(head)));
    fz_sha256_add(hash, bytes);
}

/* Returns the bytes of the row. */
static uint64_t
add_row(struct store_transfer_sum *sum, struct sql_rows *rows,
        const struct store_transfer_table *table)
{
    struct fz_sha256 hash = fz_sha256_make();
    uint8_t digest[FZ_SHA256_BYTES];
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < table->n_columns; i++) {
        enum sql_kind kind = table->columns[i].kind;
        struct fz_span bytes = fz_span_make(NULL, 0);
        if (rows->sql->driver->is_null(rows, (int)i)) {
            add_value(&hash, 0, 0, bytes);
        } else if (kind == SQL_INT) {
            add_value(&hash, 1, (uint64_t)sql_col_int(rows, (int)i), bytes);
        } else {
            bytes = sql_col_bytes(rows, (int)i);
            add_value(&hash, kind == SQL_TEXT ? 2 : 3, bytes.len, bytes);
        }
        n_bytes += bytes.len + 9;
    }
    fz_sha256_end(&hash, digest);
    for (size_t i = 0; i < 2; i++) {
        uint64_t word;
        memcpy(&word, digest + 8 * i, sizeof(word));
        sum->hashes[i] += word;
    }
    sum->n_rows++;
    return n_bytes;
}

struct summing {
    const struct store_transfer_table *table;
    const struct store_transfer_watch *watch;
    uint64_t total;
    struct store_transfer_sum sum;
};

static enum fz_code
sum_rows(struct summing *s, struct sql_rows *rows, uint64_t *ret_bytes, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    *ret_bytes = 0;
    while (sql_row(rows, &code, err)) {
        *ret_bytes += add_row(&s->sum, rows, s->table);
        if (s->sum.n_rows % WATCH_ROWS == 0)
            store_transfer_tell(s->watch, STORE_TRANSFER_COMPARE, s->table->name, s->sum.n_rows,
                                s->total);
    }
    return code;
}

/* libpq holds all rows of an answer in memory, so they come in portions. */
static enum fz_code
sum_by_cursor(struct summing *s, struct sql *sql, const char *text, struct fz_error *err)
{
    char query[QUERY + 64];
    uint64_t n_fetch = FETCH_FIRST, n_before;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(sql, &tx, err);
    snprintf(query, sizeof(query), "DECLARE transfer NO SCROLL CURSOR FOR %s", text);
    if (code == FZ_OK)
        code = sql_script(tx, query, err);
    do {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        uint64_t n_bytes = 0;
        n_before = s->sum.n_rows;
        snprintf(query, sizeof(query), "FETCH %llu FROM transfer", (unsigned long long)n_fetch);
        if (code == FZ_OK)
            code = sql_query_once(tx, query, NULL, 0, &rows, err);
        if (code == FZ_OK)
            code = sum_rows(s, &rows, &n_bytes, err);
        if (n_bytes < FETCH_BYTES / 2 && n_fetch < FETCH_MAX)
            n_fetch *= 2;
        else if (n_bytes > FETCH_BYTES && n_fetch > 1)
            n_fetch /= 2;
    } while (code == FZ_OK && s->sum.n_rows > n_before);
    return code;
}

enum fz_code
store_transfer_sum(struct sql *sql, const struct store_transfer_table *table, uint64_t total,
                   const struct store_transfer_watch *watch, struct store_transfer_sum *ret,
                   struct fz_error *err)
{
    struct summing s = {.table = table, .watch = watch, .total = total};
    char text[QUERY];
    enum fz_code code;
    snprintf(text, sizeof(text), "SELECT %s FROM \"%s\"", table->names, table->name);
    if (sql->driver->has_one_writer) {
        uint64_t n_bytes;
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        code = sql_query_once(sql, text, NULL, 0, &rows, err);
        if (code == FZ_OK)
            code = sum_rows(&s, &rows, &n_bytes, err);
    } else {
        code = sum_by_cursor(&s, sql, text, err);
    }
    if (code == FZ_OK)
        *ret = s.sum;
    else
        fz_wrap(err, "%s", table->name);
    return code;
}
