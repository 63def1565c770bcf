/*
 * Reports into issues: numbers, placeholders, counts that are exact whatever happens.
 */
#include "issue_case.h"
#include "seal_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_issue_state.h"
#include "storage/store_regroup.h"
#include "storage/store_usage.h"

enum { CHILDREN = 4, ROUNDS = 40, BATCH = 8 };

static void
test_counts(void **state)
{
    struct contract *c = *state;
    const struct contract_group checkout = {.stack = "A", .key = "checkout", .variant = "SIGSEGV"};
    const struct contract_group inlined = {
        .stack = "B", .key = "checkout", .variant = "SIGSEGV", .user = "bert", .version = "1.10"};
    const struct contract_group trap = {
        .stack = "A", .key = "checkout", .variant = "SIGTRAP", .version = "1.9"};
    const struct contract_group login = {.stack = "C", .key = "login", .variant = "SIGSEGV"};
    const char *first = contract_group_add(c, &checkout);
    const char *other = contract_group_add(c, &login);
    contract_group_add(c, &inlined);
    contract_group_add(c, &trap);
    assert_int_equal(contract_number_of(c, first), 1);
    assert_int_equal(contract_number_of(c, other), 2);
    struct store_issue one = contract_issue(c, 1);
    assert_string_equal(one.title, "checkout");
    assert_string_equal(one.kind, "crash");
    assert_int_equal(one.n_reports, 3);
    assert_int_equal(one.n_users, 2);
    /* By their numbers, not as texts. */
    assert_string_equal(one.first_version, "1.0");
    assert_string_equal(one.last_version, "1.10");
    assert_string_equal(one.last_build, "7");
    assert_int_equal(contract_count(c, "SELECT count(*) FROM stacks"), 3);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants"), 3);
    contract_recount(c);
    /* Deleting a report changes no count; doing it again does not count it twice. */
    assert_ok(c, store_report_delete(c->store, c->project, first, &c->err));
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    contract_group_again(c, other, &login);
    assert_int_equal(contract_issue(c, 2).n_reports, 1);
    contract_recount(c);
}

static void
test_placeholder_takes_its_key(void **state)
{
    struct contract *c = *state;
    const struct contract_group nameless = {
        .stack = "P", .key = "uuid+10", .variant = "SIGSEGV", .is_placeholder = true};
    const struct contract_group named = {.stack = "A", .key = "checkout", .variant = "SIGSEGV"};
    const char *first = contract_group_add(c, &nameless),
               *second = contract_group_add(c, &nameless);
    assert_true(contract_issue(c, 1).is_placeholder);
    contract_group_again(c, first, &named);
    struct store_issue one = contract_issue(c, 1);
    assert_false(one.is_placeholder);
    assert_string_equal(one.title, "checkout");
    /* The other one is not done again yet and belongs there all the same. */
    assert_int_equal(one.n_reports, 2);
    assert_int_equal(contract_number_of(c, second), 1);
    contract_recount(c);
    contract_group_again(c, second, &named);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    assert_int_equal(contract_number_of(c, contract_group_add(c, &named)), 1);
    /* One that comes without names again, from a node without the dSYM, still belongs there. */
    assert_int_equal(contract_number_of(c, contract_group_add(c, &nameless)), 1);
    assert_false(contract_issue(c, 1).is_placeholder);
    contract_recount(c);
}

static void
test_placeholders_converge(void **state)
{
    struct contract *c = *state;
    const struct contract_group a = {
        .stack = "P", .key = "a+1", .variant = "x", .is_placeholder = true};
    const struct contract_group b = {
        .stack = "Q", .key = "b+1", .variant = "x", .user = "bert", .is_placeholder = true};
    const struct contract_group d = {
        .stack = "R", .key = "d+1", .variant = "x", .is_placeholder = true};
    const struct contract_group named = {.stack = "A", .key = "checkout", .variant = "x"};
    const char *ids[] = {contract_group_add(c, &a), contract_group_add(c, &b),
                         contract_group_add(c, &d)};
    /* The newest first: the older ones take it over. */
    contract_group_again(c, ids[2], &named);
    assert_int_equal(contract_number_of(c, ids[2]), 3);
    contract_group_again(c, ids[1], &named);
    assert_int_equal(contract_number_of(c, ids[2]), 2);
    assert_int_equal(contract_issue(c, 3).merged_into, 2);
    contract_group_again(c, ids[0], &named);
    contract_recount(c);
    struct store_issue one = contract_issue(c, 1);
    assert_int_equal(one.n_reports, 3);
    assert_false(one.is_placeholder);
    assert_string_equal(one.title, "checkout");
    /* Redirects lead there in one step. */
    assert_int_equal(contract_issue(c, 2).merged_into, 1);
    assert_int_equal(contract_issue(c, 3).merged_into, 1);
    assert_int_equal(contract_issue(c, 3).n_reports, 0);
    assert_int_equal(contract_number_of(c, contract_group_add(c, &named)), 1);
    contract_recount(c);
}

static void
test_batch(void **state)
{
    struct contract *c = *state;
    struct store_job jobs[BATCH];
    struct store_report_done done[BATCH];
    struct store_grouping made[BATCH];
    struct store_report_end ends[BATCH];
    const struct contract_group storm = {.stack = "A", .key = "storm", .variant = "x"};
    for (int i = 0; i < BATCH; i++) {
        char id[STORE_ID_TEXT], body[64];
        snprintf(body, sizeof(body), "batch %d", i);
        contract_report(c, c->project, body, id);
        jobs[i] = contract_claim(c, id);
        made[i] = contract_grouping(&storm);
        done[i] = (struct store_report_done){.status = STORE_REPORT_SYMBOLICATED,
                                             .values = contract_group_values(c, &storm),
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
    assert_int_equal(contract_issue(c, 1).n_reports, BATCH - 2);
    assert_int_equal(contract_issue(c, 1).n_users, 1);
    contract_recount(c);
}

static void
test_limits(void **state)
{
    struct contract *c = *state;
    char text[32], longer[2000];
    const struct contract_group g = {.stack = "A", .key = "k", .variant = text};
    for (int i = 0; i < STORE_KEY_VARIANTS + 20; i++) {
        snprintf(text, sizeof(text), "variant %d", i);
        contract_group_add(c, &g);
    }
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants"), STORE_KEY_VARIANTS + 1);
    assert_int_equal(contract_count(c, "SELECT n_reports FROM variants WHERE label = '(other)'"),
                     20);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const struct contract_group wide = {
        .stack = longer, .key = longer, .variant = longer, .user = longer};
    contract_group_add(c, &wide);
    assert_int_equal(contract_count(c, "SELECT max(length(title)) FROM issues"), 512);
    contract_recount(c);
}

/* Better names than the client's: the issue that is left empty says where its reports went. */
static void
test_moved_reports(void **state)
{
    static const char moved[] = "SELECT count(*) FROM issue_activity a JOIN issues i ON i.id = "
                                "a.issue_id WHERE a.kind = 'moved' AND i.number = 1";
    struct contract *c = *state;
    const struct contract_group theirs = {.stack = "T", .key = "their name", .variant = "x"};
    const struct contract_group ours = {.stack = "A", .key = "checkout", .variant = "x"};
    const struct contract_group other = {.stack = "B", .key = "login", .variant = "x"};
    const char *ids[] = {contract_group_add(c, &theirs), contract_group_add(c, &theirs),
                         contract_group_add(c, &theirs)};
    contract_group_again(c, ids[0], &theirs);
    assert_int_equal(contract_count(c, moved), 0);
    contract_group_again(c, ids[0], &ours);
    contract_group_again(c, ids[1], &ours);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    assert_int_equal(contract_count(c, moved), 1);
    contract_group_again(c, ids[2], &other);
    struct store_issue left = contract_issue(c, 1);
    assert_int_equal(left.n_reports, 0);
    assert_int_equal(left.n_users, 0);
    assert_int_equal(left.merged_into, 0);
    struct store_page page = {.limit = 10};
    struct store_activity *log;
    assert_ok(c, store_activity_list(c->store, c->project, 1, &page, &c->arena, &log, &c->err));
    assert_int_equal(page.n, 3);
    assert_string_equal(log[0].kind, "moved");
    assert_string_equal(log[0].detail, "{\"number\":3}");
    assert_string_equal(log[1].detail, "{\"number\":2}");
    contract_recount(c);
    /* The next report with the client's name belongs there again. */
    contract_group_add(c, &theirs);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    contract_recount(c);
}

/* More distinct texts than are kept are counted together, and a user learns of it. */
static void
test_full_fields(void **state)
{
    struct contract *c = *state;
    struct store_full_field *full;
    size_t n = 1;
    struct contract_group g = {.stack = "A", .key = "k", .variant = "x", .version = "1.0"};
    contract_group_add(c, &g);
    assert_ok(c, store_usage_full(c->store, c->project, &c->arena, &full, &n, &c->err));
    assert_int_equal(n, 0);
    /* As if so many versions had been sent. */
    assert_int_equal(
        contract_count(c, "UPDATE term_counts SET n = 5000 WHERE field = 1 RETURNING n"), 5000);
    for (int i = 0; i < 5; i++) {
        g.version = (const char *const[]){"1.0", "6.1", "6.2", "6.3", "6.1"}[i];
        contract_group_add(c, &g);
    }
    assert_ok(c, store_usage_full(c->store, c->project, &c->arena, &full, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(full[0].name, "version");
    assert_int_equal(full[0].limit, 5000);
    assert_int_equal(full[0].n_dropped, 4);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM facts f JOIN terms t ON t.id = "
                                       "f.version_id WHERE t.text = '(other)'"),
                     4);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM terms WHERE field = 1"), 2);
    /* Not those of another project. */
    assert_ok(c, store_usage_full(c->store, c->project + 1, &c->arena, &full, &n, &c->err));
    assert_int_equal(n, 0);
    contract_recount(c);
}

/* Reports of an older program get their issues afterwards. */
static void
test_old_reports(void **state)
{
    struct contract *c = *state;
    const struct contract_group old[] = {
        {.stack = "A", .key = "checkout", .variant = "x"},
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
                                               .values = contract_group_values(c, &old[i % 2]),
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
    struct store_grouping made[] = {contract_grouping(&old[0]), contract_grouping(&old[1])};
    const struct store_regrouped list[] = {{&found[0], &made[0]}, {&found[1], &made[1]}};
    /* Under rules that are not the project's any more. */
    made[0].rules_version = made[1].rules_version = 1;
    assert_ok(c, store_regroup(c->store, project, list, 2, &c->err));
    assert_ok(c, store_ungrouped_count(c->store, 100, &left, &c->err));
    assert_int_equal(left, 3);
    made[0].rules_version = made[1].rules_version = 0;
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
    assert_int_equal(contract_number_of(c, ids[2]), 1);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    contract_recount(c);
    /* It gets its issue when it is processed again, and is counted then. */
    contract_group_again(c, ids[0], &old[0]);
    assert_int_equal(contract_issue(c, 1).n_reports, 2);
    contract_group_again(c, ids[1], &old[0]);
    assert_int_equal(contract_issue(c, 1).n_reports, 3);
    contract_recount(c);
}

/* The rules of the project change while a report is processed. */
static void
test_older_rules(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    struct contract_group g = {.stack = "A", .key = "k", .variant = "x"};
    struct store_report report;
    const char *first = contract_group_add(c, &g);
    contract_report(c, c->project, "a report", id);
    struct store_job job = contract_claim(c, id);
    contract_sql(c, "UPDATE projects SET rules_version = 3",
                 "UPDATE projects SET rules_version = 3");
    assert_ok(c, contract_group_finish(c, &job, &g));
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_int_equal(report.status, STORE_REPORT_QUEUED);
    assert_int_equal(contract_issue(c, 1).n_reports, 1);
    assert_fails(c, FZ_E_CONFLICT, contract_group_finish(c, &job, &g));
    /* Its job is there at once, and ends with a key of the new rules. */
    job = contract_claim(c, id);
    g.rules_version = 3;
    g.stack = g.key = "k3";
    assert_ok(c, contract_group_finish(c, &job, &g));
    assert_int_equal(contract_number_of(c, id), 2);
    assert_int_equal(contract_number_of(c, first), 1);
    contract_recount(c);
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
            struct contract_group g = {.stack = keys[pick],
                                       .key = keys[pick],
                                       .variant = i % 2 ? "a" : "b",
                                       .user = person,
                                       .is_placeholder = pick > 2};
            struct store_report report;
            if (store_report_get(c->store, c->project, job.subject, &c->arena, &report, &c->err) ==
                    FZ_OK &&
                report.n_processed > 0 && g.is_placeholder)
                g = (struct contract_group){
                    .stack = "real", .key = "real", .variant = "a", .user = person};
            enum fz_code code = contract_group_finish(c, &job, &g);
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
    contract_recount(c);
    assert_true(contract_count(c, "SELECT count(*) FROM facts") > CHILDREN * ROUNDS / 2);
    /* Each key has one issue, and numbers have no gap that an issue was lost in. */
    assert_int_equal(contract_count(c, "SELECT count(*) FROM issues"),
                     contract_count(c, "SELECT max(number) FROM issues"));
}

/* One key, and a message that differs in each report. */
static int
work_on_variants(struct contract *c, int child, void *data)
{
    (void)data;
    for (int i = 0; i < 2 * STORE_KEY_VARIANTS / CHILDREN; i++) {
        char id[STORE_ID_TEXT], text[64];
        struct store_job job;
        size_t n = 0;
        snprintf(text, sizeof(text), "child %d report %d", child, i);
        contract_report(c, c->project, text, id);
        const struct contract_group g = {.stack = "A", .key = "k", .variant = text};
        while (store_job_claim(c->store, "worker", 1, 60000, &job, &n, &c->err) == FZ_OK &&
               n == 1) {
            enum fz_code code = contract_group_finish(c, &job, &g);
            if (code != FZ_OK && code != FZ_E_CONFLICT) {
                fprintf(stderr, "finish: %s\n", c->err.text);
                return 1;
            }
        }
    }
    return 0;
}

static void
test_limit_at_once(void **state)
{
    struct contract *c = *state;
    contract_fork(c, CHILDREN, work_on_variants, NULL);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM variants"), STORE_KEY_VARIANTS + 1);
    contract_recount(c);
}

/* A report that is done again and belongs to no issue any more keeps its fact, but the columns of its day have texts of its row. */
static void
test_done_without_group(void **state)
{
    struct contract *c = *state;
    const struct contract_group g = {.stack = "s", .key = "k", .variant = "v", .user = "ann"};
    const char *id = contract_group_add(c, &g);
    seal_case_make_older(c);
    assert_int_equal(seal_case(c, &seal_case_days), 1);
    assert_int_equal(contract_count(c, "SELECT state FROM fact_days"), 1);
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    struct store_job job = contract_claim(c, id);
    const struct store_report_done done = {.status = STORE_REPORT_UNSYMBOLICATED,
                                           .values = contract_group_values(c, &g),
                                           .result = fz_span_cstr("{}")};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    assert_int_equal(contract_count(c, "SELECT count(*) FROM facts"), 1);
    assert_int_equal(contract_count(c, "SELECT state FROM fact_days"), 0);
}

int
contract_run_grouping(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_done_without_group),
        contract_test(test_counts),
        contract_test(test_placeholder_takes_its_key),
        contract_test(test_placeholders_converge),
        contract_test(test_batch),
        contract_test(test_limits),
        contract_test(test_moved_reports),
        contract_test(test_full_fields),
        contract_test(test_old_reports),
        contract_test(test_older_rules),
        contract_test(test_many_at_once),
        contract_test(test_limit_at_once),
    };
    return cmocka_run_group_tests_name("grouping", tests, NULL, NULL);
}
