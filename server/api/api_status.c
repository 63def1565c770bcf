/* What needs no token: /healthz, /readyz, the description of the API. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/log.h"
#include "base/time.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_openapi.h"
#include "server/api/api_replica.h"
#include "server/children/intake.h"
#include "storage/store_regroup.h"

/* The locks of children that are there, or those that are not. */
static void
write_locks(struct json_write *w, const char *key, const struct proto_level *level, bool there)
{
    json_write_open(w, key, '[');
    for (int lock = 0; lock < PROTO_LOCKS; lock++) {
        /* Names, so that a lock that comes later needs no other version of the API. */
        if (proto_level_has(level, (enum proto_mechanism)lock) == there)
            json_write_text(w, NULL, proto_level_name((enum proto_mechanism)lock));
    }
    json_write_close(w, ']');
}

static void
write_replica(struct json_write *w, struct api_replica *replica)
{
    const struct api_replica_state state = api_replica_state(replica);
    json_write_open(w, "replica", '{');
    json_write_text(w, "state", state.word);
    if (state.lag_ms >= 0)
        json_write_i64(w, "lag_ms", state.lag_ms);
    json_write_close(w, '}');
}

void
api_healthz(void *app, struct http_request *request)
{
    const struct api *api = app;
    struct proto_level level;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    bool is_known = children_intake_level(api->intake, &level);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "status", "ok");
    json_write_open(&w, "sandbox", '{');
    json_write_text(&w, "level", is_known ? proto_level_word(&level) : "unknown");
    if (is_known) {
        json_write_u64(&w, "landlock_abi", level.landlock_abi);
        write_locks(&w, "active", &level, true);
        write_locks(&w, "absent", &level, false);
    }
    json_write_close(&w, '}');
    if (api->replica)
        write_replica(&w, api->replica);
    json_write_close(&w, '}');
    http_respond_json(request, 200, fz_buffer_span(&out));
}

void
api_openapi(void *app FZ_UNUSED, struct http_request *request)
{
    http_respond(request, 200, "application/json",
                 fz_span_make(api_openapi_json, api_openapi_json_len));
}

/* ---- ready ------------------------------------------------------------------------------- */

enum { TEXT = 320, UNGROUPED_MAX = 1000 * 1000, UNGROUPED_LIFE_MS = 2000 };

static void
check_database(struct api *api, char ret[TEXT])
{
    struct fz_error err;
    struct store *store = NULL;
    enum fz_code code = api_store_get_all(api, &store, &err);
    if (code == FZ_OK)
        code = store_ping(store, &err);
    api_store_put(api, store);
    /* The request needs no token, so only the log says where the database is. */
    if (code != FZ_OK)
        fz_log(FZ_LOG_WARN, "readyz", "database: %s", err.text);
    snprintf(ret, TEXT, "%s", code != FZ_OK ? "it does not answer" : "ok");
}

static void
check_workers(struct api *api, char ret[TEXT])
{
    /* -1: the workers are elsewhere, and this process cannot know of them. */
    int n = api->config.workers ? api->config.workers(api->config.workers_user) : -1;
    snprintf(ret, TEXT, "%s", n == 0 ? "no worker is running" : "ok");
}

static void
check_disk(struct api *api, char ret[TEXT])
{
    static const char *const words[] = {[API_DISK_NO_SYMBOLS] = "symbol files are refused",
                                        [API_DISK_NO_REPORTS] =
                                            "reports and symbol files are refused"};
    uint64_t left = 0;
    enum api_disk state =
        api->config.disk ? api->config.disk(api->config.disk_user, &left) : API_DISK_OK;
    snprintf(ret, TEXT, "ok");
    if (state != API_DISK_OK)
        snprintf(ret, TEXT, "only %llu MiB are free: %s", (unsigned long long)(left >> 20),
                 words[state]);
}

/* Reports of an older program that have no issue yet: no reason not to be ready. */
static void
write_progress(struct api *api, struct json_write *w)
{
    int64_t now = fz_time_monotonic_ms(), due = api->ungrouped.due_ms;
    /* A million of them take a tenth of a second. One request counts, the others meanwhile take the last count. */
    if (now >= due &&
        atomic_compare_exchange_strong(&api->ungrouped.due_ms, &due, now + UNGROUPED_LIFE_MS)) {
        struct store *store = NULL;
        uint64_t n = 0;
        enum fz_code code = api_store_get_all(api, &store, NULL);
        if (code == FZ_OK)
            code = store_ungrouped_count(store, UNGROUPED_MAX, &n, NULL);
        api_store_put(api, store);
        if (code == FZ_OK)
            api->ungrouped.n = n;
    }
    if (api->ungrouped.n > 0)
        json_write_u64(w, "reports_without_issue", api->ungrouped.n);
}

void
api_readyz(void *app, struct http_request *request)
{
    static const struct {
        const char *name;
        void (*check)(struct api *api, char ret[TEXT]);
    } checks[] = {{"database", check_database}, {"workers", check_workers}, {"disk", check_disk}};
    char why[TEXT + 32] = "";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    /* All checks run even after a failure: the detail lists every cause. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(checks); i++) {
        char text[TEXT];
        checks[i].check(app, text);
        json_write_text(&w, checks[i].name, text);
        if (!why[0] && strcmp(text, "ok") != 0)
            snprintf(why, sizeof(why), "%s: %s", checks[i].name, text);
    }
    write_progress(app, &w);
    json_write_close(&w, '}');
    if (why[0]) {
        struct fz_error err;
        fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE, "not ready: %s", why)); /* only fills err */
        /* Its text names no host, and an operator reads it in a browser. */
        http_respond_public(request, 503, &err, fz_buffer_cstr(&out));
        return;
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer whole = fz_buffer_make(0);
    w = json_write_start(&whole);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "status", "ready");
    json_write_raw(&w, "checks", fz_buffer_cstr(&out));
    json_write_close(&w, '}');
    http_respond_json(request, 200, fz_buffer_span(&whole));
}
