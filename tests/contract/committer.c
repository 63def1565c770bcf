#include "contract.h"

#include "base/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "storage/store_committer.h"

/* Collects the callbacks, which come from the committer's thread. */
struct tally {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    size_t n_done, n_ok, n_duplicate;
    enum fz_code last_bad;
    char text[256];
    pthread_mutex_t *gate; /* held by the test to keep the thread busy */
};

static void
on_done(void *user, struct store_report_new *item, enum fz_code code, const char *text)
{
    struct tally *tally = user;
    if (tally->gate) {
        pthread_mutex_lock(tally->gate);
        pthread_mutex_unlock(tally->gate);
    }
    pthread_mutex_lock(&tally->lock);
    tally->n_done++;
    tally->n_ok += code == FZ_OK;
    tally->n_duplicate += code == FZ_OK && item->is_duplicate;
    if (code != FZ_OK) {
        tally->last_bad = code;
        snprintf(tally->text, sizeof(tally->text), "%s", text);
    }
    pthread_cond_signal(&tally->wake);
    pthread_mutex_unlock(&tally->lock);
}

static void
tally_init(struct tally *tally)
{
    memset(tally, 0, sizeof(*tally));
    pthread_mutex_init(&tally->lock, NULL);
    pthread_cond_init(&tally->wake, NULL);
}

static void
tally_wait(struct tally *tally, size_t n)
{
    pthread_mutex_lock(&tally->lock);
    while (tally->n_done < n)
        pthread_cond_wait(&tally->wake, &tally->lock);
    pthread_mutex_unlock(&tally->lock);
}

enum { N = 700 };

static struct store_report_new *
make_items(struct contract *c, size_t n)
{
    struct store_report_new *items = calloc(n, sizeof(*items));
    assert_non_null(items);
    for (size_t i = 0; i < n; i++) {
        char body[32];
        snprintf(body, sizeof(body), "body %zu", i);
        items[i] = contract_item(c->project, body);
        items[i].body = fz_span_cstr("the same text for all");
    }
    return items;
}

static void
test_group(void **state)
{
    struct contract *c = *state;
    struct store_committer *committer;
    struct store_committer_stats stats;
    struct tally tally;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct store_report_new *items = make_items(c, N);
    tally_init(&tally);
    tally.gate = &gate;
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    pthread_mutex_lock(&gate); /* the first batch ends only when all have been handed in */
    for (size_t i = 0; i < N; i++)
        assert_ok(c, store_committer_submit(committer, &items[i], on_done, &tally, &c->err));
    pthread_mutex_unlock(&gate);
    tally_wait(&tally, N);
    assert_int_equal(tally.n_ok, N);
    assert_int_equal(tally.n_duplicate, 0);
    store_committer_stop(committer);
    for (size_t i = 0; i < N; i++) {
        struct store_report report;
        assert_ok(c,
                  store_report_get(c->store, c->project, items[i].id, &c->arena, &report, &c->err));
    }
    /* The same again: duplicates, reported as success. */
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    tally.n_done = 0;
    for (size_t i = 0; i < 10; i++)
        assert_ok(c, store_committer_submit(committer, &items[i], on_done, &tally, &c->err));
    tally_wait(&tally, 10);
    assert_int_equal(tally.n_duplicate, 10);
    store_committer_stats(committer, &stats);
    assert_true(stats.n_commits >= 1 || stats.n_items <= 10);
    store_committer_stop(committer);
    store_committer_stop(NULL);
    free(items);
}

static void
test_commits_are_shared(void **state)
{
    struct contract *c = *state;
    struct store_committer *committer;
    struct store_committer_stats stats = {0};
    struct tally tally;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct store_report_new *items = make_items(c, N);
    tally_init(&tally);
    tally.gate = &gate;
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < N; i++)
        assert_ok(c, store_committer_submit(committer, &items[i], on_done, &tally, &c->err));
    pthread_mutex_unlock(&gate);
    tally_wait(&tally, N);
    /* The thread adds up after the last callback. */
    int64_t start = fz_time_monotonic_ms();
    while (stats.n_items < N && fz_time_monotonic_ms() - start < 10000)
        store_committer_stats(committer, &stats);
    assert_int_equal(stats.n_items, N);
    assert_int_equal(stats.n_failures, 0);
    /* One small first batch, then 256 each. */
    assert_in_range(stats.n_commits, 3, 5);
    store_committer_stop(committer);
    free(items);
}

static void
test_stop_commits_what_waits(void **state)
{
    struct contract *c = *state;
    struct store_committer *committer;
    struct tally tally;
    struct store_report_new *items = make_items(c, N);
    tally_init(&tally);
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    for (size_t i = 0; i < N; i++)
        assert_ok(c, store_committer_submit(committer, &items[i], on_done, &tally, &c->err));
    store_committer_stop(committer);
    assert_int_equal(tally.n_ok, N);
    free(items);
}

/* An item that the database refuses must not take its neighbours with it. */
static void
test_poison(void **state)
{
    struct contract *c = *state;
    struct store_committer *committer;
    struct tally tally;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct store_report_new *items = make_items(c, 20);
    contract_sql(c,
                 "CREATE TRIGGER poison BEFORE INSERT ON reports WHEN NEW.format = 'poison' BEGIN "
                 "SELECT RAISE(ABORT, 'poisoned'); END",
                 "ALTER TABLE reports ADD CONSTRAINT poisoned CHECK (format <> 'poison')");
    items[7].format = "poison";
    items[12].project_id = 4711;
    tally_init(&tally);
    tally.gate = &gate;
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < 20; i++)
        assert_ok(c, store_committer_submit(committer, &items[i], on_done, &tally, &c->err));
    pthread_mutex_unlock(&gate);
    tally_wait(&tally, 20);
    assert_int_equal(tally.n_ok, 18);
    assert_string_equal(tally.text, "there is no such project");
    store_committer_stop(committer);
    for (size_t i = 0; i < 20; i++) {
        struct store_report report;
        assert_fails(
            c, i == 7 || i == 12 ? FZ_E_NOT_FOUND : FZ_OK,
            store_report_get(c->store, c->project, items[i].id, &c->arena, &report, &c->err));
    }
    free(items);
}

static void
test_full(void **state)
{
    struct contract *c = *state;
    struct store_committer *committer;
    struct tally tally;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    enum { BIG = 9 * 1024 * 1024, COUNT = 12 };
    uint8_t *noise = malloc(BIG);
    assert_non_null(noise);
    fz_random(noise, BIG);
    struct store_report_new *items = make_items(c, COUNT);
    tally_init(&tally);
    tally.gate = &gate;
    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    pthread_mutex_lock(&gate);
    size_t n_taken = 0;
    for (size_t i = 0; i < COUNT; i++) {
        items[i].body = fz_span_make(noise, BIG);
        enum fz_code code = store_committer_submit(committer, &items[i], on_done, &tally, &c->err);
        n_taken += code == FZ_OK;
        if (code != FZ_OK)
            contract_code(c, FZ_E_UNAVAILABLE, code, "submit", __LINE__);
    }
    assert_int_equal(n_taken, 7); /* 63 of 64 MiB */
    assert_string_equal(c->err.text, "too many reports are waiting to be stored");
    pthread_mutex_unlock(&gate);
    tally_wait(&tally, n_taken);
    assert_int_equal(tally.n_ok, n_taken);
    store_committer_stop(committer);
    free(noise);
    free(items);
}

int
contract_run_committer(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_group),
        contract_test(test_commits_are_shared),
        contract_test(test_stop_commits_what_waits),
        contract_test(test_poison),
        contract_test(test_full),
    };
    return cmocka_run_group_tests_name("committer", tests, NULL, NULL);
}
