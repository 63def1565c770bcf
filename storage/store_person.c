#include "storage/store_person.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_private.h"
#include "storage/store_terms.h"

/* What takes the place of an id in which the mark of its erasure would have the id again. */
#define GONE "[gone]"

enum { AT_ONCE = 20, CONTAINED_MIN = 6, TERMS_AT_ONCE = 200, ARENA_BYTES = 4 * 1024 * 1024 };

/* ---- what there is ---- */

/*
 * Reports of the user $2 of the project $1: those of facts, which have an index, and those without one. A fact may have another
 * term than the row says ($3 = STORE_TERM_USER): when there were too many users, or a process that finished the report did not know
 * of an erasure yet. Each row is compared, so no report of another user is taken. The index of facts by user has those above 0 alone.
 */
#define FACTS_OF_USER                                                                             \
    "FROM facts f JOIN reports r ON r.key = f.report_key WHERE f.user_id > 0 AND f.user_id IN "   \
    "(SELECT id FROM "                                                                            \
    "terms WHERE project_id = $1 AND field = $3 AND text = $2 UNION ALL SELECT id FROM terms "    \
    "WHERE project_id = $1 AND field = $3 AND text = '" STORE_TERM_OTHER "' UNION ALL SELECT id " \
    "FROM terms WHERE project_id = $1 AND field = $3 AND text >= '[erased:' AND text < "          \
    "'[erased;' UNION ALL SELECT id FROM terms WHERE project_id = $1 AND field = $3 AND text = "  \
    "'" GONE "') AND r.project_id = $1 AND r.user_id = $2 AND r.transient = 0"
#define REPORTS_OF_USER(columns, more)                                                      \
    "SELECT " columns " " FACTS_OF_USER more " UNION SELECT " columns                       \
    " FROM reports r WHERE r.project_id = $1 AND r.is_grouped = 0 AND r.transient = 0 AND " \
    "r.user_id = $2" more

enum fz_code
store_person_get(struct store *store, int64_t project_id, const char *id, struct store_person *ret,
                 struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_text(id), sql_int(STORE_TERM_USER)};
    int64_t n_reports = 0, n_facts = 0;
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code = sql_query(store->sql,
                                      "SELECT count(*), coalesce(min(received_ms), 0), "
                                      "coalesce(max(received_ms), 0) FROM (" REPORTS_OF_USER(
                                          "r.key, r.received_ms", "") ") AS found",
                                      args, FZ_ARRAY_LEN(args), &rows, err);
        if (sql_row(&rows, &code, err)) {
            n_reports = sql_col_int(&rows, 0);
            ret->first_ms = sql_col_int(&rows, 1);
            ret->last_ms = sql_col_int(&rows, 2);
        }
        if (code != FZ_OK)
            return code;
    }
    enum fz_code code = sql_number(
        store->sql,
        "SELECT count(*) FROM facts WHERE user_id > 0 AND user_id IN (SELECT id FROM terms "
        "WHERE project_id = $1 AND field = $3 AND text = $2)",
        args, FZ_ARRAY_LEN(args), &n_facts, NULL, err);
    if (code != FZ_OK)
        return code;
    ret->n_reports = (uint64_t)n_reports;
    ret->n_facts = (uint64_t)n_facts;
    return n_reports || n_facts ? FZ_OK
                                : fz_fail(err, FZ_E_NOT_FOUND, "nothing is known of this user");
}

enum fz_code
store_person_reports(struct store *store, const struct store_person_query *query,
                     struct fz_arena *arena, const char ***ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(query->project_id), sql_text(query->id), sql_int(STORE_TERM_USER),
        sql_text(query->after ? query->after : ""), sql_int((int64_t)query->limit)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(const char *)};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT id FROM (" REPORTS_OF_USER("r.id", " AND r.id > $4") ") AS found ORDER "
                                                                               "BY id LIMIT $5",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (const char **one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = sql_col_text(&rows, 0, arena);
    return sql_list_done(&list, code, ret, ret_n);
}

/* ---- erasing ---- */

enum fz_code
store_erasure_begin(struct store *store, int64_t project_id, const char *id, int64_t *ret_erasure,
                    struct fz_error *err)
{
    struct store_person person;
    int64_t now = 0;
    bool is_there = false;
    const struct sql_value args[] = {sql_int(project_id), sql_text(id)};
    enum fz_code code =
        sql_number(store->sql, "SELECT id FROM erasures WHERE project_id = $1 AND user_id = $2",
                   args, FZ_ARRAY_LEN(args), ret_erasure, &is_there, err);
    if (code != FZ_OK || is_there)
        return code;
    code = store_person_get(store, project_id, id, &person, err);
    if (code == FZ_OK)
        code = sql_now(store->sql, &now, err);
    const struct sql_value row[] = {args[0], args[1], sql_int(now)};
    return code == FZ_OK
               ? sql_number(store->sql,
                            "INSERT INTO erasures (project_id, user_id, created_ms) VALUES "
                            "($1, $2, $3) RETURNING id",
                            row, FZ_ARRAY_LEN(row), ret_erasure, NULL, err)
               : code;
}

struct erasure {
    int64_t id, project_id;
    const char *user;
    char mark[32]; /* what takes its place */
};

/* The reports that there are now; *ret_n: how many of them this deleted. */
static enum fz_code
delete_some(struct store *store, const struct erasure *e, struct fz_arena *arena, size_t *ret_n,
            struct fz_error *err)
{
    const char **ids = NULL;
    const struct store_person_query query = {e->project_id, e->user, NULL, AT_ONCE};
    enum fz_code code = store_person_reports(store, &query, arena, &ids, ret_n, err);
    for (size_t i = 0; code == FZ_OK && i < *ret_n; i++) {
        code = store_report_delete(store, e->project_id, ids[i], err);
        /* By another process meanwhile. */
        code = code == FZ_E_NOT_FOUND ? FZ_OK : code;
    }
    const struct sql_value args[] = {sql_int(e->id), sql_int((int64_t)*ret_n)};
    return code == FZ_OK && *ret_n
               ? sql_exec(store->sql,
                          "UPDATE erasures SET n_reports = n_reports + $2 WHERE id = $1", args,
                          FZ_ARRAY_LEN(args), NULL, err)
               : code;
}

/* Texts that have the id in them; a short one is in many that are not about the user. */
static enum fz_code
replace_in_texts(struct sql *tx, const struct erasure *e, struct fz_error *err)
{
    static const char *const texts[] = {
        "UPDATE variants SET label = replace(label, $2, $3) WHERE key_id IN (SELECT id FROM "
        "issue_keys "
        "WHERE project_id = $1) AND replace(label, $2, '') <> label",
        "UPDATE issue_keys SET title = replace(title, $2, $3) WHERE project_id = $1 AND "
        "replace(title, "
        "$2, '') <> title",
        "UPDATE issues SET title = replace(title, $2, $3) WHERE project_id = $1 AND replace(title, "
        "$2, "
        "'') <> title",
        "UPDATE events SET body = replace(body, $2, $3), detail = replace(detail, $2, $3) WHERE "
        "project_id = $1 AND (replace(body, $2, '') <> body OR replace(detail, $2, '') <> detail)",
        "UPDATE filters SET query = replace(query, $2, $3) WHERE project_id = $1 AND "
        "replace(query, $2, "
        "'') <> query",
    };
    const struct sql_value args[] = {sql_int(e->project_id), sql_text(e->user), sql_text(e->mark)};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(texts) && strlen(e->user) >= CONTAINED_MIN;
         i++)
        code = sql_exec(tx, texts[i], args, FZ_ARRAY_LEN(args), NULL, err);
    return code;
}

/* ---- its words in the dictionary ---- */

struct term {
    int64_t id;
    const char *text;
    bool is_searched;
};

/* The user, tags with the id as their value, and texts with the id in them. */
static enum fz_code
find_terms(struct sql *tx, const struct erasure *e, struct fz_arena *arena, struct term **ret,
           size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(e->project_id),
                                     sql_text(e->user),
                                     sql_int(strlen(e->user) >= CONTAINED_MIN),
                                     sql_int(STORE_TERM_TAG),
                                     sql_int(TERMS_AT_ONCE),
                                     sql_int(STORE_TERM_USER),
                                     sql_int(STORE_TERM_REASON)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct term)};
    enum fz_code code = sql_query(
        tx,
        "SELECT id, text, field FROM terms WHERE project_id = $1 AND ((field = $6 AND text = $2) "
        "OR (field = $4 AND length(text) > length($2) AND substr(text, length(text) - "
        "length($2)) = '=' || $2 AND ($3 = 1 OR text LIKE 'user%')) OR ($3 = 1 AND field IN "
        "($4, $7) AND replace(text, $2, '') <> text)) LIMIT $5",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct term *one; (one = sql_list_next(&rows, &list, &code, err));) {
        int64_t field = sql_col_int(&rows, 2);
        *one =
            (struct term){sql_col_int(&rows, 0), sql_col_text(&rows, 1, arena),
                          field > 0 && field < STORE_TERMS && store_term_kinds[field].is_searched};
    }
    return sql_list_done(&list, code, ret, ret_n);
}

/* Rows that count the term keep its number; engines that search by an index beside the table hear of it. */
static enum fz_code
rename_term(struct sql *tx, const struct term *term, const struct erasure *e, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *from = term->text, *found;
    size_t len = strlen(e->user);
    /* A short one is the whole text or its end. */
    if (len < CONTAINED_MIN && strlen(from) >= len) {
        fz_buffer_append(&text, from, strlen(from) - len);
        fz_buffer_text(&text, e->mark);
        from += strlen(from);
    }
    while ((found = strstr(from, e->user))) {
        fz_buffer_append(&text, from, (size_t)(found - from));
        fz_buffer_text(&text, e->mark);
        from = found + len;
    }
    fz_buffer_text(&text, from);
    enum fz_code code = fz_buffer_done(&text, err);
    if (code != FZ_OK)
        return code;
    const struct sql_value old[] = {sql_int(term->id), sql_text(term->text)},
                           row[] = {sql_int(term->id), sql_text(fz_buffer_cstr(&text))};
    bool is_beside = term->is_searched && tx->driver->text_added;
    if (is_beside)
        code = sql_exec(tx, tx->driver->text_removed, old, FZ_ARRAY_LEN(old), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "UPDATE terms SET text = $2 WHERE id = $1", row, FZ_ARRAY_LEN(row),
                        NULL, err);
    if (code == FZ_OK && is_beside)
        code = sql_exec(tx, tx->driver->text_added, row, FZ_ARRAY_LEN(row), NULL, err);
    return code;
}

/* No report is left: the id goes out of what stays, and out of the erasure itself. */
static enum fz_code
forget(struct store *store, const struct erasure *e, struct fz_arena *arena, bool *ret_more,
       struct fz_error *err)
{
    struct term *terms = NULL;
    size_t n = 0;
    int64_t now = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_lock(tx, e->project_id, true, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = find_terms(tx, e, arena, &terms, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = rename_term(tx, &terms[i], e, err);
    if (code == FZ_OK && n == 0)
        code = replace_in_texts(tx, e, err);
    const struct sql_value args[] = {sql_int(e->id), sql_int(now)};
    if (code == FZ_OK && n == 0)
        code = sql_exec(tx, "UPDATE erasures SET finished_ms = $2, user_id = NULL WHERE id = $1",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    *ret_more = n > 0;
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

static enum fz_code
find_erasure(struct store *store, struct fz_arena *arena, struct erasure *ret, bool *ret_found,
             struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT id, project_id, user_id FROM erasures WHERE user_id IS NOT NULL ORDER BY id "
        "LIMIT 1",
        NULL, 0, &rows, err);
    *ret_found = sql_row(&rows, &code, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    *ret = (struct erasure){.id = sql_col_int(&rows, 0), .project_id = sql_col_int(&rows, 1)};
    ret->user = sql_col_text(&rows, 2, arena);
    if (!ret->user)
        return fz_arena_fail(arena, err);
    /* Of a number, so that what is erased is still one user each; never with the id in it, which would be found again and
     * again. No text of six bytes is in both. */
    snprintf(ret->mark, sizeof(ret->mark), "[erased:%lld]", (long long)ret->id);
    if (strlen(ret->user) >= CONTAINED_MIN && strstr(ret->mark, ret->user))
        snprintf(ret->mark, sizeof(ret->mark), GONE);
    return FZ_OK;
}

/* An erasure, of this process or another, gives terms other texts: reports of the user that come later must not get their
 * numbers from memory. */
static enum fz_code
forget_cached_terms(struct store *store, struct fz_error *err)
{
    int64_t last_ms = 0;
    enum fz_code code = sql_number(store->sql, "SELECT coalesce(max(finished_ms), 0) FROM erasures",
                                   NULL, 0, &last_ms, NULL, err);
    if (code != FZ_OK || last_ms == store->erased_ms)
        return code;
    store_term_cache_destroy(store->terms);
    store->terms = NULL;
    store->erased_ms = last_ms;
    return FZ_OK;
}

enum fz_code
store_erasure_step(struct store *store, bool *ret_more, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct erasure e;
    size_t n = 0;
    enum fz_code code = forget_cached_terms(store, err);
    if (code == FZ_OK)
        code = find_erasure(store, &arena, &e, ret_more, err);
    if (code != FZ_OK || !*ret_more)
        return code;
    code = delete_some(store, &e, &arena, &n, err);
    if (code == FZ_OK && n == 0)
        code = forget(store, &e, &arena, ret_more, err);
    return code == FZ_OK && !*ret_more ? forget_cached_terms(store, err) : code;
}

enum fz_code
store_erasure_get(struct store *store, int64_t project_id, int64_t id, struct store_erasure *ret,
                  struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT id, created_ms, finished_ms, n_reports FROM erasures WHERE project_id = $1 "
        "AND id = $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such erasure");
    if (code == FZ_OK)
        *ret = (struct store_erasure){sql_col_int(&rows, 0), sql_col_int(&rows, 1),
                                      sql_col_int(&rows, 2), (uint64_t)sql_col_int(&rows, 3)};
    return code;
}
