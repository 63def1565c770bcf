#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_again_is_nothing(void **state)
{
    struct contract *c = *state;
    unsigned n = 99;
    assert_ok(c, store_migrate(c->url, &n, &c->err));
    assert_int_equal(n, 0);
}

static void
test_newer_is_refused(void **state)
{
    struct contract *c = *state;
    static const char insert[] = "INSERT INTO schema_migrations (version, name, checksum, "
                                 "applied_ms) VALUES (99, '0099_future.sql', 'x', 1)";
    contract_sql(c, insert, insert);
    unsigned n = 0;
    struct store *store = NULL;
    assert_fails(c, FZ_E_CONFLICT, store_migrate(c->url, &n, &c->err));
    assert_non_null(strstr(c->err.text, "version 99"));
    assert_fails(c, FZ_E_CONFLICT, store_open(c->url, &store, &c->err));
    assert_non_null(strstr(c->err.text, "use a newer framezero"));
}

/* A newer program's migrations that only add: this one goes on, and does not start. The next one that is no expansion ends it. */
static void
test_expanded(void **state)
{
    struct contract *c = *state;
    static const char insert[] =
        "INSERT INTO schema_migrations (version, name, checksum, applied_ms) VALUES "
        "(98, '0098_expand_a.sql', 'x', 1), (99, '0099_expand_b.sql', 'x', 1)";
    static const char *const more[] = {"(100, '0100_expandable.sql', 'x', 1)",
                                       "(101, '0101_expand.sql', 'x', 1)",
                                       "(102, '_expand_x.sql', 'x', 1)", "(103, '', 'x', 1)"};
    contract_sql(c, insert, insert);
    unsigned n = 0;
    assert_ok(c, store_check(c->store, &c->err));
    store_close(contract_open(c));
    assert_fails(c, FZ_E_CONFLICT, store_migrate(c->url, &n, &c->err));
    assert_non_null(strstr(c->err.text, "use a newer framezero"));
    for (size_t i = 0; i < FZ_ARRAY_LEN(more); i++) {
        char statement[160];
        struct store *store = NULL;
        snprintf(statement, sizeof(statement),
                 "INSERT INTO schema_migrations (version, name, checksum, applied_ms) VALUES %s",
                 more[i]);
        contract_sql(c, statement, statement);
        assert_fails(c, FZ_E_CONFLICT, store_check(c->store, &c->err));
        assert_fails(c, FZ_E_CONFLICT, store_open(c->url, &store, &c->err));
        snprintf(statement, sizeof(statement),
                 "DELETE FROM schema_migrations WHERE version >= 100");
        contract_sql(c, statement, statement);
    }
}

static void
test_other_content_is_refused(void **state)
{
    struct contract *c = *state;
    static const char update[] = "UPDATE schema_migrations SET checksum = '00' WHERE version = 1";
    contract_sql(c, update, update);
    unsigned n = 0;
    struct store *store = NULL;
    assert_fails(c, FZ_E_CONFLICT, store_migrate(c->url, &n, &c->err));
    assert_non_null(strstr(c->err.text, "0001_first.sql"));
    assert_fails(c, FZ_E_CONFLICT, store_open(c->url, &store, &c->err));
}

/* An empty database: the SQLite file removed, the PostgreSQL schema emptied. */
static void
empty(struct contract *c)
{
    char path[128];
    store_close(c->store);
    c->store = NULL;
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    if (strncmp(c->url, "sqlite:", 7) != 0)
        contract_sql(
            c, "",
            "DO $$ BEGIN EXECUTE 'DROP SCHEMA ' || current_schema() || ' CASCADE'; END $$; "
            "DO $$ BEGIN EXECUTE 'CREATE SCHEMA ' || replace("
            "split_part(current_setting('search_path'), ',', 1), '\"$user\"', 'public'); END $$");
    for (size_t i = 0; i < FZ_ARRAY_LEN(suffixes); i++) {
        snprintf(path, sizeof(path), "%s/framezero.db%s", c->dir, suffixes[i]);
        remove(path);
    }
}

static void
test_open_needs_migrations(void **state)
{
    struct contract *c = *state;
    struct store *store = NULL;
    unsigned n = 0;
    empty(c);
    assert_fails(c, FZ_E_CONFLICT, store_open(c->url, &store, &c->err));
    assert_non_null(strstr(c->err.text, "run the migrations"));
    assert_ok(c, store_migrate(c->url, &n, &c->err));
    assert_true(n >= 1);
    assert_ok(c, store_open(c->url, &store, &c->err));
    store_close(store);
}

/* Several machines that start at once: each migration is applied by exactly one of them. */
static void
test_many_at_once(void **state)
{
    struct contract *c = *state;
    enum { CHILDREN = 6 };
    int pipes[2], n_read = 0;
    unsigned n_total = 0, n_all = 0;
    empty(c);
    assert_ok(c, store_migrate(c->url, &n_all, &c->err));
    empty(c);
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct fz_error err;
            unsigned n = 0;
            if (store_migrate(c->url, &n, &err) != FZ_OK) {
                fprintf(stderr, "child %d: %s\n", i, err.text);
                _exit(1);
            }
            _exit(write(pipes[1], &n, sizeof(n)) != sizeof(n));
        }
    }
    close(pipes[1]);
    unsigned n;
    while (read(pipes[0], &n, sizeof(n)) == sizeof(n)) {
        n_read++;
        n_total += n;
    }
    close(pipes[0]);
    for (int i = 0; i < CHILDREN; i++)
        wait(NULL);
    assert_int_equal(n_read, CHILDREN);
    assert_int_equal(n_total, n_all);
    store_close(contract_open(c));
}

static void
test_bad_urls(void **state)
{
    struct contract *c = *state;
    static const struct {
        const char *url;
        enum fz_code code;
        const char *text;
    } cases[] = {
        {"", FZ_E_MALFORMED, "sqlite:PATH"},
        {"sqlite:", FZ_E_MALFORMED, "sqlite:PATH"},
        {"mysql://x", FZ_E_MALFORMED, "sqlite:PATH"},
        {"sqlite:/nonexistent/dir/x.db", FZ_E_CONFLICT, "no database at"},
        {"sqlite:/", FZ_E_UNAVAILABLE, "database: "},
        {"postgresql://x@/db?host=/nonexistent", FZ_E_UNAVAILABLE, "database: "},
        {"postgres://x@/db?host=/nonexistent", FZ_E_UNAVAILABLE, "database: "},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct store *store = NULL;
        assert_fails(c, cases[i].code, store_open(cases[i].url, &store, &c->err));
        if (!strstr(c->err.text, cases[i].text))
            fail_msg("%s: %s", cases[i].url, c->err.text);
        assert_null(store);
    }
}

int
contract_run_migrate(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_again_is_nothing),
        contract_test(test_newer_is_refused),
        contract_test(test_expanded),
        contract_test(test_other_content_is_refused),
        contract_test(test_open_needs_migrations),
        contract_test(test_many_at_once),
        contract_test(test_bad_urls),
    };
    return cmocka_run_group_tests_name("migrate", tests, NULL, NULL);
}
