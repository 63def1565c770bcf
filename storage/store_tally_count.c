/*
 * Facts counted by issue, batch by batch.
 *
 * A list counts up to millions of facts, so each of them touches 32 bytes of its issue and one bit of its user, and nothing else.
 * What the facts add to the trend is found once for each part of it: they come in the order of time, more or less.
 */
#include "storage/store_tally.h"

#include <inttypes.h>

static const int64_t HOUR_MS = 3600000;

/* An issue with many users has a table of bits for them: with more facts than this, and more than the table would have memory for. */
enum { LARGE_MIN = 256 };
static const double PAIR_BYTES = 16; /* of each fact, without a table */
enum { AT_ONCE = 64 /* facts that are looked up */ };

/* ---- facts ---- */

/* What was counted since the last call is of the present part of the trend. */
static void
end_part(struct store_tally *tally)
{
    for (size_t i = 0; i < tally->n; i++) {
        struct store_tally_sum *sum = &tally->sums[i];
        if (tally->part >= 0)
            tally->issues[i].trend[tally->part] += sum->n - sum->n_before;
        sum->n_before = sum->n;
    }
}

static void
start_part(struct store_tally *tally, int64_t received_ms)
{
    int64_t start = tally->trend.start_ms, step = tally->trend.step_ms;
    int64_t part = received_ms >= start ? (received_ms - start) / step : -1;
    bool is_inside = part >= 0 && part < STORE_TREND;
    end_part(tally);
    tally->part = is_inside ? part : -1;
    tally->part_from_ms = is_inside ? start + part * step : part < 0 ? INT64_MIN : received_ms;
    tally->part_to_ms = is_inside ? start + (part + 1) * step : part < 0 ? start : INT64_MAX;
}

enum fz_code
store_tally_count_start(struct store_tally *tally, struct fz_error *err)
{
    tally->sums = fz_arena_array(tally->arena, tally->n, sizeof(*tally->sums));
    if (!tally->sums)
        return fz_arena_fail(tally->arena, err);
    for (size_t i = 0; i < tally->n; i++) {
        struct store_counted *issue = &tally->issues[i];
        *issue = (struct store_counted){
            .id = issue->id, .number = issue->number, .n_reports = issue->n_reports};
        tally->sums[i] =
            (struct store_tally_sum){.first_ms = INT64_MAX, .first_version = UINT32_MAX};
    }
    tally->part = -1;
    tally->part_from_ms = tally->part_to_ms = 0;
    return FZ_OK;
}

void
store_set_table_from(struct store *store, uint64_t facts)
{
    store->table_from = facts;
}

/*
 * A table takes a bit for each user that there is, and fresh memory costs more than what is done with it: an issue of 700 reports
 * among a million users would touch a page for nearly each of them.
 */
enum fz_code
store_tally_count_expect(struct store_tally *tally, uint64_t n_facts,
                         const struct store_fact_batch *batch, struct fz_error *err)
{
    const struct store_block users = batch->columns[STORE_FACT_USER];
    int64_t least = INT64_MAX, most = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < batch->n; i++) {
        int64_t user = store_block_get(&users, batch->at[i]);
        least = user > 0 && user < least ? user : least;
        most = user > most ? user : most;
    }
    for (size_t i = 0; i < tally->n; i++)
        n += tally->issues[i].n_reports;
    uint64_t table = least < most ? (uint64_t)(most - least) / 8 : 0;
    double least_facts = (double)(tally->store->table_from ? tally->store->table_from : LARGE_MIN);
    double share = n ? (double)n_facts / (double)n : 0; /* of all facts, these are counted */
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < tally->n; i++) {
        double expected = (double)tally->issues[i].n_reports * (share < 1 ? share : 1);
        if (expected >= least_facts && expected * PAIR_BYTES >= (double)table)
            code = store_distinct_expect(&tally->users, (uint32_t)i, err);
    }
    return code;
}

static inline void
count_version(struct store_tally_sum *sum, uint32_t rank)
{
    if (rank > sum->last_version)
        sum->last_version = rank;
    if (rank && rank < sum->first_version)
        sum->first_version = rank;
}

/* What is looked up of a fact before it is counted. */
struct looked_up {
    uint32_t at, rank;
    int64_t user, received_ms;
    const uint64_t *word; /* that has the bit of the user */
};

/*
 * Of each fact its issue, its version and where its user's bit is: returns how many have an issue.
 *
 * Users are all over their issue's set, so most loads of bits wait for memory. Here they are begun, for all facts that are looked up
 * at once; in the loop that counts, a processor would have only a few of them under way.
 */
static size_t
look_up(const struct store_tally *tally, const struct store_fact_batch *batch, size_t from,
        size_t to, struct looked_up *ret)
{
    const struct store_block variants = batch->columns[STORE_FACT_VARIANT],
                             users = batch->columns[STORE_FACT_USER],
                             versions = batch->columns[STORE_FACT_VERSION],
                             times = batch->columns[STORE_FACT_RECEIVED];
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        size_t fact = batch->at[i];
        uint32_t at = store_map_get(&tally->by_variant, store_block_get(&variants, fact));
        struct looked_up *found = &ret[n];
        found->at = at;
        found->rank = store_map_get(&tally->ranks, store_block_get(&versions, fact));
        found->user = store_block_get(&users, fact);
        found->received_ms = store_block_get(&times, fact);
        found->word = at ? store_distinct_word(&tally->users, at - 1, found->user) : NULL;
        __builtin_prefetch(found->word, 1);
        n += at != 0;
    }
    return n;
}

enum fz_code
store_tally_count(struct store_tally *tally, const struct store_fact_batch *batch,
                  struct fz_error *err)
{
    struct looked_up facts[AT_ONCE];
    enum fz_code code = FZ_OK;
    for (size_t from = 0; code == FZ_OK && from < batch->n; from += AT_ONCE) {
        size_t to = from + AT_ONCE < batch->n ? from + AT_ONCE : batch->n;
        size_t n = look_up(tally, batch, from, to, facts);
        for (size_t i = 0; code == FZ_OK && i < n; i++) {
            const struct looked_up *fact = &facts[i];
            struct store_tally_sum *sum = &tally->sums[fact->at - 1];
            int64_t received_ms = fact->received_ms;
            if (received_ms < tally->part_from_ms || received_ms >= tally->part_to_ms)
                start_part(tally, received_ms);
            sum->n++;
            sum->first_ms = received_ms < sum->first_ms ? received_ms : sum->first_ms;
            sum->last_ms = received_ms > sum->last_ms ? received_ms : sum->last_ms;
            count_version(sum, fact->rank);
            if (tally->is_new[fact->rank] || !store_distinct_has(fact->word, fact->user))
                code = store_distinct_add(&tally->users, fact->at - 1, fact->user,
                                          tally->is_new[fact->rank], err);
        }
    }
    return code;
}

enum fz_code
store_tally_count_add(struct store_tally *tally, struct store_tally *other, struct fz_error *err)
{
    end_part(other);
    for (size_t i = 0; i < tally->n; i++) {
        const struct store_tally_sum *more = &other->sums[i];
        struct store_tally_sum *sum = &tally->sums[i];
        struct store_counted *issue = &tally->issues[i];
        for (int part = 0; part < STORE_TREND; part++)
            issue->trend[part] += other->issues[i].trend[part];
        if (more->n == 0)
            continue;
        /* They are of other parts of the trend, which have them already. */
        sum->n += more->n;
        sum->n_before += more->n;
        sum->first_ms = more->first_ms < sum->first_ms ? more->first_ms : sum->first_ms;
        sum->last_ms = more->last_ms > sum->last_ms ? more->last_ms : sum->last_ms;
        count_version(sum, more->first_version == UINT32_MAX ? 0 : more->first_version);
        count_version(sum, more->last_version);
    }
    return store_distinct_merge(&tally->users, &other->users, err);
}

enum fz_code
store_tally_count_end(struct store_tally *tally, struct fz_error *err)
{
    uint64_t *users = fz_arena_array(tally->arena, tally->n, 2 * sizeof(*users));
    if (!users)
        return fz_arena_fail(tally->arena, err);
    end_part(tally);
    enum fz_code code = store_distinct_count(&tally->users, users, users + tally->n, err);
    for (size_t i = 0; code == FZ_OK && i < tally->n; i++) {
        const struct store_tally_sum *sum = &tally->sums[i];
        struct store_counted *issue = &tally->issues[i];
        issue->n_reports = sum->n;
        issue->n_users = users[i];
        issue->n_new_users = users[tally->n + i];
        issue->first_ms = sum->n ? sum->first_ms : 0;
        issue->last_ms = sum->last_ms;
        issue->first_version = sum->last_version ? sum->first_version : 0;
        issue->last_version = sum->last_version;
    }
    return code;
}

/* ---- counts of all time ---- */

enum fz_code
store_tally_newest(struct store_tally *tally, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_USER};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_query all = {.n = 0};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct store_fact_query facts;
    if (tally->newest.n == 0)
        return FZ_OK;
    uint64_t *users = fz_arena_array(tally->arena, tally->n, 2 * sizeof(*users));
    if (!users)
        return fz_arena_fail(tally->arena, err);
    enum fz_code code = store_fact_query_make(tally->store, tally->project_id, &all, false,
                                              tally->arena, &facts, err);
    if (code == FZ_OK)
        code = store_fact_query_versions(&facts, &tally->newest, err);
    if (code == FZ_OK)
        code = store_fact_query_plan(&facts, err);
    if (code == FZ_OK)
        code = store_fact_scan_open(&facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n; i++) {
            size_t fact = batch.at[i];
            int64_t variant = store_block_get(&batch.columns[STORE_FACT_VARIANT], fact);
            int64_t user = store_block_get(&batch.columns[STORE_FACT_USER], fact);
            uint32_t at = store_map_get(&tally->by_variant, variant);
            if (at)
                code = store_distinct_add(&tally->users, at - 1, user, true, err);
        }
    }
    store_fact_scan_close(scan);
    /* Users of all time are counted already. */
    if (code == FZ_OK)
        code = store_distinct_count(&tally->users, users, users + tally->n, err);
    for (size_t i = 0; code == FZ_OK && i < tally->n; i++)
        tally->issues[i].n_new_users = users[i];
    return code;
}

/* Are the facts before this hour, which are in the range of the trend, all stored as columns, or few? Else *ret_ms = 0. */
static enum fz_code
find_sealed(const struct store_tally *tally, int64_t *ret_ms, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(tally->project_id),
                                     sql_int(tally->trend.start_ms / STORE_DAY_MS)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        tally->store->sql,
        "SELECT p.sealed_ms, (SELECT count(*) FROM fact_days d WHERE d.project_id = p.id AND "
        "d.day >= $2 AND d.state IN (0, 2, 4)) FROM projects p WHERE p.id = $1",
        args, FZ_ARRAY_LEN(args), &rows, err);
    *ret_ms = 0;
    if (sql_row(&rows, &code, err) && sql_col_int(&rows, 1) == 0)
        *ret_ms = sql_col_int(&rows, 0) / HOUR_MS * HOUR_MS;
    return code;
}

/* The trend before this time, of facts: there are as many for all issues as for some. */
static enum fz_code
count_trend(struct store_tally *tally, int64_t until_ms, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_VARIANT, STORE_FACT_RECEIVED};
    const struct store_fact_want want = {
        .columns = columns, .n_columns = FZ_ARRAY_LEN(columns), .counted_only = true};
    const struct store_query all = {.since_ms = tally->trend.start_ms, .until_ms = until_ms};
    const int64_t start = tally->trend.start_ms, step = tally->trend.step_ms;
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    struct store_fact_query facts;
    int64_t part = 0;
    enum fz_code code = store_fact_query_make(tally->store, tally->project_id, &all, false,
                                              tally->arena, &facts, err);
    if (code == FZ_OK)
        code = store_fact_scan_open(&facts, &want, &scan, err);
    while (store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; i < batch.n; i++) {
            int64_t variant = store_block_get(&batch.columns[STORE_FACT_VARIANT], batch.at[i]);
            int64_t ms = store_block_get(&batch.columns[STORE_FACT_RECEIVED], batch.at[i]) - start;
            uint32_t at = store_map_get(&tally->by_variant, variant);
            if (ms < part * step || ms >= (part + 1) * step)
                part = ms / step;
            if (at && part < STORE_TREND)
                tally->issues[at - 1].trend[part]++;
        }
    }
    store_fact_scan_close(scan);
    return code;
}

/* The trend from this time on, of counts by hour. */
static enum fz_code
read_trend(struct store_tally *tally, const struct store_ids *numbers, int64_t since_ms,
           struct fz_error *err)
{
    static const char *const columns[] = {"h.variant_id", "h.hour", "h.n", NULL};
    struct store_sql q;
    struct sql_ints ints = {.n_columns = 0};
    store_sql_init(&q, tally->store, tally->arena);
    store_sql_add(&q,
                  "FROM issues i JOIN variants v ON v.issue_id = i.id JOIN issue_hours h ON "
                  "h.variant_id = v.id WHERE i.project_id = ?",
                  sql_int(tally->project_id));
    fz_buffer_printf(&q.text, " AND h.hour >= %" PRId64, since_ms / HOUR_MS);
    if (numbers) {
        fz_buffer_text(&q.text, " AND i.number");
        store_sql_in(&q, numbers);
    }
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_ints_open(tally->store->sql, columns, fz_buffer_cstr(&q.text), q.args, q.n_args,
                             &ints, err);
    for (int64_t row[3]; sql_ints_next(&ints, row, &code, err);) {
        uint32_t at = store_map_get(&tally->by_variant, row[0]);
        int64_t bucket = (row[1] * HOUR_MS - tally->trend.start_ms) / tally->trend.step_ms;
        if (at && bucket >= 0 && bucket < STORE_TREND)
            tally->issues[at - 1].trend[bucket] += (uint32_t)row[2];
    }
    sql_ints_close(&ints);
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_tally_trend(struct store_tally *tally, const struct store_ids *numbers, struct fz_error *err)
{
    int64_t sealed_ms = 0, start_ms = tally->trend.start_ms;
    if (numbers && numbers->n == 0)
        return FZ_OK;
    enum fz_code code = find_sealed(tally, &sealed_ms, err);
    if (code == FZ_OK && sealed_ms > start_ms) {
        code = count_trend(tally, sealed_ms, err);
        start_ms = sealed_ms;
    }
    return code == FZ_OK ? read_trend(tally, numbers, start_ms, err) : code;
}
