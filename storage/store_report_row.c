/* Conditions about the rows of reports: for those that belong to no issue, and for what no fact says. */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "storage/store_fact_query.h"

enum { EXPRS = 8, EXPR_TEXT = 160 };

/* The columns that have the texts of a field. */
static const char *const columns[STORE_FIELDS][EXPRS] = {
    [STORE_FIELD_VERSION] = {"app_version"},
    [STORE_FIELD_BUILD] = {"app_build"},
    [STORE_FIELD_RELEASE] = {"release"},
    [STORE_FIELD_OS] = {"os_name", "os_version"},
    [STORE_FIELD_OS_VERSION] = {"os_version"},
    [STORE_FIELD_OS_BUILD] = {"os_build"},
    [STORE_FIELD_DEVICE] = {"device_model"},
    [STORE_FIELD_ARCH] = {"arch"},
    [STORE_FIELD_ENVIRONMENT] = {"environment"},
    [STORE_FIELD_APP] = {"app_id", "app_name"},
    [STORE_FIELD_STATUS] = {"status"},
    [STORE_FIELD_KIND] = {"kind"},
    [STORE_FIELD_FORMAT] = {"format"},
    [STORE_FIELD_EXCEPTION] = {"exception"},
    [STORE_FIELD_SIGNAL] = {"signal"},
    [STORE_FIELD_MACH] = {"mach"},
    [STORE_FIELD_CODE] = {"code"},
    [STORE_FIELD_FUNCTION] = {"top_function"},
    [STORE_FIELD_FILE] = {"top_file"},
    [STORE_FIELD_REASON] = {"reason"},
    [STORE_FIELD_TEXT] = {"top_function", "top_file", "reason", "exception", "signal", "app_id",
                          "app_name", "error"},
    [STORE_FIELD_USER] = {"user_id"},
    [STORE_FIELD_RUN] = {"run_id"},
    [STORE_FIELD_ID] = {"id"},
};

/* Tags of a row are one text, "\nname=value\n". */
static void
tag_condition(struct store_sql *q, const struct store_condition *condition, const char *alias)
{
    static const struct store_query_value any = {.text = "", .any_after = true};
    const char *name = fz_arena_printf(q->arena, "\n%s=", condition->name);
    bool is_present = condition->op == STORE_OP_PRESENT;
    size_t n = is_present ? 1 : condition->n_values;
    for (size_t i = 0; name && i < n; i++) {
        const struct store_query_value *value = is_present ? &any : &condition->values[i];
        fz_buffer_printf(&q->text, "%s(%stags%s %s '%%' || ", i ? " OR " : "", alias,
                         q->driver->collate, q->driver->like);
        store_sql_arg(
            q, store_sql_pattern(q, name, is_present ? STORE_OP_WILDCARD : condition->op, value));
        fz_buffer_printf(&q->text, " || %s ESCAPE '!'", is_present ? "'%'" : "'\n%'");
        if (condition->op == STORE_OP_EQUAL) {
            const char *whole = fz_arena_printf(q->arena, "=%s\n", value->text);
            /* LIKE knows no case: the value must be there as it is, too. */
            fz_buffer_printf(&q->text, " AND replace(%stags, ", alias);
            store_sql_arg(q, whole ? sql_text(whole) : (struct sql_value){.kind = SQL_BAD});
            fz_buffer_printf(&q->text, ", '') <> %stags", alias);
        }
        fz_buffer_char(&q->text, ')');
    }
}

void
store_report_image_sets(struct store_sql *q, const struct store_condition *condition)
{
    static const char *const name[] = {"m.name"};
    fz_buffer_text(&q->text, "FROM image_set_items m WHERE m.project_id = $1 AND (");
    if (condition->field == STORE_FIELD_IMAGE)
        store_sql_match_known(q, condition, name, 1); /* what is NULL matches nothing here */
    for (size_t i = 0; condition->field == STORE_FIELD_UUID && i < condition->n_values; i++) {
        struct fz_uuid uuid = {{0}};
        uint8_t *bytes = fz_arena_alloc(q->arena, sizeof(uuid.bytes));
        fz_buffer_text(&q->text, i ? " OR m.uuid = " : "m.uuid = ");
        /* Checked when the query was read: storage's own callers may have any. */
        bool ok = fz_uuid_parse(fz_span_cstr(condition->values[i].text), &uuid) && bytes;
        if (ok)
            memcpy(bytes, uuid.bytes, sizeof(uuid.bytes));
        store_sql_arg(q, ok ? sql_blob(fz_span_make(bytes, sizeof(uuid.bytes)))
                            : (struct sql_value){.kind = SQL_BAD});
    }
    fz_buffer_char(&q->text, ')');
}

bool
store_report_ids(struct store_sql *q, const struct store_condition *condition)
{
    if (condition->op == STORE_OP_PRESENT || condition->n_values == 0)
        return false;
    for (size_t i = 0; i < condition->n_values; i++) {
        if (condition->op == STORE_OP_WILDCARD && condition->values[i].any_before)
            return false;
    }
    fz_buffer_text(&q->text, "FROM report_ids k WHERE k.project_id = $1 AND (");
    for (size_t i = 0; i < condition->n_values; i++) {
        const struct store_query_value *value = &condition->values[i];
        /* Ids are lower-case hex digits: 'g' follows all that begin so, in any collation. */
        const char *end = fz_arena_printf(q->arena, "%sg", value->text);
        bool is_part = condition->op == STORE_OP_WILDCARD && value->any_after;
        fz_buffer_text(&q->text, i ? " OR " : "");
        store_sql_add(q, is_part ? "(k.id >= ?" : "(k.id = ?", sql_text(value->text));
        if (is_part)
            store_sql_add(q, " AND k.id < ?",
                          end ? sql_text(end) : (struct sql_value){.kind = SQL_BAD});
        fz_buffer_char(&q->text, ')');
    }
    fz_buffer_char(&q->text, ')');
    return true;
}

/* Rows have no index of ids on PostgreSQL, where months would need one each. */
static bool
id_condition(struct store_sql *q, const struct store_condition *condition, const char *alias)
{
    size_t len = q->text.len;
    fz_buffer_printf(&q->text, "%skey IN (SELECT k.key ", alias);
    if (store_report_ids(q, condition)) {
        fz_buffer_char(&q->text, ')');
        return true;
    }
    q->text.len = len;
    return false;
}

static void
text_condition(struct store_sql *q, const struct store_condition *condition, const char *alias)
{
    char texts[EXPRS + 1][EXPR_TEXT];
    const char *exprs[EXPRS + 1];
    size_t n = 0;
    for (; n < EXPRS && columns[condition->field][n]; n++) {
        snprintf(texts[n], EXPR_TEXT, "%s%s", alias, columns[condition->field][n]);
        exprs[n] = texts[n];
    }
    if (condition->field == STORE_FIELD_OS) {
        snprintf(texts[n], EXPR_TEXT, "(%sos_name || ' ' || %sos_version)", alias, alias);
        exprs[n] = texts[n];
        n++;
    }
    /* An index serves a comparison, but not what coalesce() makes of it. NULL is FALSE except for an opposite. */
    if (condition->is_negated)
        store_sql_match(q, condition, exprs, n);
    else
        store_sql_match_known(q, condition, exprs, n);
}

void
store_report_condition(struct store_sql *q, const struct store_condition *condition,
                       const char *alias)
{
    fz_buffer_text(&q->text, condition->is_negated ? " AND NOT coalesce(" : " AND (");
    enum store_field field = condition->field;
    if (field == STORE_FIELD_TAG) {
        tag_condition(q, condition, alias);
    } else if (field == STORE_FIELD_IMAGE || field == STORE_FIELD_UUID) {
        fz_buffer_printf(&q->text, "%simage_set IN (SELECT m.set_key ", alias);
        store_report_image_sets(q, condition);
        fz_buffer_char(&q->text, ')');
    } else if (field == STORE_FIELD_CRASHED) {
        fz_buffer_printf(&q->text, "%stimestamp_ms > 0", alias);
        if (condition->op != STORE_OP_PRESENT) {
            fz_buffer_printf(&q->text, " AND %stimestamp_ms", alias);
            store_sql_compare(q, condition->op, condition->values[0].number);
        }
    } else if (field == STORE_FIELD_RECEIVED) {
        fz_buffer_printf(&q->text, "%sreceived_ms", alias);
        store_sql_compare(q, condition->op, condition->values[0].number);
    } else if (field != STORE_FIELD_ID || condition->is_negated ||
               !id_condition(q, condition, alias)) {
        text_condition(q, condition, alias);
    }
    fz_buffer_text(&q->text, condition->is_negated ? ", FALSE)" : ")");
}
