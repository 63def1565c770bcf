/*
 * Which terms of the dictionary a condition is about.
 *
 * A field has at most thousands of texts, or an index of their parts: what there is to find is found here, before millions of
 * facts are looked at by number.
 */
#include <string.h>

#include "storage/store_fact_query.h"

enum {
    TRIGRAM = 3,
    FEW = 10000 /* texts of a field, which are read faster than the index of parts */
};

static size_t
n_characters(const char *text)
{
    size_t n = 0;
    for (const char *c = text; *c; c++)
        n += ((unsigned char)*c & 0xc0) != 0x80;
    return n;
}

/* Is each value a part that the index of parts finds? */
static bool
has_parts(enum store_term term, const struct store_condition *condition)
{
    if (!store_term_kinds[term].is_searched || condition->n_values == 0 ||
        condition->op == STORE_OP_EQUAL)
        return false;
    for (size_t i = 0; i < condition->n_values; i++) {
        if (n_characters(condition->values[i].text) < TRIGRAM)
            return false;
    }
    return true;
}

/* A phrase of FTS5: in quotes, which are doubled inside. Or a pattern of LIKE. */
static struct sql_value
part(struct store_sql *q, const char *text)
{
    bool is_pattern = q->driver->parts_are_patterns;
    const char around = is_pattern ? '%' : '"', *special = is_pattern ? "%_!" : "\"";
    char *made = fz_arena_alloc(q->arena, 2 * strlen(text) + 3), *to = made;
    if (!made)
        return (struct sql_value){.kind = SQL_BAD};
    *to++ = around;
    for (const char *c = text; *c; c++) {
        if (strchr(special, *c))
            *to++ = is_pattern ? '!' : '"';
        *to++ = *c;
    }
    *to++ = around;
    *to = '\0';
    return sql_text(made);
}

/* Append "(the index of parts has a value) AND ", where that is not what LIKE uses anyway. */
static void
append_parts(struct store_sql *q, const struct store_condition *condition)
{
    if (!q->driver->text_part)
        return;
    for (size_t i = 0; i < condition->n_values; i++) {
        fz_buffer_printf(&q->text, "%s%s", i ? " OR " : "(", q->driver->text_part);
        store_sql_arg(q, part(q, condition->values[i].text));
        fz_buffer_text(&q->text, q->driver->text_part_end ? q->driver->text_part_end : ")");
    }
    fz_buffer_text(&q->text, ") AND ");
}

static void
start(struct store_sql *q, const char *columns, int64_t project_id, enum store_term term,
      bool by_parts)
{
    const char *no_index = by_parts ? q->driver->no_index : "";
    fz_buffer_printf(&q->text, "SELECT %s FROM terms WHERE %sproject_id = ", columns, no_index);
    store_sql_arg(q, sql_int(project_id));
    fz_buffer_printf(&q->text, " AND %sfield = %d", no_index, (int)term);
}

static enum fz_code
find_texts(struct store *store, int64_t project_id, const struct store_term_place *place,
           const struct store_condition *condition, struct fz_arena *arena, struct store_ids *ret,
           struct fz_error *err)
{
    const char *exprs[3];
    size_t n = 0;
    struct store_sql q;
    store_sql_init(&q, store, arena);
    bool by_parts = place->parts == STORE_PART_TEXT && has_parts(place->term, condition);
    start(&q, "id", project_id, place->term, by_parts);
    fz_buffer_text(&q.text, " AND ");
    if (by_parts)
        append_parts(&q, condition);
    if (condition->op == STORE_OP_EQUAL && place->parts == STORE_PART_TEXT) {
        /* As the unique index has them: of users there may be millions. */
        for (size_t i = 0; i < condition->n_values; i++)
            store_sql_add(&q, i ? ", ?" : "text IN (?", sql_text(condition->values[i].text));
        fz_buffer_char(&q.text, ')');
        enum fz_code found = store_ids_read(store, &q, ret, arena, err);
        store_sql_deinit(&q);
        return found;
    }
    /* PostgreSQL would look for the part in the texts of all fields, too. */
    bool is_few = !by_parts && store_term_kinds[place->term].most <= FEW;
    if (place->parts & STORE_PART_TEXT)
        exprs[n++] = is_few ? "(text || '')" : "text";
    if (place->parts & STORE_PART_DETAIL)
        exprs[n++] = "detail";
    if (place->parts & STORE_PART_BOTH)
        exprs[n++] = "(CASE WHEN text <> '' AND detail <> '' THEN text || ' ' || detail END)";
    if (place->parts & STORE_PART_BOTH)
        store_sql_match(&q, condition, exprs, n);
    else
        store_sql_match_known(&q, condition, exprs, n);
    enum fz_code code = store_ids_read(store, &q, ret, arena, err);
    store_sql_deinit(&q);
    return code;
}

/* Append "the field is one that is searched AND ": of users there may be millions. */
static void
append_searched(struct store_sql *q)
{
    const char *before = "field IN (";
    fz_buffer_text(&q->text, q->driver->no_index);
    for (int i = 0; i < STORE_TERMS; i++) {
        if (!store_term_kinds[i].is_searched)
            continue;
        fz_buffer_printf(&q->text, "%s%d", before, i);
        before = ", ";
    }
    fz_buffer_text(&q->text, ") AND ");
}

enum fz_code
store_terms_find_all(struct store *store, int64_t project_id,
                     const struct store_condition *condition, struct fz_arena *arena,
                     struct store_ids ret[STORE_TERMS], bool *ret_found, struct fz_error *err)
{
    static const char *const exprs[] = {"text"};
    struct store_sql q;
    store_sql_init(&q, store, arena);
    /* Any field that is searched by parts. */
    *ret_found = has_parts(STORE_TERM_REASON, condition);
    if (!*ret_found) {
        store_sql_deinit(&q);
        return FZ_OK;
    }
    fz_buffer_text(&q.text, "SELECT id, field FROM terms WHERE ");
    append_parts(&q, condition);
    fz_buffer_text(&q.text, q.driver->no_index);
    store_sql_add(&q, "project_id = ? AND ", sql_int(project_id));
    append_searched(&q);
    store_sql_match_known(&q, condition, exprs, 1);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query_once(store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t field = sql_col_int(&rows, 1);
        if (field > 0 && field < STORE_TERMS)
            code = store_ids_put(&ret[field], sql_col_int(&rows, 0), arena, err);
    }
    for (int i = 0; code == FZ_OK && i < STORE_TERMS; i++)
        store_ids_sort(&ret[i]);
    store_sql_deinit(&q);
    return code;
}

static enum fz_code
find_versions(struct store *store, int64_t project_id, const struct store_term_place *place,
              const struct store_condition *condition, struct fz_arena *arena,
              struct store_ids *ret, struct fz_error *err)
{
    const char *column = place->parts & STORE_PART_DETAIL ? "detail" : "text";
    const struct sql_value args[] = {sql_int(project_id), sql_int(place->term)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        *column == 'd' ? "SELECT id, detail FROM terms WHERE project_id = $1 AND field = $2"
                       : "SELECT id, text FROM terms WHERE project_id = $1 AND field = $2",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        char text[STORE_TERM_BYTES + 1];
        sql_col_copy(&rows, 1, text, sizeof(text));
        if (store_version_holds(condition, text))
            code = store_ids_put(ret, sql_col_int(&rows, 0), arena, err);
    }
    return code;
}

/* Terms "name=value". */
static enum fz_code
find_tags(struct store *store, int64_t project_id, const struct store_condition *condition,
          struct fz_arena *arena, struct store_ids *ret, struct fz_error *err)
{
    static const struct store_query_value any = {.text = "", .any_after = true};
    struct store_sql q;
    store_sql_init(&q, store, arena);
    start(&q, "id", project_id, STORE_TERM_TAG, false);
    const char *name = fz_arena_printf(arena, "%s=", condition->name);
    bool is_present = condition->op == STORE_OP_PRESENT;
    size_t n = is_present ? 1 : condition->n_values;
    fz_buffer_text(&q.text, " AND (");
    for (size_t i = 0; name && i < n; i++) {
        const struct store_query_value *value = is_present ? &any : &condition->values[i];
        fz_buffer_printf(&q.text, "%stext %s ", i ? " OR " : "", q.driver->like);
        store_sql_arg(
            &q, store_sql_pattern(&q, name, is_present ? STORE_OP_WILDCARD : condition->op, value));
        fz_buffer_text(&q.text, " ESCAPE '!'");
        /* What comes after the name, which is the same in either case. */
        fz_buffer_printf(&q.text, " AND substr(text, %zu) ", n_characters(name) + 1);
        if (condition->op == STORE_OP_EQUAL)
            store_sql_add(&q, "= ?", sql_text(value->text));
        else
            fz_buffer_text(&q.text, "<> ''");
    }
    fz_buffer_char(&q.text, ')');
    enum fz_code code =
        name ? store_ids_read(store, &q, ret, arena, err) : fz_arena_fail(arena, err);
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_terms_find(struct store *store, int64_t project_id, const struct store_term_place *place,
                 const struct store_condition *condition, struct fz_arena *arena,
                 struct store_ids *ret, struct fz_error *err)
{
    enum fz_code code;
    if (place->term == STORE_TERM_TAG)
        code = find_tags(store, project_id, condition, arena, ret, err);
    else if (store_op_is_comparison(condition->op))
        code = find_versions(store, project_id, place, condition, arena, ret, err);
    else
        code = find_texts(store, project_id, place, condition, arena, ret, err);
    if (code == FZ_OK)
        store_ids_sort(ret);
    return code;
}

enum fz_code
store_stacks_find(struct store *store, const struct store_ids *terms, struct fz_arena *arena,
                  struct store_ids *ret, struct fz_error *err)
{
    if (terms->n == 0)
        return FZ_OK;
    struct store_sql q;
    store_sql_init(&q, store, arena);
    fz_buffer_text(&q.text, "SELECT stack_key FROM stack_terms WHERE term_id");
    store_sql_in(&q, terms);
    enum fz_code code = store_ids_read(store, &q, ret, arena, err);
    store_sql_deinit(&q);
    if (code == FZ_OK)
        store_ids_sort(ret);
    return code;
}

enum fz_code
store_term_texts(struct store *store, const struct store_ids *ids, struct fz_arena *arena,
                 struct store_term_text **ret, struct fz_error *err)
{
    struct store_term_text *texts = fz_arena_array(arena, ids->n, sizeof(*texts));
    struct store_sql q;
    if (!texts)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < ids->n; i++)
        texts[i].text = texts[i].detail = "";
    *ret = texts;
    if (ids->n == 0)
        return FZ_OK;
    store_sql_init(&q, store, arena);
    fz_buffer_text(&q.text, "SELECT id, text, detail FROM terms WHERE id");
    store_sql_in_any(&q, ids);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query(store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows, err);
    while (sql_row(&rows, &code, err)) {
        size_t at = store_ids_find(ids, sql_col_int(&rows, 0));
        const char *text = sql_col_text(&rows, 1, arena), *detail = sql_col_text(&rows, 2, arena);
        if (at < ids->n && text && detail)
            texts[at] = (struct store_term_text){text, detail};
    }
    store_sql_deinit(&q);
    return code;
}
