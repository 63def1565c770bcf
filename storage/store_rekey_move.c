#include "storage/store_rekey.h"

#include "base/json/write.h"
#include "storage/store_activity.h"
#include "storage/store_moves.h"
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

/* As it is before anything is changed, and those that redirect to it. */
static enum fz_code
remember(struct store_rekey *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->project_id), sql_int(r->version),
                                     sql_int(issue_id)};
    return sql_exec(r->store->sql,
                    "INSERT INTO grouping_issues (project_id, version, issue_id, title, "
                    "is_placeholder, merged_into) SELECT $1, $2, id, title, is_placeholder, "
                    "merged_into FROM issues WHERE project_id = $1 AND (id = $3 OR merged_into = "
                    "$3) ON CONFLICT (project_id, version, issue_id) DO NOTHING",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* It redirected to another one, and has reports of its own again. */
static enum fz_code
revive(struct store_rekey *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    return sql_exec(r->store->sql,
                    "UPDATE issues SET merged_into = NULL WHERE id = $1 AND merged_into IS NOT "
                    "NULL",
                    args, 1, NULL, err);
}

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
        code = remember(r, key->issue_id, err);
    if (code == FZ_OK)
        code = revive(r, key->issue_id, err);
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
        code = remember(r, r->issues[i].id, err);
    for (size_t i = 0; code == FZ_OK && i < r->n_issues; i++) {
        const struct store_rekey_issue *issue = &r->issues[i];
        for (size_t j = 0; code == FZ_OK && j < issue->n_parts; j++)
            code = put_key(r, &r->keys[r->parts[issue->first_part + j].to], issue->id, err);
    }
    return code;
}

/* ---- facts and counts ---- */

/* Reports of stack $1 that variant $2 has become reports of variant $3, and all that is counted of
 * them by variant. $4: the issue of $2, $5: that of $3. */
static const char *const fact_steps[] = {
    "INSERT INTO issue_hours (variant_id, hour, n) SELECT $3, received_ms / 3600000, count(*) FROM "
    "facts WHERE stack_key = $1 AND stack_key > 0 AND variant_id = $2 AND is_counted = 1 AND $4 > "
    "0 AND $5 > 0 GROUP BY received_ms / 3600000 ON CONFLICT (variant_id, hour) DO UPDATE SET n = "
    "issue_hours.n + excluded.n",
    "UPDATE issue_hours SET n = n - f.n_facts FROM (SELECT received_ms / 3600000 AS at, count(*) "
    "AS n_facts FROM facts WHERE stack_key = $1 AND stack_key > 0 AND variant_id = $2 AND "
    "is_counted = 1 GROUP BY received_ms / 3600000) AS f WHERE variant_id = $2 AND hour = f.at AND "
    "$3 > 0 AND $4 > 0 AND $5 > 0",
    "DELETE FROM issue_hours WHERE variant_id = $2 AND n <= 0 AND $1 > 0 AND $3 > 0 AND $4 > 0 AND "
    "$5 > 0",
    "INSERT INTO issue_users (issue_id, user_id, n) SELECT $5, user_id, count(*) FROM facts WHERE "
    "stack_key = $1 AND stack_key > 0 AND variant_id = $2 AND is_counted = 1 AND user_id > 0 AND "
    "$4 <> $5 AND $3 > 0 GROUP BY user_id ON CONFLICT (issue_id, user_id) DO UPDATE SET n = "
    "issue_users.n + excluded.n",
    "UPDATE issue_users SET n = n - f.n_facts FROM (SELECT user_id AS id, count(*) AS n_facts FROM "
    "facts WHERE stack_key = $1 AND stack_key > 0 AND variant_id = $2 AND is_counted = 1 AND "
    "user_id > 0 GROUP BY user_id) AS f WHERE user_id = f.id AND issue_id = $4 AND $4 <> $5 AND $3 "
    "> 0",
    "DELETE FROM issue_users WHERE issue_id = $4 AND n <= 0 AND $1 > 0 AND $2 > 0 AND $3 > 0 AND "
    "$5 > 0",
    "UPDATE variants SET n_reports = n_reports + f.n_facts, first_ms = CASE WHEN n_reports = 0 OR "
    "f.low < first_ms THEN f.low ELSE first_ms END, last_ms = CASE WHEN n_reports = 0 OR f.high > "
    "last_ms THEN f.high ELSE last_ms END FROM (SELECT count(*) AS n_facts, min(received_ms) AS "
    "low, max(received_ms) AS high FROM facts WHERE stack_key = $1 AND stack_key > 0 AND "
    "variant_id = $2 AND is_counted = 1) AS f WHERE id = $3 AND f.n_facts > 0 AND $4 > 0 AND $5 > "
    "0",
    "UPDATE variants SET n_reports = n_reports - (SELECT count(*) FROM facts WHERE stack_key = $1 "
    "AND stack_key > 0 AND variant_id = $2 AND is_counted = 1) WHERE id = $2 AND $3 > 0 AND $4 > 0 "
    "AND $5 > 0",
};

/* The same of a term's field, $4, whose column takes the place of %s. */
static enum fz_code
move_days(struct store_rekey *r, const struct sql_value args[3], struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (int term = 1; code == FZ_OK && term < STORE_TERMS; term++) {
        const char *column = store_term_kinds[term].column;
        if (!store_term_kinds[term].is_daily || !column)
            continue;
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer add = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer take = fz_buffer_make(0);
        const struct sql_value with[] = {args[0], args[1], args[2], sql_int(term)};
        fz_buffer_printf(
            &add,
            "INSERT INTO issue_days (variant_id, field, term_id, day, n) SELECT $3, $4, %s, "
            "received_ms / 86400000, count(*) FROM facts WHERE stack_key = $1 AND stack_key > 0 "
            "AND variant_id = $2 AND is_counted = 1 AND %s > 0 GROUP BY %s, received_ms / 86400000 "
            "ON CONFLICT (variant_id, field, term_id, day) DO UPDATE SET n = issue_days.n + "
            "excluded.n",
            column, column, column);
        fz_buffer_printf(
            &take,
            "UPDATE issue_days SET n = n - f.n_facts FROM (SELECT %s AS term, received_ms / "
            "86400000 AS at, count(*) AS n_facts FROM facts WHERE stack_key = $1 AND stack_key > 0 "
            "AND variant_id = $2 AND is_counted = 1 AND %s > 0 GROUP BY %s, received_ms / "
            "86400000) AS f WHERE variant_id = $2 AND field = $4 AND term_id = f.term AND day = "
            "f.at AND $3 > 0",
            column, column, column);
        code = fz_buffer_done(&add, err);
        if (code == FZ_OK)
            code = fz_buffer_done(&take, err);
        if (code == FZ_OK)
            code = sql_exec(r->store->sql, fz_buffer_cstr(&add), with, 4, NULL, err);
        if (code == FZ_OK)
            code = sql_exec(r->store->sql, fz_buffer_cstr(&take), with, 4, NULL, err);
    }
    if (code == FZ_OK)
        code = sql_exec(r->store->sql, "DELETE FROM issue_days WHERE variant_id = $1 AND n <= 0",
                        &args[1], 1, NULL, err);
    return code;
}

struct source {
    int64_t id, issue_id;
};

/* The variant of the same hash under the new key. One that was split off stays split off. */
static enum fz_code
put_variant(struct store_rekey *r, const struct source *from, int64_t key_id, int64_t key_issue,
            struct source *ret, struct fz_error *err)
{
    struct sql *tx = r->store->sql;
    const struct sql_value args[] = {sql_int(from->id), sql_int(key_id), sql_int(key_issue)};
    enum fz_code code = sql_exec(
        tx,
        "INSERT INTO variants (key_id, sha256, issue_id, label, first_ms, last_ms) SELECT $2, "
        "v.sha256, CASE WHEN v.issue_id = k.issue_id THEN $3 ELSE v.issue_id END, v.label, "
        "v.first_ms, v.last_ms FROM variants v JOIN issue_keys k ON k.id = v.key_id WHERE v.id = "
        "$1 ON CONFLICT (key_id, sha256) DO NOTHING",
        args, FZ_ARRAY_LEN(args), NULL, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "SELECT id FROM variants WHERE key_id = $2 AND sha256 = (SELECT sha256 "
                          "FROM variants WHERE id = $1)",
                          args, 2, &ret->id, NULL, err);
    const struct sql_value id[] = {sql_int(ret->id)};
    return code == FZ_OK ? sql_number(tx, "SELECT issue_id FROM variants WHERE id = $1", id, 1,
                                      &ret->issue_id, NULL, err)
                         : code;
}

static enum fz_code
move_facts(struct store_rekey *r, const struct store_rekey_stack *stack, const struct source *from,
           const struct store_rekey_key *key, struct fz_error *err)
{
    struct source to;
    enum fz_code code = put_variant(r, from, key->id, key->issue_id, &to, err);
    const struct sql_value args[] = {sql_int(stack->key), sql_int(from->id), sql_int(to.id),
                                     sql_int(from->issue_id), sql_int(to.issue_id)};
    if (code == FZ_OK && to.issue_id != from->issue_id)
        code = remember(r, from->issue_id, err);
    if (code == FZ_OK && to.issue_id != from->issue_id)
        code = remember(r, to.issue_id, err);
    if (code == FZ_OK)
        code = revive(r, to.issue_id, err);
    if (code == FZ_OK)
        code = run(r->store->sql, fact_steps, FZ_ARRAY_LEN(fact_steps), args, 5, err);
    if (code == FZ_OK)
        code = move_days(r, args, err);
    return code == FZ_OK ? sql_exec(r->store->sql,
                                    "UPDATE facts SET variant_id = $3 WHERE stack_key = $1 AND "
                                    "stack_key > 0 AND variant_id = $2",
                                    args, 3, NULL, err)
                         : code;
}

static enum fz_code
move_stack(struct store_rekey *r, const struct store_rekey_stack *stack, struct fz_error *err)
{
    const struct store_rekey_key *key = &r->keys[stack->to];
    const struct sql_value args[] = {sql_int(stack->key), sql_int(stack->from)};
    const struct sql_value move[] = {sql_int(stack->key), sql_int(key->id)};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct sql_list list = {.arena = &arena, .item = sizeof(struct source)};
    struct source *sources = NULL;
    size_t n = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(r->store->sql,
                  "SELECT DISTINCT v.id, v.issue_id FROM facts f JOIN variants v ON v.id = "
                  "f.variant_id WHERE f.stack_key = $1 AND f.stack_key > 0 AND v.key_id = $2",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct source *s; (s = sql_list_next(&rows, &list, &code, err));)
        *s = (struct source){sql_col_int(&rows, 0), sql_col_int(&rows, 1)};
    code = sql_list_done(&list, code, &sources, &n);
    sql_rows_close(&rows);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = move_facts(r, stack, &sources[i], key, err);
    return code == FZ_OK ? sql_exec(r->store->sql, "UPDATE stacks SET key_id = $2 WHERE key = $1",
                                    move, FZ_ARRAY_LEN(move), NULL, err)
                         : code;
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
    for (size_t i = 0; code == FZ_OK && i < r->n_stacks; i++) {
        if (r->stacks[i].to != SIZE_MAX)
            code = move_stack(r, &r->stacks[i], err);
    }
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
