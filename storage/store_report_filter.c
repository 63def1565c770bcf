/*
 * Which reports a list or a count is about: the conditions of a filter as SQL.
 *
 * All texts of a query are constants or names of columns; whatever a client sends is an argument.
 */
#include "storage/store_report_filter.h"

#include <stdlib.h>
#include <string.h>

/* Columns of storage's own that filters look at. */
static const struct fz_column own_columns[] = {
    {.name = "status",
     .filters = {{"status", FZ_MATCH_EQUAL}},
     .choices = "queued, symbolicated, partial, unsymbolicated, failed"},
    {.name = "format", .filters = {{"format", FZ_MATCH_EQUAL}}},
    {.name = "id", .filters = {{"q", FZ_MATCH_CONTAINS}}},
    {.name = "error", .filters = {{"q", FZ_MATCH_CONTAINS}}},
};

/* Filters that look at the images of a report, which are rows of their own. */
static const char by_image[] = "image", by_uuid[] = "uuid";

/* ---- which filters there are ---- */

static size_t
find_filter(const struct store *store, const char *name)
{
    size_t at = 0;
    while (at < store->n_filters && strcmp(store->filters[at].name, name) != 0)
        at++;
    return at;
}

static void
add_filter(struct store *store, const char *name, enum fz_match match, const char *choices)
{
    size_t at = find_filter(store, name);
    /* Several columns may have the same filter. */
    if (at < store->n_filters)
        return;
    store->filters[at] = (struct store_filter){name, match, choices};
    store->n_filters++;
}

static void
add_filters_of(struct store *store, const struct fz_column *column)
{
    for (size_t i = 0; i < FZ_COLUMN_FILTERS && column->filters[i].name; i++)
        add_filter(store, column->filters[i].name, column->filters[i].match, column->choices);
}

enum fz_code
store_make_filters(struct store *store, struct fz_error *err)
{
    /* Two for image and uuid, which are not columns. */
    size_t most = 2 + FZ_COLUMN_FILTERS * (FZ_ARRAY_LEN(own_columns) + store->columns.n);
    store->n_filters = 0;
    store->filters = calloc(most, sizeof(*store->filters));
    if (!store->filters)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < FZ_ARRAY_LEN(own_columns); i++)
        add_filters_of(store, &own_columns[i]);
    for (size_t i = 0; i < store->columns.n; i++)
        add_filters_of(store, &store->columns.list[i]);
    add_filter(store, by_image, FZ_MATCH_EQUAL, NULL);
    add_filter(store, by_uuid, FZ_MATCH_EQUAL, NULL);
    return FZ_OK;
}

const struct store_filter *
store_report_filters(const struct store *store, size_t *ret_n)
{
    *ret_n = store->n_filters;
    return store->filters;
}

/* ---- conditions ---- */

static struct sql_value
contained(struct fz_arena *arena, const char *text)
{
    char *pattern = fz_arena_alloc(arena, 2 * strlen(text) + 3);
    if (!pattern)
        return (struct sql_value){.kind = SQL_BAD};
    char *to = pattern;
    *to++ = '%';
    for (const char *c = text; *c; c++) {
        /* The wildcards of LIKE, and the ESCAPE character of these queries. */
        if (*c == '%' || *c == '_' || *c == '!')
            *to++ = '!';
        *to++ = *c;
    }
    *to = '%';
    return sql_text(pattern);
}

/* "name:value" and "name" as a part of the column: a whole line, or its start. */
static struct sql_value
tag(struct fz_arena *arena, const char *text)
{
    /* The first colon: values contain them, names of tags do not. */
    const char *colon = strchr(text, ':');
    const char *line =
        colon ? fz_arena_printf(arena, "\n%.*s=%s\n", (int)(colon - text), text, colon + 1)
              : fz_arena_printf(arena, "\n%s=", text);
    return line ? contained(arena, line) : (struct sql_value){.kind = SQL_BAD};
}

static enum fz_code
uuid_value(struct fz_arena *arena, const char *text, struct sql_value *ret, struct fz_error *err)
{
    struct fz_uuid uuid;
    if (!fz_uuid_parse(fz_span_cstr(text), &uuid))
        return fz_fail(err, FZ_E_MALFORMED, "uuid: '%.64s' is not a UUID", text);
    uint8_t *bytes = fz_arena_alloc(arena, sizeof(uuid.bytes));
    if (!bytes)
        return fz_arena_fail(arena, err);
    memcpy(bytes, uuid.bytes, sizeof(uuid.bytes));
    *ret = sql_blob(fz_span_make(bytes, sizeof(uuid.bytes)));
    return FZ_OK;
}

void
store_report_query_add(struct store_report_query *query, const char *condition,
                       struct sql_value value)
{
    query->args[query->n_args++] = value;
    for (const char *c = condition; *c; c++) {
        if (*c == '?')
            fz_buffer_printf(&query->text, "$%zu", query->n_args);
        else
            fz_buffer_char(&query->text, *c);
    }
}

/* Each column that names the filter, as alternatives; the value is the newest argument. */
static void
add_column(struct store_report_query *query, const struct fz_column *column, const char *filter,
           bool *any)
{
    for (size_t i = 0; i < FZ_COLUMN_FILTERS && column->filters[i].name; i++) {
        if (strcmp(column->filters[i].name, filter) != 0)
            continue;
        fz_buffer_text(&query->text, *any ? " OR " : "");
        *any = true;
        switch (column->filters[i].match) {
        case FZ_MATCH_EQUAL:
            fz_buffer_printf(&query->text, "%s = $%zu", column->name, query->n_args);
            break;
        case FZ_MATCH_ANY_CASE:
            fz_buffer_printf(&query->text, "lower(%s) = lower($%zu)", column->name, query->n_args);
            break;
        case FZ_MATCH_CONTAINS:
        case FZ_MATCH_TAG:
            fz_buffer_printf(&query->text, "%s %s $%zu ESCAPE '!'", column->name, query->like,
                             query->n_args);
            break;
        }
    }
}

static void
add_columns(struct store_report_query *query, const struct store *store, const char *filter)
{
    bool any = false;
    for (size_t i = 0; i < FZ_ARRAY_LEN(own_columns); i++)
        add_column(query, &own_columns[i], filter, &any);
    for (size_t i = 0; i < store->columns.n; i++)
        add_column(query, &store->columns.list[i], filter, &any);
}

static enum fz_code
add_where(struct store_report_query *query, const struct store *store,
          const struct store_report_where *where, struct fz_error *err)
{
    size_t at = find_filter(store, where->filter);
    struct sql_value value = sql_text(where->value);
    enum fz_code code = FZ_OK;
    if (at == store->n_filters)
        return fz_fail(err, FZ_E_MALFORMED, "there is no filter '%.64s'", where->filter);
    if (strcmp(where->filter, by_uuid) == 0)
        code = uuid_value(query->arena, where->value, &value, err);
    else if (store->filters[at].match == FZ_MATCH_TAG)
        /* Tags of a report are one text, so a tag is a search in it. */
        value = tag(query->arena, where->value);
    else if (store->filters[at].match == FZ_MATCH_CONTAINS)
        value = contained(query->arena, where->value);
    if (code != FZ_OK)
        return code;
    query->args[query->n_args++] = value;
    if (strcmp(where->filter, by_uuid) == 0 || strcmp(where->filter, by_image) == 0)
        fz_buffer_printf(&query->text,
                         "image_set IN (SELECT set_key FROM image_set_items WHERE project_id = $1 "
                         "AND %s = $%zu)",
                         value.kind == SQL_BLOB ? "uuid" : "name", query->n_args);
    else
        add_columns(query, store, where->filter);
    return FZ_OK;
}

static void
add_times(struct store_report_query *query, const struct store_report_filter *filter)
{
    if (filter->since_ms)
        store_report_query_add(query, " AND received_ms >= ?", sql_int(filter->since_ms));
    if (filter->until_ms)
        store_report_query_add(query, " AND received_ms < ?", sql_int(filter->until_ms));
    if (filter->crashed_since_ms)
        store_report_query_add(query, " AND timestamp_ms >= ?", sql_int(filter->crashed_since_ms));
    if (filter->crashed_until_ms)
        store_report_query_add(query, " AND timestamp_ms > 0 AND timestamp_ms < ?",
                               sql_int(filter->crashed_until_ms));
}

enum fz_code
store_report_query_filter(struct store_report_query *query, const struct store *store,
                          const struct store_report_filter *filter, struct fz_error *err)
{
    if (!filter)
        return FZ_OK;
    /* Each is an argument, of which a query has SQL_MAX_PARAMS at most. */
    if (filter->n_where > STORE_WHERE_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%zu filter values, at most %d", filter->n_where,
                       (int)STORE_WHERE_MAX);
    for (size_t i = 0; i < filter->n_where; i++) {
        bool is_first = i == 0 || filter->where[i].group != filter->where[i - 1].group;
        bool is_last =
            i + 1 == filter->n_where || filter->where[i].group != filter->where[i + 1].group;
        /* Values of one filter are alternatives, filters among each other conditions. */
        fz_buffer_text(&query->text, is_first ? " AND (" : " OR ");
        enum fz_code code = add_where(query, store, &filter->where[i], err);
        if (code != FZ_OK)
            return code;
        if (is_last)
            fz_buffer_char(&query->text, ')');
    }
    add_times(query, filter);
    return FZ_OK;
}
