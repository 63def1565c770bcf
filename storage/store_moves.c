#include "storage/store_moves.h"

#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "storage/store_activity.h"
#include "storage/store_changed.h"
#include "storage/store_issue_state.h"
#include "storage/store_terms.h"

enum { SHORT_HASH = 8 }; /* bytes of a variant's hash that reports show */

static enum fz_code
run_steps(struct sql *tx, const char *const *steps, size_t n, const struct sql_value args[2],
          struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = sql_exec(tx, steps[i], args, 2, NULL, err);
    return code;
}

/* ---- whole issues ---- */

/* In this order: the totals read what was moved. */
static const char *const join_steps[] = {
    "INSERT INTO issue_users (issue_id, user_id, n) SELECT $2, user_id, n FROM issue_users WHERE "
    "issue_id = $1 ON CONFLICT (issue_id, user_id) DO UPDATE SET n = issue_users.n + excluded.n",
    "DELETE FROM issue_users WHERE issue_id = $1 AND $2 > 0",
    "UPDATE variants SET issue_id = $2 WHERE issue_id = $1",
    "UPDATE issue_keys SET issue_id = $2 WHERE issue_id = $1",
    /* Redirects lead to where the reports are, in one step. */
    "UPDATE issues SET merged_into = $2 WHERE merged_into = $1",
    "UPDATE issues SET first_version = f.first_version, first_sort = f.first_sort FROM (SELECT "
    "first_version, first_sort FROM issues WHERE id = $1) AS f WHERE id = $2 AND f.first_sort IS "
    "NOT NULL AND (issues.first_sort IS NULL OR f.first_sort < issues.first_sort)",
    "UPDATE issues SET last_version = f.last_version, last_sort = f.last_sort FROM (SELECT "
    "last_version, last_sort FROM issues WHERE id = $1) AS f WHERE id = $2 AND f.last_sort IS NOT "
    "NULL AND (issues.last_sort IS NULL OR f.last_sort > issues.last_sort)",
    "UPDATE issues SET newest_report = f.newest_report FROM (SELECT newest_report FROM issues "
    "WHERE "
    "id = $1) AS f WHERE id = $2 AND f.newest_report > coalesce(issues.newest_report, 0)",
    "UPDATE issues SET merged_into = $2, n_reports = 0, n_users = 0 WHERE id = $1",
    "UPDATE issues SET n_reports = t.n, first_ms = t.first_ms, last_ms = t.last_ms, n_users = "
    "(SELECT count(*) FROM issue_users WHERE issue_id = $2) FROM (SELECT coalesce(sum(n_reports), "
    "0) AS n, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM variants WHERE issue_id = "
    "$2) AS t WHERE id = $2 AND t.first_ms IS NOT NULL AND $1 > 0",
};

static enum fz_code
note(struct sql *tx, const struct store_activity_new *entry, const char *name, int64_t number,
     const char *label, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    struct store_activity_new with = *entry;
    json_write_open(&json, NULL, '{');
    json_write_i64(&json, name, number);
    json_write_text(&json, "variant", label);
    json_write_close(&json, '}');
    enum fz_code code = fz_buffer_done(&detail, err);
    with.detail = fz_buffer_cstr(&detail);
    return code == FZ_OK ? store_activity_add(tx, &with, err) : code;
}

enum fz_code
store_issue_join(struct sql *tx, int64_t from, int64_t into, const char *actor,
                 struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(from), sql_int(into)};
    struct store_activity_new entry = {.issue_id = into, .actor = actor, .kind = "merged"};
    int64_t from_number = 0, into_number = 0;
    enum fz_code code = sql_number(tx, "SELECT project_id FROM issues WHERE id = $1", args, 1,
                                   &entry.project_id, NULL, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT number FROM issues WHERE id = $1", args, 1, &from_number,
                          NULL, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT number FROM issues WHERE id = $1", &args[1], 1, &into_number,
                          NULL, err);
    if (code == FZ_OK)
        code = run_steps(tx, join_steps, FZ_ARRAY_LEN(join_steps), args, err);
    if (code == FZ_OK)
        code = note(tx, &entry, "number", from_number, NULL, err);
    entry.issue_id = from;
    entry.kind = "merged_into";
    return code == FZ_OK ? note(tx, &entry, "number", into_number, NULL, err) : code;
}

enum fz_code
store_issue_inherit(struct sql *tx, int64_t from, int64_t into, struct fz_error *err)
{
    static const char *const steps[] = {
        "INSERT INTO issue_fixes (issue_id, version, build, is_after, newest, newest_build) SELECT "
        "$2, version, build, is_after, newest, newest_build FROM issue_fixes WHERE issue_id = $1 "
        "AND EXISTS (SELECT 1 FROM issues WHERE id = $2 AND state = 0) ON CONFLICT (issue_id, "
        "version, build, is_after) DO NOTHING",
        "UPDATE issues SET state = f.state, state_ms = f.state_ms, is_regressed = f.is_regressed, "
        "ignore_until_ms = f.ignore_until_ms, ignore_reports = f.ignore_reports, ignore_users = "
        "f.ignore_users, ignore_version = f.ignore_version, ignore_build = f.ignore_build FROM "
        "(SELECT * FROM issues WHERE id = $1) AS f WHERE issues.id = $2 AND issues.state = 0",
        "UPDATE issues SET assignee = (SELECT assignee FROM issues f WHERE f.id = $1) WHERE id = "
        "$2 AND assignee IS NULL",
        "UPDATE issues SET title = f.title, title_is_ours = 0 FROM (SELECT title, title_is_ours "
        "FROM issues WHERE id = $1) AS f WHERE issues.id = $2 AND issues.title_is_ours = 1 AND "
        "f.title_is_ours = 0",
    };
    const struct sql_value args[] = {sql_int(from), sql_int(into)};
    return run_steps(tx, steps, FZ_ARRAY_LEN(steps), args, err);
}

/* ---- variants ---- */

enum fz_code
store_variant_move(struct sql *tx, int64_t variant_id, int64_t into, struct fz_error *err)
{
    static const char *const steps[] = {
        "INSERT INTO issue_users (issue_id, user_id, n) SELECT $2, user_id, count(*) FROM facts "
        "WHERE variant_id = $1 AND is_counted = 1 AND user_id > 0 GROUP BY user_id ON CONFLICT "
        "(issue_id, user_id) DO UPDATE SET n = issue_users.n + excluded.n",
        "UPDATE issue_users SET n = n - f.n_facts FROM (SELECT user_id AS id, count(*) AS n_facts "
        "FROM facts WHERE variant_id = $1 AND is_counted = 1 AND user_id > 0 GROUP BY user_id) AS "
        "f WHERE user_id = f.id AND issue_id = (SELECT issue_id FROM variants WHERE id = $1) AND "
        "$2 > 0",
        ("DELETE FROM issue_users WHERE issue_id = (SELECT issue_id FROM variants WHERE id = $1) "
         "AND n <= 0 AND $2 > 0"),
        "UPDATE variants SET issue_id = $2 WHERE id = $1",
    };
    const struct sql_value args[] = {sql_int(variant_id), sql_int(into)};
    return run_steps(tx, steps, FZ_ARRAY_LEN(steps), args, err);
}

enum fz_code
store_issue_total(struct sql *tx, int64_t issue_id, struct fz_error *err)
{
    static const char *const steps[] = {
        "UPDATE issues SET first_version = NULL, first_sort = NULL, last_version = NULL, last_sort "
        "= NULL, newest_report = NULL WHERE id = $1 AND $2 > 0",
        "UPDATE issues SET n_reports = (SELECT coalesce(sum(n_reports), 0) FROM variants WHERE "
        "issue_id = $1), n_users = (SELECT count(*) FROM issue_users WHERE issue_id = $1) WHERE id "
        "= $1 AND $2 > 0",
        "UPDATE issues SET first_ms = t.first_ms, last_ms = t.last_ms FROM (SELECT min(first_ms) "
        "AS first_ms, max(last_ms) AS last_ms FROM variants WHERE issue_id = $1 AND n_reports > 0) "
        "AS t WHERE id = $1 AND t.first_ms IS NOT NULL AND $2 > 0",
        "UPDATE issues SET first_version = t.id, first_sort = t.sort FROM (SELECT v.id, v.sort "
        "FROM variants a JOIN issue_days d ON d.variant_id = a.id JOIN terms v ON v.id = d.term_id "
        "WHERE a.issue_id = $1 AND d.field = $2 AND d.n > 0 AND v.sort IS NOT NULL ORDER BY v.sort "
        "LIMIT 1) AS t WHERE issues.id = $1",
        "UPDATE issues SET last_version = t.id, last_sort = t.sort FROM (SELECT v.id, v.sort FROM "
        "variants a JOIN issue_days d ON d.variant_id = a.id JOIN terms v ON v.id = d.term_id "
        "WHERE a.issue_id = $1 AND d.field = $2 AND d.n > 0 AND v.sort IS NOT NULL ORDER BY v.sort "
        "DESC LIMIT 1) AS t WHERE issues.id = $1",
    };
    const struct sql_value args[] = {sql_int(issue_id), sql_int(STORE_TERM_VERSION)};
    return run_steps(tx, steps, FZ_ARRAY_LEN(steps), args, err);
}

enum fz_code
store_issue_retitle(struct sql *tx, int64_t issue_id, bool even_if_named, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id), sql_int(even_if_named)};
    /* By its variants: a key whose variants were all split off says nothing of it. */
    return sql_exec(tx,
                    "UPDATE issues SET title = t.title, title_is_ours = 1 FROM (SELECT k.title "
                    "FROM variants v JOIN issue_keys k ON k.id = v.key_id WHERE v.issue_id = $1 "
                    "ORDER BY CASE WHEN v.n_reports > 0 THEN 0 ELSE 1 END, k.is_placeholder, k.id "
                    "LIMIT 1) AS t WHERE issues.id = $1 AND (title_is_ours = 1 OR $2 = 1)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_issue_add(struct sql *tx, int64_t project_id, int64_t like, const char *title,
                int64_t *ret_id, int64_t *ret_number, struct fz_error *err)
{
    const struct sql_value project[] = {sql_int(project_id)};
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "UPDATE projects SET last_issue = last_issue + 1 WHERE id = $1 RETURNING "
                          "last_issue",
                          project, 1, ret_number, NULL, err);
    const struct sql_value args[] = {sql_int(like), sql_int(*ret_number), sql_text(title),
                                     sql_int(now)};
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO issues (project_id, number, title, kind, is_placeholder, "
                          "created_ms, first_ms, last_ms) SELECT project_id, $2, $3, kind, "
                          "is_placeholder, $4, first_ms, last_ms FROM issues WHERE id = $1 "
                          "RETURNING id",
                          args, FZ_ARRAY_LEN(args), ret_id, NULL, err);
    return code;
}

/* ---- what people ask for ---- */

static enum fz_code
merge(struct store *store, int64_t project_id, int64_t from, int64_t into, const char *actor,
      struct fz_error *err)
{
    struct store_issue_row from_row, into_row;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_issue_lock(tx, project_id, from, &arena, &from_row, err);
    if (code == FZ_OK)
        code = store_issue_lock(tx, project_id, into, &arena, &into_row, err);
    if (code == FZ_OK)
        code = store_issue_join(tx, from_row.id, into_row.id, actor, err);
    /* With names it waits for none. */
    const struct sql_value args[] = {sql_int(into_row.id)};
    if (code == FZ_OK && into_row.is_placeholder && !from_row.is_placeholder)
        code =
            sql_exec(tx, "UPDATE issues SET is_placeholder = 0 WHERE id = $1", args, 1, NULL, err);
    if (code == FZ_OK)
        code = store_changed_issue(store, project_id, into_row.id, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_issue_merge(struct store *store, int64_t project_id, int64_t from, int64_t into,
                  const char *actor, struct fz_error *err)
{
    int n_tries = 0;
    enum fz_code code;
    if (from == into)
        return fz_fail(err, FZ_E_CONFLICT, "issue %lld cannot be merged into itself",
                       (long long)from);
    do
        code = merge(store, project_id, from, into, actor, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}

/* Which variant is meant: hashes between two that begin alike, or a label. */
struct wanted {
    uint8_t low[FZ_SHA256_LEN], high[FZ_SHA256_LEN];
    const char *label;
};

struct part {
    int64_t n_others; /* variants of the issue besides those with this hash */
    uint8_t sha256[FZ_SHA256_LEN];
    char label[STORE_TERM_BYTES + 1];
};

static enum fz_code
find_part(struct sql *tx, const struct store_issue_row *issue, const struct wanted *wanted,
          struct part *ret, struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(issue->id), sql_blob(fz_span_make(wanted->low, FZ_SHA256_LEN)),
        sql_blob(fz_span_make(wanted->high, FZ_SHA256_LEN)), sql_text(wanted->label)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(tx,
                  "SELECT v.sha256, v.label, (SELECT count(*) FROM variants o WHERE "
                  "o.issue_id = $1 AND o.sha256 <> v.sha256) FROM variants v WHERE "
                  "v.issue_id = $1 AND (v.sha256 BETWEEN $2 AND $3 OR v.label = $4) "
                  "ORDER BY CASE WHEN v.label = $4 THEN 1 ELSE 0 END, v.id LIMIT 1",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return fz_fail(err, FZ_E_NOT_FOUND, "issue %lld has no such variant",
                       (long long)issue->number);
    struct fz_span sha256 = sql_col_bytes(&rows, 0);
    if (sha256.len == FZ_SHA256_LEN)
        memcpy(ret->sha256, sha256.data, FZ_SHA256_LEN);
    sql_col_copy(&rows, 1, ret->label, sizeof(ret->label));
    ret->n_others = sql_col_int(&rows, 2);
    return ret->n_others ? FZ_OK
                         : fz_fail(err, FZ_E_CONFLICT,
                                   "issue %lld has no other variant: there is nothing to split",
                                   (long long)issue->number);
}

/* Those with the same hash are one variant to people, under each key of the issue. */
static enum fz_code
move_part(struct sql *tx, int64_t issue_id, const uint8_t sha256[FZ_SHA256_LEN], int64_t into,
          struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id),
                                     sql_blob(fz_span_make(sha256, FZ_SHA256_LEN))};
    bool found = true;
    enum fz_code code = FZ_OK;
    while (code == FZ_OK && found) {
        int64_t id = 0;
        code = sql_number(tx, "SELECT id FROM variants WHERE issue_id = $1 AND sha256 = $2 LIMIT 1",
                          args, FZ_ARRAY_LEN(args), &id, &found, err);
        if (code == FZ_OK && found)
            code = store_variant_move(tx, id, into, err);
    }
    return code;
}

static enum fz_code
split(struct store *store, int64_t project_id, int64_t number, const struct wanted *wanted,
      const char *actor, int64_t *ret_number, struct fz_error *err)
{
    struct store_issue_row issue;
    struct part part;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
    int64_t id = 0, new_number = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = store_issue_lock(tx, project_id, number, &arena, &issue, err);
    if (code == FZ_OK)
        code = find_part(tx, &issue, wanted, &part, err);
    if (code == FZ_OK)
        code = store_issue_add(tx, project_id, issue.id, issue.title, &id, &new_number, err);
    if (code == FZ_OK)
        code = move_part(tx, issue.id, part.sha256, id, err);
    if (code == FZ_OK)
        code = store_issue_total(tx, issue.id, err);
    if (code == FZ_OK)
        code = store_issue_total(tx, id, err);
    struct store_activity_new entry = {project_id, issue.id, actor, "split", NULL};
    if (code == FZ_OK)
        code = note(tx, &entry, "number", new_number, part.label, err);
    entry.issue_id = id;
    entry.kind = "split_from";
    if (code == FZ_OK)
        code = note(tx, &entry, "number", number, part.label, err);
    const struct store_changed changed = {
        .project_id = project_id,
        .n = {[STORE_CHANGE_ISSUE] = 1, [STORE_CHANGE_NEW_ISSUE] = 1},
        .issue_id = issue.id,
        .new_issue_id = id};
    if (code == FZ_OK)
        code = store_changed_count(store, &changed, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_number = new_number;
    return code;
}

enum fz_code
store_issue_split(struct store *store, int64_t project_id, int64_t number, const char *variant,
                  const char *actor, int64_t *ret_number, struct fz_error *err)
{
    struct wanted wanted = {.label = variant};
    size_t len = strlen(variant);
    int n_tries = 0;
    enum fz_code code;
    memset(wanted.high, 0xff, sizeof(wanted.high));
    /* A text that is not hex is a label; then no hash is between the two. */
    if (len < 2 * SHORT_HASH || len > 2 * FZ_SHA256_LEN || len % 2 ||
        !fz_text_unhex(fz_span_cstr(variant), wanted.low))
        memset(wanted.high, 0, sizeof(wanted.high));
    else
        memcpy(wanted.high, wanted.low, len / 2);
    do
        code = split(store, project_id, number, &wanted, actor, ret_number, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}
