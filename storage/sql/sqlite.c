#include "storage/sql/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
#include "base/random.h"
#include "base/time.h"

/* How long a writer waits for the others before it reports UNAVAILABLE, and its longest
 * single sleep. */
static const int64_t BUSY_LIMIT_MS = 10000, REQUEST_BUSY_LIMIT_MS = 1500;
static const int NAP_MAX_MS = 10, PROGRESS_STEPS = 10000;

struct prepared {
    sqlite3_stmt *stmt;
    bool busy;                 /* its rows are being read */
    bool kept;                 /* in the cache */
    int index[SQL_MAX_PARAMS]; /* SQLite's own number of $1, $2...; 0 = not in the text */
};

struct sqlite {
    struct sql base;
    sqlite3 *db;
    struct sql_cache cache;
    int64_t busy_since_ms;
    int64_t data_version; /* as last seen by wait_change */
};

static struct sqlite *
self(struct sql *sql)
{
    return (struct sqlite *)sql;
}

static enum fz_code
code_of(int rc)
{
    /* The lowest byte is the primary result code; the rest makes it an extended one. */
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
        return FZ_E_UNAVAILABLE;
    case SQLITE_NOMEM:
        return FZ_E_NO_MEMORY;
    case SQLITE_TOOBIG:
        return FZ_E_LIMIT;
    case SQLITE_CONSTRAINT:
        if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
            return FZ_E_CONFLICT;
        return rc == SQLITE_CONSTRAINT_FOREIGNKEY ? FZ_E_NOT_FOUND : FZ_E_INTERNAL;
    default:
        return FZ_E_INTERNAL;
    }
}

static enum fz_code
fail(struct sqlite *lite, int rc, struct fz_error *err)
{
    /* After an I/O error nothing that the connection believes about the file can be trusted: a failed fsync may have dropped
     * pages. A file that could not be opened for writing (no descriptor was left) is open for reading, and stays so. */
    int kind = rc & 0xff;
    lite->base.broken |= kind == SQLITE_IOERR || kind == SQLITE_CORRUPT || kind == SQLITE_READONLY;
    const char *text = lite->db ? sqlite3_errmsg(lite->db) : sqlite3_errstr(rc);
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return fz_fail(err, FZ_E_INTERNAL,
                       "database: %s: the file is damaged; stop the server, "
                       "check the disk and restore a backup (framezero restore)",
                       text);
    return fz_fail(err, code_of(rc), "database: %s", text);
}

/* Called by SQLite while another connection holds the lock. Short sleeps of uneven length: its own
 * handler sleeps up to 100 ms at a time, which several writers feel. */
static int
on_busy(void *user, int n_calls)
{
    struct sqlite *lite = user;
    int64_t now = fz_time_monotonic_ms();
    if (n_calls == 0)
        lite->busy_since_ms = now;
    if (now - lite->busy_since_ms >=
        (lite->base.for_requests ? REQUEST_BUSY_LIMIT_MS : BUSY_LIMIT_MS))
        return 0;
    int nap = 1 + n_calls / 2;
    fz_time_sleep_ms(nap > NAP_MAX_MS ? NAP_MAX_MS - (n_calls + (int)getpid()) % 5 : nap);
    return 1;
}

/* Called by SQLite every PROGRESS_STEPS steps of a statement: not 0 ends it. */
static int
on_progress(void *sql)
{
    return sql_is_late(sql);
}

static void
end_prepared(void *handle)
{
    struct prepared *prepared = handle;
    sqlite3_finalize(prepared->stmt);
    free(prepared);
}

static void
sqlite_disconnect(struct sql *sql)
{
    struct sqlite *lite = self(sql);
    sql_cache_clear(&lite->cache, end_prepared);
    if (lite->db)
        sqlite3_close_v2(lite->db); /* even if an uncached statement is still being read */
    lite->db = NULL;
}

/* Personal data: readable by its owner only; SQLite gives the file's two companions the same mode. */
static enum fz_code
create_file(const char *path, struct fz_error *err)
{
    char parent[4096];
    const char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        if ((size_t)(slash - path) >= sizeof(parent))
            return fz_fail(err, FZ_E_LIMIT, "the path of the database is too long");
        snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
        enum fz_code code = fz_file_make_dirs(parent, err);
        if (code != FZ_OK)
            return code;
    }
    /* Only a file that is not there is opened here: closing any descriptor of a database would drop
     * the locks that this process's other connections hold on it. */
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) {
        fz_fail_errno(err, "cannot create the database %s", path);
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s", err ? err->text : "");
    }
    return FZ_OK;
}

static enum fz_code
sqlite_connect(struct sql *sql, struct fz_error *err)
{
    /* page_size only counts for a new file: 16 KB is a third faster for bodies of 20 KB.
     * synchronous: in WAL mode NORMAL may lose commits in a power cut that were acknowledged. */
    static const char set_up[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;"
                                 "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                                 "PRAGMA secure_delete = ON;"
                                 "PRAGMA trusted_schema = OFF;"
                                 "PRAGMA temp_store = MEMORY;"
                                 "PRAGMA cache_size = -16384;"
                                 "PRAGMA journal_size_limit = 67108864;";
    struct sqlite *lite = self(sql);
    if (sql->create) {
        enum fz_code code = create_file(sql->target, err);
        if (code != FZ_OK)
            return code;
    } else if (access(sql->target, F_OK) != 0 && errno == ENOENT) {
        return fz_fail(err, FZ_E_CONFLICT,
                       "there is no database at %s yet: run the migrations (framezero migrate)",
                       sql->target);
    }
    int rc =
        sqlite3_open_v2(sql->target, &lite->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_handler(lite->db, on_busy, lite);
    bool opened = rc == SQLITE_OK;
    /* Of several connections that switch a new file to WAL, all but one may get "busy" without a
     * call of the handler, since waiting with a lock held could last for ever. */
    for (int n_calls = 0; opened; n_calls++) {
        rc = sqlite3_exec(lite->db, set_up, NULL, NULL, NULL);
        opened = (rc & 0xff) == SQLITE_BUSY && on_busy(lite, n_calls);
    }
    enum fz_code code = rc == SQLITE_OK ? FZ_OK : fail(lite, rc, err);
    if (code != FZ_OK)
        sqlite_disconnect(sql);
    else
        sqlite3_progress_handler(lite->db, PROGRESS_STEPS, on_progress, sql);
    return code;
}

static enum fz_code
sqlite_script(struct sql *sql, const char *script, struct fz_error *err)
{
    int rc = sqlite3_exec(self(sql)->db, script, NULL, NULL, NULL);
    return rc == SQLITE_OK ? FZ_OK : fail(self(sql), rc, err);
}

/* SQLite numbers $1, $2... by their first appearance, so each is looked up by its name. */
static enum fz_code
prepare(struct sqlite *lite, const char *text, struct prepared **ret, struct fz_error *err)
{
    struct prepared *prepared = calloc(1, sizeof(*prepared));
    if (!prepared)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    int rc =
        sqlite3_prepare_v3(lite->db, text, -1, SQLITE_PREPARE_PERSISTENT, &prepared->stmt, NULL);
    if (rc != SQLITE_OK) {
        free(prepared);
        return fail(lite, rc, err);
    }
    int n = sqlite3_bind_parameter_count(prepared->stmt);
    for (int i = 1; i <= n; i++) {
        const char *name = sqlite3_bind_parameter_name(prepared->stmt, i);
        long number = name && *name == '$' ? strtol(name + 1, NULL, 10) : 0;
        if (number > 0 && number <= SQL_MAX_PARAMS)
            prepared->index[number - 1] = i;
    }
    *ret = prepared;
    return FZ_OK;
}

static int
bind(sqlite3_stmt *stmt, int index, const struct sql_value *value)
{
    if (value->is_null)
        return sqlite3_bind_null(stmt, index);
    if (value->kind == SQL_INT)
        return sqlite3_bind_int64(stmt, index, value->number);
    /* An empty span may have no address, which SQLite would take for NULL. */
    const void *data = value->bytes.len ? (const void *)value->bytes.data : "";
    if (value->kind == SQL_TEXT || value->kind == SQL_NUMBERS)
        return sqlite3_bind_text64(stmt, index, data, value->bytes.len, SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_blob64(stmt, index, data, value->bytes.len, SQLITE_STATIC);
}

static void
sqlite_end(struct sql_rows *rows)
{
    struct prepared *prepared = rows->result;
    if (!prepared->kept) {
        end_prepared(prepared);
        return;
    }
    sqlite3_reset(prepared->stmt);
    /* The bindings are borrowed (SQLITE_STATIC) and end with the caller's values. */
    sqlite3_clear_bindings(prepared->stmt);
    prepared->busy = false;
}

static enum fz_code
sqlite_query(struct sql *sql, const char *text, bool keep, const struct sql_value *args,
             size_t n_args, struct sql_rows *ret, struct fz_error *err)
{
    struct sqlite *lite = self(sql);
    struct prepared *prepared = keep ? sql_cache_get(&lite->cache, text) : NULL;
    if (!prepared || prepared->busy) {
        /* A statement whose rows are still being read cannot start again: a second one, not kept,
         * serves this call. */
        bool is_new = !prepared;
        enum fz_code code = prepare(lite, text, &prepared, err);
        if (code != FZ_OK)
            return code;
        prepared->kept = keep && is_new && sql_cache_put(&lite->cache, text, prepared);
    }
    prepared->busy = true;
    ret->result = prepared;
    for (size_t i = 0; i < n_args && i < SQL_MAX_PARAMS; i++) {
        int index = prepared->index[i];
        int rc = index ? bind(prepared->stmt, index, &args[i]) : SQLITE_OK;
        if (rc != SQLITE_OK) {
            enum fz_code code = fail(lite, rc, err);
            sqlite_end(ret);
            return code;
        }
    }
    return FZ_OK;
}

static enum fz_code
sqlite_next(struct sql_rows *rows, bool *ret_row, struct fz_error *err)
{
    struct prepared *prepared = rows->result;
    int rc = sqlite3_step(prepared->stmt);
    if ((rc & 0xff) == SQLITE_INTERRUPT && sql_is_late(rows->sql))
        return sql_fail_late(err);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return fail(self(rows->sql), rc, err);
    *ret_row = rc == SQLITE_ROW;
    return FZ_OK;
}

static uint64_t
sqlite_changes(struct sql_rows *rows)
{
    return (uint64_t)sqlite3_changes64(self(rows->sql)->db);
}

static bool
sqlite_is_null(struct sql_rows *rows, int column)
{
    return sqlite3_column_type(((struct prepared *)rows->result)->stmt, column) == SQLITE_NULL;
}

static int64_t
sqlite_number(struct sql_rows *rows, int column)
{
    return sqlite3_column_int64(((struct prepared *)rows->result)->stmt, column);
}

static struct fz_span
sqlite_bytes(struct sql_rows *rows, int column)
{
    sqlite3_stmt *stmt = ((struct prepared *)rows->result)->stmt;
    /* The bytes first: sqlite3_column_blob() may convert the value, which changes its length. */
    const void *data = sqlite3_column_blob(stmt, column);
    return fz_span_make(data, (size_t)sqlite3_column_bytes(stmt, column));
}

static enum fz_code
sqlite_commit(struct sql *sql, struct fz_error *err)
{
    return sqlite_script(sql, "COMMIT", err);
}

static void
sqlite_rollback(struct sql *sql)
{
    /* After some failures SQLite has rolled back by itself. */
    if (!sqlite3_get_autocommit(self(sql)->db))
        sqlite3_exec(self(sql)->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum fz_code
sqlite_lock(struct sql *sql FZ_UNUSED, int64_t number FZ_UNUSED, bool exclusive FZ_UNUSED,
            struct fz_error *err FZ_UNUSED)
{
    return FZ_OK; /* a transaction has the database's only write lock from its BEGIN IMMEDIATE on */
}

static enum fz_code
sqlite_now(struct sql *sql FZ_UNUSED, int64_t *ret_ms, struct fz_error *err FZ_UNUSED)
{
    *ret_ms = fz_time_now_ms(); /* all who share the file share this machine's clock */
    return FZ_OK;
}

static enum fz_code
sqlite_clock(struct sql *sql FZ_UNUSED, int64_t *ret_ms, struct fz_error *err FZ_UNUSED)
{
    *ret_ms = fz_time_monotonic_ms(); /* the calendar may be set back by a day */
    return FZ_OK;
}

static void
sqlite_boot(struct sql *sql FZ_UNUSED, char ret[SQL_BOOT_TEXT])
{
    FZ_CLEANUP(fz_closep)
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, SQL_BOOT_TEXT - 1);
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    if (n > 0)
        return;
    uint64_t start; /* unknown: each start counts as another boot */
    fz_random(&start, sizeof(start));
    snprintf(ret, SQL_BOOT_TEXT, "%llx", (unsigned long long)start);
}

static bool
sqlite_wait_change(struct sql *sql, int64_t timeout_ms)
{
    struct sqlite *lite = self(sql);
    int64_t end = fz_time_monotonic_ms() + timeout_ms;
    for (int64_t nap = 2;;) {
        int64_t version = 0;
        if (sql_number(sql, "PRAGMA data_version", NULL, 0, &version, NULL, NULL) != FZ_OK)
            version = lite->data_version;
        if (version != lite->data_version) {
            /* Kept from call to call, so a commit between two waits is not missed. */
            lite->data_version = version;
            return true;
        }
        int64_t left = end - fz_time_monotonic_ms();
        if (left <= 0)
            return false;
        fz_time_sleep_ms(nap < left ? nap : left);
        nap = nap < 8 ? nap + 1 : 8;
    }
}

/* Pages of one step: 16 MB. */
enum { COPY_PAGES = 1024 };

static int
copy_pages(sqlite3_backup *backup, int64_t page_size, sql_copied_fn on_copied, void *user)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK) {
        rc = sqlite3_backup_step(backup, COPY_PAGES);
        int64_t total = sqlite3_backup_pagecount(backup);
        int64_t left = sqlite3_backup_remaining(backup);
        on_copied(user, (uint64_t)((total - left) * page_size), (uint64_t)(total * page_size));
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum fz_code
sqlite_copy(struct sql *sql, const char *path, sql_copied_fn on_copied, void *user,
            struct fz_error *err)
{
    struct sqlite *lite = self(sql);
    sqlite3 *to = NULL;
    int64_t page_size = 0;
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fz_fail_errno(err, "cannot create %s", path);
    fz_closep(&fd);
    enum fz_code code = sql_number(sql, "PRAGMA page_size", NULL, 0, &page_size, NULL, err);
    /* One transaction for all steps: after a write of others a step would begin again. */
    if (code == FZ_OK)
        code = sqlite_script(sql, "BEGIN; SELECT 1 FROM sqlite_master", err);
    if (code != FZ_OK)
        return code;
    int rc = sqlite3_open_v2(
        path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(to, "main", lite->db, "main") : NULL;
    if (backup) {
        rc = copy_pages(backup, page_size, on_copied, user);
        int end = sqlite3_backup_finish(backup);
        rc = rc == SQLITE_OK ? end : rc;
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_extended_errcode(to);
    }
    if (rc != SQLITE_OK)
        code = fz_fail(err, code_of(rc), "%s: %s", path, sqlite3_errstr(rc));
    sqlite3_close_v2(to);
    sqlite_rollback(sql);
    return code;
}

enum fz_code
sql_sqlite_create(struct sql **ret, struct fz_error *err)
{
    static const struct sql_driver driver = {
        .name = "sqlite",
        .for_update = "",
        .skip_locked = "",
        .like = "LIKE",
        .as_json = "",
        .in_few = "IN (",
        .in_few_end = ")",
        .no_index = "+",
        .collate = "",
        .in_numbers = "IN (SELECT value FROM json_each(",
        .in_numbers_end = "))",
        .numbers_open = '[',
        .numbers_close = ']',
        .text_part = "id IN (SELECT rowid FROM term_texts WHERE text MATCH ",
        .text_added = "INSERT INTO term_texts (rowid, text) VALUES ($1, $2)",
        .text_removed =
            "INSERT INTO term_texts (term_texts, rowid, text) VALUES ('delete', $1, $2)",
        .has_one_writer = true,
        /* IMMEDIATE: a transaction that starts by reading could not become a writer any more once
         * another connection has written. */
        .begin = "BEGIN IMMEDIATE",
        .for_requests = "PRAGMA cache_size = -4096",
        /* Pages that do not fit are written to the log, again and again. */
        .for_bulk = "PRAGMA cache_size = -262144",
        .for_light = "PRAGMA synchronous = NORMAL",
        .after_light = "PRAGMA synchronous = FULL",
        .after_bulk = "PRAGMA cache_size = -16384; PRAGMA shrink_memory",
        .bytes_query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        .connect = sqlite_connect,
        .disconnect = sqlite_disconnect,
        .script = sqlite_script,
        .query = sqlite_query,
        .next = sqlite_next,
        .end = sqlite_end,
        .changes = sqlite_changes,
        .is_null = sqlite_is_null,
        .number = sqlite_number,
        .bytes = sqlite_bytes,
        .commit = sqlite_commit,
        .rollback = sqlite_rollback,
        .lock = sqlite_lock,
        .now = sqlite_now,
        .clock = sqlite_clock,
        .boot = sqlite_boot,
        .wait_change = sqlite_wait_change,
        .copy = sqlite_copy,
    };
    struct sqlite *lite = calloc(1, sizeof(*lite));
    if (!lite)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    lite->base.driver = &driver;
    *ret = &lite->base;
    return FZ_OK;
}
