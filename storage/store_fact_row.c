/*
 * Conditions about what only the rows of reports say.
 *
 * If few reports meet one, it becomes the keys of those, which facts have. Otherwise sealed days have columns of some fields
 * (store_fact_texts.h). Whatever else there is joins the facts with the rows.
 */
#include "storage/store_fact_query.h"
#include "storage/store_fact_texts.h"

enum {
    IDS = 500,        /* reports whose keys are looked up */
    FEW_SETS = 100,   /* of images: each is looked up in each month */
    SETS = 128 * 1024 /* that are compared as numbers */
};

/* ---- few reports ---- */

/* Their keys, and the range of their times, of a query that gives both. */
static enum fz_code
read_reports(struct store_fact_query *facts, struct store_sql *q, struct store_ids *ret,
             int64_t *ret_first_ms, int64_t *ret_last_ms, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    *ret_first_ms = INT64_MAX;
    *ret_last_ms = 0;
    enum fz_code code = store_sql_done(q, err);
    if (code == FZ_OK)
        code = sql_query_once(facts->store->sql, fz_buffer_cstr(&q->text), q->args, q->n_args,
                              &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t received_ms = sql_col_int(&rows, 1);
        *ret_first_ms = received_ms < *ret_first_ms ? received_ms : *ret_first_ms;
        *ret_last_ms = received_ms > *ret_last_ms ? received_ms : *ret_last_ms;
        code = store_ids_put(ret, sql_col_int(&rows, 0), facts->arena, err);
    }
    store_ids_sort(ret);
    return code;
}

/* Append a query for the reports that meet the condition, without its negation, and their times. False: no index has them. */
static bool
append_reports(struct store_sql *q, const struct store_condition *condition,
               const struct store_ids *sets)
{
    struct store_condition plain = *condition;
    plain.is_negated = false;
    if (condition->field == STORE_FIELD_ID) {
        fz_buffer_text(&q->text, "SELECT r.key, r.received_ms FROM (SELECT k.key ");
        if (!store_report_ids(q, condition))
            return false;
        fz_buffer_printf(&q->text, " LIMIT %d) AS few JOIN reports r ON r.key = few.key", IDS + 1);
        return true;
    }
    fz_buffer_text(&q->text, "SELECT r.key, r.received_ms FROM reports r WHERE r.project_id = $1 "
                             "AND r.transient = 0");
    if (condition->field == STORE_FIELD_RUN && condition->op == STORE_OP_EQUAL) {
        store_report_condition(q, &plain, "r.");
    } else if (sets && sets->n <= FEW_SETS) {
        fz_buffer_text(&q->text, " AND r.image_set IS NOT NULL AND r.image_set");
        store_sql_in(q, sets);
    } else {
        return false;
    }
    fz_buffer_printf(&q->text, " LIMIT %d", IDS + 1);
    return true;
}

/* *ret_found = false: no index has the reports, or they are many. */
static enum fz_code
add_reports(struct store_fact_query *facts, struct store_fact_condition *to,
            const struct store_ids *sets, bool *ret_found, struct fz_error *err)
{
    struct store_fact_part part = {.kind = STORE_FACTS_IDS, .column = "report_key"};
    int64_t first_ms, last_ms;
    struct store_sql q;
    store_sql_init(&q, facts->store, facts->arena);
    q.args[q.n_args++] = sql_int(facts->project_id); /* $1 */
    bool found = append_reports(&q, to->source, sets);
    enum fz_code code =
        found ? read_reports(facts, &q, &part.ids, &first_ms, &last_ms, err) : FZ_OK;
    store_sql_deinit(&q);
    *ret_found = found && part.ids.n <= IDS;
    if (!*ret_found || code != FZ_OK)
        return code;
    to->n = part.ids.n > 0;
    to->parts[0] = part;
    if (to->is_negated || part.ids.n == 0)
        return FZ_OK;
    facts->since_ms = first_ms > facts->since_ms ? first_ms : facts->since_ms;
    if (!facts->until_ms || last_ms < facts->until_ms)
        facts->until_ms = last_ms + 1;
    return FZ_OK;
}

/* ---- columns ---- */

static enum fz_code
find_sets(struct store_fact_query *facts, const struct store_condition *condition,
          struct store_ids *ret, struct fz_error *err)
{
    struct store_sql q;
    store_sql_init(&q, facts->store, facts->arena);
    q.args[q.n_args++] = sql_int(facts->project_id); /* $1 */
    fz_buffer_text(&q.text, "SELECT DISTINCT m.set_key ");
    store_report_image_sets(&q, condition);
    fz_buffer_printf(&q.text, " LIMIT %d", SETS + 1);
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = store_ids_read(facts->store, &q, ret, facts->arena, err);
    store_sql_deinit(&q);
    store_ids_sort(ret);
    return code;
}

static void
set_range(struct store_fact_part *part, const struct store_condition *condition)
{
    enum store_op op = condition->op;
    int64_t value = op == STORE_OP_PRESENT ? 1 : condition->values[0].number;
    bool is_upper = op == STORE_OP_LESS || op == STORE_OP_AT_MOST;
    part->is_range = true;
    /* An unknown time, 0, meets no comparison. */
    part->least = is_upper ? 1 : value + (op == STORE_OP_GREATER && value < INT64_MAX);
    part->most = is_upper ? value - (op == STORE_OP_LESS) : INT64_MAX;
}

static enum fz_code
set_text(struct store_fact_query *facts, const struct store_fact_text *text,
         const struct store_condition *condition, struct store_fact_part *part,
         struct fz_error *err)
{
    const struct store_term_place place = {text->term, STORE_PART_TEXT};
    bool can = false;
    enum fz_code code = store_fact_text_can(facts->store, facts->project_id, text, &can, err);
    if (code != FZ_OK || !can)
        return code;
    part->column = text->name;
    if (condition->op == STORE_OP_PRESENT)
        set_range(part, condition);
    else
        code = store_terms_find(facts->store, facts->project_id, &place, condition, facts->arena,
                                &part->ids, err);
    store_ids_sort(&part->ids);
    return code;
}

/* part->column: that of sealed days; NULL = none. */
static enum fz_code
set_column(struct store_fact_query *facts, const struct store_condition *condition,
           const struct store_ids *sets, struct store_fact_part *part, struct fz_error *err)
{
    const struct store_fact_text *text = store_fact_text_of(condition->field);
    if (text)
        return set_text(facts, text, condition, part, err);
    if (condition->field == STORE_FIELD_CRASHED ||
        (condition->field == STORE_FIELD_RUN && condition->op == STORE_OP_PRESENT)) {
        bool is_run = condition->field == STORE_FIELD_RUN;
        part->column = store_fact_column_names[is_run ? STORE_FACT_RUN : STORE_FACT_CRASHED];
        set_range(part, condition);
    } else if (sets && sets->n <= SETS) {
        part->column = store_fact_column_names[STORE_FACT_IMAGES];
        part->ids = *sets;
    }
    return FZ_OK;
}

enum fz_code
store_fact_query_row(struct store_fact_query *facts, struct store_fact_condition *to,
                     struct fz_error *err)
{
    const struct store_condition *condition = to->source;
    struct store_fact_part part = {.kind = STORE_FACTS_ROW};
    struct store_ids sets = {0};
    bool is_found = false;
    bool has_sets = condition->field == STORE_FIELD_IMAGE || condition->field == STORE_FIELD_UUID;
    enum fz_code code = has_sets ? find_sets(facts, condition, &sets, err) : FZ_OK;
    if (code != FZ_OK || (has_sets && sets.n == 0))
        return code; /* no report has such an image */
    code = add_reports(facts, to, has_sets ? &sets : NULL, &is_found, err);
    if (code != FZ_OK || is_found)
        return code;
    code = set_column(facts, condition, has_sets ? &sets : NULL, &part, err);
    if (part.column)
        part.kind = STORE_FACTS_TEXT;
    facts->has_texts |= part.column != NULL;
    facts->needs_reports |= !part.column;
    to->parts[to->n++] = part;
    return code;
}
