#include "storage/store_rekey.h"

#include "base/json/write.h"
#include "storage/store_activity.h"
#include "storage/store_moves.h"
#include "storage/store_rekey_facts.h"
#include "storage/store_terms.h"

static enum fz_code
run(struct sql *tx, const char *const *steps, size_t n_steps, const struct sql_value *args,
    size_t n_args, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n_steps; i++)
        code = sql_exec(tx, steps[i], args, n_args, NULL, err);
    return code;
}

/* ---- issues and keys ---- */

static enum fz_code
put_key(struct store_rekey *r, struct store_rekey_key *key, int64_t like, struct fz_error *err)
{
    struct sql *tx = r->store->sql;
    const struct sql_value title = sql_text_clean(r->arena, key->title, STORE_TERM_BYTES);
    int64_t number = 0;
    enum fz_code code = FZ_OK;
    if (title.kind == SQL_BAD)
        return fz_arena_fail(r->arena, err);
    if (!key->issue_id)
        code = store_issue_add(tx, r->project_id, like, (const char *)title.bytes.data,
                               &key->issue_id, &number, err);
    if (code == FZ_OK)
        code = store_rekey_remember(r, key->issue_id, err);
    /* A key without reports is parked where it is: the first report that comes revives its issue (store_keys.c). */
    if (code == FZ_OK && key->has_reports)
        code = store_rekey_revive(r, key->issue_id, err);
    const struct sql_value args[] = {sql_int(r->project_id),
                                     sql_blob(fz_span_make(key->sha256, FZ_SHA256_LEN)),
                                     sql_int(key->issue_id), title, sql_int(key->is_placeholder)};
    if (code == FZ_OK && !key->id)
        code = sql_number(tx,
                          "INSERT INTO issue_keys (project_id, sha256, issue_id, title, "
                          "is_placeholder) VALUES ($1, $2, $3, $4, $5) RETURNING id",
                          args, FZ_ARRAY_LEN(args), &key->id, NULL, err);
    return code;
}

static enum fz_code
put_keys(struct store_rekey *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_issues; i++)
        code = store_rekey_remember(r, r->issues[i].id, err);
    for (size_t i = 0; code == FZ_OK && i < r->n_issues; i++) {
        const struct store_rekey_issue *issue = &r->issues[i];
        for (size_t j = 0; code == FZ_OK && j < issue->n_parts; j++)
            code = put_key(r, &r->keys[r->parts[issue->first_part + j].to], issue->id, err);
    }
    return code;
}

static enum fz_code
put_stacks(struct store_rekey *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < r->n_stacks; i++) {
        const struct store_rekey_stack *stack = &r->stacks[i];
        if (stack->to == SIZE_MAX)
            continue;
        const struct sql_value args[] = {sql_int(stack->key), sql_int(r->keys[stack->to].id)};
        code = sql_exec(r->store->sql, "UPDATE stacks SET key_id = $2 WHERE key = $1", args,
                        FZ_ARRAY_LEN(args), NULL, err);
    }
    return code;
}

/* ---- what is left ---- */

static enum fz_code
note(struct store_rekey *r, int64_t issue_id, int64_t heir, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write json = json_write_start(&detail);
    const struct sql_value args[] = {sql_int(heir)};
    int64_t number = 0;
    enum fz_code code = FZ_OK;
    if (heir)
        code = sql_number(r->store->sql, "SELECT number FROM issues WHERE id = $1", args, 1,
                          &number, NULL, err);
    json_write_open(&json, NULL, '{');
    json_write_i64(&json, "rules", r->version);
    if (number)
        json_write_i64(&json, "number", number);
    json_write_close(&json, '}');
    if (code == FZ_OK)
        code = fz_buffer_done(&detail, err);
    const struct store_activity_new entry = {r->project_id, issue_id, r->change->actor, "regrouped",
                                             fz_buffer_cstr(&detail)};
    return code == FZ_OK ? store_activity_add(r->store->sql, &entry, err) : code;
}

static enum fz_code
redirect(struct store_rekey *r, const struct store_rekey_issue *issue, struct fz_error *err)
{
    /* A variant that was split off into it may have reports still. */
    static const char *const steps[] = {
        "UPDATE issues SET merged_into = $2 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM variants v "
        "JOIN facts f ON f.variant_id = v.id WHERE v.issue_id = $1)",
        "UPDATE issues SET merged_into = $2 WHERE merged_into = $1 AND EXISTS (SELECT 1 FROM "
        "issues i WHERE i.id = $1 AND i.merged_into = $2)",
    };
    const struct sql_value args[] = {sql_int(issue->id), sql_int(issue->heir)};
    return run(r->store->sql, steps, FZ_ARRAY_LEN(steps), args, 2, err);
}

/* Counts, title and whether it waits for names, of every issue that was touched. */
static enum fz_code
settle(struct store_rekey *r, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->project_id), sql_int(r->version)};
    struct sql_list list = {.arena = r->arena, .item = sizeof(int64_t)};
    int64_t *ids = NULL;
    size_t n = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(r->store->sql,
                                  "SELECT issue_id FROM grouping_issues WHERE project_id = $1 AND "
                                  "version = $2 ORDER BY issue_id",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (int64_t *id; (id = sql_list_next(&rows, &list, &code, err));)
        *id = sql_col_int(&rows, 0);
    code = sql_list_done(&list, code, &ids, &n);
    sql_rows_close(&rows);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct sql_value id[] = {sql_int(ids[i])};
        code = store_issue_total(r->store->sql, ids[i], err);
        if (code == FZ_OK)
            code = sql_exec(r->store->sql,
                            "UPDATE issues SET is_placeholder = (SELECT min(k.is_placeholder) FROM "
                            "variants v JOIN issue_keys k ON k.id = v.key_id WHERE v.issue_id = $1 "
                            "AND v.n_reports > 0) WHERE id = $1 AND n_reports > 0",
                            id, 1, NULL, err);
        if (code == FZ_OK)
            code = store_issue_retitle(r->store->sql, ids[i], false, err);
    }
    return code;
}

/* Titles and redirects from before the version that is taken back. */
static enum fz_code
restore(struct store_rekey *r, struct fz_error *err)
{
    static const char *const steps[] = {
        "UPDATE issues SET title = g.title FROM (SELECT issue_id, title FROM grouping_issues WHERE "
        "project_id = $1 AND version = $2) AS g WHERE issues.id = g.issue_id AND "
        "issues.title_is_ours = 1 AND issues.merged_into IS NULL AND issues.n_reports > 0",
        "UPDATE issues SET merged_into = g.merged_into FROM (SELECT o.issue_id, o.merged_into FROM "
        "grouping_issues o JOIN issues t ON t.id = o.merged_into WHERE o.project_id = $1 AND "
        "o.version = $2 AND t.merged_into IS NULL) AS g WHERE issues.id = g.issue_id AND "
        "issues.merged_into IS NOT NULL",
        "UPDATE grouping_versions SET is_undone = 1 WHERE project_id = $1 AND version = $2",
    };
    const struct sql_value args[] = {sql_int(r->project_id), sql_int(r->change->undoes)};
    return run(r->store->sql, steps, FZ_ARRAY_LEN(steps), args, 2, err);
}

enum fz_code
store_rekey_move(struct store_rekey *r, struct fz_error *err)
{
    enum fz_code code = put_keys(r, err);
    if (code == FZ_OK)
        code = put_stacks(r, err);
    if (code == FZ_OK)
        code = store_rekey_facts(r, err);
    if (code == FZ_OK)
        code = settle(r, err);
    for (size_t i = 0; code == FZ_OK && i < r->n_issues; i++) {
        const struct store_rekey_issue *issue = &r->issues[i];
        if (issue->heir)
            code = redirect(r, issue, err);
        if (code == FZ_OK)
            code = note(r, issue->id, issue->heir, err);
    }
    return code == FZ_OK && r->change->undoes ? restore(r, err) : code;
}
