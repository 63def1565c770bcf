/* Looking at the reports of a project, from the oldest on: which are too old, and which are too many. */
#include "storage/store_retention_plan.h"

#include <stdlib.h>

#include "storage/store_fact_days.h"

enum { PAGE = 2000, ARENA_BYTES = 64 * 1024 * 1024, NAMED_MAX = 20000, ISSUES_MAX = 4000000 };

/* ---- ids that texts name ---- */

static int
compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
hex_len(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* Every id of a report in a text. */
static enum fz_code
take_ids(struct store_retention_plan *plan, const char *text, struct sql_list *list,
         struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && *text) {
        size_t len = hex_len(text);
        if (len == STORE_ID_TEXT - 1 && list->n < NAMED_MAX) {
            const char **id = sql_list_put(list, &code, err);
            if (id)
                *id = fz_arena_text(&plan->arena, fz_span_make(text, len));
            if (id && !*id)
                code = fz_arena_fail(&plan->arena, err);
        }
        text += len ? len : 1;
    }
    return code;
}

/* What people refer to, and what shows why an issue is open again. */
static enum fz_code
read_named(struct store *store, struct store_retention_plan *plan, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena texts = fz_arena_make(ARENA_BYTES);
    struct sql_list list = {.arena = &plan->arena, .item = sizeof(const char *)};
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(NAMED_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT a.detail FROM issue_activity a JOIN issues i ON i.id = a.issue_id WHERE "
        "a.project_id = $1 AND (a.kind = 'commented' OR (a.kind = 'regressed' AND i.is_regressed = "
        "1)) AND a.detail IS NOT NULL ORDER BY a.id DESC LIMIT $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        const char *text = sql_col_text(&rows, 0, &texts);
        code = text ? take_ids(plan, text, &list, err) : fz_arena_fail(&texts, err);
    }
    code = sql_list_done(&list, code, &plan->named, &plan->n_named);
    if (code == FZ_OK && plan->n_named)
        qsort(plan->named, plan->n_named, sizeof(*plan->named), compare_ids);
    return code;
}

static bool
is_named(const struct store_retention_plan *plan, const char *id)
{
    return plan->n_named &&
           bsearch(&id, plan->named, plan->n_named, sizeof(*plan->named), compare_ids);
}

/* ---- issues ---- */

/* splitmix64: the same number for the same report in every sweep. */
static uint64_t
mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t
find_slot(const struct store_plan_issue *issues, size_t room, int64_t id)
{
    size_t at = mix((uint64_t)id) & (room - 1);
    while (issues[at].id && issues[at].id != id)
        at = (at + 1) & (room - 1);
    return at;
}

static enum fz_code
grow_issues(struct store_retention_plan *plan, struct fz_error *err)
{
    size_t room = plan->issue_room ? 2 * plan->issue_room : 1024;
    struct store_plan_issue *issues =
        room <= ISSUES_MAX * (size_t)2 ? calloc(room, sizeof(*issues)) : NULL;
    if (!issues)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < plan->issue_room; i++) {
        if (plan->issues[i].id)
            issues[find_slot(issues, room, plan->issues[i].id)] = plan->issues[i];
    }
    free(plan->issues);
    plan->issues = issues;
    plan->issue_room = room;
    return FZ_OK;
}

static enum fz_code
find_issue(struct store_retention_plan *plan, int64_t id, struct store_plan_issue **ret,
           struct fz_error *err)
{
    if (2 * plan->n_issues >= plan->issue_room) {
        enum fz_code code = grow_issues(plan, err);
        if (code != FZ_OK)
            return code;
    }
    struct store_plan_issue *issue = &plan->issues[find_slot(plan->issues, plan->issue_room, id)];
    plan->n_issues += issue->id == 0;
    issue->id = id;
    *ret = issue;
    return FZ_OK;
}

/* ---- one report ---- */

static int64_t
count_bits(uint64_t x)
{
    int64_t n = 0;
    for (; x; x >>= 1)
        n++;
    return n;
}

/* Twice the formula of the header, in whole numbers. */
static int64_t
score(const struct store_retention_plan *plan, int64_t key, int64_t received_ms, int64_t nth)
{
    uint64_t random = mix((uint64_t)key) >> 32;
    int64_t age_ms = plan->now_ms > received_ms ? plan->now_ms - received_ms : 0;
    return 2 * count_bits((random * 2 * (uint64_t)nth) >> 32) +
           count_bits((uint64_t)(age_ms / (3600 * 1000)) + 1);
}

struct seen {
    struct store_plan_row row;
    bool has_body, is_processed;
    int64_t issue_id, status;
};

static bool
is_beyond(const struct store_retention_plan *plan, int64_t received_ms, int64_t days)
{
    return days > 0 && received_ms < plan->now_ms - days * STORE_DAY_MS;
}

static enum fz_code
see(struct store_retention_plan *plan, struct seen *seen, struct fz_error *err)
{
    const struct store_retention *retention = &plan->retention;
    struct store_plan_row *row = &seen->row;
    struct store_plan_issue *issue = NULL;
    enum fz_code code = FZ_OK;
    plan->due.n_reports++;
    plan->due.n_stored_bodies += seen->has_body;
    /* What waits to be processed for the first time is never deleted. */
    if (!seen->is_processed)
        return FZ_OK;
    if (seen->issue_id)
        code = find_issue(plan, seen->issue_id, &issue, err);
    if (code != FZ_OK)
        return code;
    row->issue = seen->issue_id;
    bool is_kept = is_named(plan, row->id);
    if (issue) {
        issue->first = issue->n++ ? issue->first : row->key;
        issue->newest = row->key;
        if (seen->status == STORE_REPORT_SYMBOLICATED)
            issue->named = row->key;
        is_kept = is_kept || issue->first == row->key;
    }
    if (is_beyond(plan, row->received_ms, retention->report_days)) {
        bool is_sample = is_kept && retention->keeps_samples;
        plan->due.n_samples += is_sample;
        plan->due.n_aged += !is_sample;
        if (!is_sample && plan->aged.n < STORE_PLAN_MAX)
            return store_plan_put(&plan->aged, row, err);
        if (!is_sample)
            return FZ_OK;
    } else if (issue && !is_kept && (retention->report_max || retention->bytes_max)) {
        row->score = score(plan, row->key, row->received_ms, issue->n);
        code = store_plan_put_heap(&plan->heap, row, err);
    }
    if (code == FZ_OK && seen->has_body &&
        is_beyond(plan, row->received_ms, retention->body_days)) {
        plan->due.n_bodies++;
        if (plan->bodies.n < STORE_PLAN_MAX)
            code = store_plan_put(&plan->bodies, row, err);
    }
    return code;
}

static enum fz_code
look_at_page(struct store *store, struct store_retention_plan *plan, size_t *ret_n,
             struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(plan->project_id), sql_int(plan->after_ms),
                                     sql_text(plan->after_id), sql_int(PAGE)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t n = 0;
    enum fz_code code = sql_query(
        store->sql,
        "SELECT r.key, r.received_ms, r.id, r.has_body, CASE WHEN r.n_processed > 0 OR r.status = "
        "'failed' THEN 1 ELSE 0 END, coalesce(v.issue_id, 0), coalesce(f.status, 0) FROM (SELECT "
        "key, received_ms, id, has_body, n_processed, status FROM reports WHERE project_id = $1 "
        "AND "
        "transient = 0 AND (received_ms, id) > ($2, $3) ORDER BY received_ms, id LIMIT $4) r "
        "LEFT JOIN facts f ON f.project_id = $1 AND f.received_ms = r.received_ms AND f.report_key "
        "= r.key LEFT JOIN variants v ON v.id = f.variant_id ORDER BY r.received_ms, r.id",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct seen seen = {
            .row = {.key = sql_col_int(&rows, 0), .received_ms = sql_col_int(&rows, 1)},
            .has_body = sql_col_int(&rows, 3) != 0,
            .is_processed = sql_col_int(&rows, 4) != 0,
            .issue_id = sql_col_int(&rows, 5),
            .status = sql_col_int(&rows, 6)};
        sql_col_copy(&rows, 2, seen.row.id, sizeof(seen.row.id));
        code = see(plan, &seen, err);
        if (code == FZ_OK)
            code = store_use_offer(&plan->sample, seen.row.key, err);
        plan->after_ms = seen.row.received_ms;
        memcpy(plan->after_id, seen.row.id, sizeof(plan->after_id));
        n++;
    }
    *ret_n = n;
    return code;
}

/* ---- the end ---- */

static bool
is_sample(const struct store_retention_plan *plan, const struct store_plan_row *row)
{
    if (!row->issue)
        return false;
    const struct store_plan_issue *issue =
        &plan->issues[find_slot(plan->issues, plan->issue_room, row->issue)];
    return issue->newest == row->key || issue->named == row->key;
}

/* Only now is it known which one of an issue is the newest. Returns how many it left out. */
static size_t
leave_samples(const struct store_retention_plan *plan, struct store_plan_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (!is_sample(plan, &rows->rows[i]))
            rows->rows[n++] = rows->rows[i];
    }
    size_t n_left = rows->n - n;
    rows->n = n;
    return n_left;
}

/* How many reports may stay; UINT64_MAX = all. */
static uint64_t
find_target(struct store_retention_plan *plan)
{
    const struct store_retention *retention = &plan->retention;
    uint64_t target = retention->report_max ? (uint64_t)retention->report_max : UINT64_MAX;
    uint64_t symbols = plan->use.symbols.bytes, all = store_retention_bytes(&plan->use);
    uint64_t reports = all - symbols, max = (uint64_t)retention->bytes_max;
    if (max == 0 || all <= max || reports == 0)
        return target;
    /* Symbol files that are in use stay, whatever they need: a quarter is left to reports. */
    plan->due.is_over = symbols > max - max / 4;
    uint64_t room = plan->due.is_over ? max / 4 : max - symbols;
    if (room >= reports)
        return target;
    double share = (double)room / (double)reports;
    uint64_t n = (uint64_t)((double)plan->use.n_reports * share);
    return n < target ? n : target;
}

/* How much of the time that was not looked at is before then. */
static double
share_before(const struct store_retention_plan *plan, int64_t days)
{
    double left = (double)plan->now_ms - (double)plan->after_ms,
           before = left - (double)days * (double)STORE_DAY_MS;
    /* Where none was looked at, nothing says how old they are. */
    return plan->due.n_reports && days && before > 0 ? before / left : 0;
}

/* As if as many reports had come each day since the last one that was looked at. */
static void
add_rest(struct store_retention_plan *plan)
{
    struct store_retention_due *due = &plan->due;
    const struct store_retention *retention = &plan->retention;
    double aged = share_before(plan, retention->report_days),
           bodies = share_before(plan, retention->body_days);
    double with_body = due->n_reports ? (double)due->n_stored_bodies / (double)due->n_reports : 1;
    double rest =
        plan->use.n_reports > due->n_reports ? (double)(plan->use.n_reports - due->n_reports) : 0;
    due->n_reports += (uint64_t)rest;
    due->n_aged += (uint64_t)(rest * aged);
    due->n_stored_bodies += (uint64_t)(rest * with_body);
    due->n_bodies += bodies > aged ? (uint64_t)(rest * with_body * (bodies - aged)) : 0;
    due->is_estimated = true;
}

static void
finish(struct store_retention_plan *plan, bool has_rest)
{
    struct store_retention_due *due = &plan->due;
    due->is_cut = has_rest || due->n_aged > plan->aged.n;
    if (plan->retention.keeps_samples) {
        size_t n = leave_samples(plan, &plan->aged);
        due->n_aged -= n;
        due->n_samples += n;
    }
    if (has_rest)
        add_rest(plan);
    uint64_t target = find_target(plan), stay = due->n_reports - due->n_aged;
    uint64_t excess = stay > target ? stay - target : 0;
    bool was_full = has_rest || plan->heap.n == STORE_PLAN_MAX;
    fz_ignore(leave_samples(plan, &plan->heap)); /* of no age, so not counted */
    store_plan_sort(&plan->heap);
    due->is_cut =
        due->is_cut || (was_full && excess > plan->heap.n) || due->n_bodies > plan->bodies.n;
    /* What cannot be thinned out, since it is the first of its issue or the like, is not promised. */
    due->n_thinned = was_full || excess < plan->heap.n ? excess : plan->heap.n;
    plan->heap.n = excess < plan->heap.n ? (size_t)excess : plan->heap.n;
    if (plan->use.n_reports)
        due->bytes = (store_retention_bytes(&plan->use) - plan->use.symbols.bytes) /
                     plan->use.n_reports * (due->n_aged + due->n_thinned);
    plan->is_looked = true;
}

/* ---- entry points ---- */

enum fz_code
store_retention_plan_create(struct store *store, int64_t project_id,
                            const struct store_retention *retention,
                            struct store_retention_plan **ret, struct fz_error *err)
{
    FZ_CLEANUP(store_retention_plan_destroyp)
    struct store_retention_plan *plan = calloc(1, sizeof(*plan));
    struct store_retention stored;
    if (!plan)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    plan->project_id = project_id;
    plan->retention = *retention;
    plan->after_ms = INT64_MIN;
    plan->arena = fz_arena_make(ARENA_BYTES);
    enum fz_code code = store_retention_get(store, project_id, &stored, &plan->state, err);
    if (code == FZ_OK)
        code = sql_now(store->sql, &plan->now_ms, err);
    if (code == FZ_OK)
        code = read_named(store, plan, err);
    if (code == FZ_OK)
        *ret = fz_take(&plan);
    return code;
}

void
store_retention_plan_destroy(struct store_retention_plan *plan)
{
    if (!plan)
        return;
    fz_arena_deinit(&plan->arena);
    store_use_sample_deinit(&plan->sample);
    free(plan->issues);
    free(plan->aged.rows);
    free(plan->heap.rows);
    free(plan->bodies.rows);
    free(plan);
}

void
store_retention_plan_destroyp(struct store_retention_plan **plan)
{
    store_retention_plan_destroy(*plan);
}

enum fz_code
store_retention_look(struct store *store, struct store_retention_plan *plan, bool *ret_is_done,
                     struct fz_error *err)
{
    size_t n = 0;
    enum fz_code code = plan->is_looked ? FZ_OK : look_at_page(store, plan, &n, err);
    if (code == FZ_OK && !plan->is_looked && n < PAGE) {
        code = store_use_read(store, plan->project_id, &plan->sample, plan->due.n_reports,
                              &plan->use, err);
        if (code == FZ_OK)
            code = store_plan_count(store, plan, err);
        if (code == FZ_OK)
            finish(plan, false);
    }
    if (code == FZ_OK)
        *ret_is_done = plan->is_looked;
    return code;
}

enum fz_code
store_retention_estimate(struct store *store, struct store_retention_plan *plan,
                         struct fz_error *err)
{
    const struct sql_value project = sql_int(plan->project_id);
    int64_t n = 0;
    bool is_noted = false;
    if (plan->is_looked)
        return FZ_OK;
    enum fz_code code = store_use_noted(store, plan->project_id, &plan->use, &is_noted, err);
    if (code == FZ_OK && !is_noted)
        /* No sweep has noted it yet, so none has deleted reports, which issues would still count. */
        code = sql_number(store->sql,
                          "SELECT CAST((SELECT coalesce(sum(n_reports), 0) FROM issues WHERE "
                          "project_id = $1) + (SELECT count(*) FROM reports WHERE project_id = $1 "
                          "AND is_grouped = 0 AND transient = 0) AS bigint)",
                          &project, 1, &n, NULL, err);
    if (code == FZ_OK && !is_noted)
        code = store_use_read(store, plan->project_id, &plan->sample, (uint64_t)n, &plan->use, err);
    if (code == FZ_OK)
        code = store_plan_count(store, plan, err);
    if (code == FZ_OK)
        finish(plan, true);
    return code;
}

const struct store_retention_use *
store_retention_use(const struct store_retention_plan *plan)
{
    return &plan->use;
}

const struct store_retention_due *
store_retention_due(const struct store_retention_plan *plan)
{
    return &plan->due;
}
