/*
 * Conditions that all facts meet: "kind:crash" of a project that has crashes only, "has:user" of one whose reports all name a user.
 *
 * To count millions of facts takes ten times as long as to look at the columns of the conditions, and the counts of all time have
 * the answer. So lists look first, until the first fact that does not meet them, which is among the first ones as a rule.
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
 * Facts that meet the conditions; 0 = others do not, or there are few. Where days are not sealed, rows are read: as many as are
 * counted without this, so it is left to lists of which most facts are in columns.
 */
static enum fz_code
count(const struct store_fact_query *facts, uint64_t *ret, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT};
    const struct store_fact_want want = {.columns = columns, .n_columns = 1, .counted_only = true};
    uint64_t from = facts->store->all_from ? facts->store->all_from : ALL_FROM;
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch = {.n = 0};
    uint64_t n = 0;
    *ret = 0;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    bool is_worth_it = code == FZ_OK && store_fact_scan_expects(scan) >= from;
    while (is_worth_it && batch.n_others == 0 && store_fact_scan_next(scan, &batch, &code, err))
        n += batch.n;
    store_fact_scan_close(scan);
    if (code == FZ_OK && batch.n_others == 0)
        *ret = n;
    return code;
}

enum fz_code
store_fact_query_is_of_all(const struct store_fact_query *facts, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(facts->project_id)};
    uint64_t n = 0;
    int64_t total = 0;
    *ret = false;
    if (facts->is_empty || facts->driver || facts->since_ms || facts->until_ms ||
        !store_fact_filter_can(facts))
        return FZ_OK;
    enum fz_code code = count(facts, &n, err);
    /* Facts of days that are not sealed are known by the sum alone. */
    if (code == FZ_OK && n)
        code = sql_number(facts->store->sql,
                          "SELECT CAST(coalesce(sum(n_reports), 0) AS bigint) FROM issues WHERE "
                          "project_id = $1",
                          args, FZ_ARRAY_LEN(args), &total, NULL, err);
    *ret = code == FZ_OK && n && (uint64_t)total == n;
    return code;
}
