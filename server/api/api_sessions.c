/* How many runs of the app crashed: what clients say of them, in and out. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_client.h"
#include "server/api/api_handlers.h"
#include "server/api/api_query.h"
#include "storage/store_sessions.h"

enum { LIST_DEFAULT = 100, LIST_MAX = 500, DISCARDED_MAX = 100 };

static const int64_t DEFAULT_SPAN_MS = INT64_C(14) * 24 * 3600 * 1000;

enum fz_code
api_count_found(struct store *store, int64_t project_id, const struct proto_intake *found,
                struct fz_arena *arena, struct fz_error *err)
{
    struct store_session *sessions = fz_arena_array(arena, found->n_sessions, sizeof(*sessions));
    struct store_discarded *discarded =
        fz_arena_array(arena, found->n_discarded, sizeof(*discarded));
    if (!sessions || !discarded)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < found->n_sessions; i++) {
        const struct proto_session *one = &found->sessions[i];
        sessions[i] = (struct store_session){.release = one->release,
                                             .environment = one->environment,
                                             .user = one->user,
                                             .started_ms = one->started_ms,
                                             .outcome = (enum store_session_outcome)one->outcome};
        /* Two types, since protocol and storage must not know each other. */
        memcpy(sessions[i].sid, one->sid, sizeof(one->sid));
        memcpy(sessions[i].n, one->n, sizeof(one->n));
    }
    for (size_t i = 0; i < found->n_discarded; i++) {
        const struct proto_discarded *one = &found->discarded[i];
        discarded[i] = (struct store_discarded){one->reason, one->category, one->n};
    }
    const struct store_session_update update = {sessions, found->n_sessions, discarded,
                                                found->n_discarded};
    return store_session_put(store, project_id, &update, arena, err);
}

/* Without sessions there is no rate, neither 0 nor 1. */
static void
append_rate(struct json_write *w, const char *key, uint64_t crashed, uint64_t all)
{
    char rate[32];
    if (!all)
        return;
    /* The JSON writer has no fractions; six digits show one crash in a million. */
    snprintf(rate, sizeof(rate), "%.6f", 1 - (double)crashed / (double)all);
    json_write_raw(w, key, rate);
}

static void
append_release(struct json_write *w, const struct store_session_count *count)
{
    static const char *const names[STORE_SESSION_OUTCOMES] = {"healthy", "errored", "abnormal",
                                                              "crashed"};
    uint64_t all = 0;
    json_write_open(w, NULL, '{');
    /* A client without a release is counted too, in a row without this member. */
    if (*count->release)
        json_write_text(w, "release", count->release);
    if (*count->environment)
        json_write_text(w, "environment", count->environment);
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        all += count->n[i];
    json_write_u64(w, "sessions", all);
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        json_write_u64(w, names[i], count->n[i]);
    append_rate(w, "crash_free", count->n[STORE_SESSION_CRASHED], all);
    json_write_u64(w, "users", count->n_users);
    append_rate(w, "crash_free_users", count->n_crashed_users, count->n_users);
    /* Sums are kept per day, so there is no finer time. */
    json_write_time(w, "first_day", count->first_day_ms);
    json_write_time(w, "last_day", count->last_day_ms);
    json_write_close(w, '}');
}

enum fz_code
api_session_list(struct api_call *call, struct fz_error *err)
{
    struct store_session_count *counts = NULL;
    struct store_discarded_count *discarded = NULL;
    size_t n = 0, n_discarded = 0;
    const int64_t now_ms = fz_time_now_ms();
    struct store_session_range range = {.since_ms = now_ms - DEFAULT_SPAN_MS,
                                        .until_ms = now_ms,
                                        .release = http_query(call->request, "release")};
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &range.limit, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "since", &range.since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "until", &range.until_ms, err);
    if (code == FZ_OK)
        code = store_session_counts(call->store, call->project_id, &range, call->arena, &counts, &n,
                                    err);
    /* The client's limit is for releases. */
    range.limit = DISCARDED_MAX;
    if (code == FZ_OK)
        code = store_discarded_counts(call->store, call->project_id, &range, call->arena,
                                      &discarded, &n_discarded, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "releases", '[');
    for (size_t i = 0; i < n; i++)
        append_release(&w, &counts[i]);
    json_write_close(&w, ']');
    json_write_open(&w, "discarded", '[');
    for (size_t i = 0; i < n_discarded; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "reason", discarded[i].reason);
        json_write_text(&w, "category", discarded[i].category);
        json_write_u64(&w, "events", discarded[i].n);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}
