/* The settings of a project: GET and PUT /project. */
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_usage.h"

enum { PREFIXES_MAX = 64, PREFIX_BYTES = 256 };

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

static void
write_prefixes(struct json_write *w, const char *prefixes)
{
    json_write_open(w, "cut_prefixes", '[');
    while (prefixes && *prefixes) {
        size_t len = strcspn(prefixes, "\n");
        size_t n = len < PREFIX_BYTES ? len : PREFIX_BYTES;
        json_write_span(w, NULL, fz_span_make(prefixes, n));
        prefixes += len + (prefixes[len] == '\n');
    }
    json_write_close(w, ']');
}

static void
write_used(struct json_write *w, const char *key, const struct store_usage *used, uint64_t limit)
{
    json_write_open(w, key, '{');
    json_write_u64(w, "n", used->n);
    json_write_u64(w, "bytes", used->bytes);
    /* No member rather than a 0, which a dashboard would show as "full". */
    if (limit)
        json_write_u64(w, "limit", limit);
    json_write_close(w, '}');
}

/* What the project has sent today, and how much it may send. */
static void
write_usage(const struct api_call *call, struct json_write *w)
{
    const struct limits *limits = call->api->config.limits;
    int64_t left_ms = 0;
    const struct store_usage reports =
        api_usage_get(call->api->usage, call->project_id, STORE_USAGE_REPORTS, &left_ms);
    const struct store_usage symbols =
        api_usage_get(call->api->usage, call->project_id, STORE_USAGE_SYMBOLS, NULL);
    json_write_open(w, "usage", '{');
    /* The day ends by the database's clock; ours may differ by a little. */
    int64_t until_ms = fz_time_now_ms() + left_ms + DAY_MS / 2;
    json_write_time(w, "until", until_ms - until_ms % DAY_MS);
    write_used(w, "reports", &reports, limits->report_bytes_per_day);
    write_used(w, "symbols", &symbols, limits->symbol_bytes_per_day);
    json_write_close(w, '}');
}

enum fz_code
api_project_get(struct api_call *call, struct fz_error *err)
{
    struct store_project project;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_u64(&w, "id", (uint64_t)project.id);
    json_write_text(&w, "name", project.name);
    json_write_time(&w, "created", project.created_ms);
    write_prefixes(&w, project.cut_prefixes);
    write_usage(call, &w);
    return api_answer(call, 200, &w, '}', err);
}

/* One a line, as storage keeps them. */
static enum fz_code
join_prefixes(struct api_call *call, const json_t *list, struct fz_buffer *ret,
              struct fz_error *err)
{
    size_t n = json_array_size(list);
    call->detail = "{\"path\":\"cut_prefixes\"}"; /* for the failures below */
    if (!json_is_array(list))
        return fz_fail(err, FZ_E_MALFORMED,
                       "no array 'cut_prefixes'; send {\"cut_prefixes\":[\"/Users/ci/build/\"]}");
    if (n > PREFIXES_MAX)
        return fz_fail(err, FZ_E_LIMIT, "cut_prefixes: %zu, at most %d", n, (int)PREFIXES_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        /* Storage keeps one prefix per line, so a line break would make two of it. */
        if (!text || !*text || strchr(text, '\n') || strlen(text) > PREFIX_BYTES)
            return fz_fail(err, FZ_E_MALFORMED,
                           "cut_prefixes[%zu]: no text of 1 to %d bytes on one line", i,
                           (int)PREFIX_BYTES);
        fz_buffer_text(ret, i ? "\n" : "");
        fz_buffer_text(ret, text);
    }
    call->detail = NULL;
    return fz_buffer_done(ret, err);
}

enum fz_code
api_project_put(struct api_call *call, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    /* A repaired character is longer than the byte that it replaces. */
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code == FZ_OK)
        code = join_prefixes(call, json_object_get(root, "cut_prefixes"), &text, err);
    if (code == FZ_OK)
        code =
            store_project_set_prefixes(call->store, call->project_id, fz_buffer_cstr(&text), err);
    /* The answer is what is stored now. */
    return code != FZ_OK ? code : api_project_get(call, err);
}
