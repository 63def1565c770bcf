/* Which reports a list or a count is about: the conditions of a filter as SQL. */
#include "storage/store_report_filter.h"

#include <string.h>

enum kind { EQUAL, CONTAINED, UUID, TAG };

/* In a condition '?' is the value; '~' is "contains the value", in either case. All texts of the query are constants of
 * this file; whatever a client sends is an argument. */
static const struct field {
    const char *name, *condition;
    enum kind kind;
} fields[STORE_BY_COUNT] = {
    [STORE_BY_STATUS] = {"status", "status = ?", EQUAL},
    [STORE_BY_APP] = {"app", "lower(app_id) = lower(?) OR lower(app_name) = lower(?)", EQUAL},
    [STORE_BY_VERSION] = {"version", "app_version = ?", EQUAL},
    [STORE_BY_BUILD] = {"build", "app_build = ?", EQUAL},
    [STORE_BY_RELEASE] = {"release", "release = ?", EQUAL},
    [STORE_BY_OS] = {"os", "lower(os_name) = lower(?) OR os_version = ?", EQUAL},
    [STORE_BY_OS_VERSION] = {"os_version", "os_version = ?", EQUAL},
    [STORE_BY_OS_BUILD] = {"os_build", "os_build = ?", EQUAL},
    [STORE_BY_DEVICE] = {"device", "device_model = ?", EQUAL},
    [STORE_BY_ARCH] = {"arch", "arch = ?", EQUAL},
    [STORE_BY_SIGNAL] = {"signal", "signal = ?", EQUAL},
    [STORE_BY_MACH] = {"mach", "mach = ?", EQUAL},
    [STORE_BY_CODE] = {"code", "code = ?", EQUAL},
    [STORE_BY_EXCEPTION] = {"exception", "exception = ?", EQUAL},
    [STORE_BY_KIND] = {"kind", "kind = ?", EQUAL},
    [STORE_BY_FORMAT] = {"format", "format = ?", EQUAL},
    [STORE_BY_ENVIRONMENT] = {"environment", "environment = ?", EQUAL},
    [STORE_BY_USER] = {"user", "user_id = ?", EQUAL},
    [STORE_BY_TAG] = {"tag", "tags ~", TAG},
    [STORE_BY_IMAGE] = {"image",
                        "image_set IN (SELECT set_key FROM image_set_items WHERE project_id = $1 "
                        "AND name = ?)",
                        EQUAL},
    [STORE_BY_UUID] = {"uuid",
                       "image_set IN (SELECT set_key FROM image_set_items WHERE project_id = $1 "
                       "AND uuid = ?)",
                       UUID},
    [STORE_BY_FUNCTION] = {"function", "top_function ~", CONTAINED},
    [STORE_BY_FILE] = {"file", "top_file ~", CONTAINED},
    [STORE_BY_Q] = {"q",
                    "id ~ OR app_id ~ OR app_name ~ OR signal ~ OR exception ~ OR reason ~ OR "
                    "top_function ~ OR top_file ~ OR error ~",
                    CONTAINED},
};

const char *
store_report_field_name(enum store_report_field field)
{
    return fields[field].name;
}

static struct sql_value
contained(struct fz_arena *arena, const char *text)
{
    char *pattern = fz_arena_alloc(arena, 2 * strlen(text) + 3);
    if (!pattern)
        return (struct sql_value){.kind = SQL_BAD};
    char *to = pattern;
    *to++ = '%';
    for (const char *c = text; *c; c++) {
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
        else if (*c == '~')
            fz_buffer_printf(&query->text, "%s $%zu ESCAPE '!'", query->like, query->n_args);
        else
            fz_buffer_char(&query->text, *c);
    }
}

static enum fz_code
add_where(struct store_report_query *query, const struct store_report_where *where,
          struct fz_error *err)
{
    const struct field *field = &fields[where->field];
    struct sql_value value = {.kind = SQL_BAD};
    enum fz_code code = FZ_OK;
    switch (field->kind) {
    case EQUAL:
        value = sql_text(where->value);
        break;
    case CONTAINED:
        value = contained(query->arena, where->value);
        break;
    case TAG:
        value = tag(query->arena, where->value);
        break;
    case UUID:
        code = uuid_value(query->arena, where->value, &value, err);
        break;
    }
    if (code == FZ_OK)
        store_report_query_add(query, field->condition, value);
    return code;
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
store_report_query_filter(struct store_report_query *query,
                          const struct store_report_filter *filter, struct fz_error *err)
{
    if (!filter)
        return FZ_OK;
    if (filter->n_where > STORE_WHERE_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%zu filter values, at most %d", filter->n_where,
                       (int)STORE_WHERE_MAX);
    for (size_t i = 0; i < filter->n_where; i++) {
        bool is_first = i == 0 || filter->where[i].group != filter->where[i - 1].group;
        bool is_last =
            i + 1 == filter->n_where || filter->where[i].group != filter->where[i + 1].group;
        fz_buffer_text(&query->text, is_first ? " AND (" : " OR ");
        enum fz_code code = add_where(query, &filter->where[i], err);
        if (code != FZ_OK)
            return code;
        if (is_last)
            fz_buffer_char(&query->text, ')');
    }
    add_times(query, filter);
    return FZ_OK;
}
