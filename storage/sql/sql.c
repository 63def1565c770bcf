#include "storage/sql/sql.h"

#include <assert.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/text.h"
#include "base/time.h"

/* Batches of reports whose runs are the same may meet several times in a row. */
enum { TRIES = 8 };

/* ---- values ---- */

struct sql_value
sql_int(int64_t number)
{
    return (struct sql_value){.kind = SQL_INT, .number = number};
}

struct sql_value
sql_text(const char *text)
{
    return (struct sql_value){.kind = SQL_TEXT, .is_null = !text, .bytes = fz_span_cstr(text)};
}

struct sql_value
sql_numbers(const char *text)
{
    return (struct sql_value){.kind = SQL_NUMBERS, .bytes = fz_span_cstr(text)};
}

struct sql_value
sql_blob(struct fz_span bytes)
{
    return (struct sql_value){.kind = SQL_BLOB, .bytes = bytes};
}

struct sql_value
sql_text_clean(struct fz_arena *arena, const char *text, size_t max)
{
    if (!text)
        return sql_text(NULL);
    struct fz_span bytes = fz_span_cstr(text);
    if (bytes.len > max) {
        bytes.len = max;
        /* Back to the start of the character that the cut went through. */
        while (bytes.len > 0 && (bytes.data[bytes.len] & 0xc0) == 0x80)
            bytes.len--;
    }
    const char *clean = fz_text_clean_utf8(arena, bytes);
    return clean ? sql_text(clean) : (struct sql_value){.kind = SQL_BAD};
}

/* ---- queries ---- */

/* Open a broken connection again. Not inside a transaction: what was done in it is gone, and its
 * owner must learn that. */
static enum fz_code
ensure_connected(struct sql *sql, struct fz_error *err)
{
    if (sql->connected && !sql->broken)
        return FZ_OK;
    if (sql->in_tx)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the connection to the database was lost");
    sql->driver->disconnect(sql);
    sql->connected = false;
    sql->broken = false;
    enum fz_code code = sql->driver->connect(sql, err);
    sql->connected = code == FZ_OK;
    if (code == FZ_OK && sql->for_requests && !sql->is_pooled)
        code = sql->driver->script(sql, sql->driver->for_requests, err);
    if (code == FZ_OK && sql->to_confine && sql->driver->confine)
        code = sql->driver->confine(sql, err);
    /* Nothing is asked of a connection that sees more than it should. */
    sql->broken = code != FZ_OK;
    return code;
}

enum fz_code
sql_set_up(struct sql *sql, const char *script, struct fz_error *err)
{
    enum fz_code code = ensure_connected(sql, err);
    return code == FZ_OK && !sql->is_pooled ? sql->driver->script(sql, script, err) : code;
}

enum fz_code
sql_script(struct sql *sql, const char *script, struct fz_error *err)
{
    enum fz_code code = ensure_connected(sql, err);
    return code == FZ_OK ? sql->driver->script(sql, script, err) : code;
}

static enum fz_code
check_args(const struct sql_value *args, size_t n_args, struct fz_error *err)
{
    for (size_t i = 0; i < n_args; i++) {
        if (args[i].kind == SQL_BAD)
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        /* SQLite stores any bytes as text and PostgreSQL refuses them: both give the same error
         * here. */
        if (args[i].kind == SQL_TEXT && !fz_text_is_utf8(args[i].bytes))
            return fz_fail(err, FZ_E_MALFORMED, "a text is not UTF-8");
    }
    return FZ_OK;
}

bool
sql_is_late(const struct sql *sql)
{
    return sql->until_ms && fz_time_monotonic_ms() >= sql->until_ms;
}

enum fz_code
sql_fail_late(struct fz_error *err)
{
    return fz_fail(err, FZ_E_LIMIT,
                   "this takes too long (limit query_s): narrow the time range, or add filters");
}

/* What comes before each query. */
static enum fz_code
prepare(struct sql *sql, const struct sql_value *args, size_t n_args, struct fz_error *err)
{
    /* It belongs to the last failure; a driver sets it again. */
    sql->may_retry = false;
    /* Between the statements of a request; within one, the engine looks at the time. */
    if (sql_is_late(sql))
        return sql_fail_late(err);
    enum fz_code code = check_args(args, n_args, err);
    if (code == FZ_OK)
        code = ensure_connected(sql, err);
    if (code == FZ_OK && !sql->in_tx && sql->driver->limit_time)
        sql->driver->limit_time(sql);
    return code;
}

static enum fz_code
run(struct sql *sql, const char *text, bool keep, const struct sql_value *args, size_t n_args,
    struct sql_rows *ret, struct fz_error *err)
{
    struct sql_rows rows = {.sql = sql, .row = -1};
    enum fz_code code = prepare(sql, args, n_args, err);
    if (code == FZ_OK)
        code = sql->driver->query(sql, text, keep, args, n_args, &rows, err);
    if (code == FZ_OK)
        *ret = rows;
    return code;
}

enum fz_code
sql_read_ints(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
              struct sql_ints *ret, struct fz_error *err)
{
    enum fz_code code = prepare(sql, args, n_args, err);
    return code == FZ_OK ? sql->driver->read_ints(sql, text, args, n_args, ret, err) : code;
}

enum fz_code
sql_query(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
          struct sql_rows *ret, struct fz_error *err)
{
    return run(sql, text, true, args, n_args, ret, err);
}

enum fz_code
sql_query_planned(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
                  struct sql_rows *ret, struct fz_error *err)
{
    return run(sql, text, !sql->driver->plans_by_size, args, n_args, ret, err);
}

enum fz_code
sql_query_once(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
               struct sql_rows *ret, struct fz_error *err)
{
    return run(sql, text, false, args, n_args, ret, err);
}

enum fz_code
sql_next(struct sql_rows *rows, bool *ret_row, struct fz_error *err)
{
    if (rows->failed)
        return fz_fail(err, rows->failed, "the answer needs more memory than its limit");
    return rows->sql->driver->next(rows, ret_row, err);
}

bool
sql_row(struct sql_rows *rows, enum fz_code *code, struct fz_error *err)
{
    bool row = false;
    if (*code == FZ_OK)
        *code = sql_next(rows, &row, err);
    return *code == FZ_OK && row;
}

void *
sql_list_put(struct sql_list *list, enum fz_code *code, struct fz_error *err)
{
    list->items = fz_list_grow_in(list->arena, list->items, &list->room, list->n + 1, list->item);
    if (list->items)
        return (char *)list->items + list->item * list->n++;
    *code = fz_arena_fail(list->arena, err);
    return NULL;
}

void *
sql_list_next(struct sql_rows *rows, struct sql_list *list, enum fz_code *code,
              struct fz_error *err)
{
    return sql_row(rows, code, err) ? sql_list_put(list, code, err) : NULL;
}

enum fz_code
sql_list_done(const struct sql_list *list, enum fz_code code, void *ret, size_t *ret_n)
{
    if (code != FZ_OK)
        return code;
    memcpy(ret, &list->items, sizeof(list->items));
    *ret_n = list->n;
    return FZ_OK;
}

void
sql_rows_close(struct sql_rows *rows)
{
    if (!rows->sql)
        return;
    rows->sql->driver->end(rows);
    rows->sql = NULL;
}

enum fz_code
sql_exec(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
         uint64_t *ret_changes, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql, text, args, n_args, &rows, err);
    while (sql_row(&rows, &code, err))
        continue;
    if (code == FZ_OK && ret_changes)
        *ret_changes = sql->driver->changes(&rows);
    return code;
}

enum fz_code
sql_number(struct sql *sql, const char *text, const struct sql_value *args, size_t n_args,
           int64_t *ret, bool *ret_found, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sql, text, args, n_args, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (ret)
        *ret = row ? sql_col_int(&rows, 0) : 0;
    if (ret_found)
        *ret_found = row;
    /* A statement that changes something must have run to its end. */
    while (row)
        row = sql_row(&rows, &code, err);
    return code;
}

int64_t
sql_col_int(struct sql_rows *rows, int column)
{
    const struct sql_driver *driver = rows->sql->driver;
    return driver->is_null(rows, column) ? 0 : driver->number(rows, column);
}

struct fz_span
sql_col_bytes(struct sql_rows *rows, int column)
{
    const struct sql_driver *driver = rows->sql->driver;
    return driver->is_null(rows, column) ? (struct fz_span){NULL, 0} : driver->bytes(rows, column);
}

const char *
sql_col_text(struct sql_rows *rows, int column, struct fz_arena *arena)
{
    if (rows->sql->driver->is_null(rows, column))
        return NULL;
    const char *copy = fz_arena_text(arena, sql_col_bytes(rows, column));
    /* Reported by the next sql_next(), so that callers need not test each text. */
    if (!copy && !rows->failed)
        rows->failed = fz_arena_fail(arena, NULL);
    return copy;
}

const char *
sql_col_some_text(struct sql_rows *rows, int column, struct fz_arena *arena)
{
    return sql_col_bytes(rows, column).len ? sql_col_text(rows, column, arena) : NULL;
}

void
sql_col_copy(struct sql_rows *rows, int column, char *ret, size_t size)
{
    struct fz_span bytes = sql_col_bytes(rows, column);
    size_t len = bytes.len < size ? bytes.len : size - 1;
    if (len)
        memcpy(ret, bytes.data, len);
    ret[len] = '\0';
}

/* ---- transactions ---- */

/* What comes next waits for the disk again. */
static void
end_tx(struct sql *sql)
{
    sql->in_tx = false;
    if (sql->is_light && sql->connected && !sql->broken &&
        sql->driver->script(sql, sql->driver->after_light, NULL) != FZ_OK)
        sql->broken = true; /* a new connection waits */
    sql->is_light = false;
}

static enum fz_code
begin(struct sql *sql, bool is_light, struct sql **ret_tx, struct fz_error *err)
{
    sql->may_retry = false;
    enum fz_code code = ensure_connected(sql, err);
    if (code == FZ_OK) {
        if (sql->driver->limit_time)
            sql->driver->limit_time(sql);
        sql->is_light = is_light && sql->driver->for_light;
        if (sql->is_light)
            code = sql->driver->script(sql, sql->driver->for_light, err);
    }
    if (code == FZ_OK)
        code = sql->is_pooled || sql->is_confined
                   ? sql->driver->begin_pooled(sql, err)
                   : sql->driver->script(sql, sql->driver->begin, err);
    if (code != FZ_OK) {
        end_tx(sql);
        return code;
    }
    sql->in_tx = true;
    sql->wakes = false;
    *ret_tx = sql;
    return FZ_OK;
}

enum fz_code
sql_begin(struct sql *sql, struct sql **ret_tx, struct fz_error *err)
{
    return begin(sql, false, ret_tx, err);
}

enum fz_code
sql_begin_light(struct sql *sql, struct sql **ret_tx, struct fz_error *err)
{
    return begin(sql, true, ret_tx, err);
}

enum fz_code
sql_commit(struct sql **tx, struct fz_error *err)
{
    struct sql *sql = *tx;
    if (sql->broken)
        return fz_fail(err, FZ_E_UNAVAILABLE, "the connection to the database was lost");
    enum fz_code code = sql->driver->commit(sql, err);
    if (code != FZ_OK)
        return code; /* the caller's cleanup rolls back */
    end_tx(sql);
    *tx = NULL;
    return FZ_OK;
}

void
sql_rollbackp(struct sql **tx)
{
    struct sql *sql = *tx;
    if (!sql)
        return;
    /* The engine has rolled back the transaction of a connection that was lost. */
    if (!sql->broken)
        sql->driver->rollback(sql);
    end_tx(sql);
}

void
sql_notify(struct sql *tx)
{
    assert(tx->in_tx);
    tx->wakes = true;
}

bool
sql_try_again(const struct sql *sql, enum fz_code code, int *n_tries)
{
    return code != FZ_OK && sql->may_retry && ++*n_tries < TRIES;
}

enum fz_code
sql_lock(struct sql *tx, int64_t number, bool exclusive, struct fz_error *err)
{
    return tx->driver->lock(tx, number, exclusive, err);
}

/* ---- prepared statements ---- */

static size_t
hash(const char *text)
{
    /* FNV-1a, 64 bits. */
    uint64_t h = 0xcbf29ce484222325;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3;
    return (size_t)(h % SQL_CACHE_SLOTS);
}

void *
sql_cache_get(const struct sql_cache *cache, const char *text)
{
    size_t at = hash(text);
    for (size_t i = 0; i < SQL_CACHE_SLOTS; i++, at = (at + 1) % SQL_CACHE_SLOTS) {
        if (!cache->slots[at].text)
            return NULL;
        if (strcmp(cache->slots[at].text, text) == 0)
            return cache->slots[at].handle;
    }
    return NULL;
}

bool
sql_cache_put(struct sql_cache *cache, const char *text, void *handle)
{
    size_t at = hash(text);
    for (size_t i = 0; i < SQL_CACHE_SLOTS; i++, at = (at + 1) % SQL_CACHE_SLOTS) {
        if (cache->slots[at].text)
            continue;
        char *copy = strdup(text);
        if (!copy)
            return false;
        cache->slots[at].text = copy;
        cache->slots[at].handle = handle;
        return true;
    }
    return false;
}

void
sql_cache_clear(struct sql_cache *cache, void (*end_handle)(void *handle))
{
    for (size_t i = 0; i < SQL_CACHE_SLOTS; i++) {
        struct sql_cache_slot *slot = &cache->slots[i];
        if (!slot->text)
            continue;
        end_handle(slot->handle);
        free(slot->text);
        *slot = (struct sql_cache_slot){0};
    }
}
