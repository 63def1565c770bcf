#include "storage/store_rules.h"

#include <string.h>

#include "storage/store_changed.h"
#include "storage/store_rekey.h"

/* For the stacks of a project: about 50 bytes each, and the titles of their new keys. */
enum { WORK_MEMORY = 512 * 1024 * 1024 };

/* ---- what it does --------------------------------------------------------------------------- */

static enum fz_code
number_of(struct store_rekey *r, int64_t issue_id, int64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    return sql_number(r->store->sql, "SELECT number FROM issues WHERE id = $1", args, 1, ret, NULL,
                      err);
}

static enum fz_code
add_example(struct store_rekey *r, const struct store_rekey_issue *issue, struct fz_arena *arena,
            struct store_rules_effect *effect, struct fz_error *err)
{
    if (effect->n_examples == STORE_RULES_EXAMPLES)
        return FZ_OK;
    const struct store_rekey_part *parts = &r->parts[issue->first_part];
    struct store_rules_example *example = &effect->examples[effect->n_examples++];
    *example = (struct store_rules_example){.is_split = issue->remains, .number = issue->number};
    /* Of what leaves the issue, where most goes. */
    const struct store_rekey_key *to = NULL;
    for (size_t i = 0; i < issue->n_parts; i++) {
        const struct store_rekey_key *key = &r->keys[parts[i].to];
        if (key->issue_id == issue->id)
            continue;
        to = to ? to : key;
        example->n_reports += (uint64_t)parts[i].n_reports;
    }
    example->title = fz_arena_strdup(arena, issue->title ? issue->title : "");
    example->into_title = fz_arena_strdup(arena, to ? to->title : "");
    if (!example->title || !example->into_title)
        return fz_arena_fail(arena, err);
    return to && to->issue_id ? number_of(r, to->issue_id, &example->into, err) : FZ_OK;
}

static enum fz_code
sum_up(struct store_rekey *r, struct fz_arena *arena, struct store_rules_effect *ret,
       struct fz_error *err)
{
    struct store_rules_effect effect = {.n_stacks = r->n_stacks};
    enum fz_code code = FZ_OK;
    effect.examples = fz_arena_array(arena, STORE_RULES_EXAMPLES, sizeof(*effect.examples));
    if (!effect.examples)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < r->n_stacks; i++) {
        effect.n_moved += r->stacks[i].to != SIZE_MAX;
        effect.n_reports += (uint64_t)r->stacks[i].n_reports;
    }
    for (size_t i = 0; i < r->n_keys; i++)
        effect.n_new += r->keys[i].issue_id == 0;
    for (size_t i = 0; code == FZ_OK && i < r->n_issues; i++) {
        const struct store_rekey_issue *issue = &r->issues[i];
        effect.n_merged += !issue->remains;
        effect.n_split += issue->is_split;
        if (!issue->remains || issue->is_split)
            code = add_example(r, issue, arena, &effect, err);
    }
    if (code == FZ_OK)
        *ret = effect;
    return code;
}

static enum fz_code
rules_version(struct store_rekey *r, int64_t *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->project_id)};
    bool found = false;
    enum fz_code code =
        sql_number(r->store->sql, "SELECT rules_version FROM projects WHERE id = $1", args, 1, ret,
                   &found, err);
    return code == FZ_OK && !found ? fz_fail(err, FZ_E_NOT_FOUND, "there is no such project")
                                   : code;
}

enum fz_code
store_rules_try(struct store *store, int64_t project_id, const struct store_rules_change *change,
                struct fz_arena *arena, struct store_rules_effect *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena work = fz_arena_make(WORK_MEMORY);
    struct store_rekey r = {
        .store = store, .project_id = project_id, .arena = &work, .change = change};
    struct store_rules_effect effect;
    enum fz_code code = store_rekey_load(&r, err);
    if (code == FZ_OK)
        code = store_rekey_plan(&r, err);
    if (code == FZ_OK)
        code = sum_up(&r, arena, &effect, err);
    if (code == FZ_OK)
        code = rules_version(&r, &effect.version, err);
    if (code == FZ_OK)
        *ret = effect;
    return code;
}

/* ---- apply ---------------------------------------------------------------------------------- */

static enum fz_code
put_rules(struct store_rekey *r, const struct store_rules_effect *effect, struct fz_error *err)
{
    const struct store_rules_change *change = r->change;
    struct sql *tx = r->store->sql;
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    struct sql_value undoes = sql_int(change->undoes);
    undoes.is_null = change->undoes == 0;
    const struct sql_value project[] = {sql_int(r->project_id), sql_int(r->version),
                                        sql_text(change->rules)};
    const struct sql_value row[] = {project[0],
                                    project[1],
                                    project[2],
                                    sql_text(change->actor),
                                    sql_int(now),
                                    undoes,
                                    sql_int((int64_t)effect->n_merged),
                                    sql_int((int64_t)effect->n_split)};
    if (code == FZ_OK)
        code = sql_exec(tx, "UPDATE projects SET rules_version = $2, rules = $3 WHERE id = $1",
                        project, FZ_ARRAY_LEN(project), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO grouping_versions (project_id, version, rules, actor, at_ms, "
                        "undoes, n_merged, n_split) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                        row, FZ_ARRAY_LEN(row), NULL, err);
    return code;
}

static enum fz_code
apply(struct store_rekey *r, struct fz_arena *arena, struct store_rules_effect *ret,
      struct fz_error *err)
{
    int64_t version = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(r->store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, r->project_id, true, err);
    if (code == FZ_OK)
        code = rules_version(r, &version, err);
    if (code == FZ_OK && version != r->change->based_on)
        return fz_fail(err, FZ_E_CONFLICT,
                       "the rules were changed meanwhile: they are version %lld now, not %lld; "
                       "read them and try again",
                       (long long)version, (long long)r->change->based_on);
    r->version = version + 1;
    if (code == FZ_OK)
        /* Those that came since the first look. */
        code = store_rekey_load(r, err);
    if (code == FZ_OK)
        code = store_rekey_plan(r, err);
    if (code == FZ_OK)
        code = sum_up(r, arena, ret, err);
    if (code == FZ_OK)
        code = store_rekey_move(r, err);
    if (code == FZ_OK)
        code = put_rules(r, ret, err);
    /* Any number of them: which ones does not matter to those who watch. */
    const struct store_changed changed = {.project_id = r->project_id,
                                          .n = {[STORE_CHANGE_ISSUE] = 1}};
    if (code == FZ_OK)
        code = store_changed_count(r->store, &changed, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
apply_once(struct store *store, int64_t project_id, const struct store_rules_change *change,
           struct fz_arena *arena, struct store_rules_effect *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena work = fz_arena_make(WORK_MEMORY);
    struct store_rekey r = {
        .store = store, .project_id = project_id, .arena = &work, .change = change};
    struct store_rules_effect effect = {0};
    /* Before the lock, for which the ends of reports wait: making keys takes the most time. */
    enum fz_code code = store_rekey_load(&r, err);
    if (code == FZ_OK)
        code = sql_bulk_start(store->sql, err);
    if (code == FZ_OK) {
        code = apply(&r, arena, &effect, err);
        sql_bulk_end(store->sql);
    }
    effect.version = r.version;
    if (code == FZ_OK)
        *ret = effect;
    return code;
}

enum fz_code
store_rules_apply(struct store *store, int64_t project_id, const struct store_rules_change *change,
                  struct fz_arena *arena, struct store_rules_effect *ret, struct fz_error *err)
{
    int n_tries = 0;
    enum fz_code code;
    do
        code = apply_once(store, project_id, change, arena, ret, err);
    while (sql_try_again(store->sql, code, &n_tries));
    return code;
}

/* ---- history -------------------------------------------------------------------------------- */

enum fz_code
store_rules_history(struct store *store, int64_t project_id, struct fz_arena *arena,
                    struct store_rules_version **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(STORE_RULES_HISTORY)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_rules_version)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT version, at_ms, rules, actor, undoes, is_undone, "
                                  "n_merged, n_split FROM grouping_versions WHERE project_id = $1 "
                                  "ORDER BY version DESC LIMIT $2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_rules_version *v; (v = sql_list_next(&rows, &list, &code, err));)
        *v = (struct store_rules_version){.version = sql_col_int(&rows, 0),
                                          .at_ms = sql_col_int(&rows, 1),
                                          .rules = sql_col_text(&rows, 2, arena),
                                          .actor = sql_col_text(&rows, 3, arena),
                                          .undoes = sql_col_int(&rows, 4),
                                          .is_undone = sql_col_int(&rows, 5) != 0,
                                          .n_merged = (uint64_t)sql_col_int(&rows, 6),
                                          .n_split = (uint64_t)sql_col_int(&rows, 7)};
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_rules_before(struct store *store, int64_t project_id, struct fz_arena *arena,
                   const char **ret_rules, int64_t *ret_undoes, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    const char *rules = NULL;
    int64_t undoes = 0;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* What is in effect: versions that were neither taken back nor take one back. */
    enum fz_code code = sql_query(store->sql,
                                  "SELECT version, rules FROM grouping_versions WHERE project_id = "
                                  "$1 AND is_undone = 0 AND undoes IS NULL ORDER BY version DESC "
                                  "LIMIT 2",
                                  args, 1, &rows, err);
    if (sql_row(&rows, &code, err))
        undoes = sql_col_int(&rows, 0);
    if (code == FZ_OK && !undoes)
        return fz_fail(err, FZ_E_CONFLICT, "there are no rules to take back");
    if (undoes && sql_row(&rows, &code, err)) {
        bool row;
        rules = sql_col_text(&rows, 1, arena);
        code = sql_next(&rows, &row, err);
    }
    if (code != FZ_OK)
        return code;
    *ret_rules = rules;
    *ret_undoes = undoes;
    return FZ_OK;
}
