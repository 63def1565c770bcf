/* The versions of an app in their order: adoption, crash-free rates, issues that are new, back and fixed. */
#include "server/api/api_versions.h"

#include <stdio.h>

#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"

enum { LIST_DEFAULT = 100, LIST_MAX = 500 };

static const int64_t DEFAULT_SPAN_MS = INT64_C(14) * 24 * 3600 * 1000;

void
api_share_text(uint64_t part, uint64_t all, char ret[API_SHARE_TEXT])
{
    /* Six digits show one in a million. */
    snprintf(ret, API_SHARE_TEXT, "%.6f", all ? (double)part / (double)all : 0);
}

/* Without anything to be a share of there is none, neither 0 nor 1. */
static void
write_share(struct json_write *w, const char *key, uint64_t part, uint64_t all)
{
    char text[API_SHARE_TEXT];
    if (!all)
        return;
    api_share_text(part, all, text);
    json_write_raw(w, key, text);
}

static void
write_use(struct json_write *w, const struct store_version_use *use)
{
    json_write_u64(w, "sessions", use->n_sessions);
    write_share(w, "crash_free_sessions", use->n_sessions - use->n_crashed, use->n_sessions);
    json_write_u64(w, "session_users", use->n_users);
    write_share(w, "crash_free_users", use->n_users - use->n_crashed_users, use->n_users);
}

static void
write_adoption(struct json_write *w, const struct store_version *v,
               const struct store_version_list *list)
{
    json_write_open(w, "adoption", '{');
    write_share(w, "sessions", v->use.n_sessions, list->use.n_sessions);
    write_share(w, "users", v->use.n_users, list->use.n_users);
    write_share(w, "sessions_24h", v->day.n_sessions, list->day.n_sessions);
    write_share(w, "users_24h", v->day.n_users, list->day.n_users);
    json_write_close(w, '}');
}

static void
write_name(struct json_write *w, const char *version, const char *build)
{
    json_write_text(w, "version", version);
    if (build && *build)
        json_write_text(w, "build", build);
}

static void
write_version(struct json_write *w, const struct store_version *v,
              const struct store_version_list *list)
{
    json_write_open(w, NULL, '{');
    write_name(w, v->version, v->build);
    if (!v->is_ordered)
        json_write_bool(w, "ordered", false);
    if (v->is_invented)
        json_write_bool(w, "invented", true);
    if (v->previous) {
        json_write_open(w, "previous", '{');
        write_name(w, v->previous, v->previous_build);
        json_write_close(w, '}');
    }
    json_write_time(w, "first_seen", v->first_ms);
    json_write_time(w, "last_seen", v->last_ms);
    json_write_u64(w, "reports", v->n_reports);
    json_write_u64(w, "users", v->n_users);
    write_use(w, &v->use);
    write_adoption(w, v, list);
    json_write_u64(w, "new_issues", v->n_new);
    json_write_u64(w, "regressed_issues", v->n_regressed);
    json_write_u64(w, "fixed_issues", v->n_fixed);
    json_write_close(w, '}');
}

/* Only runs: what a chart of the range shows. */
static void
write_part(struct json_write *w, const struct store_version_part *part,
           const struct store_version_list *list)
{
    json_write_open(w, NULL, '{');
    json_write_time(w, "since", part->since_ms);
    json_write_time(w, "until", part->until_ms);
    json_write_open(w, "all", '{');
    write_use(w, &part->use);
    json_write_close(w, '}');
    json_write_open(w, "versions", '[');
    for (size_t i = 0; i < list->n_most; i++) {
        const struct store_version *v = &list->versions[list->most[i]];
        if (!part->most[i].n_sessions)
            continue;
        json_write_open(w, NULL, '{');
        write_name(w, v->version, v->build);
        write_use(w, &part->most[i]);
        json_write_open(w, "adoption", '{');
        write_share(w, "sessions", part->most[i].n_sessions, part->use.n_sessions);
        write_share(w, "users", part->most[i].n_users, part->use.n_users);
        json_write_close(w, '}');
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

enum fz_code
api_versions_read(struct api_call *call, size_t fallback, size_t max,
                  struct store_version_range *range, struct store_version_list *ret,
                  struct fz_error *err)
{
    int64_t now_ms = fz_time_now_ms();
    *range = (struct store_version_range){.since_ms = now_ms - DEFAULT_SPAN_MS,
                                          .until_ms = now_ms,
                                          .environment = http_query(call->request, "environment")};
    enum fz_code code = api_query_limit(call->request, fallback, max, &range->limit, err);
    if (code == FZ_OK)
        code =
            api_query_count(call->request, "parts", 0, STORE_VERSION_PARTS, &range->n_parts, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "since", &range->since_ms, err);
    if (code == FZ_OK)
        code = api_query_time(call->request, "until", &range->until_ms, err);
    return code == FZ_OK
               ? store_version_list(call->store, call->project_id, range, call->arena, ret, err)
               : code;
}

enum fz_code
api_version_list(struct api_call *call, struct fz_error *err)
{
    struct store_version_range range;
    struct store_version_list list;
    enum fz_code code = api_versions_read(call, LIST_DEFAULT, LIST_MAX, &range, &list, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "versions", '[');
    for (size_t i = 0; i < list.n; i++)
        write_version(&w, &list.versions[i], &list);
    json_write_close(&w, ']');
    json_write_u64(&w, "known", list.n_all);
    json_write_open(&w, "all", '{');
    write_use(&w, &list.use);
    json_write_u64(&w, "sessions_24h", list.day.n_sessions);
    json_write_u64(&w, "users_24h", list.day.n_users);
    json_write_close(&w, '}');
    if (range.n_parts) {
        json_write_open(&w, "parts", '[');
        for (size_t i = 0; i < list.n_parts; i++)
            write_part(&w, &list.parts[i], &list);
        json_write_close(&w, ']');
    }
    json_write_time(&w, "since", range.since_ms);
    json_write_time(&w, "until", range.until_ms);
    return api_answer(call, 200, &w, '}', err);
}
