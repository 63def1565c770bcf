/* Is it alive, is it ready: /healthz, /readyz, and the description of the API itself. */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/log.h"
#include "server/api/api_openapi.h"
#include "server/api/api_private.h"

/* Below this much room nothing is taken in: a commit needs its log, an upload its temporary file.
 */
static const uint64_t DISK_FREE_MIN = 64 * 1024 * 1024;

void
api_healthz(void *app, struct http_request *request)
{
    (void)app;
    http_respond_json(request, 200, fz_span_cstr("{\"status\":\"ok\"}"));
}

void
api_openapi(void *app, struct http_request *request)
{
    (void)app;
    http_respond(request, 200, "application/json",
                 fz_span_make(api_openapi_json, api_openapi_json_len));
}

/* ---- ready ------------------------------------------------------------------------------- */

enum { TEXT = 320 };

static void
check_database(struct api *api, char ret[TEXT])
{
    struct fz_error err;
    struct store *store = NULL;
    enum fz_code code = api_store_get(api, &store, &err);
    if (code == FZ_OK)
        code = store_ping(store, &err);
    api_store_put(api, store);
    /* Anybody may ask: where the database is stays in the log. */
    if (code != FZ_OK)
        fz_log(FZ_LOG_WARN, "readyz", "database: %s", err.text);
    snprintf(ret, TEXT, "%s", code != FZ_OK ? "it does not answer" : "ok");
}

static void
check_workers(struct api *api, char ret[TEXT])
{
    int n = api->config.workers ? api->config.workers(api->config.workers_user) : -1;
    snprintf(ret, TEXT, "%s", n == 0 ? "no worker is running" : "ok");
}

static void
check_disk(struct api *api, char ret[TEXT])
{
    struct fz_error err;
    uint64_t free_bytes = 0, total = 0;
    snprintf(ret, TEXT, "ok");
    if (blob_space(api->blobs, &free_bytes, &total, &err) != FZ_OK) {
        fz_log(FZ_LOG_WARN, "readyz", "disk: %s", err.text);
        snprintf(ret, TEXT, "the free space is not known");
    } else if (free_bytes < DISK_FREE_MIN)
        snprintf(ret, TEXT, "only %llu MiB are free", (unsigned long long)(free_bytes >> 20));
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
    for (size_t i = 0; i < FZ_ARRAY_LEN(checks); i++) {
        char text[TEXT];
        checks[i].check(app, text);
        json_write_text(&w, checks[i].name, text);
        if (!why[0] && strcmp(text, "ok") != 0)
            snprintf(why, sizeof(why), "%s: %s", checks[i].name, text);
    }
    json_write_close(&w, '}');
    if (why[0]) {
        struct fz_error err;
        fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE, "not ready: %s", why)); /* only fills err */
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
