/*
 * Conditions that all facts meet: "kind:crash" of a project that has crashes only, "has:user" of one whose reports all name a user.
 *
 * To count millions of facts takes several times as long as to look at the columns of the conditions, and the counts of all time have
 * the answer. So lists look first, until the first fact that does not meet them, which is among the newest or the oldest ones as a
 * rule.
 */
#include "storage/store_fact_filter.h"
#include "storage/store_fact_scan.h"

enum { ALL_FROM = 200 * 1000 };

void
store_set_all_from(struct store *store, uint64_t facts)
{
    store->all_from = facts;
}

/*
 * Read the facts as wanted until one does not meet the conditions; *ret_n: how many do. Where days are not sealed, rows are read:
 * as many as are counted without this, so it is left to lists of which at least `from` facts are in columns.
 */
static enum fz_code
look(const struct store_fact_query *facts, struct store_fact_want want, uint64_t from,
     uint64_t *ret_n, bool *ret_others, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch = {.n = 0};
    uint64_t n = 0;
    want.columns = columns;
    want.n_columns = FZ_ARRAY_LEN(columns);
    want.counted_only = true;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    bool is_few = code == FZ_OK && store_fact_scan_expects(scan) < from;
    while (!is_few && !batch.n_others && store_fact_scan_next(scan, &batch, &code, err))
        n += batch.n;
    store_fact_scan_close(scan);
    *ret_n = n;
    *ret_others = is_few || batch.n_others;
    return code;
}

enum fz_code
store_fact_query_look(const struct store_fact_query *facts, bool *ret_all, bool *ret_many,
                      struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(facts->project_id)};
    const struct store_fact_want newest = {.order = STORE_FACTS_NEWEST_FIRST, .n_days = 1};
    const struct store_fact_want all = {.order = STORE_FACTS_ANY_ORDER};
    uint64_t from = facts->store->all_from ? facts->store->all_from : ALL_FROM;
    bool has_range = facts->since_ms || facts->until_ms, has_others = false;
    uint64_t n = 0;
    int64_t total = 0;
    *ret_all = *ret_many = false;
    if (facts->is_empty || !store_fact_filter_can(facts))
        return FZ_OK;
    /* Facts that do not meet the conditions may be the newest or the oldest ones: "version:<6.5", "version:>6.5". */
    enum fz_code code = look(facts, newest, 1, &n, &has_others, err);
    *ret_many = n >= STORE_FACTS_PROBED;
    if (code == FZ_OK && !has_others && !has_range)
        code = look(facts, all, from, &n, &has_others, err);
    if (code != FZ_OK || has_others || has_range)
        return code;
    /* Facts of days that are not sealed are known by the sum alone. */
    code = sql_number(facts->store->sql,
                      "SELECT CAST(coalesce(sum(n_reports), 0) AS bigint) FROM issues WHERE "
                      "project_id = $1",
                      args, FZ_ARRAY_LEN(args), &total, NULL, err);
    *ret_all = code == FZ_OK && n && (uint64_t)total == n;
    return code;
}
