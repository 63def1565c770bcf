#include "storage/store_fact_gap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY_IDS = 500 };

static void
append_order(const struct store_fact_want *want, bool is_falling, struct store_sql *q)
{
    char sign = is_falling ? '<' : '>';
    const char *way = is_falling ? "DESC" : "ASC";
    if (want->has_after)
        fz_buffer_printf(&q->text,
                         " AND f.received_ms %c= %" PRId64
                         " AND (f.received_ms, f.report_key) %c (%" PRId64 ", %" PRId64 ")",
                         sign, want->after_ms, sign, want->after_ms, want->after_key);
    if (want->order != STORE_FACTS_ANY_ORDER)
        fz_buffer_printf(&q->text, " ORDER BY f.received_ms %s, f.report_key %s", way, way);
    if (want->limit)
        fz_buffer_printf(&q->text, " LIMIT %zu", want->limit);
}

/* PostgreSQL takes milliseconds to plan a condition with thousands of numbers. */
static bool
has_many_ids(const struct store_fact_query *facts)
{
    for (size_t i = 0; i < facts->n; i++) {
        for (size_t k = 0; k < facts->conditions[i].n; k++) {
            if (facts->conditions[i].parts[k].ids.n > MANY_IDS)
                return true;
        }
    }
    return false;
}

/* Is there a fact in the range at all? */
static enum fz_code
find_any(const struct store_fact_query *facts, const struct store_fact_range *range, bool *ret,
         struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(facts->project_id), sql_int(range->from_ms),
                                     sql_int(range->to_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(facts->store->sql,
                                  "SELECT 1 FROM facts WHERE project_id = $1 AND received_ms >= $2 "
                                  "AND received_ms < $3 LIMIT 1",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    *ret = sql_row(&rows, &code, err);
    return code;
}

enum fz_code
store_fact_gap_open(struct store_fact_gap *gap, const struct store_fact_query *facts,
                    const struct store_fact_want *want, const struct store_fact_range *range,
                    struct fz_error *err)
{
    char names[SQL_INTS][40];
    const char *columns[SQL_INTS + 1] = {NULL};
    struct store_fact_query part = *facts;
    struct store_sql q;
    bool is_any = true;
    enum fz_code code = has_many_ids(facts) ? find_any(facts, range, &is_any, err) : FZ_OK;
    if (code != FZ_OK || !is_any)
        return code;
    part.since_ms = range->from_ms;
    part.until_ms = range->to_ms == INT64_MAX ? 0 : range->to_ms;
    if (!gap->bytes)
        gap->bytes = malloc(want->n_columns * (STORE_FACT_GAP_ROWS + 1) * 8);
    if (!gap->bytes)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < want->n_columns; i++) {
        bool is_of_row = want->columns[i] >= STORE_FACT_RELEASE;
        snprintf(names[i], sizeof(names[i]), is_of_row ? "coalesce(r.%s, 0)" : "f.%s",
                 store_fact_column_names[want->columns[i]]);
        part.needs_reports |= is_of_row;
        columns[i] = names[i];
    }
    store_sql_init(&q, part.store, part.arena);
    store_fact_query_from(&part, &q);
    fz_buffer_text(&q.text, want->counted_only ? " AND f.is_counted = 1" : "");
    fz_buffer_text(&q.text, want->kept_only ? " AND f.report_key > 0" : "");
    append_order(want, range->is_falling, &q);
    code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_ints_open(part.store->sql, columns, fz_buffer_cstr(&q.text), q.args, q.n_args,
                             &gap->ints, err);
    gap->is_open = code == FZ_OK;
    store_sql_deinit(&q);
    return code;
}

size_t
store_fact_gap_read(struct store_fact_gap *gap, const struct store_fact_want *want,
                    struct store_block *ret_columns, uint32_t *ret_at, enum fz_code *code,
                    struct fz_error *err)
{
    size_t n = 0, n_columns = want->n_columns;
    for (int64_t row[SQL_INTS];
         n < STORE_FACT_GAP_ROWS && sql_ints_next(&gap->ints, row, code, err); n++) {
        for (size_t i = 0; i < n_columns; i++) {
            uint8_t *to = gap->bytes + (i * (STORE_FACT_GAP_ROWS + 1) + n) * 8;
            for (int byte = 0; byte < 8; byte++)
                to[byte] = (uint8_t)((uint64_t)row[i] >> (8 * byte));
        }
        ret_at[n] = (uint32_t)n;
    }
    for (size_t i = 0; i < n_columns; i++)
        ret_columns[want->columns[i]] =
            (struct store_block){.data = gap->bytes + i * (STORE_FACT_GAP_ROWS + 1) * 8,
                                 .mask = UINT64_MAX,
                                 .width = 8,
                                 .n = n};
    if (n < STORE_FACT_GAP_ROWS) {
        sql_ints_close(&gap->ints);
        gap->is_open = false;
    }
    return n;
}

void
store_fact_gap_close(struct store_fact_gap *gap)
{
    sql_ints_close(&gap->ints);
    free(gap->bytes);
    gap->bytes = NULL;
    gap->is_open = false;
}
