#include "server/api/api_retention.h"

#include "base/json/scan.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_session.h"

enum { LOOK_MS = 2000 /* at reports, before the rest is estimated */ };

struct setting {
    const char *name;
    size_t offset;
    int64_t max;
    const char *detail;
};
static const struct setting numbers[] = {
    {"keep_reports_days", offsetof(struct store_retention, report_days), STORE_RETENTION_DAYS_MAX,
     "{\"path\":\"keep_reports_days\"}"},
    {"keep_reports", offsetof(struct store_retention, report_max), INT64_C(1000000000000),
     "{\"path\":\"keep_reports\"}"},
    {"keep_bodies_days", offsetof(struct store_retention, body_days), STORE_RETENTION_DAYS_MAX,
     "{\"path\":\"keep_bodies_days\"}"},
    {"keep_symbols_days", offsetof(struct store_retention, symbol_days), STORE_RETENTION_DAYS_MAX,
     "{\"path\":\"keep_symbols_days\"}"},
    {"keep_bytes", offsetof(struct store_retention, bytes_max), INT64_MAX / 4,
     "{\"path\":\"keep_bytes\"}"},
};

static int64_t *
number_of(struct store_retention *retention, const struct setting *setting)
{
    return (int64_t *)(void *)((char *)retention + setting->offset);
}

void
api_retention_write(struct json_write *w, const struct store_retention *retention)
{
    struct store_retention copy = *retention;
    for (size_t i = 0; i < FZ_ARRAY_LEN(numbers); i++)
        json_write_u64(w, numbers[i].name, (uint64_t)*number_of(&copy, &numbers[i]));
    json_write_bool(w, "keep_samples", retention->keeps_samples);
}

static enum fz_code
refuse(struct api_call *call, const struct setting *setting, struct fz_error *err)
{
    call->detail = setting->detail;
    return fz_fail(err, FZ_E_MALFORMED, "%s: no number from 0 (no limit) to %lld", setting->name,
                   (long long)setting->max);
}

enum fz_code
api_retention_read(struct api_call *call, const json_t *root, struct store_retention *ret,
                   bool *ret_any, struct fz_error *err)
{
    struct store_retention read = *ret;
    const json_t *samples = json_object_get(root, "keep_samples");
    for (size_t i = 0; i < FZ_ARRAY_LEN(numbers); i++) {
        const json_t *value = json_object_get(root, numbers[i].name);
        json_int_t number = json_integer_value(value);
        if (!value)
            continue;
        *ret_any = true;
        if (!json_is_integer(value) || number < 0 || number > numbers[i].max)
            return refuse(call, &numbers[i], err);
        *number_of(&read, &numbers[i]) = number;
    }
    if (samples && !json_is_boolean(samples)) {
        call->detail = "{\"path\":\"keep_samples\"}";
        return fz_fail(err, FZ_E_MALFORMED, "keep_samples: neither true nor false");
    }
    read.keeps_samples = samples ? json_is_true(samples) : read.keeps_samples;
    *ret_any = *ret_any || samples;
    *ret = read;
    return FZ_OK;
}

/* ---- the preview ---- */

/* ?keep_reports_days=30&...: what it would be like with them. */
static enum fz_code
read_query(struct api_call *call, struct store_retention *ret, struct fz_error *err)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(numbers); i++) {
        const char *text = http_query(call->request, numbers[i].name);
        int64_t number = 0;
        if (!text)
            continue;
        if (!fz_text_i64(fz_span_cstr(text), &number) || number < 0 || number > numbers[i].max)
            return refuse(call, &numbers[i], err);
        *number_of(ret, &numbers[i]) = number;
    }
    return http_query(call->request, "keep_samples")
               ? api_query_flag(call->request, "keep_samples", &ret->keeps_samples, err)
               : FZ_OK;
}

static void
write_stored(struct json_write *w, const char *key, const struct store_stored *stored)
{
    json_write_open(w, key, '{');
    json_write_u64(w, "n", stored->n);
    json_write_u64(w, "bytes", stored->bytes);
    json_write_close(w, '}');
}

static void
write_due(struct json_write *w, const struct store_retention_due *due)
{
    json_write_open(w, "due", '{');
    json_write_u64(w, "n", store_retention_total(due));
    json_write_u64(w, "reports_by_age", due->n_aged);
    json_write_u64(w, "reports_thinned_out", due->n_thinned);
    json_write_u64(w, "bodies", due->n_bodies);
    json_write_u64(w, "memory", due->n_memory);
    json_write_u64(w, "symbols", due->n_symbols);
    json_write_u64(w, "bytes", due->bytes + due->symbol_bytes);
    json_write_u64(w, "samples_kept", due->n_samples);
    json_write_bool(w, "symbols_exceed_bytes", due->is_over);
    json_write_bool(w, "estimated", due->is_estimated);
    json_write_close(w, '}');
}

static enum fz_code
answer(struct api_call *call, const struct store_retention *retention,
       const struct store_retention_state *state, const struct store_retention_plan *plan,
       struct fz_error *err)
{
    const struct store_retention_use *use = store_retention_use(plan);
    struct json_write w = api_begin(call, '{');
    api_retention_write(&w, retention);
    json_write_open(&w, "use", '{');
    json_write_u64(&w, "reports", use->n_reports);
    write_stored(&w, "bodies", &use->bodies);
    write_stored(&w, "results", &use->results);
    write_stored(&w, "memory", &use->memory);
    write_stored(&w, "symbols", &use->symbols);
    json_write_u64(&w, "bytes", store_retention_bytes(use));
    json_write_bool(&w, "estimated", use->is_estimated);
    json_write_close(&w, '}');
    write_due(&w, store_retention_due(plan));
    if (state->swept_ms)
        json_write_time(&w, "swept", state->swept_ms);
    if (state->held_ms) {
        json_write_open(&w, "waits", '{');
        json_write_time(&w, "since", state->held_ms);
        json_write_u64(&w, "n", (uint64_t)state->held_n);
        json_write_close(&w, '}');
    }
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_retention_get(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(store_retention_plan_destroyp) struct store_retention_plan *plan = NULL;
    struct store_retention retention;
    struct store_retention_state state;
    bool is_done = false;
    int64_t until_ms = fz_time_monotonic_ms() + LOOK_MS;
    enum fz_code code = store_retention_get(call->store, call->project_id, &retention, &state, err);
    if (code == FZ_OK)
        code = read_query(call, &retention, err);
    if (code == FZ_OK)
        code = store_retention_plan_create(call->store, call->project_id, &retention, &plan, err);
    while (code == FZ_OK && !is_done && fz_time_monotonic_ms() < until_ms)
        code = store_retention_look(call->store, plan, &is_done, err);
    if (code == FZ_OK && !is_done)
        code = store_retention_estimate(call->store, plan, err);
    return code == FZ_OK ? answer(call, &retention, &state, plan, err) : code;
}

enum fz_code
api_retention_confirm(struct api_call *call, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    /* A repaired character is longer than the byte that it replaces. */
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    struct store_retention retention;
    struct store_retention_state state;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code == FZ_OK)
        code = store_retention_get(call->store, call->project_id, &retention, &state, err);
    if (code != FZ_OK)
        return code;
    const json_t *n = json_object_get(root, "n");
    if (!json_is_integer(n) || json_integer_value(n) < 0) {
        call->detail = "{\"path\":\"n\"}";
        return fz_fail(err, FZ_E_MALFORMED,
                       "n: no number; send what may be deleted, as \"waits\" says");
    }
    if (!state.held_ms)
        return fz_fail(err, FZ_E_CONFLICT, "no sweep waits");
    /* What was seen must be what waits. */
    if (json_integer_value(n) < state.held_n)
        return fz_fail(err, FZ_E_CONFLICT, "the sweep would delete %lld by now",
                       (long long)state.held_n);
    code = store_retention_confirm(call->store, call->project_id, state.held_n, err);
    return code == FZ_OK ? api_retention_get(call, err) : code;
}
