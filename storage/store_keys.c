/*
 * From a key to its variant and issue.
 *
 * A key belongs to one issue; its variants too, unless they were split off. A report without names
 * has a key made of addresses, a placeholder. When its names come, the report has another key:
 *
 *   the real key is new          the placeholder's issue takes it, with its number and its history
 *   the real key has an issue    the two become one, under the older number
 *
 * Reports of the placeholder that are not processed again yet stay in its variants, which belong to
 * the same issue, so no count is wrong at any time.
 */
#include "storage/store_record.h"

#include "storage/store_activity.h"
#include "storage/store_event.h"
#include "storage/store_moves.h"

struct key {
    int64_t id, issue_id;
    bool found, is_placeholder;
    int64_t variant_id, variant_issue_id; /* of the report; 0 = it is not there */
    bool is_parked;                       /* the issue redirects: rules took all its stacks away */
};

/* All that nearly every report finds, in one statement: the key, the variant, and the stack. */
static enum fz_code
find_key(struct store_record *record, struct store_recorded *recorded, struct key *ret,
         struct fz_error *err)
{
    const struct store_grouping *grouping = recorded->done->grouping;
    const struct sql_value args[] = {sql_int(record->project_id),
                                     sql_blob(fz_span_make(grouping->key, FZ_SHA256_LEN)),
                                     sql_blob(fz_span_make(grouping->variant, FZ_SHA256_LEN)),
                                     sql_blob(fz_span_make(recorded->stack_sha256, FZ_SHA256_LEN))};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        record->store->sql,
        "SELECT k.id, k.issue_id, k.is_placeholder, v.id, v.issue_id, (SELECT s.key FROM stacks s "
        "WHERE s.project_id = $1 AND s.sha256 = $4), (SELECT i.merged_into FROM issues i WHERE "
        "i.id "
        "= coalesce(v.issue_id, k.issue_id)) FROM issue_keys k LEFT JOIN variants v ON v.key_id = "
        "k.id AND v.sha256 = $3 WHERE k.project_id = $1 AND k.sha256 = $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    bool found = sql_row(&rows, &code, err);
    recorded->stack_key = 0;
    *ret = (struct key){.found = false};
    if (code != FZ_OK || !found)
        return code;
    *ret = (struct key){.id = sql_col_int(&rows, 0),
                        .issue_id = sql_col_int(&rows, 1),
                        .found = true,
                        .is_placeholder = sql_col_int(&rows, 2) != 0,
                        .variant_id = sql_col_int(&rows, 3),
                        .variant_issue_id = sql_col_int(&rows, 4),
                        .is_parked = sql_col_int(&rows, 6) != 0};
    recorded->stack_key = sql_col_int(&rows, 5);
    return FZ_OK;
}

/* ---- new ---- */

static enum fz_code
new_issue(struct store_record *record, const struct store_recorded *r, int64_t *ret,
          struct fz_error *err)
{
    struct sql *tx = record->store->sql;
    const struct store_grouping *grouping = r->done->grouping;
    const struct sql_value project[] = {sql_int(record->project_id)};
    int64_t number = 0, now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "UPDATE projects SET last_issue = last_issue + 1 WHERE id = $1 RETURNING "
                          "last_issue",
                          project, 1, &number, NULL, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {
        sql_int(record->project_id),
        sql_int(number),
        sql_text_clean(record->arena, grouping->title, STORE_TERM_BYTES),
        sql_text_clean(record->arena, r->kind ? r->kind : "crash", STORE_TEXT_SHORT),
        sql_int(grouping->is_placeholder),
        sql_int(now),
        sql_int(r->fact.received_ms)};
    code = sql_number(tx,
                      "INSERT INTO issues (project_id, number, title, kind, is_placeholder, "
                      "created_ms, first_ms, last_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) "
                      "RETURNING id",
                      args, FZ_ARRAY_LEN(args), ret, NULL, err);
    record->n_new_issues++;
    record->new_issue_id = *ret;
    const struct fz_columns *columns = &record->store->columns;
    const struct store_happened what = {
        .project_id = record->project_id,
        .issue_id = *ret,
        .event = STORE_ISSUE_CREATED,
        .waits_for_names = grouping->is_placeholder,
        .report = r->id,
        .version = fz_columns_text(columns, r->done->values, "app_version"),
        .build = fz_columns_text(columns, r->done->values, "app_build")};
    return code == FZ_OK ? store_issue_happened(tx, &what, err) : code;
}

static enum fz_code
new_key(struct store_record *record, const struct store_grouping *grouping, int64_t issue_id,
        struct key *ret, struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(record->project_id), sql_blob(fz_span_make(grouping->key, FZ_SHA256_LEN)),
        sql_int(issue_id), sql_text_clean(record->arena, grouping->title, STORE_TERM_BYTES),
        sql_int(grouping->is_placeholder)};
    *ret = (struct key){.issue_id = issue_id, .is_placeholder = grouping->is_placeholder};
    return sql_number(record->store->sql,
                      "INSERT INTO issue_keys (project_id, sha256, issue_id, title, "
                      "is_placeholder) VALUES ($1, $2, $3, $4, $5) RETURNING id",
                      args, FZ_ARRAY_LEN(args), &ret->id, &ret->found, err);
}

/* ---- placeholders ---- */

/* Whether the report was in an issue that only waits for names. */
static enum fz_code
was_placeholder(struct sql *tx, const struct store_fact *old, bool *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(old->variant_id)};
    /* An issue that has names as well was put together by a user: it stays as it is. */
    return sql_number(tx,
                      "SELECT 1 FROM variants v JOIN issue_keys k ON k.id = v.key_id JOIN issues i "
                      "ON i.id = v.issue_id WHERE v.id = $1 AND k.is_placeholder = 1 AND "
                      "i.is_placeholder = 1",
                      args, 1, NULL, ret, err);
}

static enum fz_code
give_name(struct store_record *record, int64_t issue_id, const struct store_grouping *grouping,
          struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(issue_id), sql_text_clean(record->arena, grouping->title, STORE_TERM_BYTES)};
    enum fz_code code =
        sql_exec(record->store->sql,
                 "UPDATE issues SET is_placeholder = 0, title = CASE WHEN title_is_ours = 1 THEN "
                 "$2 ELSE title END WHERE id = $1",
                 args, FZ_ARRAY_LEN(args), NULL, err);
    const struct store_activity_new entry = {.project_id = record->project_id,
                                             .issue_id = issue_id,
                                             .actor = store_actor,
                                             .kind = "named"};
    if (code == FZ_OK)
        code = store_event_named(record->store->sql, issue_id, err);
    return code == FZ_OK ? store_activity_add(record->store->sql, &entry, err) : code;
}

/* The older of two issues: of the lower number. */
static enum fz_code
older(struct sql *tx, int64_t a, int64_t b, int64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(a), sql_int(b)};
    return sql_number(tx, "SELECT id FROM issues WHERE id IN ($1, $2) ORDER BY number LIMIT 1",
                      args, FZ_ARRAY_LEN(args), ret, NULL, err);
}

/* The key's issue and the placeholder's become one. */
static enum fz_code
converge(struct store_record *record, struct key *key, int64_t placeholder,
         const struct store_grouping *grouping, struct fz_error *err)
{
    struct sql *tx = record->store->sql;
    int64_t into = 0;
    /* Counts that are not written yet name the issue that ends. */
    enum fz_code code = store_deltas_write(&record->deltas, tx, err);
    if (code == FZ_OK)
        code = older(tx, key->issue_id, placeholder, &into, err);
    if (code != FZ_OK)
        return code;
    int64_t from = into == placeholder ? key->issue_id : placeholder;
    if (into == placeholder)
        code = store_issue_inherit(tx, from, into, err);
    if (code == FZ_OK)
        code = store_issue_join(tx, from, into, store_actor, err);
    if (code == FZ_OK && into == placeholder)
        code = give_name(record, into, grouping, err);
    key->issue_id = into;
    for (size_t i = 0; i < record->n_news; i++) {
        struct store_fact *fact = &record->news[i]->fact;
        fact->issue_id = fact->issue_id == from ? into : fact->issue_id;
    }
    return code;
}

/* ---- variants ---- */

static enum fz_code
find_variant(struct sql *tx, int64_t key_id, const uint8_t sha256[FZ_SHA256_LEN],
             struct store_fact *fact, bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(key_id),
                                     sql_blob(fz_span_make(sha256, FZ_SHA256_LEN))};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(tx, "SELECT id, issue_id FROM variants WHERE key_id = $1 AND sha256 = $2", args,
                  FZ_ARRAY_LEN(args), &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    fact->variant_id = sql_col_int(&rows, 0);
    fact->issue_id = sql_col_int(&rows, 1);
    return FZ_OK;
}

static enum fz_code
put_variant(struct store_record *record, const struct key *key, struct store_recorded *r,
            struct fz_error *err)
{
    static const uint8_t other[FZ_SHA256_LEN];
    struct sql *tx = record->store->sql;
    const struct sql_value key_id[] = {sql_int(key->id)};
    const struct store_grouping *grouping = r->done->grouping;
    const uint8_t *sha256 = grouping->variant;
    const char *label = grouping->variant_label;
    bool found = false;
    int64_t n = 0;
    enum fz_code code = find_variant(tx, key->id, sha256, &r->fact, &found, err);
    if (code != FZ_OK || found)
        return code;
    code =
        sql_number(tx, "SELECT count(*) FROM variants WHERE key_id = $1", key_id, 1, &n, NULL, err);
    if (code != FZ_OK)
        return code;
    /* Others may add some at the same time, uncounted here: they must not do so near the limit. */
    if (n >= STORE_KEY_VARIANTS / 2 && n < STORE_KEY_VARIANTS && !record->is_exclusive) {
        record->needs_exclusive = true;
        return fz_fail(err, FZ_E_UNAVAILABLE, "one of many variants needs the project's lock");
    }
    /* Messages come from outside and may differ each time. */
    if (n >= STORE_KEY_VARIANTS) {
        sha256 = other;
        label = STORE_TERM_OTHER;
    }
    const struct sql_value args[] = {
        sql_int(key->id), sql_blob(fz_span_make(sha256, FZ_SHA256_LEN)), sql_int(key->issue_id),
        sql_text_clean(record->arena, label ? label : "", STORE_TERM_BYTES),
        sql_int(r->fact.received_ms)};
    code = sql_exec(tx,
                    "INSERT INTO variants (key_id, sha256, issue_id, label, first_ms, last_ms) "
                    "VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (key_id, sha256) DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = find_variant(tx, key->id, sha256, &r->fact, &found, err);
    return code;
}

/* It redirected to where rules had moved all its reports, and has one of its own again. */
static enum fz_code
revive(struct sql *tx, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    return sql_exec(tx, "UPDATE issues SET merged_into = NULL WHERE id = $1", args, 1, NULL, err);
}

enum fz_code
store_key_find(struct store_record *record, struct store_recorded *recorded,
               const struct store_fact *old, int64_t *ret_key_id, struct fz_error *err)
{
    const struct store_grouping *grouping = recorded->done->grouping;
    struct sql *tx = record->store->sql;
    bool promotes = false;
    struct key key;
    enum fz_code code = find_key(record, recorded, &key, err);
    if (code == FZ_OK && old && !grouping->is_placeholder)
        code = was_placeholder(tx, old, &promotes, err);
    if (code != FZ_OK)
        return code;
    /* Nothing to be done for it if its key is in that issue already. */
    promotes = promotes && !(key.found && key.issue_id == old->issue_id);
    if ((!key.found || promotes || key.is_parked) && !record->is_exclusive) {
        record->needs_exclusive = true;
        return fz_fail(err, FZ_E_UNAVAILABLE, "a report with a new key needs the project's lock");
    }
    if (key.variant_id && !promotes && !key.is_parked) {
        recorded->fact.variant_id = key.variant_id;
        recorded->fact.issue_id = key.variant_issue_id;
        *ret_key_id = key.id;
        return FZ_OK;
    }
    int64_t issue_id = promotes ? old->issue_id : 0;
    if (!key.found) {
        if (!promotes)
            code = new_issue(record, recorded, &issue_id, err);
        if (code == FZ_OK)
            code = new_key(record, grouping, issue_id, &key, err);
        if (code == FZ_OK && promotes)
            code = give_name(record, issue_id, grouping, err);
    } else if (promotes) {
        recorded->has_waited = true;
        code = converge(record, &key, old->issue_id, grouping, err);
    }
    if (code == FZ_OK)
        code = put_variant(record, &key, recorded, err);
    if (code == FZ_OK && key.is_parked)
        code = revive(tx, recorded->fact.issue_id, err);
    *ret_key_id = key.id;
    return code;
}
