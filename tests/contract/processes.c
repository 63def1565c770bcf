/*
 * Several processes at one database, and processes that are killed.
 */
#include "contract.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "storage/sql/sql.h"
#include "storage/store_committer.h"

enum { JOBS = 200, CHILDREN = 4 };

/* ---- nobody gets what another has ---- */

/* Each child claims until nothing is left and writes the jobs' ids to the pipe. */
static int
claim_child(struct contract *c, int i, void *user)
{
    int fd = *(int *)user;
    struct store_job jobs[7];
    size_t n = 1;
    while (n > 0) {
        if (store_job_claim(c->store, i % 2 ? "odd" : "even", 7, 60000, jobs, &n, &c->err) != FZ_OK)
            return 1;
        for (size_t j = 0; j < n; j++)
            if (write(fd, &jobs[j].id, sizeof(jobs[j].id)) != sizeof(jobs[j].id))
                return 1;
        /* Some are ended at once, so that claims meet deletes. */
        for (size_t j = 0; j < n; j += 3)
            if (contract_finish(c, &jobs[j], "x") != FZ_OK)
                return 1;
    }
    return 0;
}

static int
compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void
test_claims_of_many(void **state)
{
    struct contract *c = *state;
    int pipes[2];
    char id[STORE_ID_TEXT];
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < JOBS; i++) {
        char body[16];
        snprintf(body, sizeof(body), "%d", i);
        contract_report(c, c->project, body, id);
    }
    contract_fork(c, CHILDREN, claim_child, &pipes[1]);
    close(pipes[1]);
    int64_t ids[JOBS + 1];
    size_t n = 0;
    while (n <= JOBS && read(pipes[0], &ids[n], sizeof(ids[0])) == sizeof(ids[0]))
        n++;
    close(pipes[0]);
    assert_int_equal(n, JOBS);
    qsort(ids, n, sizeof(ids[0]), compare_ids);
    for (size_t i = 1; i < n; i++)
        assert_true(ids[i] != ids[i - 1]);
}

/* ---- the same reports from everywhere ---- */

static int
duplicate_child(struct contract *c, int i, void *user)
{
    int fd = *(int *)user;
    struct store_report_new items[20];
    for (int round = 0; round < 10; round++) {
        for (size_t j = 0; j < 20; j++) {
            /* In another order in each child: the way to a deadlock. */
            size_t k = i % 2 ? j : 19 - j;
            char body[32];
            snprintf(body, sizeof(body), "%d.%zu", round, k);
            items[j] = contract_item(c->project, body);
            items[j].body = fz_span_cstr("{}");
            if (k % 2) /* these share their ids, the others only their bodies */
                memcpy(items[j].id, items[j].body_sha256, STORE_ID_TEXT - 1);
        }
        enum fz_code code;
        do /* the database makes one of two nodes that wait for each other try again */
            code = contract_insert(c->store, items, 20, &c->err);
        while (code == FZ_E_UNAVAILABLE);
        if (code != FZ_OK)
            return 1;
        for (size_t j = 0; j < 20; j++) {
            if (items[j].code != FZ_OK)
                return 1;
            char fresh = items[j].is_duplicate ? 'd' : 'n';
            if (write(fd, &fresh, 1) != 1)
                return 1;
        }
    }
    return 0;
}

static void
test_duplicates_of_many(void **state)
{
    struct contract *c = *state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    contract_fork(c, CHILDREN, duplicate_child, &pipes[1]);
    close(pipes[1]);
    size_t n_new = 0, n_all = 0;
    char fresh;
    while (read(pipes[0], &fresh, 1) == 1) {
        n_all++;
        n_new += fresh == 'n';
    }
    close(pipes[0]);
    assert_int_equal(n_all, CHILDREN * 200);
    assert_int_equal(n_new, 200);
    struct store_counts counts;
    assert_ok(c, store_counts(c->store, &counts, &c->err));
    assert_int_equal(counts.n_reports, 200);
    assert_int_equal(counts.jobs_queued, 200);
}

/* ---- what was acknowledged is there ---- */

static void
on_durable(void *user, struct store_report_new *item, enum fz_code code, const char *text)
{
    (void)text;
    if (code == FZ_OK && write(*(int *)user, item->id, STORE_ID_TEXT) != STORE_ID_TEXT)
        _exit(1);
    free(item);
}

/* Hand reports in for ever; each id goes down the pipe once it is said to be durable. */
static void
write_for_ever(const char *url, int64_t project, int fd)
{
    struct store_committer *committer = NULL;
    if (store_committer_start(url, &committer, NULL) != FZ_OK)
        _exit(1);
    for (unsigned i = 0;; i++) {
        struct store_report_new *item = malloc(sizeof(*item));
        char body[64];
        if (!item)
            _exit(1);
        snprintf(body, sizeof(body), "%d.%u", (int)getpid(), i);
        *item = contract_item(project, body);
        item->body = fz_span_cstr("some text that is stored");
        while (store_committer_submit(committer, item, on_durable, &fd, NULL) != FZ_OK)
            fz_time_sleep_ms(1);
    }
}

static void
test_killed_writer(void **state)
{
    struct contract *c = *state;
    size_t n_acknowledged = 0;
    for (int round = 0; round < 8; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        fflush(NULL);
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0) {
            close(pipes[0]);
            write_for_ever(c->url, c->project, pipes[1]);
        }
        close(pipes[1]);
        /* Somewhere in the middle of a commit, each time elsewhere. */
        size_t n = 0, until = 20 + 37 * (size_t)round;
        char(*ids)[STORE_ID_TEXT] = calloc(100000, STORE_ID_TEXT);
        assert_non_null(ids);
        while (n < 100000) {
            size_t have = 0;
            ssize_t got = 1;
            while (have < STORE_ID_TEXT && got > 0) {
                got = read(pipes[0], ids[n] + have, STORE_ID_TEXT - have);
                have += got > 0 ? (size_t)got : 0;
            }
            if (have < STORE_ID_TEXT)
                break;
            if (++n == until)
                kill(writer, SIGKILL);
        }
        close(pipes[0]);
        int status = 0;
        assert_int_equal(waitpid(writer, &status, 0), writer);
        assert_true(WIFSIGNALED(status));
        assert_true(n >= until);
        struct store *store = contract_open(c);
        for (size_t i = 0; i < n; i++) {
            struct fz_span body;
            assert_ok(c, store_report_body(store, c->project, ids[i], &c->arena, &body, &c->err));
            assert_true(fz_span_is(body, "some text that is stored"));
        }
        store_close(store);
        n_acknowledged += n;
        free(ids);
    }
    assert_true(n_acknowledged > 1000);
}

/* ---- waiting ---- */

static void *
insert_later(void *user)
{
    struct contract *c = user;
    char id[STORE_ID_TEXT];
    fz_time_sleep_ms(100);
    contract_report(c, c->project, "a", id);
    return NULL;
}

static void
test_wait_change(void **state)
{
    struct contract *c = *state;
    struct contract own = *c;
    own.store = contract_open(c);
    fz_arena_init(&own.arena, 1024 * 1024);
    for (int i = 0; i < 4; i++) /* what has happened so far is forgotten */
        store_wait_change(c->store, 1);
    int64_t start = fz_time_monotonic_ms();
    store_wait_change(c->store, 150);
    assert_true(fz_time_monotonic_ms() - start >= 100);

    pthread_t thread;
    start = fz_time_monotonic_ms();
    assert_int_equal(pthread_create(&thread, NULL, insert_later, &own), 0);
    store_wait_change(c->store, 20000);
    int64_t took = fz_time_monotonic_ms() - start;
    pthread_join(thread, NULL);
    assert_in_range(took, 50, 5000);
    /* A change between two waits is not missed either. */
    char id[STORE_ID_TEXT];
    store_wait_change(c->store, 1);
    contract_report(&own, c->project, "b", id);
    start = fz_time_monotonic_ms();
    store_wait_change(c->store, 20000);
    assert_true(fz_time_monotonic_ms() - start < 5000);
    store_close(own.store);
    fz_arena_deinit(&own.arena);
}

/* A server that restarts, or a network that drops what is idle. */
static void
test_connection_lost(void **state)
{
    struct contract *c = *state;
    /* A pooler may put new connections in the place of those it lost; e2e.pgbouncer cuts them. */
    if (contract_is_sqlite(c) || c->database[0])
        skip();
    char id[STORE_ID_TEXT];
    struct store_report report;
    contract_report(c, c->project, "a", id);
    store_wait_change(c->store, 1);
    for (int i = 0; i < 3; i++) {
        contract_sql(c, "",
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                     "pid <> pg_backend_pid() AND application_name = 'framezero'");
        switch (i) {
        case 0:
            assert_fails(c, FZ_E_UNAVAILABLE,
                         store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
            break;
        case 1:
            assert_fails(c, FZ_E_UNAVAILABLE, store_ping(c->store, &c->err));
            break;
        default: /* does not hang, does not spin */
            for (int j = 0; j < 3; j++)
                store_wait_change(c->store, 10);
            break;
        }
        assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
        assert_ok(c, store_ping(c->store, &c->err));
    }
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_finish(c, &job, "x"));
}

/* A writer that holds the lock for a while makes others wait, not fail. */
static void *
hold_lock(void *user)
{
    struct contract *c = user;
    struct sql *sql = NULL, *tx = NULL;
    if (sql_open(c->url, false, &sql, NULL) != FZ_OK || sql_begin(sql, &tx, NULL) != FZ_OK)
        abort();
    fz_time_sleep_ms(300);
    sql_rollbackp(&tx);
    sql_close(sql);
    return NULL;
}

static void
test_busy_writer(void **state)
{
    struct contract *c = *state;
    pthread_t thread;
    char id[STORE_ID_TEXT];
    assert_int_equal(pthread_create(&thread, NULL, hold_lock, c), 0);
    for (int i = 0; i < 20; i++) {
        char body[16];
        snprintf(body, sizeof(body), "%d", i);
        contract_report(c, c->project, body, id);
        fz_time_sleep_ms(10);
    }
    pthread_join(thread, NULL);
}

/* Lock the job, stop, and commit when somebody lets us go on: 0 if that is refused then. */
static int
stop_in_transaction(const char *url, int fd)
{
    struct sql *sql = NULL, *tx = NULL;
    if (sql_open(url, false, &sql, NULL) != FZ_OK || sql_begin(sql, &tx, NULL) != FZ_OK ||
        sql_exec(tx, "UPDATE jobs SET outages = outages", NULL, 0, NULL, NULL) != FZ_OK ||
        write(fd, "", 1) != 1)
        return 2;
    raise(SIGSTOP);
    enum fz_code code = sql_commit(&tx, NULL);
    sql_close(sql);
    return code == FZ_OK;
}

/* What a stopped process has locked is free long before it would be in its way for good. */
static void
test_stopped_in_transaction(void **state)
{
    struct contract *c = *state;
    int pipes[2], status = 0;
    char id[STORE_ID_TEXT], byte;
    if (contract_is_sqlite(c))
        skip(); /* a process that is stopped there is the machine's */
    contract_report(c, c->project, "a", id);
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(stop_in_transaction(c->url, pipes[1]));
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    struct store_job job;
    size_t n = 0;
    assert_ok(c, store_job_claim(c->store, "w", 1, 60000, &job, &n, &c->err));
    assert_int_equal(n, 0);
    for (int i = 0; n == 0 && i < 300; i++) {
        fz_time_sleep_ms(100);
        assert_ok(c, store_job_claim(c->store, "w", 1, 60000, &job, &n, &c->err));
    }
    assert_int_equal(n, 1);
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ok(c, contract_finish(c, &job, "x"));
    close(pipes[0]);
}

int
contract_run_processes(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_claims_of_many),         contract_test(test_duplicates_of_many),
        contract_test(test_killed_writer),          contract_test(test_wait_change),
        contract_test(test_connection_lost),        contract_test(test_busy_writer),
        contract_test(test_stopped_in_transaction),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
