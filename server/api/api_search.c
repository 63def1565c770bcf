#include "server/api/api_search.h"

#include <string.h>

#include "base/time.h"
#include "server/api/api_query.h"
#include "server/query/query.h"

enum { PARAMETERS = 64 };

static enum fz_code
check_names(const struct http_request *request, const char *others, struct fz_error *err)
{
    const char *name;
    for (size_t i = 0; (name = http_query_name(request, i)) != NULL; i++) {
        /* project and key are read before the handler, for the token and its project. */
        if (query_is_parameter(name) || api_is_choice(others, name) ||
            api_is_choice("query, project, key", name))
            continue;
        return fz_fail(err, FZ_E_MALFORMED,
                       "unknown parameter '%.40s'; /api/v1/openapi.json lists the known ones",
                       name);
    }
    return FZ_OK;
}

static enum fz_code
add_parameters(struct api_call *call, const char *others, struct store_query *query,
               struct fz_error *err)
{
    struct query_parameter list[PARAMETERS];
    const char *name;
    size_t n = 0;
    for (size_t i = 0; (name = http_query_name(call->request, i)) != NULL; i++) {
        /* "format" is a filter, too, where a route has no formats of its own. */
        if (!query_is_parameter(name) || api_is_choice(others, name))
            continue;
        if (n == PARAMETERS)
            return fz_fail(err, FZ_E_MALFORMED, "more than %d filters", (int)PARAMETERS);
        list[n++] = (struct query_parameter){name, http_query_value(call->request, i)};
    }
    return query_add_parameters(query, list, n, call->arena, err);
}

enum fz_code
api_search_read(struct api_call *call, const char *others, struct store_query *ret,
                struct fz_error *err)
{
    const char *text = http_query(call->request, "query");
    struct store_query query;
    enum fz_code code = check_names(call->request, others, err);
    if (code == FZ_OK)
        code =
            query_parse(fz_span_cstr(text ? text : ""), fz_time_now_ms(), call->arena, &query, err);
    if (code == FZ_OK)
        code = add_parameters(call, others, &query, err);
    if (code == FZ_OK)
        *ret = query;
    return code;
}

enum fz_code
api_search_of_issue(struct api_call *call, int64_t number, struct store_query *query,
                    struct fz_error *err)
{
    struct store_condition *conditions =
        fz_arena_array(call->arena, query->n + 1, sizeof(*conditions));
    struct store_query_value *value = fz_arena_alloc(call->arena, sizeof(*value));
    if (!conditions || !value)
        return fz_arena_fail(call->arena, err);
    *value = (struct store_query_value){.number = number};
    for (size_t i = 0; i < query->n; i++)
        conditions[i] = query->conditions[i];
    conditions[query->n++] = (struct store_condition){
        .field = STORE_FIELD_ISSUE, .op = STORE_OP_EQUAL, .values = value, .n_values = 1};
    query->conditions = conditions;
    return FZ_OK;
}

/* The key of the first "key:value" in a text; NULL: there is none. */
static const char *
find_key(const char *text)
{
    while (*text) {
        text += strspn(text, " \t");
        text += *text == '-';
        size_t len = strcspn(text, " \t"), key = strcspn(text, ": \t");
        enum store_field field =
            key + 1 < len ? store_field_find(fz_span_make(text, key)) : STORE_FIELDS;
        if (field < STORE_FIELDS)
            return store_field_row(field)->name;
        if (key + 1 < len && key > 4 && strncmp(text, "tag.", 4) == 0)
            return "tag.NAME";
        text += len;
    }
    return NULL;
}

void
api_search_write_notes(struct api_call *call, struct json_write *w)
{
    const char *name, *key = NULL;
    for (size_t i = 0; !key && (name = http_query_name(call->request, i)) != NULL; i++) {
        const char *value = http_query_value(call->request, i);
        if (strcmp(name, "q") == 0 && value)
            key = find_key(value);
    }
    const char *note =
        key ? fz_arena_printf(call->arena,
                              "q is searched for as it is; conditions are read from query: "
                              "query=%s:VALUE",
                              key)
            : NULL;
    if (!note)
        return;
    json_write_open(w, "notes", '[');
    json_write_text(w, NULL, note);
    json_write_close(w, ']');
}
