/* Saved filters of the list of issues, which the users of a project share. */
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_session.h"
#include "server/query/query.h"
#include "storage/store_filters.h"

enum { NAME_MAX_BYTES = 100, QUERY_MAX_BYTES = 2000, WORD_MAX = 40 };

/* ---- out ------------------------------------------------------------------------------------ */

static void
write_filter(struct json_write *w, const struct store_filter *filter)
{
    json_write_i64(w, "id", filter->id);
    json_write_text(w, "name", filter->name);
    json_write_text(w, "query", filter->query);
    if (filter->since)
        json_write_text(w, "since", filter->since);
    if (filter->until)
        json_write_text(w, "until", filter->until);
    if (filter->sort)
        json_write_text(w, "sort", filter->sort);
    json_write_text(w, "by", filter->actor);
    json_write_time(w, "created", filter->created_ms);
}

enum fz_code
api_filter_list(struct api_call *call, struct fz_error *err)
{
    struct store_filter *list = NULL;
    size_t n = 0;
    enum fz_code code =
        store_filter_list(call->store, call->project_id, call->arena, &list, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "filters", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(&w, NULL, '{');
        write_filter(&w, &list[i]);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

static enum fz_code
answer(struct api_call *call, int status, int64_t id, struct fz_error *err)
{
    struct store_filter filter;
    enum fz_code code =
        store_filter_get(call->store, call->project_id, id, call->arena, &filter, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    write_filter(&w, &filter);
    return api_answer(call, status, &w, '}', err);
}

/* ---- in ------------------------------------------------------------------------------------- */

static enum fz_code
wrong(struct api_call *call, const char *member, const char *what, struct fz_error *err)
{
    call->detail = api_path_detail(call, member, -1);
    return fz_fail(err, FZ_E_MALFORMED, "%s: %s", member, what);
}

static enum fz_code
read_name(struct api_call *call, const json_t *value, const char **ret, struct fz_error *err)
{
    const char *text = json_string_value(value);
    const struct fz_span name = text ? fz_text_trim(fz_span_cstr(text)) : (struct fz_span){0};
    bool has_control = false;
    for (size_t i = 0; i < name.len; i++)
        has_control = has_control || name.data[i] < 0x20 || name.data[i] == 0x7f;
    if (name.len == 0 || name.len > NAME_MAX_BYTES || has_control)
        return wrong(call, "name", "not a text of 1 to 100 bytes on one line", err);
    *ret = fz_arena_text(call->arena, name);
    return *ret ? FZ_OK : fz_arena_fail(call->arena, err);
}

static enum fz_code
read_query(struct api_call *call, const json_t *value, const char **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    const char *text = json_string_value(value);
    struct store_query query;
    if (!text || strlen(text) > QUERY_MAX_BYTES)
        return wrong(call, "query", "not a text of at most 2000 bytes", err);
    enum fz_code code = query_parse(fz_span_cstr(text), fz_time_now_ms(), &arena, &query, err);
    if (code == FZ_E_MALFORMED)
        /* Where in the query: its bytes are those of the value, not of the body. */
        call->detail = api_path_detail(call, "query", err->offset);
    else if (code == FZ_OK)
        *ret = text;
    return code;
}

/* What the page has in its address: "14d", "2026-11-20", "last_seen". null: none. */
static enum fz_code
read_word(struct api_call *call, const json_t *root, const char *member, const char **ret,
          struct fz_error *err)
{
    const json_t *value = json_object_get(root, member);
    const char *text = json_string_value(value);
    if (!value)
        return FZ_OK;
    if (!json_is_null(value) &&
        (!text || strlen(text) > WORD_MAX ||
         text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.+-")]))
        return wrong(call, member, "not null or a text of at most 40 letters, digits and _ : . + -",
                     err);
    *ret = text && *text ? text : NULL;
    return FZ_OK;
}

/* Members that are there; the others stay as they are. Texts are of `root` and the call's arena. */
static enum fz_code
read_members(struct api_call *call, json_t *root, struct store_filter *ret, struct fz_error *err)
{
    static const char known[] = "name, query, since, until, sort";
    json_t *value;
    const char *key;
    enum fz_code code = FZ_OK;
    if (!json_is_object(root) || json_object_size(root) == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the body is not an object with one of %s", known);
    json_object_foreach(root, key, value)
    {
        if (!api_is_choice(known, key))
            return fz_fail(err, FZ_E_MALFORMED, "unknown member '%.40s'; known: %s", key, known);
    }
    if (json_object_get(root, "name"))
        code = read_name(call, json_object_get(root, "name"), &ret->name, err);
    if (code == FZ_OK && json_object_get(root, "query"))
        code = read_query(call, json_object_get(root, "query"), &ret->query, err);
    if (code == FZ_OK)
        code = read_word(call, root, "since", &ret->since, err);
    if (code == FZ_OK)
        code = read_word(call, root, "until", &ret->until, err);
    if (code == FZ_OK)
        code = read_word(call, root, "sort", &ret->sort, err);
    return code;
}

static enum fz_code
read_body(struct api_call *call, json_t **ret, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    const struct json_scan_limits scan = {.depth = limits->json_depth,
                                          .output_bytes = 2 * limits->json_bytes};
    return json_scan_load(http_body(call->request), &scan, NULL, ret, err);
}

/* 0: no number, which no filter has. */
static int64_t
asked_id(const struct api_call *call)
{
    const char *text = http_param(call->request, "id");
    int64_t number;
    return text && fz_text_i64(fz_span_cstr(text), &number) && number > 0 ? number : 0;
}

enum fz_code
api_filter_post(struct api_call *call, struct fz_error *err)
{
    struct store_filter filter = {.project_id = call->project_id, .query = ""};
    json_auto_t *root = NULL;
    int64_t id = 0;
    enum fz_code code = read_body(call, &root, err);
    if (code == FZ_OK)
        code = read_members(call, root, &filter, err);
    if (code == FZ_OK && !filter.name)
        return wrong(call, "name", "it is missing", err);
    if (code == FZ_OK)
        code = api_sender_name(call, &filter.actor, err);
    if (code == FZ_OK)
        code = store_filter_add(call->store, &filter, &id, err);
    return code == FZ_OK ? answer(call, 201, id, err) : code;
}

enum fz_code
api_filter_patch(struct api_call *call, struct fz_error *err)
{
    struct store_filter filter;
    json_auto_t *root = NULL;
    enum fz_code code = read_body(call, &root, err);
    if (code == FZ_OK)
        code = store_filter_get(call->store, call->project_id, asked_id(call), call->arena, &filter,
                                err);
    if (code == FZ_OK)
        code = read_members(call, root, &filter, err);
    if (code == FZ_OK)
        code = store_filter_change(call->store, &filter, err);
    return code == FZ_OK ? answer(call, 200, filter.id, err) : code;
}

enum fz_code
api_filter_delete(struct api_call *call, struct fz_error *err)
{
    enum fz_code code = store_filter_delete(call->store, call->project_id, asked_id(call), err);
    if (code == FZ_OK)
        http_respond(call->request, 204, "text/plain", (struct fz_span){0});
    return code;
}
