/*
 * Sessions: merged by their id, counted by day, release and environment.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "storage/store_sessions.h"

static const int64_t DAY = INT64_C(24) * 3600 * 1000;

static struct store_session
run(char digit, enum store_session_outcome outcome)
{
    struct store_session session = {.release = "shop@1.2",
                                    .environment = "production",
                                    .started_ms = fz_time_now_ms(),
                                    .outcome = outcome};
    memset(session.sid, digit, sizeof(session.sid) - 1);
    return session;
}

static void
put(struct contract *c, const struct store_session *session)
{
    assert_ok(c, store_session_put(c->store, c->project,
                                   &(struct store_session_update){session, 1, NULL, 0}, &c->arena,
                                   &c->err));
}

/* "healthy errored abnormal crashed" of the n-th row; "" without it. */
static const char *
counts(struct contract *c, const char *release, size_t at)
{
    struct store_session_count *list;
    size_t n;
    assert_ok(c, store_session_counts(
                     c->store, c->project,
                     &(struct store_session_range){0, fz_time_now_ms() + DAY, release, 50},
                     &c->arena, &list, &n, &c->err));
    if (at >= n)
        return "";
    return fz_arena_printf(&c->arena, "%s %s %d %d %d %d", list[at].release, list[at].environment,
                           (int)list[at].n[0], (int)list[at].n[1], (int)list[at].n[2],
                           (int)list[at].n[3]);
}

static void
test_worst_outcome_stays(void **state)
{
    struct contract *c = *state;
    static const struct {
        char sid;
        enum store_session_outcome outcome;
        const char *want;
    } steps[] = {
        {'a', STORE_SESSION_HEALTHY, "shop@1.2 production 1 0 0 0"},
        {'a', STORE_SESSION_HEALTHY, "shop@1.2 production 1 0 0 0"},
        {'a', STORE_SESSION_ERRORED, "shop@1.2 production 0 1 0 0"},
        {'a', STORE_SESSION_CRASHED, "shop@1.2 production 0 0 0 1"},
        {'a', STORE_SESSION_ABNORMAL, "shop@1.2 production 0 0 0 1"},
        {'b', STORE_SESSION_ABNORMAL, "shop@1.2 production 0 0 1 1"},
        {'c', STORE_SESSION_CRASHED, "shop@1.2 production 0 0 1 2"},
        {'b', STORE_SESSION_HEALTHY, "shop@1.2 production 0 0 1 2"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(steps); i++) {
        struct store_session session = run(steps[i].sid, steps[i].outcome);
        put(c, &session);
        assert_string_equal(counts(c, NULL, 0), steps[i].want);
    }
    /* The same id in another project is another run. */
    struct store_session session = run('a', STORE_SESSION_HEALTHY);
    assert_ok(c, store_session_put(c->store, c->other,
                                   &(struct store_session_update){&session, 1, NULL, 0}, &c->arena,
                                   &c->err));
    assert_string_equal(counts(c, NULL, 0), steps[FZ_ARRAY_LEN(steps) - 1].want);
}

/* An update without the release does not move the run. */
static void
test_first_place_counts(void **state)
{
    struct contract *c = *state;
    struct store_session session = run('a', STORE_SESSION_HEALTHY);
    session.started_ms = fz_time_now_ms() - 2 * DAY;
    put(c, &session);
    session.outcome = STORE_SESSION_CRASHED;
    session.release = session.environment = NULL;
    session.started_ms = 0;
    put(c, &session);
    assert_string_equal(counts(c, NULL, 0), "shop@1.2 production 0 0 0 1");
    assert_string_equal(counts(c, NULL, 1), "");
    struct store_session_count *list;
    size_t n;
    assert_ok(c, store_session_counts(c->store, c->project,
                                      &(struct store_session_range){fz_time_now_ms() - DAY,
                                                                    fz_time_now_ms(), NULL, 50},
                                      &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
}

static void
test_counted_by_client(void **state)
{
    struct contract *c = *state;
    struct store_session sessions[] = {
        {.release = "a", .n = {5, 1, 0, 2}},
        {.release = "a", .n = {1, 0, 1, 0}},
        {.release = "b\xff", .environment = "beta", .n = {1}},
        run('a', STORE_SESSION_HEALTHY),
    };
    assert_ok(c, store_session_put(c->store, c->project,
                                   &(struct store_session_update){sessions, 4, NULL, 0}, &c->arena,
                                   &c->err));
    assert_string_equal(counts(c, "a", 0), "a  6 1 1 2");
    assert_string_equal(counts(c, NULL, 1), "b\xef\xbf\xbd beta 1 0 0 0");
    assert_string_equal(counts(c, "none", 0), "");
}

static void
test_all_or_nothing(void **state)
{
    struct contract *c = *state;
    struct store_session sessions[] = {run('a', STORE_SESSION_HEALTHY),
                                       run('Z', STORE_SESSION_HEALTHY)};
    assert_fails(c, FZ_E_MALFORMED,
                 store_session_put(c->store, c->project,
                                   &(struct store_session_update){sessions, 2, NULL, 0}, &c->arena,
                                   &c->err));
    assert_string_equal(counts(c, NULL, 0), "");
}

static void
test_discarded(void **state)
{
    struct contract *c = *state;
    static const struct store_discarded discarded[] = {
        {"before_send", "error", 2}, {"queue_overflow", "error", 40}, {"before_send", "error", 3}};
    struct store_discarded_count *list;
    size_t n;
    assert_ok(c, store_session_put(c->store, c->project,
                                   &(struct store_session_update){NULL, 0, discarded, 3}, &c->arena,
                                   &c->err));
    assert_ok(c,
              store_discarded_counts(c->store, c->project,
                                     &(struct store_session_range){0, fz_time_now_ms(), NULL, 50},
                                     &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].reason, "queue_overflow");
    assert_int_equal(list[1].n, 5);
    assert_string_equal(list[1].category, "error");
}

static int
put_crash(struct contract *c, int i, void *user)
{
    struct store_session session = run('a', i % 2 ? STORE_SESSION_CRASHED : STORE_SESSION_ERRORED);
    (void)user;
    for (int k = 0; k < 20; k++) {
        session.sid[0] = (char)('a' + k % 5);
        if (store_session_put(c->store, c->project,
                              &(struct store_session_update){&session, 1, NULL, 0}, &c->arena,
                              &c->err))
            return 1;
    }
    return 0;
}

static void
test_at_once(void **state)
{
    struct contract *c = *state;
    contract_fork(c, 6, put_crash, NULL);
    assert_string_equal(counts(c, NULL, 0), "shop@1.2 production 0 0 0 5");
}

int
contract_run_sessions(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_worst_outcome_stays), contract_test(test_first_place_counts),
        contract_test(test_counted_by_client),   contract_test(test_all_or_nothing),
        contract_test(test_discarded),           contract_test(test_at_once),
    };
    return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
