#include "seal_case.h"

#include <stdio.h>

#include "list_case.h"
#include "storage/store_fact_query.h"
#include "storage/store_issue_list.h"

const struct store_seal_rules seal_case_days = {
    .least = 1, .least_more = 1, .part_ms = 86400000, .after_ms = 0, .quiet_ms = -1000};

int64_t
seal_case(struct contract *c, const struct store_seal_rules *rules)
{
    struct store_sealed sealed = {.is_done = false};
    int n = 0;
    while (!sealed.is_done && n++ < 200)
        assert_ok(c, store_seal_day(c->store, rules, &sealed, &c->err));
    assert_true(sealed.is_done);
    return contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 1");
}

void
seal_case_make_older(struct contract *c)
{
    static const char *const tables[] = {"facts", "reports", "fact_tags"};
    char text[100];
    for (size_t i = 0; i < FZ_ARRAY_LEN(tables); i++) {
        snprintf(text, sizeof(text), "UPDATE %s SET received_ms = received_ms - 86400000 * 3",
                 tables[i]);
        contract_sql(c, text, text);
    }
}

int
seal_case_count(struct contract *c, const char *text)
{
    struct store_query query;
    struct store_issue_page issues;
    const struct store_issue_search search = {.query = &query};
    struct store_page page = {.limit = 1};
    uint64_t count = 0;
    assert_ok(c, query_parse(fz_span_cstr(text), list_case_now, &c->arena, &query, &c->err));
    assert_ok(c,
              store_issue_list(c->store, c->project, &search, &page, &c->arena, &issues, &c->err));
    assert_int_equal(issues.n, 1);
    assert_ok(c, store_report_search_count(c->store, c->project, &query, 1000, &c->arena, &count,
                                           &c->err));
    assert_int_equal(count, issues.issues[0].issue.n_reports);
    return (int)count;
}

void
seal_case_drop_cache(struct store_fact_cache **cache)
{
    store_fact_cache_destroy(*cache);
}
