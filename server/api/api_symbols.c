/* Symbol files: the list, one UUID, delete, what is known, what is missing. */
#include <stdio.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"

enum { LIST_DEFAULT = 50, LIST_MAX = 500, MISSING_DEFAULT = 100, KNOWN_MAX = 10000 };

static void
append_symbol(struct json_write *w, const struct store_symbol *symbol)
{
    char uuid[FZ_UUID_TEXT];
    fz_uuid_format(&symbol->uuid, uuid);
    json_write_open(w, NULL, '{');
    json_write_text(w, "uuid", uuid);
    json_write_text(w, "arch", symbol->arch);
    json_write_text(w, "kind", store_symbol_kind_name(symbol->kind));
    json_write_text(w, "name", symbol->name);
    json_write_u64(w, "size", symbol->size);
    json_write_text(w, "state", store_symbol_state_name(symbol->state));
    /* Stored as JSON by the worker, and only passed on. */
    json_write_raw(w, "features", symbol->features_json);
    json_write_raw(w, "problems", symbol->problems_json);
    json_write_time(w, "uploaded", symbol->uploaded_ms);
    json_write_close(w, '}');
}

static enum fz_code
answer_symbols(struct api_call *call, const struct fz_uuid *uuid, size_t limit,
               struct fz_error *err)
{
    struct store_symbol *symbols = NULL;
    struct store_page page = {.cursor = http_query(call->request, "cursor"), .limit = limit};
    enum fz_code code =
        store_symbol_list(call->store, call->project_id, uuid, &page, call->arena, &symbols, err);
    if (code != FZ_OK)
        return code;
    /* An empty page after a cursor is the end of the list. */
    if (uuid && page.n == 0 && !page.cursor)
        return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file with UUID '%.64s'",
                       http_param(call->request, "uuid"));
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "symbols", '[');
    for (size_t i = 0; i < page.n; i++)
        append_symbol(&w, &symbols[i]);
    json_write_close(&w, ']');
    json_write_text(&w, "next_cursor", page.next);
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_symbol_list(struct api_call *call, struct fz_error *err)
{
    size_t limit;
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &limit, err);
    return code != FZ_OK ? code : answer_symbols(call, NULL, limit, err);
}

static enum fz_code
param_uuid(const struct api_call *call, struct fz_uuid *ret, struct fz_error *err)
{
    char text[FZ_UUID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "uuid", "symbol file with UUID", text, err);
    if (code == FZ_OK && !fz_uuid_parse(fz_span_cstr(text), ret))
        code = fz_fail(err, FZ_E_INTERNAL, "a UUID that does not read back: %s", text);
    return code;
}

enum fz_code
api_symbol_get(struct api_call *call, struct fz_error *err)
{
    struct fz_uuid uuid;
    size_t limit;
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &limit, err);
    if (code == FZ_OK)
        code = param_uuid(call, &uuid, err);
    return code != FZ_OK ? code : answer_symbols(call, &uuid, limit, err);
}

enum fz_code
api_symbol_delete(struct api_call *call, struct fz_error *err)
{
    struct fz_uuid uuid;
    size_t n = 0;
    enum fz_code code = param_uuid(call, &uuid, err);
    if (code == FZ_OK)
        code = store_symbol_delete(call->store, call->project_id, &uuid, &n, err);
    if (code == FZ_OK && n == 0)
        code = fz_fail(err, FZ_E_NOT_FOUND, "no symbol file with UUID '%.64s'",
                       http_param(call->request, "uuid"));
    if (code == FZ_OK)
        http_respond(call->request, 204, "text/plain", (struct fz_span){0});
    return code;
}

/* ---- what an uploader may leave out ------------------------------------------------------ */

/* The path of the fault goes to the error's detail. */
static enum fz_code
fail_known(struct api_call *call, size_t i, const char *text, struct fz_error *err)
{
    char path[32];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer detail = fz_buffer_make(0);
    struct json_write w = json_write_start(&detail);
    snprintf(path, sizeof(path), "uuids[%zu]", i);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "path", path);
    json_write_close(&w, '}');
    /* It is written after the handler has returned. */
    call->detail = fz_arena_strdup(call->arena, fz_buffer_cstr(&detail));
    return fz_fail(err, FZ_E_MALFORMED, "uuids[%zu]: '%.64s' is not a UUID", i, text ? text : "");
}

/* Does the project have a ready file of this kind? A UUID is shared by a binary and its dSYM. */
static enum fz_code
has_kind(struct api_call *call, const struct fz_uuid *uuid, enum store_symbol_kind kind, bool *ret,
         struct fz_error *err)
{
    struct store_symbol *symbols = NULL;
    struct store_page page = {.limit = LIST_MAX};
    enum fz_code code =
        store_symbol_list(call->store, call->project_id, uuid, &page, call->arena, &symbols, err);
    *ret = false;
    for (size_t i = 0; code == FZ_OK && i < page.n; i++) {
        /* A file without an index is sent again: the new one may be complete. */
        if (symbols[i].kind == kind && symbols[i].state == STORE_SYMBOL_READY)
            *ret = true;
    }
    return code;
}

static enum fz_code
find_missing(struct api_call *call, const struct fz_uuid *uuids, size_t n,
             const enum store_symbol_kind *kind, bool *ret_missing, struct fz_error *err)
{
    enum fz_code code =
        store_symbol_unknown(call->store, call->project_id, uuids, n, ret_missing, err);
    for (size_t i = 0; code == FZ_OK && kind && i < n; i++) {
        bool has = true;
        /* Unknown at all is missing of every kind, and needs no query. */
        if (!ret_missing[i])
            code = has_kind(call, &uuids[i], *kind, &has, err);
        ret_missing[i] = ret_missing[i] || !has;
    }
    return code;
}

static enum fz_code
answer_known(struct api_call *call, const json_t *list, const enum store_symbol_kind *kind,
             struct fz_error *err)
{
    size_t n = json_array_size(list);
    struct fz_uuid *uuids = fz_arena_array(call->arena, n, sizeof(*uuids));
    /* One flag for each UUID, in the order of the request. */
    bool *missing = fz_arena_array(call->arena, n, sizeof(*missing));
    if (!uuids || !missing)
        return fz_arena_fail(call->arena, err);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || !fz_uuid_parse(fz_span_cstr(text), &uuids[i]))
            return fail_known(call, i, text, err);
    }
    enum fz_code code = find_missing(call, uuids, n, kind, missing, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "missing", '[');
    for (size_t i = 0; i < n; i++) { /* in the client's own spelling, so that it can compare */
        if (missing[i])
            json_write_text(&w, NULL, json_string_value(json_array_get(list, i)));
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_symbol_known(struct api_call *call, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    /* A repaired character is longer than the byte it replaces. */
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    const json_t *list = json_object_get(root, "uuids"), *wanted = json_object_get(root, "kind");
    const char *name = json_string_value(wanted);
    enum store_symbol_kind kind = STORE_SYMBOL_DSYM;
    if (!json_is_array(list)) {
        call->detail = "{\"path\":\"uuids\"}";
        return fz_fail(err, FZ_E_MALFORMED, "no array 'uuids'; send {\"uuids\":[\"…\"]}");
    }
    /* A property list that names a map has no contents of its own to ask for. */
    if (wanted &&
        (!name || !store_symbol_kind_parse(name, &kind) || kind == STORE_SYMBOL_UUIDMAP)) {
        call->detail = "{\"path\":\"kind\"}";
        return fz_fail(err, FZ_E_MALFORMED, "kind: not one of dsym, binary, bcsymbolmap");
    }
    /* Each UUID is a lookup in the database. */
    if (json_array_size(list) > KNOWN_MAX)
        return fz_fail(err, FZ_E_LIMIT, "uuids: %zu, at most %d in one request",
                       json_array_size(list), (int)KNOWN_MAX);
    return answer_known(call, list, wanted ? &kind : NULL, err);
}

/* ---- what reports wait for --------------------------------------------------------------- */

enum fz_code
api_symbol_missing(struct api_call *call, struct fz_error *err)
{
    struct store_missing *missing = NULL;
    size_t limit, n = 0;
    enum fz_code code = api_query_limit(call->request, MISSING_DEFAULT, LIST_MAX, &limit, err);
    if (code == FZ_OK)
        code = store_missing_list(call->store, call->project_id, limit, call->arena, &missing, &n,
                                  err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "missing", '[');
    for (size_t i = 0; i < n; i++) {
        char uuid[FZ_UUID_TEXT];
        fz_uuid_format(&missing[i].uuid, uuid);
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "uuid", uuid);
        json_write_text(&w, "name", missing[i].name);
        json_write_text(&w, "arch", missing[i].arch);
        /* Which builds the file is for: a dSYM is looked for in their archives. */
        json_write_open(&w, "app_versions", '[');
        for (size_t j = 0; j < missing[i].n_app_versions; j++)
            json_write_text(&w, NULL, missing[i].app_versions[j]);
        json_write_close(&w, ']');
        json_write_u64(&w, "reports", missing[i].n_reports);
        json_write_time(&w, "first_seen", missing[i].first_seen_ms);
        json_write_time(&w, "last_seen", missing[i].last_seen_ms);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}
