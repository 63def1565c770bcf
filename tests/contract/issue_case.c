/* What the tests of issues have in common. */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/sql/sql.h"

static void
hash(const char *text, uint8_t ret[FZ_SHA256_LEN])
{
    memset(ret, 0, FZ_SHA256_LEN);
    memcpy(ret, text, strlen(text) < FZ_SHA256_LEN ? strlen(text) : FZ_SHA256_LEN);
}

struct store_grouping
contract_grouping(const struct contract_group *g)
{
    static const char *const functions[] = {"checkout(int)", "main"};
    static const char *const files[] = {"/src/checkout.c"};
    struct store_grouping made = {.stack = fz_span_cstr(g->stack),
                                  .files = files,
                                  .n_files = 1,
                                  .title = g->key,
                                  .is_placeholder = g->is_placeholder,
                                  .rules_version = g->rules_version,
                                  .variant_label = g->variant};
    while (made.n_functions < FZ_ARRAY_LEN(g->functions) && g->functions[made.n_functions])
        made.n_functions++;
    if (made.n_functions) {
        made.functions = g->functions;
    } else {
        made.functions = functions;
        made.n_functions = FZ_ARRAY_LEN(functions);
    }
    hash(g->key, made.key);
    hash(g->variant, made.variant);
    return made;
}

const union fz_value *
contract_group_values(struct contract *c, const struct contract_group *g)
{
    return contract_values(
        c, (const char *const[]){"app_version", g->version ? g->version : "1.0", "app_build",
                                 g->build ? g->build : "7", "os_name", "iOS", "os_version", "18.1",
                                 "device_model", g->device ? g->device : "iPhone15,2", "user_id",
                                 g->user ? g->user : "anna", "tags", "\nchannel=beta\nslot=3\n",
                                 "ends_run", g->run ? "1" : "0", g->run ? "run_id" : NULL, g->run,
                                 NULL});
}

enum fz_code
contract_group_finish(struct contract *c, const struct store_job *job,
                      const struct contract_group *g)
{
    struct store_grouping made = contract_grouping(g);
    const struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                           .values = contract_group_values(c, g),
                                           .result = fz_span_cstr("{}"),
                                           .grouping = &made};
    return store_job_finish_report(c->store, job, &done, &c->err);
}

const char *
contract_group_add(struct contract *c, const struct contract_group *g)
{
    char *id = fz_arena_alloc(&c->arena, STORE_ID_TEXT), body[64];
    static int n;
    assert_non_null(id);
    snprintf(body, sizeof(body), "report %d", n++);
    contract_report(c, c->project, body, id);
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_group_finish(c, &job, g));
    return id;
}

void
contract_group_again(struct contract *c, const char *id, const struct contract_group *g)
{
    assert_ok(c, store_report_reprocess(c->store, c->project, id, &c->err));
    struct store_job job = contract_claim(c, id);
    assert_ok(c, contract_group_finish(c, &job, g));
}

int64_t
contract_number_of(struct contract *c, const char *id)
{
    struct store_report_issue found;
    assert_ok(c, store_report_find_issue(c->store, c->project, id, &c->arena, &found, &c->err));
    return found.number;
}

struct store_issue
contract_issue(struct contract *c, int64_t number)
{
    struct store_issue found;
    assert_ok(c, store_issue_get(c->store, c->project, number, &c->arena, &found, &c->err));
    return found;
}

int64_t
contract_count(struct contract *c, const char *query)
{
    FZ_CLEANUP(sql_closep) struct sql *sql = NULL;
    int64_t n = -1;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    assert_ok(c, sql_number(sql, query, NULL, 0, &n, NULL, &c->err));
    return n;
}

void
contract_recount(struct contract *c)
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
        "SELECT count(*) FROM issue_days d WHERE field = 3 AND n <> (SELECT count(*) FROM facts f "
        "WHERE f.variant_id = d.variant_id AND f.received_ms / 86400000 = d.day AND f.device_id = "
        "d.term_id AND f.is_counted = 1)",
        "SELECT count(*) FROM issues i WHERE i.merged_into IS NOT NULL AND (n_reports <> 0 OR "
        "EXISTS (SELECT 1 FROM issues m WHERE m.id = i.merged_into AND m.merged_into IS NOT NULL))",
        "SELECT count(*) FROM facts f JOIN variants v ON v.id = f.variant_id JOIN issues i ON i.id "
        "= v.issue_id WHERE i.merged_into IS NOT NULL",
        "SELECT count(*) FROM facts f JOIN variants v ON v.id = f.variant_id JOIN stacks s ON "
        "s.key "
        "= f.stack_key WHERE v.key_id <> s.key_id AND NOT EXISTS (SELECT 1 FROM issue_keys k WHERE "
        "k.id = v.key_id AND k.is_placeholder = 1)",
        "SELECT count(*) FROM versions v WHERE n_reports <> (SELECT count(*) FROM facts f WHERE "
        "f.version_id = v.version_id AND f.is_counted = 1)",
        "SELECT count(*) FROM version_days d WHERE n <> (SELECT count(*) FROM facts f WHERE "
        "f.version_id = d.version_id AND f.environment_id = d.environment_id AND f.received_ms / "
        "86400000 = d.day AND f.is_counted = 1)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM version_days) - (SELECT count(*) FROM facts WHERE "
        "is_counted = 1 AND version_id > 0)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_hours) - (SELECT count(*) FROM facts WHERE "
        "is_counted = 1)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_users) - (SELECT count(*) FROM facts WHERE "
        "is_counted = 1 AND user_id > 0)",
        "SELECT (SELECT coalesce(sum(n), 0) FROM issue_days WHERE field = 2) - (SELECT count(*) "
        "FROM facts WHERE is_counted = 1 AND os_id > 0)",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(queries); i++) {
        int64_t wrong = contract_count(c, queries[i]);
        if (wrong)
            fail_msg("%lld: %s", (long long)wrong, queries[i]);
    }
}
