/*
 * Conditions about what only the rows of reports say.
 *
 * An id is looked up first: facts have the keys of reports. Of some texts sealed days have columns. Whatever else there is joins
 * the facts with the rows.
 */
#include "storage/store_fact_query.h"
#include "storage/store_fact_texts.h"

enum { IDS = 500 /* reports that are looked up by their ids */ };

/* Few reports have ids that begin so: their keys and times are looked up. *ret_found = false: it is not about these, or many do. */
static enum fz_code
add_reports(struct store_fact_query *facts, struct store_fact_condition *to, bool *ret_found,
            struct fz_error *err)
{
    struct store_fact_part part = {.kind = STORE_FACTS_IDS, .column = "report_key"};
    int64_t first_ms = INT64_MAX, last_ms = 0;
    struct store_sql q;
    store_sql_init(&q, facts->store, facts->arena);
    fz_buffer_text(&q.text, "SELECT r.key, r.received_ms FROM (SELECT k.key ");
    /* The project is $1. */
    q.args[q.n_args++] = sql_int(facts->project_id);
    bool found = store_report_ids(&q, to->source);
    fz_buffer_printf(&q.text, " LIMIT %d) AS few JOIN reports r ON r.key = few.key", IDS + 1);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = found ? store_sql_done(&q, err) : FZ_OK;
    if (code == FZ_OK && found)
        code = sql_query_once(facts->store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows,
                              err);
    while (found && sql_row(&rows, &code, err)) {
        int64_t received_ms = sql_col_int(&rows, 1);
        first_ms = received_ms < first_ms ? received_ms : first_ms;
        last_ms = received_ms > last_ms ? received_ms : last_ms;
        code = store_ids_put(&part.ids, sql_col_int(&rows, 0), facts->arena, err);
    }
    store_sql_deinit(&q);
    store_ids_sort(&part.ids);
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

enum fz_code
store_fact_query_row(struct store_fact_query *facts, struct store_fact_condition *to,
                     struct fz_error *err)
{
    const struct store_fact_text *text = store_fact_text_of(to->source->field);
    struct store_fact_part part = {.kind = STORE_FACTS_ROW};
    bool has_column = false, is_found = false;
    if (to->source->field == STORE_FIELD_ID) {
        enum fz_code found = add_reports(facts, to, &is_found, err);
        if (found != FZ_OK || is_found)
            return found;
    }
    enum fz_code code =
        text ? store_fact_text_can(facts->store, facts->project_id, text, &has_column, err) : FZ_OK;
    if (code == FZ_OK && has_column) {
        const struct store_term_place place = {text->term, STORE_PART_TEXT};
        part.kind = STORE_FACTS_TEXT;
        part.column = text->name;
        part.is_present = to->source->op == STORE_OP_PRESENT;
        if (!part.is_present)
            code = store_terms_find(facts->store, facts->project_id, &place, to->source,
                                    facts->arena, &part.ids, err);
        store_ids_sort(&part.ids);
    }
    facts->has_texts |= has_column;
    facts->needs_reports |= !has_column;
    to->parts[to->n++] = part;
    return code;
}
