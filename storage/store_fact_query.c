#include "storage/store_fact_query.h"

#include <inttypes.h>

#include "storage/store_fact_filter.h"
#include "storage/store_fact_texts.h"

enum {
    LISTED_STACKS = 4000, /* more are looked up by the database */
    PROBED_IDS = 500      /* of more, an index is not even tried where there are columns */
};

/* ---- what each field is in facts ---- */

static const struct field_place {
    struct store_term_place places[5];
    bool by_stack; /* functions and files of the stack */
} places[STORE_FIELDS] = {
    [STORE_FIELD_VERSION] = {{{STORE_TERM_VERSION, STORE_PART_TEXT}}, false},
    [STORE_FIELD_BUILD] = {{{STORE_TERM_VERSION, STORE_PART_DETAIL}}, false},
    [STORE_FIELD_OS] = {{{STORE_TERM_OS, STORE_PART_TEXT | STORE_PART_DETAIL | STORE_PART_BOTH}},
                        false},
    [STORE_FIELD_OS_VERSION] = {{{STORE_TERM_OS, STORE_PART_DETAIL}}, false},
    [STORE_FIELD_DEVICE] = {{{STORE_TERM_DEVICE, STORE_PART_TEXT}}, false},
    [STORE_FIELD_ARCH] = {{{STORE_TERM_ARCH, STORE_PART_TEXT}}, false},
    [STORE_FIELD_ENVIRONMENT] = {{{STORE_TERM_ENVIRONMENT, STORE_PART_TEXT}}, false},
    [STORE_FIELD_APP] = {{{STORE_TERM_APP, STORE_PART_TEXT | STORE_PART_DETAIL}}, false},
    [STORE_FIELD_KIND] = {{{STORE_TERM_KIND, STORE_PART_TEXT}}, false},
    [STORE_FIELD_EXCEPTION] = {{{STORE_TERM_EXCEPTION, STORE_PART_TEXT}}, false},
    [STORE_FIELD_SIGNAL] = {{{STORE_TERM_SIGNAL, STORE_PART_TEXT}}, false},
    [STORE_FIELD_FUNCTION] = {{{STORE_TERM_FUNCTION, STORE_PART_TEXT}}, true},
    [STORE_FIELD_FILE] = {{{STORE_TERM_FILE, STORE_PART_TEXT}}, true},
    [STORE_FIELD_REASON] = {{{STORE_TERM_REASON, STORE_PART_TEXT}}, false},
    [STORE_FIELD_TEXT] = {{{STORE_TERM_REASON, STORE_PART_TEXT},
                           {STORE_TERM_EXCEPTION, STORE_PART_TEXT},
                           {STORE_TERM_SIGNAL, STORE_PART_TEXT},
                           {STORE_TERM_APP, STORE_PART_TEXT | STORE_PART_DETAIL}},
                          true},
    [STORE_FIELD_USER] = {{{STORE_TERM_USER, STORE_PART_TEXT}}, false},
    [STORE_FIELD_TAG] = {{{STORE_TERM_TAG, STORE_PART_TEXT}}, false},
};

/* The columns of facts with an index of their own. */
static bool
has_index(enum store_term term)
{
    return term == STORE_TERM_VERSION || term == STORE_TERM_OS || term == STORE_TERM_DEVICE ||
           term == STORE_TERM_USER || term == STORE_TERM_EXCEPTION || term == STORE_TERM_REASON;
}

/* ---- conditions to numbers ---- */

static void
add_part(struct store_fact_condition *to, const struct store_fact_part *part)
{
    /* What nothing has the text of needs no look. */
    if (part->ids.n || part->kind == STORE_FACTS_KNOWN)
        to->parts[to->n++] = *part;
}

/* Append the terms for which the condition holds. */
static enum fz_code
find_terms(struct store_fact_query *facts, const struct store_fact_condition *to,
           const struct store_term_place *place, struct store_ids *ret, struct fz_error *err)
{
    bool is_found =
        to->found && place->parts == STORE_PART_TEXT && store_term_kinds[place->term].is_searched;
    enum fz_code code = is_found ? FZ_OK
                                 : store_terms_find(facts->store, facts->project_id, place,
                                                    to->source, facts->arena, ret, err);
    for (size_t i = 0; code == FZ_OK && is_found && i < to->found[place->term].n; i++)
        code = store_ids_put(ret, to->found[place->term].list[i], facts->arena, err);
    return code;
}

/* A condition about the texts of several fields needs the index of parts once. */
static enum fz_code
find_all(struct store_fact_query *facts, struct store_fact_condition *to, struct fz_error *err)
{
    struct store_ids *found = fz_arena_array(facts->arena, STORE_TERMS, sizeof(*found));
    bool is_found = false;
    if (!found)
        return fz_arena_fail(facts->arena, err);
    enum fz_code code = store_terms_find_all(facts->store, facts->project_id, to->source,
                                             facts->arena, found, &is_found, err);
    to->found = is_found ? found : NULL;
    return code;
}

static enum fz_code
add_term(struct store_fact_query *facts, const struct store_term_place *place,
         struct store_fact_condition *to, struct fz_error *err)
{
    bool is_tag = place->term == STORE_TERM_TAG;
    struct store_fact_part part = {.kind = is_tag ? STORE_FACTS_TAGS : STORE_FACTS_IDS,
                                   .column = store_term_kinds[place->term].column,
                                   .has_index = is_tag || has_index(place->term)};
    if (to->source->op == STORE_OP_PRESENT && place->parts == STORE_PART_TEXT && !is_tag &&
        place->term != STORE_TERM_VERSION) {
        part.kind = STORE_FACTS_KNOWN;
        part.has_index = false; /* what most facts have is found by reading them all */
        add_part(to, &part);
        return FZ_OK;
    }
    enum fz_code code = find_terms(facts, to, place, &part.ids, err);
    if (code == FZ_OK)
        add_part(to, &part);
    return code;
}

static enum fz_code
add_stacks(struct store_fact_query *facts, struct store_fact_condition *to, struct fz_error *err)
{
    static const struct store_term_place function = {STORE_TERM_FUNCTION, STORE_PART_TEXT};
    static const struct store_term_place file = {STORE_TERM_FILE, STORE_PART_TEXT};
    enum store_field field = to->source->field;
    struct store_fact_part terms = {.kind = STORE_FACTS_STACKS, .column = "stack_key"},
                           stacks = terms;
    stacks.kind = STORE_FACTS_IDS;
    stacks.has_index = true;
    enum fz_code code = FZ_OK;
    if (field != STORE_FIELD_FILE)
        code = find_terms(facts, to, &function, &terms.ids, err);
    if (code == FZ_OK && field != STORE_FIELD_FUNCTION)
        code = find_terms(facts, to, &file, &terms.ids, err);
    store_ids_sort(&terms.ids);
    if (code == FZ_OK)
        code = store_stacks_find(facts->store, &terms.ids, facts->arena, &stacks.ids, err);
    if (code == FZ_OK)
        terms.stacks = stacks.ids;
    if (code == FZ_OK)
        add_part(to, stacks.ids.n > LISTED_STACKS ? &terms : &stacks);
    return code;
}

static enum fz_code
add_numbers(struct store_fact_query *facts, struct store_fact_condition *to, const char *column,
            struct fz_error *err)
{
    struct store_fact_part part = {.kind = STORE_FACTS_IDS,
                                   .column = column,
                                   .has_index = to->source->field == STORE_FIELD_VARIANT};
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < to->source->n_values; i++)
        code = store_ids_put(&part.ids, to->source->values[i].number, facts->arena, err);
    store_ids_sort(&part.ids);
    if (code == FZ_OK)
        add_part(to, &part);
    return code;
}

/* Titles of issues are searched with the texts of their reports. */
static enum fz_code
add_titles(struct store_fact_query *facts, struct store_fact_condition *to, struct fz_error *err)
{
    struct store_fact_part part = {
        .kind = STORE_FACTS_IDS, .column = "variant_id", .has_index = true};
    enum fz_code code = store_title_variants(facts->store, facts->project_id, to->source,
                                             facts->arena, &part.ids, err);
    if (code == FZ_OK)
        add_part(to, &part);
    return code;
}

static enum fz_code
resolve(struct store_fact_query *facts, struct store_fact_condition *to, struct fz_error *err)
{
    enum store_field field = to->source->field;
    const struct field_place *place = &places[field];
    enum fz_code code = FZ_OK;
    if (field == STORE_FIELD_VARIANT)
        return add_numbers(facts, to, "variant_id", err);
    if (field == STORE_FIELD_STATUS && !facts->for_reports)
        return add_numbers(facts, to, "status", err);
    if (!place->places[0].term)
        return store_fact_query_row(facts, to, err);
    if (field == STORE_FIELD_TEXT)
        code = find_all(facts, to, err);
    if (code == FZ_OK && place->by_stack)
        code = add_stacks(facts, to, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(place->places); i++) {
        enum store_term term = place->places[i].term;
        if (term && term != STORE_TERM_FUNCTION && term != STORE_TERM_FILE)
            code = add_term(facts, &place->places[i], to, err);
    }
    if (code == FZ_OK && field == STORE_FIELD_TEXT)
        code = add_titles(facts, to, err);
    return code;
}

/* A condition about the time narrows the range that is read. */
static void
narrow(struct store_fact_query *facts, const struct store_condition *condition)
{
    int64_t value = condition->values[0].number;
    bool is_upper = condition->op == STORE_OP_LESS || condition->op == STORE_OP_AT_MOST;
    /* received <= x, and not received > x, are received < x + 1. */
    if (condition->op == STORE_OP_AT_MOST || condition->op == STORE_OP_GREATER)
        value++;
    if (is_upper != condition->is_negated) {
        if (!facts->until_ms || value < facts->until_ms)
            facts->until_ms = value;
    } else if (value > facts->since_ms) {
        facts->since_ms = value;
    }
}

static enum fz_code
add_issues(struct store_fact_query *facts, const struct store_query *query, struct fz_error *err)
{
    struct store_ids variants = {0};
    if (!facts->for_reports || !store_query_is_of_issues(query))
        return FZ_OK;
    enum fz_code code =
        store_issue_variants(facts->store, facts->project_id, query, facts->arena, &variants, err);
    return code == FZ_OK ? store_fact_query_variants(facts, &variants, err) : code;
}

static enum fz_code
add_ids(struct store_fact_query *facts, const char *column, const struct store_ids *ids,
        struct fz_error *err)
{
    if (facts->n == facts->room)
        return fz_fail(err, FZ_E_INTERNAL, "a query with %zu conditions", facts->n);
    struct store_fact_condition *to = &facts->conditions[facts->n];
    const struct store_fact_part part = {
        .kind = STORE_FACTS_IDS, .column = column, .has_index = true, .ids = *ids};
    facts->is_empty |= ids->n == 0;
    *to = (struct store_fact_condition){.n = 0};
    add_part(to, &part);
    if (to->n == 0)
        return FZ_OK;
    /* Before the others: one issue is a small part of all facts as a rule. */
    const struct store_fact_condition own = *to;
    *to = facts->conditions[0];
    facts->conditions[0] = own;
    facts->n++;
    return FZ_OK;
}

enum fz_code
store_fact_query_variants(struct store_fact_query *facts, const struct store_ids *variants,
                          struct fz_error *err)
{
    return add_ids(facts, "variant_id", variants, err);
}

enum fz_code
store_fact_query_versions(struct store_fact_query *facts, const struct store_ids *versions,
                          struct fz_error *err)
{
    return add_ids(facts, "version_id", versions, err);
}

enum fz_code
store_fact_query_make(struct store *store, int64_t project_id, const struct store_query *query,
                      bool for_reports, struct fz_arena *arena, struct store_fact_query *ret,
                      struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    *ret = (struct store_fact_query){.store = store,
                                     .project_id = project_id,
                                     .since_ms = query->since_ms,
                                     .until_ms = query->until_ms,
                                     .for_reports = for_reports,
                                     .arena = arena};
    /* Two more: for variants. */
    ret->room = query->n + 2;
    ret->conditions = fz_arena_array(arena, ret->room, sizeof(*ret->conditions));
    if (!ret->conditions)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; code == FZ_OK && i < query->n; i++) {
        const struct store_condition *condition = &query->conditions[i];
        struct store_fact_condition *to = &ret->conditions[ret->n];
        if (store_field_row(condition->field)->is_of_issue)
            continue;
        if (condition->field == STORE_FIELD_RECEIVED) {
            narrow(ret, condition);
            continue;
        }
        *to =
            (struct store_fact_condition){.is_negated = condition->is_negated, .source = condition};
        code = resolve(ret, to, err);
        /* A text that nothing has: no report meets the condition, or all meet its opposite. */
        ret->is_empty |= to->n == 0 && !to->is_negated;
        ret->n += to->n > 0;
    }
    return code == FZ_OK ? add_issues(ret, query, err) : code;
}

bool
store_field_is_fact(enum store_field field)
{
    return places[field].places[0].term || field == STORE_FIELD_VARIANT ||
           store_fact_text_of(field) || store_field_row(field)->is_of_issue;
}

bool
store_fact_query_has_any(const struct store_fact_query *facts)
{
    return facts->n || facts->since_ms || facts->until_ms || facts->is_empty;
}

/* ---- as SQL ---- */

static void
append_range(const struct store_fact_query *facts, struct store_sql *q, const char *column)
{
    if (facts->since_ms)
        fz_buffer_printf(&q->text, " AND %s >= %" PRId64, column, facts->since_ms);
    if (facts->until_ms)
        fz_buffer_printf(&q->text, " AND %s < %" PRId64, column, facts->until_ms);
}

static void
append_tags(const struct store_fact_query *facts, struct store_sql *q,
            const struct store_fact_part *part)
{
    if (part == facts->driver) {
        fz_buffer_text(&q->text, "(f.received_ms, f.report_key) IN (SELECT g.received_ms, "
                                 "g.report_key FROM fact_tags g WHERE g.term_id");
        store_sql_in(q, &part->ids);
        append_range(facts, q, "g.received_ms");
    } else {
        fz_buffer_text(&q->text, "EXISTS (SELECT 1 FROM fact_tags g WHERE g.term_id");
        store_sql_in(q, &part->ids);
        fz_buffer_text(&q->text, " AND g.received_ms = f.received_ms AND g.report_key = "
                                 "f.report_key");
        /* PostgreSQL may read all that have the tag into a table: those of this time are enough. */
        append_range(facts, q, "g.received_ms");
    }
    fz_buffer_char(&q->text, ')');
}

static void
append_part(const struct store_fact_query *facts, struct store_sql *q,
            const struct store_fact_part *part, const struct store_condition *source)
{
    const char *no_index = part == facts->driver ? "" : q->driver->no_index;
    switch (part->kind) {
    case STORE_FACTS_IDS:
        fz_buffer_printf(&q->text, "%sf.%s", no_index, part->column);
        store_sql_in(q, &part->ids);
        break;
    case STORE_FACTS_STACKS:
        fz_buffer_printf(&q->text,
                         "%sf.stack_key IN (SELECT s.stack_key FROM stack_terms s WHERE "
                         "s.term_id",
                         no_index);
        store_sql_in(q, &part->ids);
        fz_buffer_char(&q->text, ')');
        break;
    case STORE_FACTS_TAGS:
        append_tags(facts, q, part);
        break;
    case STORE_FACTS_KNOWN:
        fz_buffer_printf(&q->text, "%sf.%s > 0", no_index, part->column);
        break;
    case STORE_FACTS_TEXT:
        /* Of what a function gives, PostgreSQL expects one row of 200 and looks each fact up; of this, half of all, which a hash
         * or a merge joins in half of the time. */
        fz_buffer_text(&q->text, "CASE WHEN TRUE");
        store_report_condition(q, source, "r.");
        fz_buffer_text(&q->text, " THEN TRUE ELSE FALSE END");
        break;
    case STORE_FACTS_ROW:
        fz_buffer_text(&q->text, "TRUE");
        store_report_condition(q, source, "r.");
        break;
    }
}

static void
append_condition(const struct store_fact_query *facts, struct store_sql *q,
                 const struct store_fact_condition *condition)
{
    /* store_report_condition() negates by itself. */
    bool is_row =
        condition->parts[0].kind == STORE_FACTS_ROW || condition->parts[0].kind == STORE_FACTS_TEXT;
    fz_buffer_text(&q->text, condition->is_negated && !is_row ? " AND NOT (" : " AND (");
    for (size_t i = 0; i < condition->n; i++) {
        fz_buffer_text(&q->text, i ? " OR " : "");
        append_part(facts, q, &condition->parts[i], condition->source);
    }
    fz_buffer_char(&q->text, ')');
}

/*
 * The rows of reports, too. In a range of time those are read by that range as well: PostgreSQL joins both by a hash, four times as
 * fast as it looks up the row of each fact in the partitions of reports.
 */
static void
append_join(const struct store_fact_query *facts, struct store_sql *q)
{
    fz_buffer_printf(&q->text, " %sJOIN reports r ON r.key = f.report_key",
                     facts->for_reports ? "" : "LEFT ");
    if (facts->driver)
        return;
    store_sql_add(q, " AND r.project_id = ? AND r.received_ms = f.received_ms AND r.transient = 0",
                  sql_int(facts->project_id));
    append_range(facts, q, "r.received_ms");
}

void
store_fact_query_from(const struct store_fact_query *facts, struct store_sql *q)
{
    const struct store_fact_part *driver = facts->driver;
    bool by_key = !driver || driver->kind == STORE_FACTS_TAGS;
    bool joins = facts->needs_reports || facts->has_texts;
    fz_buffer_text(&q->text, " FROM facts f");
    if (joins)
        append_join(facts, q);
    fz_buffer_printf(&q->text, " WHERE %sf.project_id = ", by_key ? "" : q->driver->no_index);
    store_sql_arg(q, sql_int(facts->project_id));
    append_range(facts, q, "f.received_ms");
    if (facts->for_reports)
        fz_buffer_text(&q->text, joins ? " AND r.transient = 0" : " AND f.report_key > 0");
    /* The index has only what is known, and is used by a query that says so. */
    if (driver && driver->kind == STORE_FACTS_IDS && strcmp(driver->column, "variant_id") != 0)
        fz_buffer_printf(&q->text, " AND f.%s > 0", driver->column);
    for (size_t i = 0; i < facts->n; i++)
        append_condition(facts, q, &facts->conditions[i]);
}

/* ---- which index ---- */

static enum fz_code
count_part(struct store_fact_query *facts, const struct store_fact_part *part, int64_t most,
           int64_t *ret, struct fz_error *err)
{
    struct store_sql q;
    store_sql_init(&q, facts->store, facts->arena);
    if (part->kind == STORE_FACTS_TAGS) {
        fz_buffer_text(&q.text, "SELECT count(*) FROM (SELECT 1 FROM fact_tags f WHERE f.term_id");
        store_sql_in(&q, &part->ids);
    } else {
        fz_buffer_printf(&q.text, "SELECT count(*) FROM (SELECT 1 FROM facts f WHERE f.%s",
                         part->column);
        store_sql_in(&q, &part->ids);
        if (strcmp(part->column, "variant_id") != 0)
            fz_buffer_printf(&q.text, " AND f.%s > 0", part->column);
    }
    append_range(facts, &q, "f.received_ms");
    fz_buffer_printf(&q.text, " LIMIT %" PRId64 ") AS found", most);
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = store_sql_done(&q, err);
    if (code == FZ_OK)
        code = sql_query_once(facts->store->sql, fz_buffer_cstr(&q.text), q.args, q.n_args, &rows,
                              err);
    if (sql_row(&rows, &code, err))
        *ret = sql_col_int(&rows, 0);
    store_sql_deinit(&q);
    return code;
}

enum fz_code
store_fact_query_plan(struct store_fact_query *facts, struct fz_error *err)
{
    int64_t least = STORE_FACTS_PROBED;
    bool can_columns = store_fact_filter_can(facts);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < facts->n; i++) {
        const struct store_fact_condition *condition = &facts->conditions[i];
        int64_t n = least;
        if (condition->n != 1 || condition->is_negated || !condition->parts[0].has_index ||
            (condition->parts[0].ids.n > PROBED_IDS && can_columns))
            continue;
        code = count_part(facts, &condition->parts[0], least, &n, err);
        if (code == FZ_OK && n < least) {
            least = n;
            facts->driver = &condition->parts[0];
        }
    }
    return code;
}
