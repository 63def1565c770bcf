/*
 * The SQL layer of storage: one connection, queries with $1..$n, rows and transactions, on either
 * engine.
 *
 * Every query of the store is written once and runs on both engines; the few words in which they
 * differ are fields of struct sql_driver. sqlite.c and postgresql*.c are the only files that know
 * their library. Texts that are not UTF-8 are refused as MALFORMED by both. A connection that broke
 * is opened again by the next call; the call that met it gets UNAVAILABLE. Private to storage.
 */
#ifndef STORAGE_SQL_H
#define STORAGE_SQL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

struct sql;

/* ---- values ---- */

enum sql_kind { SQL_INT, SQL_TEXT, SQL_NUMBERS, SQL_BLOB, SQL_ARRAY, SQL_BAD };

struct sql_value {
    enum sql_kind kind; /* SQL_BAD: making it ran out of memory; the query fails with NO_MEMORY */
    bool is_null;
    int64_t number;       /* of SQL_ARRAY: the kind of its elements */
    struct fz_span bytes; /* borrowed until the query's rows are closed */
};

struct sql_value sql_int(int64_t number);
struct sql_value sql_text(const char *text); /* NULL becomes SQL's NULL */
/* Integers between the driver's numbers_open and numbers_close, for its in_numbers. */
struct sql_value sql_numbers(const char *text);
struct sql_value sql_blob(struct fz_span bytes);
/* A text of foreign origin: cut at `max` bytes (between characters), bytes that are not UTF-8
 * replaced. */
struct sql_value sql_text_clean(struct fz_arena *arena, const char *text, size_t max);

/* One column of many rows as one parameter, for unnest(). Only for an engine that packs_rows. The elements are SQL_INT,
 * SQL_TEXT or SQL_BLOB, at least one, and copied. */
struct sql_array {
    enum sql_kind kind;
    uint32_t n;
    struct fz_buffer elements; /* after a header */
};
struct sql_array sql_array_make(enum sql_kind kind);
void sql_array_deinit(struct sql_array *array);
void sql_array_add(struct sql_array *array, struct sql_value value);
/* Borrowed until the next change; SQL_BAD: out of memory. */
struct sql_value sql_array_value(struct sql_array *array);

/* ---- connection ---- */

/* `database_url` as in store_open(). `create`: SQLite makes the file if there is none. */
FZ_MUST_CHECK enum fz_code sql_open(const char *database_url, bool create, struct sql **ret,
                                    struct fz_error *err);
/* Why the database cannot be connected to yet, but may be soon: it is starting, or does not answer. NULL: it can be, or
 * waiting does not help. Static string. */
const char *sql_not_up(const char *database_url);
void sql_close(struct sql *sql);
void sql_closep(struct sql **sql);

/* As store_serve_requests(). */
FZ_MUST_CHECK enum fz_code sql_serve_requests(struct sql *sql, struct fz_error *err);

/* As store_confine() and store_see_project(), of any engine; one without row security sees all. */
FZ_MUST_CHECK enum fz_code sql_confine(struct sql *sql, struct fz_error *err);
void sql_see_project(struct sql *sql, int64_t project_id);

/* As store_limit_time(). */
void sql_limit_time(struct sql *sql, int64_t ms);
/* Is that time over? FZ_E_LIMIT, with a text for who asked. */
bool sql_is_late(const struct sql *sql);
enum fz_code sql_fail_late(struct fz_error *err);

/* Before a transaction that changes a great part of the database: more memory and time for it. Then back, also after a failure. */
FZ_MUST_CHECK enum fz_code sql_bulk_start(struct sql *sql, struct fz_error *err);
void sql_bulk_end(struct sql *sql);

/* Statements that set the connection up; none if it is pooled. */
FZ_MUST_CHECK enum fz_code sql_set_up(struct sql *sql, const char *script, struct fz_error *err);

/* Several statements without parameters; for migrations. */
FZ_MUST_CHECK enum fz_code sql_script(struct sql *sql, const char *script, struct fz_error *err);

/* The database's clock in Unix milliseconds. */
FZ_MUST_CHECK enum fz_code sql_now(struct sql *sql, int64_t *ret_ms, struct fz_error *err);

/* The clock of leases and back-offs in milliseconds. It is not set while the queue is in use, and
 * all processes that share the database share it. SQLite: the time since the machine started. */
FZ_MUST_CHECK enum fz_code sql_clock(struct sql *sql, int64_t *ret_ms, struct fz_error *err);
/* What sql_clock() counts from: another text, another count. "" where that never changes. */
enum { SQL_BOOT_TEXT = 64 };
void sql_boot(struct sql *sql, char ret[SQL_BOOT_TEXT]);

/* As store_wait_change(). */
bool sql_wait_change(struct sql *sql, int64_t timeout_ms);

/* ---- queries ---- */

enum { SQL_MAX_PARAMS = 400 };

struct sql_rows {
    struct sql *sql; /* NULL = closed */
    void *result;    /* the engine's */
    int row;         /* PostgreSQL: the current one */
    enum fz_code failed;
};

/* Run `text`; the rows (maybe none) are read with sql_next() and ended with sql_rows_close(). The
 * statement is prepared once per connection, so `text` must be one of few. */
FZ_MUST_CHECK enum fz_code sql_query(struct sql *sql, const char *text,
                                     const struct sql_value *args, size_t n_args,
                                     struct sql_rows *ret, struct fz_error *err);
/* The same, for a text whose plan depends on how much there is: prepared each time by an engine that
 * looks at that. */
FZ_MUST_CHECK enum fz_code sql_query_planned(struct sql *sql, const char *text,
                                             const struct sql_value *args, size_t n_args,
                                             struct sql_rows *ret, struct fz_error *err);
/* The same, prepared for this once: for a text that is put together from many optional parts. */
FZ_MUST_CHECK enum fz_code sql_query_once(struct sql *sql, const char *text,
                                          const struct sql_value *args, size_t n_args,
                                          struct sql_rows *ret, struct fz_error *err);
/* Step to the next row; *ret_row = false after the last. Fails too if a column of the row before
 * could not be copied into its arena. */
FZ_MUST_CHECK enum fz_code sql_next(struct sql_rows *rows, bool *ret_row, struct fz_error *err);
/* The same for loops: true for a row. Does nothing if *code is a failure already; sets it on one. */
bool sql_row(struct sql_rows *rows, enum fz_code *code, struct fz_error *err);
/* Items in the arena, one per row: next() appends one of zeros and returns it. NULL where sql_row()
 * is false. sql_list_done() gives the list to the caller's outputs (a struct x **, and how many)
 * unless `code` is a failure, and returns `code`. */
struct sql_list {
    struct fz_arena *arena;
    size_t item; /* bytes of one */
    void *items;
    size_t n, room;
};
void *sql_list_next(struct sql_rows *rows, struct sql_list *list, enum fz_code *code,
                    struct fz_error *err);
/* Append one of zeros for rows of another kind; NULL: no memory, and *code says so. */
void *sql_list_put(struct sql_list *list, enum fz_code *code, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sql_list_done(const struct sql_list *list, enum fz_code code, void *ret,
                                         size_t *ret_n);
void sql_rows_close(struct sql_rows *rows);

/* Many rows of numbers, as fast as the engine has them: "SELECT columns[0], columns[1]... " and then `rest` ("FROM ..."). NULL
 * counts as 0, `columns` ends with NULL. PostgreSQL needs bigint, and no arrays as arguments. The order of the rows is that of `rest`. */
enum { SQL_INTS = 10 };
struct sql_ints {
    struct sql_rows rows;
    size_t n_columns;
    bool are_read; /* all of them are in the chunks; else they come from `rows` */
    struct sql_ints_chunk {
        int64_t *numbers; /* of whole rows; owned */
        size_t n, room;
    } * chunks; /* owned */
    size_t n_chunks, room_chunks;
    size_t chunk, at; /* what is read next */
};
FZ_MUST_CHECK enum fz_code sql_ints_open(struct sql *sql, const char *const *columns,
                                         const char *rest, const struct sql_value *args,
                                         size_t n_args, struct sql_ints *ret, struct fz_error *err);
/* As sql_row(): true for a row, with its numbers in ret[0]... */
bool sql_ints_next(struct sql_ints *ints, int64_t *ret, enum fz_code *code, struct fz_error *err);
void sql_ints_close(struct sql_ints *ints);
/* For drivers: where the numbers of one more row go. NULL: out of memory. */
int64_t *sql_ints_put(struct sql_ints *ints);

/* A query of which only the number of changed rows counts (may be NULL). */
FZ_MUST_CHECK enum fz_code sql_exec(struct sql *sql, const char *text, const struct sql_value *args,
                                    size_t n_args, uint64_t *ret_changes, struct fz_error *err);
/* A query with one number as its answer; *ret_found = false and 0 without a row. One of the two may
 * be NULL. */
FZ_MUST_CHECK enum fz_code sql_number(struct sql *sql, const char *text,
                                      const struct sql_value *args, size_t n_args, int64_t *ret,
                                      bool *ret_found, struct fz_error *err);

/* Columns of the current row, counted from 0. */
int64_t sql_col_int(struct sql_rows *rows, int column);          /* 0 for NULL */
struct fz_span sql_col_bytes(struct sql_rows *rows, int column); /* borrowed until sql_next() */
/* A copy in the arena; NULL for NULL, and when memory is exhausted (then sql_next() fails). */
const char *sql_col_text(struct sql_rows *rows, int column, struct fz_arena *arena);
/* The same, and NULL for an empty text. */
const char *sql_col_some_text(struct sql_rows *rows, int column, struct fz_arena *arena);
/* A copy in a fixed buffer; a longer text is cut. */
void sql_col_copy(struct sql_rows *rows, int column, char *ret, size_t size);

/* ---- transactions ---- */

/* Start to write. *ret_tx is for FZ_CLEANUP(sql_rollbackp), which ends what was not committed. */
FZ_MUST_CHECK enum fz_code sql_begin(struct sql *sql, struct sql **ret_tx, struct fz_error *err);
/* The same for what a power cut may undo, since it would end all who know of it: SQLite's commit does not wait for the
 * disk. Later transactions keep what this one did, or are undone with it. */
FZ_MUST_CHECK enum fz_code sql_begin_light(struct sql *sql, struct sql **ret_tx,
                                           struct fz_error *err);
/* Durable when it returns FZ_OK. */
FZ_MUST_CHECK enum fz_code sql_commit(struct sql **tx, struct fz_error *err);
void sql_rollbackp(struct sql **tx);
/* Wake those who wait for a change once this transaction is committed. */
void sql_notify(struct sql *tx);
/* True if `code` is a failure by a deadlock or the like: the same transaction may simply run again.
 * Counts in *n_tries, from 0; false after the eighth. */
bool sql_try_again(const struct sql *sql, enum fz_code code, int *n_tries);

/* A lock on a number until the transaction ends. SQLite has one writer at a time, so there it is
 * held already. */
FZ_MUST_CHECK enum fz_code sql_lock(struct sql *tx, int64_t number, bool exclusive,
                                    struct fz_error *err);

/* ---- copies ---- */

typedef void (*sql_copied_fn)(void *user, uint64_t copied, uint64_t total);
/* The database as it is at one moment into the new file `path`, while others go on writing. `on_copied` is called now and
 * then with bytes. UNSUPPORTED: the engine has tools of its own. CONFLICT: the file is there already. */
FZ_MUST_CHECK enum fz_code sql_copy(struct sql *sql, const char *path, sql_copied_fn on_copied,
                                    void *user, struct fz_error *err);

/* ---- engines ---- */

struct sql_driver {
    const char *name;
    const char *for_update;  /* lock the rows that a SELECT reads */
    const char *skip_locked; /* the same, passing over rows that others hold */
    const char *like;        /* LIKE without regard to case */
    const char *as_json;     /* after a text, before ->> */
    const char *in_few,
        *in_few_end;      /* "IN (" for a handful of rows, which must not become a scan */
    const char *no_index; /* before a column: no index of it serves this condition */
    const char *collate;  /* after a text: its bytes count, and A to Z alone have two cases */
    /* "column" these "$1" those: the column is one of the numbers in a text, which is between brackets. */
    const char *in_numbers, *in_numbers_end;
    char numbers_open, numbers_close;
    bool packs_rows; /* many rows are written faster as arrays */
    /* Ids of terms with a part of a text, before and after the pattern; NULL: LIKE has an index. */
    const char *text_part, *text_part_end; /* the latter NULL: ")" */
    bool
        parts_are_patterns; /* the pattern is one of LIKE, with '!' before what counts as it is; else a phrase in quotes */
    /* Have a new text of terms found by its parts; NULL: an index does so by itself. */
    const char *text_added;
    const char *text_removed; /* the same of a text that goes, "$2" as it was */
    bool has_one_writer;      /* whoever is in a transaction is alone */
    bool plans_by_size;       /* of tables, as they are when a statement is prepared */
    const char *begin;        /* start to write */
    /* The same, if is_pooled or is_confined. */
    enum fz_code (*begin_pooled)(struct sql *sql, struct fz_error *err);
    /* Of a new connection: let it see a project's rows only, and set is_confined, if the database has that turned on. NULL: no
     * database of the engine can. */
    enum fz_code (*confine)(struct sql *sql, struct fz_error *err);
    const char *bytes_query;    /* the size of the database */
    const char *position_query; /* as struct store_position; NULL: there is no such thing */
    const char *for_requests;   /* what sets a connection up for short waits and little memory */
    const char *for_bulk, *after_bulk; /* for a transaction that changes much, and back */
    const char *for_light,
        *after_light; /* for one that may be lost, and back; NULL: there are none */
    /* Let no statement run for much longer than sql->limit_ms (0: as long as others). Before each one outside of a
     * transaction, and before transactions. NULL: the engine asks sql_is_late(). */
    void (*limit_time)(struct sql *sql);
    enum fz_code (*connect)(struct sql *sql, struct fz_error *err);
    void (*disconnect)(struct sql *sql);
    enum fz_code (*script)(struct sql *sql, const char *script, struct fz_error *err);
    enum fz_code (*query)(struct sql *sql, const char *text, bool keep,
                          const struct sql_value *args, size_t n_args, struct sql_rows *ret,
                          struct fz_error *err);
    /* Put all rows of a query into `ret`, which has n_columns. NULL: they come faster one by one. */
    enum fz_code (*read_ints)(struct sql *sql, const char *text, const struct sql_value *args,
                              size_t n_args, struct sql_ints *ret, struct fz_error *err);
    enum fz_code (*next)(struct sql_rows *rows, bool *ret_row, struct fz_error *err);
    void (*end)(struct sql_rows *rows);
    uint64_t (*changes)(struct sql_rows *rows);
    bool (*is_null)(struct sql_rows *rows, int column);
    int64_t (*number)(struct sql_rows *rows, int column);
    struct fz_span (*bytes)(struct sql_rows *rows, int column);
    /* Also wakes those who wait, if sql->wakes. */
    enum fz_code (*commit)(struct sql *sql, struct fz_error *err);
    void (*rollback)(struct sql *sql);
    enum fz_code (*lock)(struct sql *sql, int64_t number, bool exclusive, struct fz_error *err);
    enum fz_code (*now)(struct sql *sql, int64_t *ret_ms, struct fz_error *err);
    enum fz_code (*clock)(struct sql *sql, int64_t *ret_ms, struct fz_error *err);
    void (*boot)(struct sql *sql, char ret[SQL_BOOT_TEXT]);
    bool (*wait_change)(struct sql *sql, int64_t timeout_ms);
    /* As sql_copy(); NULL: UNSUPPORTED. */
    enum fz_code (*copy)(struct sql *sql, const char *path, sql_copied_fn on_copied, void *user,
                         struct fz_error *err);
};

/* What both engines have in common; the first member of theirs, which is on the heap. */
struct sql {
    const struct sql_driver *driver;
    char *target;
    bool create;
    bool connected;
    bool broken; /* open again before the next use */
    bool in_tx, is_light;
    bool wakes; /* those who wait, when the transaction is committed */
    bool may_retry;
    bool for_requests;  /* also after connecting again */
    bool to_confine;    /* sql_confine() was called; also after connecting again */
    bool is_confined;   /* and the database has row security turned on. The engine says so */
    int64_t project_id; /* whose rows a confined connection sees; 0 = of none */
    bool in_bulk;       /* between sql_bulk_start() and sql_bulk_end() */
    bool
        is_pooled; /* what is set for the connection does not last: each transaction sets it. The engine says so */
    int64_t limit_ms; /* of sql_limit_time(); 0 = no limit */
    int64_t until_ms; /* monotonic; 0 = no limit */
};

/* For sql_ints_open(), if the driver has read_ints. */
FZ_MUST_CHECK enum fz_code sql_read_ints(struct sql *sql, const char *text,
                                         const struct sql_value *args, size_t n_args,
                                         struct sql_ints *ret, struct fz_error *err);

FZ_MUST_CHECK enum fz_code sql_sqlite_create(struct sql **ret, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sql_postgresql_create(struct sql **ret, struct fz_error *err);
const char *sql_postgresql_not_up(const char *database_url); /* sql_not_up() */

/* Prepared statements by their text: a fixed table that engines put their handles into. */
enum { SQL_CACHE_SLOTS = 256 };
struct sql_cache {
    struct sql_cache_slot {
        char *text;
        void *handle;
    } slots[SQL_CACHE_SLOTS];
};
/* The handle for `text`, or NULL. */
void *sql_cache_get(const struct sql_cache *cache, const char *text);
/* False: the table is full (or memory is), the handle stays the caller's. */
bool sql_cache_put(struct sql_cache *cache, const char *text, void *handle);
void sql_cache_clear(struct sql_cache *cache, void (*end_handle)(void *handle));

#endif
