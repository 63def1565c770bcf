/*
 * Reports into issues: numbers, placeholders, counts that are exact whatever happens.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/sql/sql.h"
#include "storage/store_issues.h"
#include "storage/store_regroup.h"

enum { CHILDREN = 4, ROUNDS = 40, BATCH = 8 };

/* What a report says of its issue, by short names. */
struct group {
    const char *stack, *key, *variant, *user, *version;
    bool is_placeholder;
};

static void
hash(const char *text, uint8_t ret[FZ_SHA256_LEN])
{
    memset(ret, 0, FZ_SHA256_LEN);
    memcpy(ret, text, strlen(text) < FZ_SHA256_LEN ? strlen(text) : FZ_SHA256_LEN);
}

static struct store_grouping
grouping(const struct group *g)
{
    static const char *const functions[] = {"checkout(int)", "main"};
    static const char *const files[] = {"/src/checkout.c"};
    struct store_grouping made = {.stack = fz_span_cstr(g->stack),
                                  .functions = functions,
                                  .n_functions = 2,
                                  .files = files,
                                  .n_files = 1,
                                  .title = g->key,
                                  .is_placeholder = g->is_placeholder,
                                  .variant_label = g->variant};
    hash(g->key, made.key);
    hash(g->variant, made.variant);
    return made;
}

static const union fz_value *
values(struct contract *c, const struct group *g)
{
    return contract_values(
        c, (const char *const[]){"app_version", g->version ? g->version : "1.0", "app_build", "7",
                                 "os_name", "iOS", "os_version", "18.1", "device_model",
                                 "iPhone15,2", "user_id", g->user ? g->user : "anna", "tags",
                                 "\nchannel=beta\nslot=3\n", NULL});
}

static enum fz_code
finish(struct contract *c, const struct store_job *job, const struct group *g)
{
    struct store_grouping made = grouping(g);
    const struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                           .values = values(c, g),
                                           .result = fz_span_cstr("{}"),
                                           .grouping = &made};
    return store_job_finish_report(c->store, job, &done, &c->err);
}

static const char *
add(struct contract *c, const struct group *g)
{
    char *id = fz_arena_alloc(&c->arena, STORE_ID_TEXT), body[64];
    static int n;
    assert_non_null(id);
    snprintf(body, sizeof(body), "report %d", n++);
    contract_report(c, c->project, body, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, finish(c, &job, g));
    return id;
}

static void
again(struct contract *c, const char *id, const struct group *g)
{
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    struct store_job job = contract_claim(c, id);
    assert_ok(c, finish(c, &job, g));
}

static int64_t
number_of(struct contract *c, const char *id)
{
    struct store_report_issue found;
    assert_ok(c, store_report_find_issue(c->store, c->project, id, &c->arena, &found, &c->err));
    return found.number;
}

static struct store_issue
issue(struct contract *c, int64_t number)
{
    struct store_issue found;
    assert_ok(c, store_issue_get(c->store, c->project, number, &c->arena, &found, &c->err));
    return found;
}

static int64_t
count(struct contract *c, const char *query)
{
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    int64_t n = -1;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    assert_ok(c, sql_number(sql, query, NULL, 0, &n, NULL, &c->err));
    return n;
}

/* Every count is that of the facts. */
static void
recount(struct contract *c)
{
    static const char *const queries[] = {
        "SELECT count(*) FROM variants v WHERE n_reports <> (SELECT count(*) FROM facts f WHERE "
        "f.variant_id = v.id AND f.is_counted = 1)",
        "SELECT count(*) FROM issues i WHERE n_reports <> (SELECT count(*) FROM facts f JOIN "
        "variants v ON v.id = f.variant_id WHERE v.issue_id = i.id AND f.is_counted = 1)",
        "SELECT count(*) FROM issues i WHERE n_users <> (SELECT count(DISTINCT f.user_id) FROM "
        "facts f JOIN variants v ON v.id = f.variant_id WHERE v.issue_id = i.id AND f.is_counted = "
        "1 AND f.user_id > 0)",
        "SELECT count(*) FROM issue_users u WHERE n <> (SELECT count(*) FROM facts f JOIN variants "
        "v ON v.id = f.variant_id WHERE v.issue_id = u.issue_id AND f.user_id = u.user_id AND "
        "f.is_counted = 1)",
        "SELECT count(*) FROM issue_hours h WHERE n <> (SELECT count(*) FROM facts f WHERE "
        "f.variant_id = h.variant_id AND f.received_ms / 3600000 = h.hour AND f.is_counted = 1)",
        "SELECT count(*) FROM issue_days d WHERE field = 1 AND n <> (SELECT count(*) FROM facts f "
        "WHERE f.variant_id = d.variant_id AND f.received_ms / 86400000 = d.day AND f.version_id = "
        "d.term_id AND f.is_counted = 1)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_hours) - (SELECT count(*) FROM facts WHERE "
        "is_counted = 1)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_users) - (SELECT count(*) FROM facts WHERE "
        "is_counted = 1 AND user_id > 0)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_days WHERE field = 2) - (SELECT count(*) "
        "FROM facts WHERE is_counted = 1 AND os_id > 0)",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(queries); i++) {
        int64_t wrong = count(c, queries[i]);
        if (wrong)
            fail_msg("%lld: %s", (long long)wrong, queries[i]);
    }
}

static void
test_counts(void **state)
{
    struct contract *c = *state;
    const struct group checkout = {.stack = "A", .key = "checkout", .variant = "SIGSEGV"};
    const struct group inlined = {
        .stack = "B", .key = "checkout", .variant = "SIGSEGV", .user = "bert", .version = "1.10"};
    const struct group trap = {
        .stack = "A", .key = "checkout", .variant = "SIGTRAP", .version = "1.9"};
    const struct group login = {.stack = "C", .key = "login", .variant = "SIGSEGV"};
    const char *first = add(c, &checkout);
    const char *other = add(c, &login);
    add(c, &inlined);
    add(c, &trap);
    assert_int_equal(number_of(c, first), 1);
    assert_int_equal(number_of(c, other), 2);
    struct store_issue one = issue(c, 1);
    assert_string_equal(one.title, "checkout");
    assert_string_equal(one.kind, "crash");
    assert_int_equal(one.n_reports, 3);
    assert_int_equal(one.n_users, 2);
    /* By their numbers, not as texts. */
    assert_string_equal(one.first_version, "1.0");
    assert_string_equal(one.last_version, "1.10");
    assert_string_equal(one.last_build, "7");
    assert_int_equal(count(c, "SELECT count(*) FROM stacks"), 3);
    assert_int_equal(count(c, "SELECT count(*) FROM variants"), 3);
    recount(c);
    /* Deleting a report changes no count; doing it again does not count it twice. */
    assert_ok(c, store_report_delete(c->store, c->project, first, &c->err));
    assert_int_equal(issue(c, 1).n_reports, 3);
    again(c, other, &login);
    assert_int_equal(issue(c, 2).n_reports, 1);
    recount(c);
}

static void
test_placeholder_takes_its_key(void **state)
{
    struct contract *c = *state;
    const struct group nameless = {
        .stack = "P", .key = "uuid+10", .variant = "SIGSEGV", .is_placeholder = true};
    const struct group named = {.stack = "A", .key = "checkout", .variant = "SIGSEGV"};
    const char *first = add(c, &nameless), *second = add(c, &nameless);
    assert_true(issue(c, 1).is_placeholder);
    again(c, first, &named);
    struct store_issue one = issue(c, 1);
    assert_false(one.is_placeholder);
    assert_string_equal(one.title, "checkout");
    /* The other one is not done again yet and belongs there all the same. */
    assert_int_equal(one.n_reports, 2);
    assert_int_equal(number_of(c, second), 1);
    recount(c);
    again(c, second, &named);
    assert_int_equal(issue(c, 1).n_reports, 2);
    assert_int_equal(number_of(c, add(c, &named)), 1);
    /* One that comes without names again, from a node without the dSYM, still belongs there. */
    assert_int_equal(number_of(c, add(c, &nameless)), 1);
    assert_false(issue(c, 1).is_placeholder);
    recount(c);
}

static void
test_placeholders_converge(void **state)
{
    struct contract *c = *state;
    const struct group a = {.stack = "P", .key = "a+1", .variant = "x", .is_placeholder = true};
    const struct group b = {
        .stack = "Q", .key = "b+1", .variant = "x", .user = "bert", .is_placeholder = true};
    const struct group d = {.stack = "R", .key = "d+1", .variant = "x", .is_placeholder = true};
    const struct group named = {.stack = "A", .key = "checkout", .variant = "x"};
    const char *ids[] = {add(c, &a), add(c, &b), add(c, &d)};
    /* The newest first: the older ones take it over. */
    again(c, ids[2], &named);
    assert_int_equal(number_of(c, ids[2]), 3);
    again(c, ids[1], &named);
    assert_int_equal(number_of(c, ids[2]), 2);
    assert_int_equal(issue(c, 3).merged_into, 2);
    again(c, ids[0], &named);
    recount(c);
    struct store_issue one = issue(c, 1);
    assert_int_equal(one.n_reports, 3);
    assert_false(one.is_placeholder);
    assert_string_equal(one.title, "checkout");
    /* Redirects lead there in one step. */
    assert_int_equal(issue(c, 2).merged_into, 1);
    assert_int_equal(issue(c, 3).merged_into, 1);
    assert_int_equal(issue(c, 3).n_reports, 0);
    assert_int_equal(number_of(c, add(c, &named)), 1);
    recount(c);
}

static void
test_batch(void **state)
{
    struct contract *c = *state;
    struct store_job jobs[BATCH];
    struct store_report_done done[BATCH];
    struct store_grouping made[BATCH];
    struct store_report_end ends[BATCH];
    const struct group storm = {.stack = "A", .key = "storm", .variant = "x"};
    for (int i = 0; i < BATCH; i++) {
        char id[STORE_ID_TEXT], body[64];
        snprintf(body, sizeof(body), "batch %d", i);
        contract_report(c, c->project, body, id);
        jobs[i] = contract_claim(c, id);
        made[i] = grouping(&storm);
        done[i] = (struct store_report_done){.status = STORE_REPORT_SYMBOLICATED,
                                             .values = values(c, &storm),
                                             .result = fz_span_cstr("{}"),
                                             .grouping = &made[i]};
        ends[i] = (struct store_report_end){.job = &jobs[i], .done = &done[i]};
    }
    /* One lease was lost, one report deleted: the others are stored. */
    jobs[2].fence++;
    assert_ok(c, store_report_delete(c->store, c->project, jobs[5].subject, &c->err));
    assert_ok(c, store_job_finish_reports(c->store, ends, BATCH, &c->err));
    for (int i = 0; i < BATCH; i++)
        assert_int_equal(ends[i].code, i == 2 || i == 5 ? FZ_E_CONFLICT : FZ_OK);
    assert_int_equal(issue(c, 1).n_reports, BATCH - 2);
    assert_int_equal(issue(c, 1).n_users, 1);
    recount(c);
}

static void
test_limits(void **state)
{
    struct contract *c = *state;
    char text[32], longer[2000];
    const struct group g = {.stack = "A", .key = "k", .variant = text};
    for (int i = 0; i < STORE_KEY_VARIANTS + 20; i++) {
        snprintf(text, sizeof(text), "variant %d", i);
        add(c, &g);
    }
    assert_int_equal(count(c, "SELECT count(*) FROM variants"), STORE_KEY_VARIANTS + 1);
    assert_int_equal(count(c, "SELECT n_reports FROM variants WHERE label = '(other)'"), 20);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const struct group wide = {.stack = longer, .key = longer, .variant = longer, .user = longer};
    add(c, &wide);
    assert_int_equal(count(c, "SELECT max(length(title)) FROM issues"), 512);
    recount(c);
}

/* Reports of an older program get their issues afterwards. */
static void
test_old_reports(void **state)
{
    struct contract *c = *state;
    const struct group old[] = {{.stack = "A", .key = "checkout", .variant = "x"},
                                {.stack = "B", .key = "login", .variant = "x", .user = "bert"}};
    const char *ids[3];
    for (int i = 0; i < 3; i++) {
        char body[64];
        char *id = fz_arena_alloc(&c->arena, STORE_ID_TEXT);
        snprintf(body, sizeof(body), "old %d", i);
        contract_report(c, c->project, body, id);
        ids[i] = id;
        struct store_job job = contract_claim(c, id);
        const struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                               .values = values(c, &old[i % 2]),
                                               .result = fz_span_cstr("{}")};
        assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    }
    struct store_ungrouped *found;
    uint64_t left = 0;
    size_t n = 0;
    int64_t project = 0;
    assert_ok(c, store_ungrouped_count(c->store, 100, &left, &c->err));
    assert_int_equal(left, 3);
    assert_ok(c, store_ungrouped_project(c->store, &project, &c->err));
    assert_int_equal(project, c->project);
    assert_ok(c, store_ungrouped_list(c->store, project, 2, &c->arena, &found, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(found[0].report.id, ids[2]);
    struct store_grouping made[] = {grouping(&old[0]), grouping(&old[1])};
    const struct store_regrouped list[] = {{&found[0], &made[0]}, {&found[1], &made[1]}};
    assert_ok(c, store_regroup(c->store, project, list, 2, &c->err));
    /* Another worker has read the same list. */
    assert_ok(c, store_regroup(c->store, project, list, 2, &c->err));
    assert_ok(c, store_ungrouped_list(c->store, project, 2, &c->arena, &found, &n, &c->err));
    assert_int_equal(n, 1);
    /* One of which nothing can be said is not looked at for ever. */
    const struct store_regrouped hopeless = {&found[0], NULL};
    assert_ok(c, store_regroup(c->store, project, &hopeless, 1, &c->err));
    assert_ok(c, store_ungrouped_count(c->store, 100, &left, &c->err));
    assert_int_equal(left, 0);
    assert_int_equal(number_of(c, ids[2]), 1);
    assert_int_equal(issue(c, 1).n_reports, 1);
    recount(c);
    /* It gets its issue when it is processed again, and is counted then. */
    again(c, ids[0], &old[0]);
    assert_int_equal(issue(c, 1).n_reports, 2);
    again(c, ids[1], &old[0]);
    assert_int_equal(issue(c, 1).n_reports, 3);
    recount(c);
}

/* Reports of a few issues in several processes at once, done, done again and deleted. */
static int
work(struct contract *c, int child, void *user)
{
    static const char *const keys[] = {"k0", "k1", "k2", "uuid+1", "uuid+2"};
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        char body[64], id[STORE_ID_TEXT], person[16];
        struct store_job job;
        size_t n = 0;
        int pick = (child * 7 + i * 3) % 5;
        snprintf(body, sizeof(body), "child %d report %d", child, i);
        snprintf(person, sizeof(person), "user %d", i % 6);
        contract_report(c, c->project, body, id);
        /* Whatever comes: it may be one of another process. */
        while (store_job_claim(c->store, "worker", 1, 60000, &job, &n, &c->err) == FZ_OK &&
               n == 1) {
            struct group g = {.stack = keys[pick],
                              .key = keys[pick],
                              .variant = i % 2 ? "a" : "b",
                              .user = person,
                              .is_placeholder = pick > 2};
            struct store_report report;
            if (store_report_get(c->store, c->project, job.subject, &c->arena, &report, &c->err) ==
                    FZ_OK &&
                report.n_processed > 0 && g.is_placeholder)
                g = (struct group){.stack = "real", .key = "real", .variant = "a", .user = person};
            enum fz_code code = finish(c, &job, &g);
            if (code != FZ_OK && code != FZ_E_CONFLICT) {
                fprintf(stderr, "finish: %s\n", c->err.text);
                return 1;
            }
        }
        if (i % 3 == 0 && store_report_reprocess(c->store, c->project, id, &c->err) != FZ_OK)
            return 2;
        if (i % 11 == 5 && store_report_delete(c->store, c->project, id, &c->err) != FZ_OK)
            return 3;
    }
    return 0;
}

static void
test_many_at_once(void **state)
{
    struct contract *c = *state;
    contract_fork(c, CHILDREN, work, NULL);
    recount(c);
    assert_true(count(c, "SELECT count(*) FROM facts") > CHILDREN * ROUNDS / 2);
    /* Each key has one issue, and numbers have no gap that an issue was lost in. */
    assert_int_equal(count(c, "SELECT count(*) FROM issues"),
                     count(c, "SELECT max(number) FROM issues"));
}

int
contract_run_grouping(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_counts),
        contract_test(test_placeholder_takes_its_key),
        contract_test(test_placeholders_converge),
        contract_test(test_batch),
        contract_test(test_limits),
        contract_test(test_old_reports),
        contract_test(test_many_at_once),
    };
    return cmocka_run_group_tests_name("grouping", tests, NULL, NULL);
}
