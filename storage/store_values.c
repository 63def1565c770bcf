/* The values of a field that there are, for completion: from the dictionary, never from reports. */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "storage/store_fact_query.h"
#include "storage/store_issue_list.h"

enum {
    LIMIT_MAX = 100,
    CANDIDATES = 300, /* values that begin so, of which the best are given */
    TAGS = 5000,      /* terms in which names of tags are looked for */
    COUNTED = 5000    /* reports of one term, at most */
};

/* Where the values of a field are. */
static const struct source {
    enum store_field field;
    enum store_term term;
    const char *expr;
    bool has_index; /* of facts: then reports are counted */
} sources[] = {
    {STORE_FIELD_VERSION, STORE_TERM_VERSION, "text", true},
    {STORE_FIELD_INTRODUCED, STORE_TERM_VERSION, "text", false},
    {STORE_FIELD_FIXED, STORE_TERM_VERSION, "text", false},
    {STORE_FIELD_BUILD, STORE_TERM_VERSION, "detail", true},
    {STORE_FIELD_OS, STORE_TERM_OS,
     "(text || CASE WHEN detail <> '' THEN ' ' ELSE '' END || detail)", true},
    {STORE_FIELD_OS_VERSION, STORE_TERM_OS, "detail", true},
    {STORE_FIELD_DEVICE, STORE_TERM_DEVICE, "text", true},
    {STORE_FIELD_ARCH, STORE_TERM_ARCH, "text", false},
    {STORE_FIELD_ENVIRONMENT, STORE_TERM_ENVIRONMENT, "text", false},
    {STORE_FIELD_APP, STORE_TERM_APP, "text", false},
    {STORE_FIELD_KIND, STORE_TERM_KIND, "text", false},
    {STORE_FIELD_EXCEPTION, STORE_TERM_EXCEPTION, "text", true},
    {STORE_FIELD_SIGNAL, STORE_TERM_SIGNAL, "text", false},
    {STORE_FIELD_REASON, STORE_TERM_REASON, "text", true},
    {STORE_FIELD_USER, STORE_TERM_USER, "text", true},
    {STORE_FIELD_FUNCTION, STORE_TERM_FUNCTION, "text", false},
    {STORE_FIELD_FILE, STORE_TERM_FILE, "text", false},
};

static enum fz_code
read_values(struct store *store, const struct store_sql *q, struct sql_list *list,
            struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(q, err);
    if (code == FZ_OK)
        code = sql_query_once(store->sql, fz_buffer_cstr(&q->text), q->args, q->n_args, &rows, err);
    for (struct store_value *value; (value = sql_list_next(&rows, list, &code, err));)
        *value =
            (struct store_value){sql_col_text(&rows, 0, q->arena), (uint64_t)sql_col_int(&rows, 1)};
    return code;
}

/* Append the condition that `expr` begins with both. */
static void
append_prefix(struct store_sql *q, const char *expr, const char *before, const char *prefix)
{
    const struct store_query_value value = {.text = prefix, .any_after = true};
    if (!*before && !*prefix)
        return;
    fz_buffer_printf(&q->text, " AND %s %s ", expr, q->driver->like);
    store_sql_arg(q, store_sql_pattern(q, before, STORE_OP_WILDCARD, &value));
    fz_buffer_text(&q->text, " ESCAPE '!'");
}

/* ---- tags: terms "name=value" ---- */

static enum fz_code
find_tags(struct store *store, int64_t project_id, const struct store_value_search *search,
          struct store_sql *q, struct sql_list *list, struct fz_error *err)
{
    const char *before = search->tag ? fz_arena_printf(q->arena, "%s=", search->tag) : "";
    if (!before)
        return fz_arena_fail(q->arena, err);
    fz_buffer_printf(&q->text, "SELECT text, 0 FROM terms WHERE field = %d AND project_id = ",
                     (int)STORE_TERM_TAG);
    store_sql_arg(q, sql_int(project_id));
    append_prefix(q, "text", before, search->prefix);
    fz_buffer_printf(&q->text, " ORDER BY text LIMIT %d",
                     search->tag ? (int)CANDIDATES : (int)TAGS);
    enum fz_code code = read_values(store, q, list, err);
    struct store_value *values = list->items;
    size_t n = 0;
    for (size_t i = 0; code == FZ_OK && i < list->n; i++) {
        const char *sign = strchr(values[i].text, '=');
        if (!sign)
            continue;
        const char *text =
            search->tag ? sign + 1
                        : fz_arena_text(q->arena, fz_span_make(values[i].text,
                                                               (size_t)(sign - values[i].text)));
        if (!text)
            return fz_arena_fail(q->arena, err);
        /* The same name follows itself in this order, but for tags that differ in their first sign only. */
        if (n == 0 || strcmp(values[n - 1].text, text) != 0)
            values[n++].text = text;
    }
    list->n = n;
    return code;
}

/* ---- terms ---- */

static enum fz_code
find_terms(struct store *store, int64_t project_id, const struct source *source,
           const struct store_value_search *search, struct store_sql *q, struct sql_list *list,
           struct fz_error *err)
{
    const char *column = store_term_kinds[source->term].column;
    bool has_order = store_term_kinds[source->term].has_order;
    fz_buffer_text(&q->text, "SELECT value, CAST(sum(n) AS bigint) FROM (SELECT value, ");
    if (source->has_index)
        fz_buffer_printf(&q->text,
                         "(SELECT count(*) FROM (SELECT 1 FROM facts f WHERE f.%s = t.id "
                         "AND f.%s > 0 LIMIT %d) AS few) AS n",
                         column, column, (int)COUNTED);
    else
        fz_buffer_text(&q->text, "0 AS n");
    fz_buffer_printf(&q->text,
                     " FROM (SELECT id, %s AS value FROM terms WHERE field = %d AND "
                     "project_id = ",
                     source->expr, (int)source->term);
    store_sql_arg(q, sql_int(project_id));
    append_prefix(q, source->expr, "", search->prefix);
    fz_buffer_printf(&q->text, " ORDER BY %s LIMIT %d) AS t) AS c WHERE value <> '' GROUP BY value",
                     has_order ? "sort DESC" : "text", (int)CANDIDATES);
    return read_values(store, q, list, err);
}

static int
compare_counts(const void *a, const void *b)
{
    const struct store_value *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->text, y->text);
}

static int
compare_versions(const void *a, const void *b)
{
    const struct store_value *x = a, *y = b;
    int order = fz_version_compare(y->text, NULL, x->text, NULL);
    return order ? order : strcmp(x->text, y->text);
}

enum fz_code
store_values(struct store *store, int64_t project_id, const struct store_value_search *search,
             struct fz_arena *arena, struct store_value **ret, size_t *ret_n, struct fz_error *err)
{
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_value)};
    struct store_sql q;
    size_t at = 0, limit = search->limit < LIMIT_MAX ? search->limit : LIMIT_MAX;
    enum store_field field = search->field;
    while (at < FZ_ARRAY_LEN(sources) && sources[at].field != field)
        at++;
    if (at == FZ_ARRAY_LEN(sources) && field != STORE_FIELD_TAG)
        return fz_fail(err, FZ_E_MALFORMED, "field: there are no values of '%s' to choose from",
                       store_field_row(field)->name);
    store_sql_init(&q, store, arena);
    enum fz_code code = field == STORE_FIELD_TAG
                            ? find_tags(store, project_id, search, &q, &list, err)
                            : find_terms(store, project_id, &sources[at], search, &q, &list, err);
    store_sql_deinit(&q);
    bool is_version = field == STORE_FIELD_VERSION || field == STORE_FIELD_BUILD ||
                      field == STORE_FIELD_INTRODUCED || field == STORE_FIELD_FIXED ||
                      field == STORE_FIELD_OS_VERSION;
    if (code == FZ_OK && list.n)
        qsort(list.items, list.n, list.item, is_version ? compare_versions : compare_counts);
    list.n = list.n < limit ? list.n : limit;
    return sql_list_done(&list, code, ret, ret_n);
}
