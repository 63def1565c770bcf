/*
 * One issue: what its reports have in common, counted.
 *
 * Without conditions about reports the counts are those that are kept (issue_days, variants, issues); with conditions the issue's
 * facts are read once and counted here.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "storage/store_fact_scan.h"
#include "storage/store_issue_counts.h"

enum { NEWEST = 200 /* reports among which the best named one is looked for */ };

struct details {
    struct store_tally t; /* of this one issue */
    struct store_issue issue;
    struct store_fact_query facts;
    bool all_time;
    struct store_issue_counts counts;
    struct store_variant *variants;
    size_t n_variants;
};

static void
deinit(struct details *d)
{
    store_issue_counts_deinit(&d->counts);
    store_tally_deinit(&d->t);
}

/* ---- variants ---- */

/* All variants of the issue, with the counts of all time. */
static enum fz_code
read_variants(struct details *d, struct fz_error *err)
{
    struct store_tally *t = &d->t;
    struct sql_list list = {.arena = t->arena, .item = sizeof(*d->variants)};
    const struct sql_value args[] = {sql_int(t->project_id), sql_int(d->issue.number)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        t->store->sql,
        "SELECT v.id, v.sha256, v.label, v.n_reports, v.first_ms, v.last_ms FROM issues "
        "i JOIN variants v ON v.issue_id = i.id WHERE i.project_id = $1 AND i.number = $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_variant *v; (v = sql_list_next(&rows, &list, &code, err));) {
        struct fz_span sha256 = sql_col_bytes(&rows, 1);
        *v = (struct store_variant){.number = sql_col_int(&rows, 0),
                                    .label = sql_col_text(&rows, 2, t->arena),
                                    .n_reports = (uint64_t)sql_col_int(&rows, 3),
                                    .first_ms = sql_col_int(&rows, 4),
                                    .last_ms = sql_col_int(&rows, 5)};
        if (sha256.len == FZ_SHA256_LEN)
            fz_text_hex(sha256, v->sha256);
    }
    return sql_list_done(&list, code, &d->variants, &d->n_variants);
}

static int
compare_variants(const void *a, const void *b)
{
    const struct store_variant *x = a, *y = b;
    if (x->n_reports != y->n_reports)
        return x->n_reports < y->n_reports ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static void
sort_variants(struct details *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_variants; i++) {
        if (d->variants[i].n_reports)
            d->variants[n++] = d->variants[i];
    }
    d->n_variants = n;
    if (n)
        qsort(d->variants, n, sizeof(*d->variants), compare_variants);
}

/* ---- counting ---- */

static enum fz_code
count_facts(struct details *d, struct fz_error *err)
{
    struct store_tally *t = &d->t;
    d->counts.tally = t;
    enum fz_code code = store_issue_counts_facts(&d->counts, &d->facts, err);
    for (size_t i = 0; code == FZ_OK && i < d->n_variants; i++) {
        struct store_variant *variant = &d->variants[i];
        const struct store_counted *counted =
            &t->issues[store_map_get(&t->by_variant, variant->number) - 1];
        variant->n_reports = counted->n_reports;
        variant->first_ms = counted->first_ms;
        variant->last_ms = counted->last_ms;
    }
    return code;
}

/* Without conditions: the counts of all time. Reports of which a text is not known have no row. */
static enum fz_code
count_days(struct details *d, struct fz_error *err)
{
    static const char *const columns[] = {"field", "term_id", "CAST(n AS bigint)", NULL};
    uint64_t known[STORE_DISTRIBUTIONS] = {0};
    const struct sql_value args[] = {sql_int(d->t.project_id), sql_int(d->issue.number)};
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = sql_ints_open(
        d->t.store->sql, columns,
        "FROM (SELECT y.field, y.term_id, sum(y.n) AS n FROM issues i JOIN variants v ON "
        "v.issue_id = i.id JOIN issue_days y ON y.variant_id = v.id WHERE i.project_id = $1 AND "
        "i.number = $2 GROUP BY y.field, y.term_id) AS days",
        args, FZ_ARRAY_LEN(args), &ints, err);
    for (int64_t row[3]; sql_ints_next(&ints, row, &code, err);) {
        for (int i = 0; code == FZ_OK && i < STORE_DISTRIBUTIONS; i++) {
            if (row[0] != (int64_t)store_distributed[i].term || row[2] <= 0)
                continue;
            code = store_issue_counts_put(&d->counts, i, row[1], (uint64_t)row[2], err);
            known[i] += (uint64_t)row[2];
        }
    }
    sql_ints_close(&ints);
    for (int i = 0; code == FZ_OK && i < STORE_DISTRIBUTIONS; i++) {
        if (d->issue.n_reports > known[i])
            code = store_issue_counts_put(&d->counts, i, -1, d->issue.n_reports - known[i], err);
    }
    return code;
}

/* ---- shares ---- */

struct share {
    int64_t term;
    uint32_t n;
};

static int
compare_shares(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return (x->term > y->term) - (x->term < y->term);
}

static enum fz_code
read_shares(struct details *d, const struct store_map *counts, struct store_shares *ret,
            struct fz_error *err)
{
    struct share *shares = fz_arena_array(d->t.arena, counts->n, sizeof(*shares));
    enum fz_code code = FZ_OK;
    size_t n = 0;
    if (!shares)
        return fz_arena_fail(d->t.arena, err);
    for (size_t i = 0; i < counts->room; i++) {
        if (counts->slots[i].key)
            shares[n++] = (struct share){counts->slots[i].key, counts->slots[i].value};
    }
    if (n)
        qsort(shares, n, sizeof(*shares), compare_shares);
    *ret = (struct store_shares){.n_texts = n};
    struct store_ids ids = {0};
    struct store_term_text *texts = NULL;
    for (size_t i = 0; code == FZ_OK && i < n && i < STORE_SHARES; i++)
        code = store_ids_put(&ids, shares[i].term, d->t.arena, err);
    store_ids_sort(&ids);
    if (code == FZ_OK)
        code = store_term_texts(d->t.store, &ids, d->t.arena, &texts, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (i >= STORE_SHARES) {
            ret->n_others += shares[i].n;
            continue;
        }
        const struct store_term_text *text = &texts[store_ids_find(&ids, shares[i].term)];
        ret->list[ret->n++] = (struct store_share){text->text, text->detail, shares[i].n};
    }
    return code;
}

/* ---- reports to look at ---- */

static enum fz_code
find_newest(const struct store_fact_query *facts, struct store_ids *ret_keys, struct fz_error *err)
{
    static const enum store_fact_column columns[] = {STORE_FACT_REPORT};
    const struct store_fact_want want = {.columns = columns,
                                         .n_columns = 1,
                                         .kept_only = true,
                                         .order = STORE_FACTS_NEWEST_FIRST,
                                         .limit = NEWEST};
    struct store_fact_scan *scan = NULL;
    struct store_fact_batch batch;
    enum fz_code code = store_fact_scan_open(facts, &want, &scan, err);
    while (ret_keys->n < NEWEST && store_fact_scan_next(scan, &batch, &code, err)) {
        for (size_t i = 0; code == FZ_OK && i < batch.n && ret_keys->n < NEWEST; i++)
            code = store_ids_put(ret_keys,
                                 store_block_get(&batch.columns[STORE_FACT_REPORT], batch.at[i]),
                                 facts->arena, err);
    }
    store_fact_scan_close(scan);
    return code;
}

static enum fz_code
find_reports(struct details *d, const struct store_ids *variants, struct store_issue_details *ret,
             struct fz_error *err)
{
    struct store_fact_query *facts = &d->facts;
    struct store_ids keys = {0};
    enum fz_code code = FZ_OK;
    /* Of a query with conditions it is ready: count() has used it. */
    if (d->all_time)
        code = store_fact_query_variants(facts, variants, err);
    if (code == FZ_OK && d->all_time && !facts->is_empty)
        code = store_fact_query_plan(facts, err);
    if (code != FZ_OK || facts->is_empty)
        return code;
    code = find_newest(facts, &keys, err);
    if (code != FZ_OK || keys.n == 0)
        return code;
    struct store_sql q;
    store_sql_init(&q, d->t.store, d->t.arena);
    fz_buffer_text(&q.text, "SELECT n.id, n.status, n.n_missing FROM reports n WHERE n.key");
    store_sql_in(&q, &keys);
    fz_buffer_text(&q.text, " ORDER BY n.received_ms DESC, n.key DESC");
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code =
            sql_query_once(d->t.store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    int64_t best = INT64_MAX;
    while (sql_row(&rows, &code, err)) {
        enum store_report_status status;
        code = store_read_report_status(&rows, 1, &status, err);
        /* Symbolicated, partly, not at all; of the same, the one that waits for the fewest images. */
        int64_t rank = (status == STORE_REPORT_QUEUED ? STORE_REPORT_FAILED + 1 : (int64_t)status) *
                           INT32_MAX +
                       sql_col_int(&rows, 2);
        if (!*ret->newest)
            sql_col_copy(&rows, 0, ret->newest, sizeof(ret->newest));
        if (rank < best)
            sql_col_copy(&rows, 0, ret->best, sizeof(ret->best));
        best = rank < best ? rank : best;
    }
    store_sql_deinit(&q);
    return code;
}

/* ---- all ---- */

static enum fz_code
count(struct details *d, const struct store_query *query, struct store_ids *ret_variants,
      struct fz_error *err)
{
    struct store_tally *t = &d->t;
    enum fz_code code =
        store_issue_get(t->store, t->project_id, d->issue.number, t->arena, &d->issue, err);
    if (code == FZ_OK)
        code = read_variants(d, err);
    for (size_t i = 0; code == FZ_OK && i < d->n_variants; i++)
        code = store_ids_put(ret_variants, d->variants[i].number, t->arena, err);
    if (code == FZ_OK)
        code =
            store_fact_query_make(t->store, t->project_id, query, false, t->arena, &d->facts, err);
    if (code != FZ_OK)
        return code;
    store_ids_sort(ret_variants);
    d->all_time = !store_fact_query_has_any(&d->facts);
    code = store_tally_one(t, &d->issue, ret_variants, err);
    if (code != FZ_OK || d->all_time)
        return code;
    code = store_fact_query_variants(&d->facts, ret_variants, err);
    if (code == FZ_OK && !d->facts.is_empty)
        code = store_fact_query_plan(&d->facts, err);
    return code == FZ_OK ? count_facts(d, err) : code;
}

static enum fz_code
finish(struct details *d, struct store_issue_details *ret, struct fz_error *err)
{
    struct store_counted counted;
    struct store_issue *issue = &ret->listed.issue;
    enum fz_code code = FZ_OK;
    *issue = d->issue;
    ret->trend = d->t.trend;
    const struct store_ids numbers = {.list = &d->issue.number, .n = 1};
    if (d->all_time) {
        code = count_days(d, err);
        if (code == FZ_OK)
            code = store_tally_trend(&d->t, &numbers, err);
    } else {
        code = store_tally_versions_start(&d->t, &numbers, err);
    }
    store_tally_sum_up(&d->t, &counted);
    if (code == FZ_OK && !d->all_time) {
        issue->n_reports = counted.n_reports;
        issue->n_users = counted.n_users;
        issue->first_ms = counted.first_ms;
        issue->last_ms = counted.last_ms;
        store_tally_versions(&d->t, &counted, issue);
    }
    memcpy(ret->listed.trend, counted.trend, sizeof(counted.trend));
    for (int i = 0; code == FZ_OK && i < STORE_DISTRIBUTIONS; i++)
        code = read_shares(d, &d->counts.values[i], &ret->shares[i], err);
    sort_variants(d);
    ret->variants = d->variants;
    ret->n_all_variants = d->n_variants;
    ret->n_variants = d->n_variants < STORE_SHARES ? d->n_variants : STORE_SHARES;
    return code;
}

enum fz_code
store_issue_details(struct store *store, int64_t project_id, int64_t number,
                    const struct store_query *query, struct fz_arena *arena,
                    struct store_issue_details *ret, struct fz_error *err)
{
    struct details d = {.issue.number = number};
    struct store_issue_details *made = fz_arena_alloc(arena, sizeof(*made));
    struct store_ids variants = {0};
    if (!made)
        return fz_arena_fail(arena, err);
    memset(made, 0, sizeof(*made));
    enum fz_code code = store_tally_start(store, project_id, query, arena, &d.t, err);
    if (code == FZ_OK)
        code = count(&d, query, &variants, err);
    if (code == FZ_OK)
        code = finish(&d, made, err);
    if (code == FZ_OK)
        code = find_reports(&d, &variants, made, err);
    deinit(&d);
    if (code == FZ_OK)
        *ret = *made;
    return code;
}

enum fz_code
store_issue_variant_list(struct store *store, int64_t project_id, int64_t number,
                         const struct store_query *query, struct fz_arena *arena,
                         struct store_variants *ret, struct fz_error *err)
{
    struct details d = {.issue.number = number};
    struct store_ids variants = {0};
    enum fz_code code = store_tally_start(store, project_id, query, arena, &d.t, err);
    if (code == FZ_OK)
        code = count(&d, query, &variants, err);
    sort_variants(&d);
    deinit(&d);
    if (code != FZ_OK)
        return code;
    ret->list = d.variants;
    ret->n = d.n_variants < STORE_ISSUE_VARIANTS ? d.n_variants : STORE_ISSUE_VARIANTS;
    return FZ_OK;
}
