/*
 * The SQL layer on SQLite: what the contract tests cannot see from above the store.
 */
#define _GNU_SOURCE /* syscall, O_TMPFILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/sql/sql.h"

struct fixture {
    char dir[64], path[128], url[160];
    struct sql *sql;
    struct fz_error err;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    snprintf(f->dir, sizeof(f->dir), "/tmp/fzsql.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/new/folder/x.db", f->dir);
    snprintf(f->url, sizeof(f->url), "sqlite:%s", f->path);
    assert_int_equal(sql_open(f->url, true, &f->sql, &f->err), FZ_OK);
    assert_int_equal(sql_script(f->sql,
                                "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
                                "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b UNIQUE, "
                                "parent INTEGER REFERENCES parent (id))",
                                &f->err),
                     FZ_OK);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];
    sql_close(f->sql);
    snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    int failed = system(command);
    free(f);
    return failed;
}

/* ---- SQLite's open(), in the place of the C library's ---- */

static const char
    *refused; /* the end of a file's name that is not opened for writing; NULL: none */
static int n_refused;
int open64(const char *path, int flags, ...);

int
open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    size_t len = strlen(path), end = refused ? strlen(refused) : 0;
    if (refused && len >= end && strcmp(path + len - end, refused) == 0 &&
        (flags & O_ACCMODE) == O_RDWR) {
        n_refused++;
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* For want of descriptors, SQLite opens a file for reading alone, and keeps it so. */
static void
test_not_opened_for_writing(void **state)
{
    struct fixture *f = *state;
    static const char *const ends[] = {"x.db", "x.db-wal"};
    for (int i = 0; i < 2; i++) {
        struct sql *sql = NULL;
        refused = ends[i];
        n_refused = 0;
        enum fz_code code = sql_open(f->url, false, &sql, &f->err);
        if (code == FZ_OK)
            code = sql_script(sql, "INSERT INTO t (a) VALUES (1)", &f->err);
        refused = NULL;
        assert_int_equal(code, FZ_E_UNAVAILABLE);
        assert_true(n_refused > 0);
        if (sql) /* it is left: the same connection works again */
            assert_int_equal(sql_script(sql, "INSERT INTO t (a) VALUES (1)", &f->err), FZ_OK);
        sql_close(sql);
    }
}

static void
test_values(void **state)
{
    struct fixture *f = *state;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    /* The second argument is first in the text, and one is not in it at all. */
    const struct sql_value args[] = {sql_int(INT64_MIN),
                                     sql_text("caf\xc3\xa9"),
                                     sql_int(77),
                                     sql_text(NULL),
                                     sql_text(""),
                                     sql_blob(fz_span_make("\0\xff", 2)),
                                     sql_blob(fz_span_make(NULL, 0))};
    assert_int_equal(
        sql_query(f->sql, "SELECT $2, $1, $4, $5, $6, $7, $2", args, 7, &rows, &f->err), FZ_OK);
    assert_int_equal(sql_next(&rows, &row, &f->err), FZ_OK);
    assert_true(row);
    assert_string_equal(sql_col_text(&rows, 0, &arena), "caf\xc3\xa9");
    assert_true(sql_col_int(&rows, 1) == INT64_MIN);
    assert_null(sql_col_text(&rows, 2, &arena));
    assert_int_equal(sql_col_int(&rows, 2), 0);
    assert_string_equal(sql_col_text(&rows, 3, &arena), "");
    assert_true(fz_span_equal(sql_col_bytes(&rows, 4), fz_span_make("\0\xff", 2)));
    assert_int_equal(sql_col_bytes(&rows, 5).len, 0);
    char cut[4];
    sql_col_copy(&rows, 6, cut, sizeof(cut));
    assert_string_equal(cut, "caf");
    assert_int_equal(sql_next(&rows, &row, &f->err), FZ_OK);
    assert_false(row);
}

static void
test_clean_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t max;
        const char *want;
    } cases[] = {
        {"abc", 3, "abc"},
        {"abcd", 3, "abc"},
        {"", 3, ""},
        {"a\xc3\xa9", 2, "a"}, /* not half a character */
        {"a\xc3\xa9", 3, "a\xc3\xa9"},
        {"\xe2\x82\xac", 2, ""},
        {"a\xff", 9, "a\xef\xbf\xbd"},
        {"\x80\x80\x80", 1, ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        struct sql_value value = sql_text_clean(&arena, cases[i].text, cases[i].max);
        assert_int_equal(value.kind, SQL_TEXT);
        if (!fz_span_is(value.bytes, cases[i].want))
            fail_msg("case %zu: %.*s", i, (int)value.bytes.len, (const char *)value.bytes.data);
        arena.fail_after = 0;
        assert_int_equal(sql_text_clean(&arena, "x", 9).kind, SQL_BAD);
    }
    assert_true(sql_text_clean(NULL, NULL, 9).is_null);
}

static void
test_errors(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        enum fz_code code;
    } cases[] = {
        {"INSERT INTO t (id, b) VALUES (1, 'x')", FZ_OK},
        {"INSERT INTO t (id, b) VALUES (2, 'x')", FZ_E_CONFLICT},
        {"INSERT INTO t (id, b) VALUES (1, 'y')", FZ_E_CONFLICT},
        {"INSERT INTO t (id, parent) VALUES (3, 99)", FZ_E_NOT_FOUND},
        {"SELECT nonsense", FZ_E_INTERNAL},
        {"SELECT zeroblob(2000000000)", FZ_E_LIMIT},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_int_equal(sql_exec(f->sql, cases[i].text, NULL, 0, NULL, &f->err), cases[i].code);
        if (cases[i].code)
            assert_int_equal(strncmp(f->err.text, "database: ", 10), 0);
    }
    const struct sql_value bad[] = {sql_text("\xff")}, memory[] = {{.kind = SQL_BAD}};
    assert_int_equal(sql_exec(f->sql, "SELECT $1", bad, 1, NULL, &f->err), FZ_E_MALFORMED);
    assert_string_equal(f->err.text, "a text is not UTF-8");
    assert_int_equal(sql_exec(f->sql, "SELECT $1", memory, 1, NULL, &f->err), FZ_E_NO_MEMORY);
}

static int64_t
count(struct fixture *f)
{
    int64_t n = -1;
    assert_int_equal(sql_number(f->sql, "SELECT count(*) FROM t", NULL, 0, &n, NULL, &f->err),
                     FZ_OK);
    return n;
}

static enum fz_code
insert_and_fail(struct fixture *f, bool commit)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(f->sql, &tx, &f->err);
    if (code == FZ_OK)
        code = sql_exec(tx, "INSERT INTO t (a) VALUES (1)", NULL, 0, NULL, &f->err);
    return code == FZ_OK && commit ? sql_commit(&tx, &f->err) : code;
}

static void
test_transactions(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(insert_and_fail(f, false), FZ_OK);
    assert_int_equal(count(f), 0);
    assert_int_equal(insert_and_fail(f, true), FZ_OK);
    assert_int_equal(count(f), 1);
}

/* Rows that are still being read do not mind the same query being asked again. */
static void
test_nested_rows(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "SELECT value FROM (SELECT 1 AS value UNION ALL SELECT 2)";
    FZ_CLEANUP(sql_rows_close) struct sql_rows outer = {0};
    bool row = false;
    int64_t n_inner = 0;
    assert_int_equal(sql_query(f->sql, text, NULL, 0, &outer, &f->err), FZ_OK);
    while (sql_next(&outer, &row, &f->err) == FZ_OK && row) {
        FZ_CLEANUP(sql_rows_close) struct sql_rows inner = {0};
        bool inner_row = false;
        assert_int_equal(sql_query(f->sql, text, NULL, 0, &inner, &f->err), FZ_OK);
        while (sql_next(&inner, &inner_row, &f->err) == FZ_OK && inner_row)
            n_inner++;
    }
    assert_int_equal(n_inner, 4);
}

static void
test_more_texts_than_slots(void **state)
{
    struct fixture *f = *state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2 * SQL_CACHE_SLOTS; i++) {
            char text[32];
            int64_t n = -1;
            snprintf(text, sizeof(text), "SELECT %d", i);
            assert_int_equal(sql_number(f->sql, text, NULL, 0, &n, NULL, &f->err), FZ_OK);
            assert_int_equal(n, i);
        }
    }
}

/* A full disk: said so, nothing half done, and all is well once there is room again. */
static void
test_disk_full(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(sql_script(f->sql, "PRAGMA max_page_count = 20", &f->err), FZ_OK);
    const struct sql_value args[] = {sql_int(100000)};
    enum fz_code code = FZ_OK;
    for (int i = 0; i < 20 && code == FZ_OK; i++)
        code = sql_exec(f->sql, "INSERT INTO t (a) VALUES (zeroblob($1))", args, 1, NULL, &f->err);
    assert_int_equal(code, FZ_E_UNAVAILABLE);
    assert_string_equal(f->err.text, "database: database or disk is full");
    int64_t before = count(f);
    assert_int_equal(insert_and_fail(f, true), FZ_OK); /* a small one still fits */
    assert_int_equal(sql_script(f->sql, "PRAGMA max_page_count = 2000", &f->err), FZ_OK);
    assert_int_equal(
        sql_exec(f->sql, "INSERT INTO t (a) VALUES (zeroblob($1))", args, 1, NULL, &f->err), FZ_OK);
    assert_int_equal(count(f), before + 2);
}

static void
test_durability_and_privacy(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    int64_t n = -1;
    static const struct {
        const char *pragma;
        int64_t want;
    } cases[] = {
        {"PRAGMA synchronous", 2}, {"PRAGMA foreign_keys", 1}, {"PRAGMA page_size", 16384}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_int_equal(sql_number(f->sql, cases[i].pragma, NULL, 0, &n, NULL, &f->err), FZ_OK);
        assert_int_equal(n, cases[i].want);
    }
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(65536 * 2);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    bool row = false;
    assert_int_equal(sql_query(f->sql, "PRAGMA journal_mode", NULL, 0, &rows, &f->err), FZ_OK);
    assert_int_equal(sql_next(&rows, &row, &f->err), FZ_OK);
    assert_string_equal(sql_col_text(&rows, 0, &arena), "wal");
    sql_rows_close(&rows);
    /* Reports are personal data: nobody else on the machine reads the files. */
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(suffixes); i++) {
        char path[160];
        snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

/* Is the file locked, as another process sees it? */
static bool
is_locked(const char *path)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR | O_CLOEXEC);
        _exit(fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 ? 2 : lock.l_type != F_UNLCK);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

static int64_t
synchronous(struct fixture *f)
{
    int64_t level = -1;
    assert_int_equal(sql_number(f->sql, "PRAGMA synchronous", NULL, 0, &level, NULL, &f->err),
                     FZ_OK);
    return level;
}

/* Only transactions that may be lost do not wait for the disk, however they end. */
static void
test_light_transactions(void **state)
{
    enum { NORMAL = 1, FULL = 2 };
    struct fixture *f = *state;
    struct sql *tx = NULL, *other = NULL, *blocked = NULL;
    assert_int_equal(sql_begin_light(f->sql, &tx, &f->err), FZ_OK);
    assert_int_equal(synchronous(f), NORMAL);
    assert_int_equal(sql_commit(&tx, &f->err), FZ_OK);
    assert_int_equal(synchronous(f), FULL);
    assert_int_equal(sql_begin_light(f->sql, &tx, &f->err), FZ_OK);
    sql_rollbackp(&tx);
    tx = NULL;
    assert_int_equal(synchronous(f), FULL);
    assert_int_equal(sql_begin(f->sql, &tx, &f->err), FZ_OK);
    assert_int_equal(synchronous(f), FULL);
    assert_int_equal(sql_commit(&tx, &f->err), FZ_OK);
    /* One that cannot begin. */
    assert_int_equal(sql_open(f->url, true, &other, &f->err), FZ_OK);
    assert_int_equal(sql_serve_requests(f->sql, &f->err), FZ_OK);
    assert_int_equal(sql_begin(other, &blocked, &f->err), FZ_OK);
    assert_int_not_equal(sql_begin_light(f->sql, &tx, &f->err), FZ_OK);
    assert_int_equal(synchronous(f), FULL);
    sql_rollbackp(&blocked);
    sql_close(other);
}

/* Opening once more in one process must not drop the lock of the connection that is open, as the
 * closing of any descriptor of the file would: another process that ends would take itself for the
 * last one then, and delete the write-ahead log under us. */
static void
test_second_open_keeps_locks(void **state)
{
    struct fixture *f = *state;
    struct sql *second = NULL;
    assert_true(is_locked(f->path));
    assert_int_equal(sql_open(f->url, true, &second, &f->err), FZ_OK);
    sql_close(second);
    assert_true(is_locked(f->path));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test(test_clean_texts),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_transactions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_texts_than_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_durability_and_privacy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_light_transactions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_second_open_keeps_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_opened_for_writing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
