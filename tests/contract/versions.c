/*
 * Versions: their order, reports, sessions and users, and what is new, back and fixed in them.
 */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "storage/store_issue_state.h"
#include "storage/store_sessions.h"
#include "storage/store_versions.h"

static const int64_t DAY = INT64_C(24) * 3600 * 1000;

static const char *
report(struct contract *c, const char *key, const char *version, const char *build,
       const char *user)
{
    const struct contract_group g = {
        .stack = key, .key = key, .variant = "x", .version = version, .build = build, .user = user};
    return contract_group_add(c, &g);
}

static struct store_version_list
list_of(struct contract *c, const char *environment, size_t limit)
{
    struct store_version_list list;
    const struct store_version_range range = {0, fz_time_now_ms() + DAY, environment, limit, 0};
    assert_ok(c, store_version_list(c->store, c->project, &range, &c->arena, &list, &c->err));
    return list;
}

/* "version build": reports, users, new, regressed, fixed. */
static const char *
row(struct contract *c, const struct store_version *v)
{
    return fz_arena_printf(&c->arena, "%s%s%s: %d %d %d %d %d%s%s", v->version,
                           *v->build ? " " : "", v->build, (int)v->n_reports, (int)v->n_users,
                           (int)v->n_new, (int)v->n_regressed, (int)v->n_fixed,
                           v->is_invented ? " invented" : "", v->is_ordered ? "" : " unordered");
}

static void
expect(struct contract *c, const char *const *want, size_t n)
{
    struct store_version_list list = list_of(c, NULL, 100);
    for (size_t i = 0; i < n && i < list.n; i++)
        assert_string_equal(row(c, &list.versions[i]), want[i]);
    assert_int_equal(list.n, n);
    assert_int_equal(list.n_all, n);
}

static void
test_order(void **state)
{
    struct contract *c = *state;
    report(c, "a", "4.10", "9", "ann");
    report(c, "b", "4.9", "10", "ann");
    report(c, "a", "4.9", "9", "bert");
    report(c, "a", "4.9", "9", "carl");
    report(c, "a", "main", "", "ann");
    report(c, "b", "999.9.9", "1", "ann");
    static const char *const want[] = {
        "4.10 9: 1 1 0 0 0",
        "4.9 10: 1 1 1 0 0",
        /* The lowest version of the other issue is "main". */
        "4.9 9: 2 2 0 0 0",
        "999.9.9 1: 1 1 0 0 0 invented",
        "main: 1 1 1 0 0 unordered",
    };
    expect(c, want, FZ_ARRAY_LEN(want));
    struct store_version_list list = list_of(c, NULL, 100);
    assert_string_equal(list.versions[0].previous, "4.9");
    assert_string_equal(list.versions[0].previous_build, "10");
    assert_string_equal(list.versions[1].previous_build, "9");
    assert_null(list.versions[2].previous);
    assert_true(list.versions[3].is_invented);
    assert_false(list.versions[4].is_ordered);
    assert_int_equal(list_of(c, NULL, 2).n, 2);
    assert_int_equal(list_of(c, NULL, 2).n_all, 5);
    /* Other projects, environments and days have none of it. */
    assert_int_equal(list_of(c, "beta", 100).versions[0].n_reports, 0);
    const struct store_version_range now = {fz_time_now_ms() - DAY, fz_time_now_ms(), NULL, 100, 0};
    assert_ok(c, store_version_list(c->store, c->project, &now, &c->arena, &list, &c->err));
    assert_int_equal(list.n, 5);
    assert_int_equal(list.versions[2].n_reports, 0);
    assert_int_equal(list.versions[2].n_users, 0);
    struct store_newest_versions newest;
    assert_ok(c, store_versions_newest(c->store, c->project, &c->arena, &newest, &c->err));
    assert_int_equal(newest.n, 3);
    assert_string_equal(newest.texts[0], "4.10");
    assert_string_equal(newest.texts[1], "4.9");
    assert_ok(c, store_versions_newest(c->store, c->other, &c->arena, &newest, &c->err));
    assert_int_equal(newest.n, 0);
    contract_recount(c);
}

/* Processing a report again, or deleting it, changes no sum; another version does. */
static void
test_sums(void **state)
{
    struct contract *c = *state;
    const char *id = report(c, "a", "1.0", "1", "ann");
    report(c, "a", "1.0", "1", "ann");
    const struct contract_group same = {
        .stack = "a", .key = "a", .variant = "x", .version = "1.0", .build = "1", .user = "ann"};
    const struct contract_group other = {
        .stack = "a", .key = "a", .variant = "x", .version = "1.1", .build = "1", .user = "ann"};
    contract_group_again(c, id, &same);
    expect(c, (const char *const[]){"1.0 1: 2 1 1 0 0"}, 1);
    contract_group_again(c, id, &other);
    expect(c, (const char *const[]){"1.1 1: 1 1 0 0 0", "1.0 1: 1 1 1 0 0"}, 2);
    contract_recount(c);
    assert_ok(c, store_report_delete(c->store, c->project, id, &c->err));
    expect(c, (const char *const[]){"1.1 1: 1 1 0 0 0", "1.0 1: 1 1 1 0 0"}, 2);
    /* A counter that is damaged starts anew. */
    contract_sql(c, "UPDATE version_days SET users = x'07'",
                 "UPDATE version_days SET users = '\\x07'");
    report(c, "a", "1.0", "1", "bert");
    expect(c, (const char *const[]){"1.1 1: 1 0 0 0 0", "1.0 1: 2 1 1 0 0"}, 2);
}

static void
test_issues(void **state)
{
    struct contract *c = *state;
    static const struct store_fix in[] = {{.version = "1.1"}};
    static const struct store_fix later[] = {{.version = "1.2"}};
    static const struct store_fix next[] = {{.is_next = true}};
    struct store_issue_change change = {
        .actor = "ci", .set_state = true, .state = STORE_ISSUE_RESOLVED, .fixes = in, .n_fixes = 1};
    report(c, "a", "1.0", "1", "ann");
    report(c, "b", "1.0", "1", "ann");
    report(c, "c", "1.1", "1", "ann");
    assert_ok(c, store_issue_change(c->store, c->project, 1, &change, &c->err));
    expect(c, (const char *const[]){"1.1 1: 1 1 1 0 1", "1.0 1: 2 1 2 0 0"}, 2);
    change.fixes = next;
    assert_ok(c, store_issue_change(c->store, c->project, 2, &change, &c->err));
    /* No version has that fix yet. */
    expect(c, (const char *const[]){"1.1 1: 1 1 1 0 1", "1.0 1: 2 1 2 0 0"}, 2);
    report(c, "d", "1.2", "1", "ann");
    expect(c, (const char *const[]){"1.2 1: 1 1 1 0 1", "1.1 1: 1 1 1 0 1", "1.0 1: 2 1 2 0 0"}, 3);
    report(c, "a", "1.2", "1", "ann");
    expect(c, (const char *const[]){"1.2 1: 2 1 1 1 1", "1.1 1: 1 1 1 0 0", "1.0 1: 2 1 2 0 0"}, 3);
    /* The same issue in the same version again is one. */
    change.fixes = later;
    assert_ok(c, store_issue_change(c->store, c->project, 1, &change, &c->err));
    report(c, "a", "1.2", "1", "ann");
    expect(c, (const char *const[]){"1.2 1: 3 1 1 1 1", "1.1 1: 1 1 1 0 0", "1.0 1: 2 1 2 0 0"}, 3);
}

/* ---- sessions ---- */

static void
session(struct contract *c, int run, const char *release, const char *user,
        enum store_session_outcome outcome)
{
    struct store_session s = {.release = release,
                              .environment = run % 2 ? "beta" : "production",
                              .user = user,
                              .started_ms = fz_time_now_ms(),
                              .outcome = outcome};
    snprintf(s.sid, sizeof(s.sid), "%032x", (unsigned)run);
    assert_ok(c, store_session_put(c->store, c->project,
                                   &(struct store_session_update){&s, 1, NULL, 0}, &c->arena,
                                   &c->err));
}

static const char *
use(struct contract *c, const struct store_version_use *u)
{
    return fz_arena_printf(&c->arena, "%d %d %d %d", (int)u->n_sessions, (int)u->n_crashed,
                           (int)u->n_users, (int)u->n_crashed_users);
}

static struct store_version_list
parts_of(struct contract *c, size_t n_parts, size_t limit)
{
    struct store_version_list list;
    const struct store_version_range range = {.since_ms = fz_time_now_ms() - 3 * DAY,
                                              .until_ms = fz_time_now_ms() + DAY,
                                              .limit = limit,
                                              .n_parts = n_parts};
    assert_ok(c, store_version_list(c->store, c->project, &range, &c->arena, &list, &c->err));
    return list;
}

/* Runs of yesterday and of today: each in its part, and users of two versions once in all. */
static void
expect_parts(struct contract *c)
{
    static const char *const all[] = {"0 0 0 0", "7 2 4 1", "2 0 2 0", "0 0 0 0"};
    struct store_version_list list = parts_of(c, 5, 100);
    assert_int_equal(list.n_parts, 5);
    assert_int_equal(list.n_most, 2);
    assert_string_equal(list.versions[list.most[0]].version, "1.0");
    for (size_t i = 0; i < FZ_ARRAY_LEN(all); i++)
        assert_string_equal(use(c, &list.parts[i + 1].use), all[i]);
    assert_string_equal(use(c, &list.parts[2].most[0]), "4 2 2 1");
    assert_string_equal(use(c, &list.parts[2].most[1]), "2 0 2 0");
    assert_string_equal(use(c, &list.parts[3].most[0]), "2 0 2 0");
    assert_string_equal(use(c, &list.parts[3].most[1]), "0 0 0 0");
    /* Five days in two: the older has two of them. */
    list = parts_of(c, 2, 100);
    assert_int_equal(list.n_parts, 2);
    assert_int_equal(list.parts[1].until_ms + 1 - list.parts[1].since_ms, 3 * DAY);
    assert_int_equal(list.parts[0].until_ms + 1 - list.parts[0].since_ms, 2 * DAY);
    assert_int_equal(list.parts[0].until_ms + 1, list.parts[1].since_ms);
}

/* Ranges of so many days up to today's first moment, which are read in steps: each day counts once, the last one, too. */
static void
expect_steps(struct contract *c)
{
    static const int64_t days[] = {0, 1, 19, 20, 21, 39, 40, 41, 400, 15000};
    int64_t today = fz_time_now_ms() / DAY * DAY;
    for (size_t i = 0; i < FZ_ARRAY_LEN(days); i++) {
        struct store_version_list list;
        const struct store_version_range range = {
            .since_ms = today - days[i] * DAY, .until_ms = today, .limit = 10, .n_parts = 1};
        assert_ok(c, store_version_list(c->store, c->project, &range, &c->arena, &list, &c->err));
        assert_string_equal(use(c, &list.use), days[i] ? "9 2 5 1" : "2 0 2 0");
        assert_string_equal(use(c, &list.parts[0].use), days[i] ? "9 2 5 1" : "2 0 2 0");
    }
}

static void
test_sessions(void **state)
{
    struct contract *c = *state;
    session(c, 2, "com.acme.shop@1.0+1", "ann", STORE_SESSION_HEALTHY);
    session(c, 4, "com.acme.shop@1.0+1", "ann", STORE_SESSION_HEALTHY);
    session(c, 4, "com.acme.shop@1.0+1", "ann", STORE_SESSION_CRASHED);
    session(c, 6, "com.acme.shop@1.0+1", "bert", STORE_SESSION_ERRORED);
    session(c, 8, "com.acme.shop@1.0+1", NULL, STORE_SESSION_CRASHED);
    session(c, 10, "com.acme.shop@1.1+1", "ann", STORE_SESSION_HEALTHY);
    session(c, 11, "com.acme.shop@1.1+1", "carl", STORE_SESSION_HEALTHY);
    session(c, 12, NULL, "dora", STORE_SESSION_HEALTHY);
    report(c, "a", "1.0", "1", "x");
    struct store_version_list list = list_of(c, NULL, 100);
    assert_int_equal(list.n, 2);
    assert_string_equal(row(c, &list.versions[0]), "1.1 1: 0 0 0 0 0");
    assert_string_equal(row(c, &list.versions[1]), "1.0 1: 1 1 1 0 0");
    assert_string_equal(use(c, &list.versions[0].use), "2 0 2 0");
    assert_string_equal(use(c, &list.versions[1].use), "4 2 2 1");
    assert_string_equal(use(c, &list.use), "7 2 4 1");
    assert_string_equal(use(c, &list.versions[0].day), "2 0 2 0");
    assert_string_equal(use(c, &list.versions[1].day), "4 0 2 0");
    assert_string_equal(use(c, &list.day), "7 0 4 0");
    list = list_of(c, "beta", 100);
    assert_string_equal(use(c, &list.versions[0].use), "1 0 1 0");
    assert_string_equal(use(c, &list.versions[1].use), "0 0 0 0");
    assert_string_equal(use(c, &list.use), "1 0 1 0");
    /* Users of several days are those of all of them together. */
    contract_sql(c, "UPDATE session_users SET day_ms = day_ms - 86400000",
                 "UPDATE session_users SET day_ms = day_ms - 86400000");
    contract_sql(c, "UPDATE session_counts SET day_ms = day_ms - 86400000",
                 "UPDATE session_counts SET day_ms = day_ms - 86400000");
    session(c, 14, "com.acme.shop@1.0+1", "ann", STORE_SESSION_HEALTHY);
    session(c, 16, "com.acme.shop@1.0+1", "emil", STORE_SESSION_HEALTHY);
    list = list_of(c, NULL, 100);
    assert_string_equal(use(c, &list.versions[1].use), "6 2 3 1");
    expect_parts(c);
    expect_steps(c);
    /* By release and environment, of the days of the range only. */
    struct store_session_count *counts;
    size_t n = 0;
    struct store_session_range range = {fz_time_now_ms() - 2 * DAY, fz_time_now_ms(),
                                        "com.acme.shop@1.0+1", 10};
    for (int i = 0; i < 2; i++) {
        assert_ok(
            c, store_session_counts(c->store, c->project, &range, &c->arena, &counts, &n, &c->err));
        assert_int_equal(n, 1);
        assert_int_equal(counts[0].n_users, i ? 2 : 3);
        assert_int_equal(counts[0].n_crashed_users, i ? 0 : 1);
        range.since_ms += 2 * DAY;
    }
}

/* A version that nobody has reports of is real once five users have it; without users it is not. */
static void
test_session_users_prove_version(void **state)
{
    struct contract *c = *state;
    static const char *const users[] = {"ann", "bert", "carl", "dora"};
    report(c, "a", "4.2", "1", "ann");
    report(c, "a", "2026.1", "1", "ann");
    const struct store_fix fix = {"4.3", NULL, false};
    const struct store_issue_change resolve = {.actor = "test",
                                               .set_state = true,
                                               .state = STORE_ISSUE_RESOLVED,
                                               .fixes = &fix,
                                               .n_fixes = 1};
    assert_ok(c, store_issue_change(c->store, c->project, 1, &resolve, &c->err));
    for (int i = 0; i < 9; i++) {
        session(c, 20 + i, "com.acme.shop@2026.1+1", users[i % 4], STORE_SESSION_HEALTHY);
        session(c, 40 + i, "2026.1", NULL, STORE_SESSION_HEALTHY);
        /* Others' users are not its. */
        session(c, 60 + i, "com.acme.shop@2026.10+1", i % 2 ? "emma" : "fred",
                STORE_SESSION_HEALTHY);
    }
    report(c, "a", "2026.1", "1", "ann");
    assert_false(contract_issue(c, 1).is_regressed);
    assert_string_equal(list_of(c, NULL, 100).versions[0].version, "4.2");
    session(c, 80, "2026.1", "emma", STORE_SESSION_HEALTHY);
    struct store_version_list list = list_of(c, NULL, 100);
    assert_string_equal(list.versions[0].version, "2026.10");
    for (size_t i = 0; i < list.n; i++)
        assert_false(list.versions[i].is_invented);
    /* A report of it is a regression from then on. */
    report(c, "a", "2026.1", "1", "ann");
    assert_true(contract_issue(c, 1).is_regressed);
}

static void
test_many_users(void **state)
{
    struct contract *c = *state;
    enum { USERS = 2000, AT_ONCE = 100 };
    struct store_session sessions[AT_ONCE];
    char users[AT_ONCE][16];
    for (int i = 0; i < USERS; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++) {
            snprintf(users[k], sizeof(users[k]), "user %d", i + k);
            sessions[k] = (struct store_session){
                .release = "a@2.0", .user = users[k], .n = {2, 0, 0, (uint32_t)k % 2}};
        }
        assert_ok(c, store_session_put(c->store, c->project,
                                       &(struct store_session_update){sessions, AT_ONCE, NULL, 0},
                                       &c->arena, &c->err));
    }
    struct store_version_list list = list_of(c, NULL, 10);
    assert_int_equal(list.versions[0].use.n_sessions, USERS * 5 / 2);
    assert_in_range(list.versions[0].use.n_users, USERS * 92 / 100, USERS * 108 / 100);
    assert_in_range(list.versions[0].use.n_crashed_users, USERS * 46 / 100, USERS * 54 / 100);
    assert_in_range(list.versions[0].day.n_users, USERS * 92 / 100, USERS * 108 / 100);
}

/* Releases that someone makes up end in one row. */
static void
test_many_releases(void **state)
{
    struct contract *c = *state;
    enum { RELEASES = 5300, AT_ONCE = 100 };
    struct store_session sessions[AT_ONCE];
    char releases[AT_ONCE][32];
    for (int i = 0; i < RELEASES; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++) {
            snprintf(releases[k], sizeof(releases[k]), "a@1.%d", i + k);
            sessions[k] = (struct store_session){.release = releases[k], .n = {1}};
        }
        assert_ok(c, store_session_put(c->store, c->project,
                                       &(struct store_session_update){sessions, AT_ONCE, NULL, 0},
                                       &c->arena, &c->err));
    }
    assert_int_equal(contract_count(c, "SELECT count(*) FROM session_counts"), 5001);
    assert_int_equal(
        contract_count(c, "SELECT healthy FROM session_counts WHERE release = '(other)'"), 300);
    struct store_version_list list = list_of(c, NULL, 3);
    assert_int_equal(list.n_all, 5001);
    assert_string_equal(list.versions[0].version, "1.4999");
    /* The ten of which most runs came are those of the list, and all count in the whole. */
    list = parts_of(c, 1, 500);
    assert_int_equal(list.n_most, STORE_VERSION_MOST);
    assert_int_equal(list.parts[0].use.n_sessions, RELEASES);
    for (size_t i = 0; i < list.n_most; i++)
        assert_int_equal(list.most[i], i);
}

static int
put_sessions_and_reports(struct contract *c, int i, void *user)
{
    (void)user;
    for (int k = 0; k < 10; k++) {
        char name[32];
        snprintf(name, sizeof(name), "user %d", k);
        session(c, 100 * i + k, "a@1.0+7", name, STORE_SESSION_HEALTHY);
        report(c, "a", "1.0", "7", name);
    }
    return 0;
}

static int
put_sessions(struct contract *c, int i, void *user)
{
    (void)user;
    for (int k = 0; k < 10; k++) {
        char name[32];
        snprintf(name, sizeof(name), "user %d", k);
        session(c, 100 * i + k, k % 2 ? "a@1.0+7" : "a@1.1+7", name, STORE_SESSION_HEALTHY);
    }
    return 0;
}

static void
test_at_once(void **state)
{
    struct contract *c = *state;
    contract_fork(c, 4, put_sessions, NULL);
    put_sessions_and_reports(c, 50, NULL);
    struct store_version_list list = list_of(c, NULL, 3);
    assert_string_equal(use(c, &list.use), "50 0 10 0");
    assert_string_equal(row(c, &list.versions[1]), "1.0 7: 10 10 1 0 0");
    contract_recount(c);
}

int
contract_run_versions(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_order),      contract_test(test_sums),
        contract_test(test_issues),     contract_test(test_sessions),
        contract_test(test_many_users), contract_test(test_many_releases),
        contract_test(test_at_once),    contract_test(test_session_users_prove_version),
    };
    return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
