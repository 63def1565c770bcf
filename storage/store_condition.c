#include "storage/store_condition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/version.h"

/* Ids up to so many are written into the query, where the database's planner sees them. */
enum { INLINE_IDS = 500 };

/* ---- queries that grow ---- */

void
store_sql_init(struct store_sql *q, const struct store *store, struct fz_arena *arena)
{
    q->n_args = 0;
    q->is_too_long = false;
    q->arena = arena;
    q->driver = store->sql->driver;
    fz_buffer_init(&q->text, 0);
}

void
store_sql_deinit(struct store_sql *q)
{
    if (q)
        fz_buffer_deinit(&q->text);
}

void
store_sql_arg(struct store_sql *q, struct sql_value value)
{
    if (q->n_args == FZ_ARRAY_LEN(q->args)) {
        q->is_too_long = true;
        return;
    }
    q->args[q->n_args++] = value;
    fz_buffer_printf(&q->text, "$%zu", q->n_args);
}

void
store_sql_add(struct store_sql *q, const char *text, struct sql_value value)
{
    size_t len = strcspn(text, "?");
    fz_buffer_append(&q->text, text, len);
    store_sql_arg(q, value);
    fz_buffer_text(&q->text, text + len + (text[len] == '?'));
}

enum fz_code
store_sql_done(const struct store_sql *q, struct fz_error *err)
{
    return q->is_too_long ? fz_fail(err, FZ_E_LIMIT, "the query has too many values")
                          : fz_buffer_done(&q->text, err);
}

/* ---- sets of ids ---- */

enum fz_code
store_ids_put(struct store_ids *ids, int64_t id, struct fz_arena *arena, struct fz_error *err)
{
    int64_t *list = fz_list_grow_in(arena, ids->list, &ids->room, ids->n + 1, sizeof(*list));
    if (!list)
        return fz_arena_fail(arena, err);
    ids->list = list;
    ids->list[ids->n++] = id;
    return FZ_OK;
}

static int
compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void
store_ids_sort(struct store_ids *ids)
{
    size_t n = 0;
    if (ids->n)
        qsort(ids->list, ids->n, sizeof(*ids->list), compare_ids);
    for (size_t i = 0; i < ids->n; i++) {
        if (n == 0 || ids->list[n - 1] != ids->list[i])
            ids->list[n++] = ids->list[i];
    }
    ids->n = n;
}

size_t
store_ids_find(const struct store_ids *ids, int64_t id)
{
    const int64_t *found = ids->n ? bsearch(&id, ids->list, ids->n, sizeof(id), compare_ids) : NULL;
    return found ? (size_t)(found - ids->list) : ids->n;
}

bool
store_ids_have(const struct store_ids *ids, int64_t id)
{
    return store_ids_find(ids, id) < ids->n;
}

/* A text that half of the reasons have makes ten thousand ids in each statement: printf() took an eighth of the time of such a list. */
static void
append_ids(struct fz_buffer *out, const struct store_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        char text[24];
        size_t at = sizeof(text);
        int64_t id = ids->list[i];
        uint64_t rest = id < 0 ? 0 - (uint64_t)id : (uint64_t)id;
        do
            text[--at] = (char)('0' + rest % 10);
        while (rest /= 10);
        if (id < 0)
            text[--at] = '-';
        if (i)
            text[--at] = ',';
        fz_buffer_append(out, text + at, sizeof(text) - at);
    }
}

void
store_sql_in_any(struct store_sql *q, const struct store_ids *ids)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer numbers = fz_buffer_make(0);
    fz_buffer_char(&numbers, q->driver->numbers_open);
    append_ids(&numbers, ids);
    fz_buffer_char(&numbers, q->driver->numbers_close);
    char *copy = numbers.failed ? NULL : fz_arena_text(q->arena, fz_buffer_span(&numbers));
    fz_buffer_printf(&q->text, " %s", q->driver->in_numbers);
    store_sql_arg(q, copy ? sql_numbers(copy) : (struct sql_value){.kind = SQL_BAD});
    fz_buffer_text(&q->text, q->driver->in_numbers_end);
}

void
store_sql_in(struct store_sql *q, const struct store_ids *ids)
{
    if (ids->n > INLINE_IDS) {
        store_sql_in_any(q, ids);
        return;
    }
    fz_buffer_text(&q->text, " IN (");
    append_ids(&q->text, ids);
    fz_buffer_char(&q->text, ')');
}

enum fz_code
store_ids_read(struct store *store, const struct store_sql *q, struct store_ids *ret,
               struct fz_arena *arena, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(q, err);
    if (code == FZ_OK)
        code = sql_query_once(store->sql, fz_buffer_cstr(&q->text), q->args, q->n_args, &rows, err);
    while (sql_row(&rows, &code, err))
        code = store_ids_put(ret, sql_col_int(&rows, 0), arena, err);
    return code;
}

/* ---- texts ---- */

/* A to Z become a to z. */
static struct sql_value
lowered(struct store_sql *q, const char *text)
{
    char *copy = fz_arena_strdup(q->arena, text);
    for (char *c = copy; c && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    return copy ? sql_text(copy) : (struct sql_value){.kind = SQL_BAD};
}

static char *
escaped(char *to, const char *text)
{
    for (const char *c = text; *c; c++) {
        /* The wildcards of LIKE, and the ESCAPE character of these queries. */
        if (*c == '%' || *c == '_' || *c == '!')
            *to++ = '!';
        *to++ = *c;
    }
    return to;
}

struct sql_value
store_sql_pattern(struct store_sql *q, const char *before, enum store_op op,
                  const struct store_query_value *value)
{
    char *pattern = fz_arena_alloc(q->arena, 2 * (strlen(before) + strlen(value->text)) + 3);
    if (!pattern)
        return (struct sql_value){.kind = SQL_BAD};
    char *to = escaped(pattern, before);
    if (op == STORE_OP_CONTAINS || (op == STORE_OP_WILDCARD && value->any_before))
        *to++ = '%';
    to = escaped(to, value->text);
    if (op == STORE_OP_CONTAINS || (op == STORE_OP_WILDCARD && value->any_after))
        *to++ = '%';
    *to = '\0';
    return sql_text(pattern);
}

static void
match_value(struct store_sql *q, const struct store_condition *condition,
            const struct store_query_value *value, const char *const *exprs, size_t n_exprs)
{
    enum store_op op = condition->op;
    bool is_whole = op == STORE_OP_ANY_CASE ||
                    (op == STORE_OP_WILDCARD && !value->any_before && !value->any_after);
    struct sql_value arg = op == STORE_OP_EQUAL ? sql_text(value->text)
                           : is_whole           ? lowered(q, value->text)
                                                : store_sql_pattern(q, "", op, value);
    for (size_t i = 0; i < n_exprs; i++) {
        fz_buffer_text(&q->text, i ? " OR " : "");
        if (op == STORE_OP_EQUAL)
            fz_buffer_printf(&q->text, "%s = ", exprs[i]);
        else if (is_whole)
            fz_buffer_printf(&q->text, "lower(%s%s) = ", exprs[i], q->driver->collate);
        else
            fz_buffer_printf(&q->text, "%s%s %s ", exprs[i], q->driver->collate, q->driver->like);
        /* One argument for all of them. */
        if (i == 0)
            store_sql_arg(q, arg);
        else
            fz_buffer_printf(&q->text, "$%zu", q->n_args);
        if (op != STORE_OP_EQUAL && !is_whole)
            fz_buffer_text(&q->text, " ESCAPE '!'");
    }
}

static void
match(struct store_sql *q, const struct store_condition *condition, const char *const *exprs,
      size_t n_exprs)
{
    if (condition->op == STORE_OP_PRESENT) {
        for (size_t i = 0; i < n_exprs; i++)
            fz_buffer_printf(&q->text, "%scoalesce(%s, '') <> ''", i ? " OR " : "", exprs[i]);
    }
    for (size_t i = 0; i < condition->n_values; i++) {
        fz_buffer_text(&q->text, i ? " OR " : "");
        match_value(q, condition, &condition->values[i], exprs, n_exprs);
    }
}

void
store_sql_match(struct store_sql *q, const struct store_condition *condition,
                const char *const *exprs, size_t n_exprs)
{
    fz_buffer_text(&q->text, "coalesce(");
    match(q, condition, exprs, n_exprs);
    fz_buffer_text(&q->text, ", FALSE)");
}

void
store_sql_match_known(struct store_sql *q, const struct store_condition *condition,
                      const char *const *exprs, size_t n_exprs)
{
    bool is_any = condition->op == STORE_OP_PRESENT || condition->n_values > 0;
    fz_buffer_text(&q->text, is_any ? "(" : "(FALSE");
    match(q, condition, exprs, n_exprs);
    fz_buffer_char(&q->text, ')');
}

/* ---- comparisons ---- */

bool
store_op_is_comparison(enum store_op op)
{
    return op == STORE_OP_LESS || op == STORE_OP_AT_MOST || op == STORE_OP_GREATER ||
           op == STORE_OP_AT_LEAST;
}

void
store_sql_compare(struct store_sql *q, enum store_op op, int64_t number)
{
    const char *text = op == STORE_OP_LESS      ? "<"
                       : op == STORE_OP_AT_MOST ? "<="
                       : op == STORE_OP_GREATER ? ">"
                                                : ">=";
    fz_buffer_printf(&q->text, " %s %" PRId64, text, number);
}

bool
store_version_holds(const struct store_condition *condition, const char *text)
{
    const char *value = condition->values[0].text;
    int order;
    if (!text || !*text)
        return false;
    if (store_field_row(condition->field)->type == STORE_FIELD_TYPE_BUILD) {
        order = fz_version_compare(NULL, text, NULL, value);
    } else {
        if (!fz_version_is_ordered(text))
            return false;
        order = fz_version_compare_bound(text, value);
    }
    return condition->op == STORE_OP_LESS      ? order < 0
           : condition->op == STORE_OP_AT_MOST ? order <= 0
           : condition->op == STORE_OP_GREATER ? order > 0
                                               : order >= 0;
}
