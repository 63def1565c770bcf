/* How many runs of the app crashed: what session items of SDKs add up to. */
#include <stdio.h>

#include "base/time.h"
#include "server/api/api_json.h"
#include "server/api/api_private.h"
#include "storage/store_sessions.h"

enum { LIST_DEFAULT = 100, LIST_MAX = 500, DISCARDED_MAX = 100 };

static const int64_t DEFAULT_SPAN_MS = INT64_C(14) * 24 * 3600 * 1000;

static void
append_release(struct fz_buffer *out, const struct store_session_count *count)
{
    static const char *const names[STORE_SESSION_OUTCOMES] = {"healthy", "errored", "abnormal",
                                                              "crashed"};
    uint64_t all = 0;
    char rate[32];
    api_json_open(out, NULL, '{');
    if (*count->release)
        api_json_text(out, "release", count->release);
    if (*count->environment)
        api_json_text(out, "environment", count->environment);
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        all += count->n[i];
    api_json_u64(out, "sessions", all);
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        api_json_u64(out, names[i], count->n[i]);
    if (all) {
        double crashed = (double)count->n[STORE_SESSION_CRASHED] / (double)all;
        snprintf(rate, sizeof(rate), "%.6f", 1 - crashed);
        api_json_raw(out, "crash_free", rate);
    }
    api_json_time(out, "first_day", count->first_day_ms);
    api_json_time(out, "last_day", count->last_day_ms);
    api_json_close(out, '}');
}

static enum fz_code
get_sessions(struct api_call *call, struct fz_error *err)
{
    static const char *const known[] = {"limit", "since", "until", "release", NULL};
    struct store_session_count *counts = NULL;
    struct store_discarded_count *discarded = NULL;
    size_t limit, n = 0, n_discarded = 0;
    int64_t until_ms = fz_time_now_ms(), since_ms = until_ms - DEFAULT_SPAN_MS;
    enum fz_code code = api_check_query(call->request, known, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &limit, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "since", &since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "until", &until_ms, err);
    if (code == FZ_OK)
        code = store_session_counts(call->store, call->project_id, since_ms, until_ms,
                                    http_query(call->request, "release"), limit, call->arena,
                                    &counts, &n, err);
    if (code == FZ_OK)
        code = store_discarded_counts(call->store, call->project_id, since_ms, until_ms,
                                      DISCARDED_MAX, call->arena, &discarded, &n_discarded, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    api_json_open(&out, NULL, '{');
    api_json_open(&out, "releases", '[');
    for (size_t i = 0; i < n; i++)
        append_release(&out, &counts[i]);
    api_json_close(&out, ']');
    api_json_open(&out, "discarded", '[');
    for (size_t i = 0; i < n_discarded; i++) {
        api_json_open(&out, NULL, '{');
        api_json_text(&out, "reason", discarded[i].reason);
        api_json_text(&out, "category", discarded[i].category);
        api_json_u64(&out, "events", discarded[i].n);
        api_json_close(&out, '}');
    }
    api_json_close(&out, ']');
    api_json_close(&out, '}');
    return api_answer(call, 200, &out, err);
}

void
api_session_list(void *app, struct http_request *request)
{
    api_run(app, request, get_sessions);
}
