#include "storage/store_private.h"
#include "storage/store_retention.h"

#include <stdio.h>

#define SELECT_PROJECTS                                                                  \
    "SELECT id, name, created_ms, cut_prefixes, show_values, keep_memory, memory_days, " \
    "redact_allow, redact_deny, rules, rules_version, source_template, source_paths, "   \
    "scrub, scrub_rules FROM projects"

static bool
is_name(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > 64)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        /* The name is a part of paths and queries: nothing in it ever needs an escape. */
        bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter_or_digit && (i == 0 || (c != '_' && c != '-')))
            return false;
    }
    return true;
}

static enum fz_code
check_name(const char *name, struct fz_error *err)
{
    return is_name(name) ? FZ_OK
                         : fz_fail(err, FZ_E_MALFORMED,
                                   "a project's name has 1 to 64 of a-z, 0-9, _ and -, and starts "
                                   "with a letter or digit");
}

static enum fz_code
fail_taken(const char *name, struct fz_error *err)
{
    return fz_fail(err, FZ_E_CONFLICT, "there is a project %s already", name);
}

/* A project has limits from its beginning, so that none is a surprise. */
static enum fz_code
add_retention(struct sql *tx, int64_t id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(STORE_REPORT_DAYS),
                                     sql_int(STORE_SYMBOL_DAYS)};
    return sql_exec(tx,
                    "INSERT INTO retention (project_id, report_days, symbol_days) VALUES ($1, $2, "
                    "$3)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_project_create(struct store *store, const char *name, int64_t *ret_id, struct fz_error *err)
{
    if (check_name(name, err) != FZ_OK)
        return FZ_E_MALFORMED;
    int64_t now, id;
    bool created;
    enum fz_code code = sql_now(store->sql, &now, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value args[] = {sql_text(name), sql_int(now)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO projects (name, created_ms) VALUES ($1, $2) "
                          "ON CONFLICT DO NOTHING RETURNING id",
                          args, FZ_ARRAY_LEN(args), &id, &created, err);
    /* ON CONFLICT answers with no row; an error would have a text of the engine's. */
    if (code == FZ_OK && !created)
        return fail_taken(name, err);
    if (code == FZ_OK)
        code = add_retention(tx, id, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = id;
    return code;
}

static enum fz_code
read_projects(struct store *store, const char *text, const struct sql_value *arg,
              struct fz_arena *arena, struct store_project **ret, size_t *ret_n,
              struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_project)};
    enum fz_code code = sql_query(store->sql, text, arg, arg ? 1 : 0, &rows, err);
    for (struct store_project *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_project){
            .id = sql_col_int(&rows, 0),
            .name = sql_col_text(&rows, 1, arena),
            .created_ms = sql_col_int(&rows, 2),
            .cut_prefixes = sql_col_text(&rows, 3, arena),
            .rules = sql_col_text(&rows, 9, arena),
            .rules_version = sql_col_int(&rows, 10),
            .source = {sql_col_text(&rows, 11, arena), sql_col_text(&rows, 12, arena)},
            .privacy = {.values = sql_col_int(&rows, 4) != 0,
                        .keep_memory = sql_col_int(&rows, 5) != 0,
                        .memory_days = sql_col_int(&rows, 6),
                        .redact_allow = sql_col_text(&rows, 7, arena),
                        .redact_deny = sql_col_text(&rows, 8, arena)},
            .scrub = {sql_col_int(&rows, 13) != 0, sql_col_text(&rows, 14, arena)}};
    return sql_list_done(&list, code, ret, ret_n);
}

/* The one that the query finds; `what` names it in the message. */
static enum fz_code
read_project(struct store *store, const char *text, const struct sql_value *arg, const char *what,
             struct fz_arena *arena, struct store_project *ret, struct fz_error *err)
{
    struct store_project *found;
    size_t n = 0;
    enum fz_code code = read_projects(store, text, arg, arena, &found, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %s", what);
    if (code == FZ_OK)
        *ret = found[0];
    return code;
}

enum fz_code
store_project_find(struct store *store, const char *name, struct fz_arena *arena,
                   struct store_project *ret, struct fz_error *err)
{
    const struct sql_value arg = sql_text(name);
    return read_project(store, SELECT_PROJECTS " WHERE name = $1", &arg, name, arena, ret, err);
}

enum fz_code
store_project_by_id(struct store *store, int64_t id, struct fz_arena *arena,
                    struct store_project *ret, struct fz_error *err)
{
    const struct sql_value arg = sql_int(id);
    char what[24];
    snprintf(what, sizeof(what), "%lld", (long long)id);
    return read_project(store, SELECT_PROJECTS " WHERE id = $1", &arg, what, arena, ret, err);
}

enum fz_code
store_project_list(struct store *store, struct fz_arena *arena, struct store_project **ret,
                   size_t *ret_n, struct fz_error *err)
{
    return read_projects(store, SELECT_PROJECTS " ORDER BY id", NULL, arena, ret, ret_n, err);
}

/* Of a project that must be there; args[0] is its id. */
static enum fz_code
update(struct store *store, const char *text, const struct sql_value *args, size_t n_args,
       struct fz_error *err)
{
    uint64_t n = 0;
    enum fz_code code = sql_exec(store->sql, text, args, n_args, &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no project %lld", (long long)args[0].number);
    return code;
}

static struct sql_value
some_text(const char *text)
{
    return sql_text(text && *text ? text : NULL);
}

enum fz_code
store_project_set_prefixes(struct store *store, int64_t id, const char *prefixes,
                           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), some_text(prefixes)};
    return update(store, "UPDATE projects SET cut_prefixes = $2 WHERE id = $1", args,
                  FZ_ARRAY_LEN(args), err);
}

enum fz_code
store_project_set_source(struct store *store, int64_t id, const struct store_source *source,
                         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), some_text(source->link),
                                     some_text(source->paths)};
    return update(store,
                  "UPDATE projects SET source_template = $2, source_paths = $3 WHERE id = $1", args,
                  FZ_ARRAY_LEN(args), err);
}

enum fz_code
store_project_set_scrub(struct store *store, int64_t id, const struct store_scrub *scrub,
                        struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(scrub->is_on), some_text(scrub->rules)};
    return update(store, "UPDATE projects SET scrub = $2, scrub_rules = $3 WHERE id = $1", args,
                  FZ_ARRAY_LEN(args), err);
}

enum fz_code
store_project_rename(struct store *store, int64_t id, const char *name, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_text(name)};
    enum fz_code code = check_name(name, err);
    if (code == FZ_OK)
        code = update(store, "UPDATE projects SET name = $2 WHERE id = $1", args,
                      FZ_ARRAY_LEN(args), err);
    return code == FZ_E_CONFLICT ? fail_taken(name, err) : code;
}
