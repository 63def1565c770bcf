/*
 * Reports in: the same body once, the same id with another body under a new id.
 */
#include "storage/store_changed.h"
#include "storage/store_insert.h"
#include "storage/store_usage.h"

#include <stdlib.h>

/* ---- insert ---- */

/* The parts of an item that the database would refuse. */
static enum fz_code
check_report(const struct store_report_new *item)
{
    bool fine = item->project_id > 0 && store_is_id(item->id) &&
                store_is_sha256(item->body_sha256) && item->format && item->format[0] &&
                strlen(item->format) <= STORE_TEXT_SHORT;
    return fine ? FZ_OK : FZ_E_MALFORMED;
}

/* Find the stored report that conflicts with `item`: the same body, or else the same id. A
 * transient report conflicts by its id only. */
static enum fz_code
find_stored(struct sql *tx, const struct store_report_new *item, const char *id,
            char ret_id[STORE_ID_TEXT], bool *ret_found, bool *ret_same, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(item->project_id), sql_text(id),
                                     sql_text(item->body_sha256), sql_int(item->transient)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(tx,
                  "SELECT id, 1 AS same FROM report_ids WHERE project_id = $1 AND body_sha256 = $3 "
                  "AND transient = 0 AND $4 = 0 UNION ALL "
                  "SELECT id, 0 AS same FROM report_ids WHERE project_id = $1 AND id = $2 "
                  "ORDER BY same DESC LIMIT 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, ret_found, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    sql_col_copy(&rows, 0, ret_id, STORE_ID_TEXT);
    *ret_same = sql_col_int(&rows, 1) != 0;
    return FZ_OK;
}

/* By body, and of the same body in the order they came: two nodes that store the same reports then
 * lock them in one order and cannot deadlock. */
static int
compare_outcomes(const void *a, const void *b)
{
    const struct store_outcome *x = a, *y = b;
    const struct store_report_new *i = x->packed->item, *j = y->packed->item;
    if (i->project_id != j->project_id)
        return i->project_id < j->project_id ? -1 : 1;
    /* The hash is as good as any order, if all servers have the same. */
    int order = strncmp(i->body_sha256, j->body_sha256, sizeof(i->body_sha256));
    return order ? order : (x->packed > y->packed) - (x->packed < y->packed);
}

/* One attempt: *ret_found false means that another report conflicts. */
static enum fz_code
try_insert(struct sql *tx, const struct store_outcome *outcome, int64_t *ret_key, bool *ret_found,
           struct fz_error *err)
{
    const struct store_report_new *item = outcome->packed->item;
    const struct sql_value args[] = {sql_int(item->project_id),
                                     sql_text(outcome->id),
                                     sql_text(item->body_sha256),
                                     sql_int(item->transient),
                                     sql_int(item->received_ms),
                                     sql_text(item->format),
                                     sql_text(outcome->is_clash ? item->id : NULL)};
    return sql_number(tx,
                      "INSERT INTO reports (project_id, id, body_sha256, transient, received_ms, "
                      "status, format, claimed_id) VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7) "
                      "ON CONFLICT DO NOTHING RETURNING key",
                      args, FZ_ARRAY_LEN(args), ret_key, ret_found, err);
}

/* Stored already, or under a new id because another report has the one it came with. */
static enum fz_code
insert_row(struct sql *tx, struct store_outcome *outcome, int64_t *ret_key, struct fz_error *err)
{
    const struct store_report_new *item = outcome->packed->item;
    bool found = false, same = false;
    /* Again with a new id; and again if the other report is deleted between two looks. */
    for (int i = 0; i < 4; i++) {
        char stored[STORE_ID_TEXT];
        enum fz_code code = try_insert(tx, outcome, ret_key, &found, err);
        if (code != FZ_OK || found)
            return code;
        code = find_stored(tx, item, outcome->id, stored, &found, &same, err);
        if (code != FZ_OK)
            return code;
        if (found && (same || item->transient)) {
            memcpy(outcome->id, stored, sizeof(outcome->id));
            outcome->is_duplicate = true;
            outcome->is_clash = false;
            outcome->code = item->transient ? FZ_E_CONFLICT : FZ_OK;
            return FZ_OK;
        }
        if (found) {
            struct fz_uuid id = fz_uuid_new();
            fz_uuid_format(&id, outcome->id);
            outcome->is_clash = true;
        }
    }
    return fz_fail(err, FZ_E_UNAVAILABLE, "report %s is being changed by others", item->id);
}

static enum fz_code
insert_one(struct sql *tx, struct store_outcome *outcome, const struct store_job_time *time,
           struct fz_error *err)
{
    const struct store_packed *packed = outcome->packed;
    const struct store_report_new *item = packed->item;
    int64_t key = 0;
    /* A duplicate leaves neither a body nor a job. */
    enum fz_code code = insert_row(tx, outcome, &key, err);
    if (code != FZ_OK || outcome->is_duplicate)
        return code;
    const struct sql_value body[] = {sql_int(key),
                                     sql_blob(fz_span_make(packed->body, packed->body_len))};
    code = sql_exec(tx, "INSERT INTO report_bodies (report_key, body) VALUES ($1, $2)", body,
                    FZ_ARRAY_LEN(body), NULL, err);
    if (code != FZ_OK)
        return code;
    const struct store_job_new job = {item->project_id, STORE_JOB_REPORT, outcome->id, item->reader,
                                      STORE_FRESH};
    return store_job_add_at(tx, &job, time, err);
}

static enum fz_code
has_project(struct sql *tx, int64_t id, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    return sql_number(tx, "SELECT 1 FROM projects WHERE id = $1", args, 1, NULL, ret, err);
}

enum fz_code
store_count_reports(struct sql *tx, int64_t n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(n)};
    return n == 0 ? FZ_OK
                  : sql_exec(tx, "INSERT INTO report_counts (n) VALUES ($1)", args, 1, NULL, err);
}

/* What the new ones of the batch take of their projects' quotas. They are sorted by project, so
 * that two servers lock rows in one order. */
static enum fz_code
count_usage(struct store *store, int64_t now_ms, const struct store_outcome *outcomes, size_t n,
            struct fz_error *err)
{
    struct store_usage usage = {.kind = STORE_USAGE_REPORTS};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_report_new *item = outcomes[i].packed->item;
        bool counts = outcomes[i].code == FZ_OK && !outcomes[i].is_duplicate && !item->transient;
        usage.project_id = item->project_id;
        usage.bytes += counts ? item->body.len : 0;
        usage.n += counts;
        bool is_last = i + 1 == n || outcomes[i + 1].packed->item->project_id != item->project_id;
        if (!is_last || usage.n == 0)
            continue;
        code = store_usage_count(store->sql, store->usage_slot, now_ms, &usage, err);
        usage.bytes = usage.n = 0;
    }
    return code;
}

/* The same for those who watch; one row for each project, in the same order. */
static enum fz_code
count_changes(struct store *store, const struct store_outcome *outcomes, size_t n,
              struct fz_error *err)
{
    struct store_changed changed = {0};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_report_new *item = outcomes[i].packed->item;
        if (outcomes[i].code == FZ_OK && !outcomes[i].is_duplicate && !item->transient) {
            changed.n[STORE_CHANGE_RECEIVED]++;
            changed.received = outcomes[i].id;
        }
        bool is_last = i + 1 == n || outcomes[i + 1].packed->item->project_id != item->project_id;
        if (!is_last || !changed.received)
            continue;
        changed.project_id = item->project_id;
        code = store_changed_count(store, &changed, err);
        changed = (struct store_changed){0};
    }
    return code;
}

/* Which items may be stored; what an attempt that was rolled back has set is undone. */
static enum fz_code
judge(struct sql *tx, struct store_outcome *outcomes, size_t n, struct fz_error *err)
{
    int64_t known_project = 0;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_outcome *outcome = &outcomes[i];
        const struct store_report_new *item = outcome->packed->item;
        *outcome = (struct store_outcome){.packed = outcome->packed, .code = check_report(item)};
        if (outcome->code != FZ_OK)
            continue;
        memcpy(outcome->id, item->id, sizeof(outcome->id));
        /* The items are sorted by project, so each is looked up once. */
        bool found = item->project_id == known_project;
        if (!found)
            code = has_project(tx, item->project_id, &found, err);
        if (found)
            known_project = item->project_id;
        else
            outcome->code = FZ_E_NOT_FOUND;
    }
    return code;
}

static enum fz_code
insert_batch(struct store *store, struct store_outcome *outcomes, size_t n, struct fz_error *err)
{
    int64_t n_new = 0;
    struct store_job_time time = {0};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        /* Once for all: on PostgreSQL it is a statement, too. */
        code = store_job_time(tx, &time, err);
    if (code == FZ_OK)
        code = judge(tx, outcomes, n, err);
    if (code == FZ_OK && tx->driver->packs_rows)
        code = store_insert_set(tx, outcomes, n, &time, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_outcome *outcome = &outcomes[i];
        if (outcome->code != FZ_OK)
            continue;
        if (!outcome->is_stored)
            code = insert_one(tx, outcome, &time, err);
        n_new += !outcome->is_duplicate && !outcome->packed->item->transient;
    }
    if (code == FZ_OK)
        code = store_count_reports(tx, n_new, err);
    if (code == FZ_OK)
        /* In the same commit, so that a quota never misses a report nor counts one twice. */
        code = count_usage(store, time.now_ms, outcomes, n, err);
    if (code == FZ_OK)
        code = count_changes(store, outcomes, n, err);
    if (code == FZ_OK) {
        /* Also workers wait, for those that only pass through. */
        sql_notify(tx);
        code = sql_commit(&tx, err);
    }
    return code;
}

enum fz_code
store_report_insert_packed(struct store *store, const struct store_packed *items, size_t n,
                           struct fz_error *err)
{
    FZ_CLEANUP(store_freep) void *memory = calloc(n ? n : 1, sizeof(struct store_outcome));
    if (!memory)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    struct store_outcome *outcomes = memory;
    enum fz_code code;
    for (size_t i = 0; i < n; i++)
        outcomes[i].packed = &items[i];
    if (n > 1)
        qsort(outcomes, n, sizeof(*outcomes), compare_outcomes);
    int n_tries = 0;
    do
        code = insert_batch(store, outcomes, n, err);
    while (sql_try_again(store->sql, code, &n_tries));
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_report_new *item = outcomes[i].packed->item;
        /* Only now: until the commit the items have to be as the caller made them. */
        item->code = outcomes[i].code;
        item->is_duplicate = outcomes[i].is_duplicate;
        item->is_clash = outcomes[i].is_clash;
        if (item->is_duplicate || item->is_clash)
            memcpy(item->id, outcomes[i].id, sizeof(item->id));
    }
    return code;
}
