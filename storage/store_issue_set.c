/* Conditions about issues, and the variants of the issues that meet them. */
#include <inttypes.h>

#include "storage/store_fact_query.h"
#include "storage/store_issues.h"

static void
is_condition(struct store_sql *q, const struct store_query_value *value, int64_t now_ms)
{
    switch ((enum store_is)value->number) {
    case STORE_IS_OPEN:
        fz_buffer_printf(&q->text, "i.state = %d", (int)STORE_ISSUE_OPEN);
        break;
    case STORE_IS_RESOLVED:
        fz_buffer_printf(&q->text, "i.state = %d", (int)STORE_ISSUE_RESOLVED);
        break;
    case STORE_IS_IGNORED:
        fz_buffer_printf(&q->text, "i.state = %d", (int)STORE_ISSUE_IGNORED);
        break;
    case STORE_IS_REGRESSED:
        fz_buffer_printf(&q->text, "(i.state = %d AND i.is_regressed = 1)", (int)STORE_ISSUE_OPEN);
        break;
    case STORE_IS_NEW:
        fz_buffer_printf(&q->text, "(i.state = %d AND i.first_ms >= %" PRId64 ")",
                         (int)STORE_ISSUE_OPEN, now_ms - STORE_QUERY_NEW_MS);
        break;
    case STORE_IS_UNASSIGNED:
        fz_buffer_text(&q->text, "coalesce(i.assignee, '') = ''");
        break;
    case STORE_IS_PLACEHOLDER:
        fz_buffer_text(&q->text, "i.is_placeholder = 1");
        break;
    }
}

/* A number of an issue that was merged is that of the one that has its reports now. */
static void
number_condition(struct store_sql *q, const struct store_condition *condition)
{
    fz_buffer_text(&q->text, "i.id IN (SELECT coalesce(n.merged_into, n.id) FROM issues n WHERE "
                             "n.project_id = i.project_id AND n.number IN (");
    for (size_t i = 0; i < condition->n_values; i++)
        fz_buffer_printf(&q->text, "%s%" PRId64, i ? "," : "", condition->values[i].number);
    fz_buffer_text(&q->text, "))");
}

/* Both have two texts: "4.2", and with the build "4.2 (421)". */
static void
introduced_condition(struct store_sql *q, const struct store_condition *condition)
{
    static const char *const texts[] = {
        "t.text", "(t.text || CASE WHEN t.detail <> '' THEN ' (' || t.detail || ')' ELSE '' END)"};
    /* Looked for once, among the versions: a join with the issues may read all terms. $1 is the project. */
    fz_buffer_printf(&q->text,
                     "coalesce(i.first_version %s SELECT t.id FROM terms t WHERE t.project_id = $1 "
                     "AND t.field = %d AND ",
                     q->driver->in_few, (int)STORE_TERM_VERSION);
    store_sql_match_known(q, condition, texts, FZ_ARRAY_LEN(texts));
    fz_buffer_printf(&q->text, "%s, FALSE)", q->driver->in_few_end);
}

/* Not those that are resolved in the version after one. */
static void
fixed_condition(struct store_sql *q, const struct store_condition *condition)
{
    static const char *const texts[] = {
        "x.version",
        "(x.version || CASE WHEN x.build <> '' THEN ' (' || x.build || ')' ELSE '' END)"};
    fz_buffer_printf(&q->text,
                     "i.state = %d AND EXISTS (SELECT 1 FROM issue_fixes x WHERE x.issue_id = i.id "
                     "AND x.is_after = 0 AND ",
                     (int)STORE_ISSUE_RESOLVED);
    store_sql_match(q, condition, texts, FZ_ARRAY_LEN(texts));
    fz_buffer_char(&q->text, ')');
}

void
store_issue_condition(struct store_sql *q, const struct store_condition *condition, int64_t now_ms)
{
    static const char *const assignee[] = {"i.assignee"};
    fz_buffer_text(&q->text, condition->is_negated ? " AND NOT (" : " AND (");
    enum store_field field = condition->field;
    for (size_t i = 0; field == STORE_FIELD_IS && i < condition->n_values; i++) {
        fz_buffer_text(&q->text, i ? " OR " : "");
        is_condition(q, &condition->values[i], now_ms);
    }
    if (field == STORE_FIELD_ISSUE && condition->op == STORE_OP_PRESENT) {
        fz_buffer_text(&q->text, "i.number > 0");
    } else if (field == STORE_FIELD_ISSUE) {
        number_condition(q, condition);
    } else if (field == STORE_FIELD_FIRST_SEEN || field == STORE_FIELD_LAST_SEEN) {
        fz_buffer_text(&q->text, field == STORE_FIELD_FIRST_SEEN ? "i.first_ms" : "i.last_ms");
        store_sql_compare(q, condition->op, condition->values[0].number);
    } else if (field == STORE_FIELD_ASSIGNEE) {
        store_sql_match(q, condition, assignee, 1);
    } else if (field == STORE_FIELD_INTRODUCED) {
        introduced_condition(q, condition);
    } else if (field == STORE_FIELD_FIXED) {
        fixed_condition(q, condition);
    }
    fz_buffer_char(&q->text, ')');
}

bool
store_query_is_of_issues(const struct store_query *query)
{
    for (size_t i = 0; i < query->n; i++) {
        if (store_field_row(query->conditions[i].field)->is_of_issue)
            return true;
    }
    return false;
}

enum fz_code
store_issue_variants(struct store *store, int64_t project_id, const struct store_query *query,
                     struct fz_arena *arena, struct store_ids *ret, struct fz_error *err)
{
    struct store_sql q;
    store_sql_init(&q, store, arena);
    store_sql_add(&q,
                  "SELECT v.id FROM issues i JOIN variants v ON v.issue_id = i.id WHERE "
                  "i.project_id = ?",
                  sql_int(project_id));
    for (size_t i = 0; i < query->n; i++) {
        if (store_field_row(query->conditions[i].field)->is_of_issue)
            store_issue_condition(&q, &query->conditions[i], query->now_ms);
    }
    enum fz_code code = store_ids_read(store, &q, ret, arena, err);
    store_sql_deinit(&q);
    if (code == FZ_OK)
        store_ids_sort(ret);
    return code;
}

enum fz_code
store_title_variants(struct store *store, int64_t project_id,
                     const struct store_condition *condition, struct fz_arena *arena,
                     struct store_ids *ret, struct fz_error *err)
{
    static const char *const title[] = {"i.title"};
    struct store_sql q;
    store_sql_init(&q, store, arena);
    store_sql_add(&q,
                  "SELECT v.id FROM issues i JOIN variants v ON v.issue_id = i.id WHERE "
                  "i.project_id = ? AND ",
                  sql_int(project_id));
    store_sql_match(&q, condition, title, 1);
    enum fz_code code = store_ids_read(store, &q, ret, arena, err);
    store_sql_deinit(&q);
    if (code == FZ_OK)
        store_ids_sort(ret);
    return code;
}
