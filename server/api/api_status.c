/* What needs no token: /healthz, /readyz, the description of the API, and the page at "/". */
#include <stdio.h>
#include <string.h>

#include "base/json/write.h"
#include "base/log.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_openapi.h"
#include "storage/store_regroup.h"

/* With less free space the server is not ready: a commit needs its log, an upload its file. */
static const uint64_t DISK_FREE_MIN = 64 * 1024 * 1024;

void
api_healthz(void *app FZ_UNUSED, struct http_request *request)
{
    http_respond_json(request, 200, fz_span_cstr("{\"status\":\"ok\"}"));
}

void
api_openapi(void *app FZ_UNUSED, struct http_request *request)
{
    http_respond(request, 200, "application/json",
                 fz_span_make(api_openapi_json, api_openapi_json_len));
}

/* ---- ready ------------------------------------------------------------------------------- */

enum { TEXT = 320, UNGROUPED_MAX = 1000 * 1000 };

static void
check_database(struct api *api, char ret[TEXT])
{
    struct fz_error err;
    struct store *store = NULL;
    enum fz_code code = api_store_get(api, &store, &err);
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
    struct fz_error err;
    uint64_t free_bytes = 0, total = 0;
    snprintf(ret, TEXT, "ok");
    if (blob_space(api->blobs, &free_bytes, &total, &err) != FZ_OK) {
        fz_log(FZ_LOG_WARN, "readyz", "disk: %s", err.text);
        snprintf(ret, TEXT, "the free space is not known");
    } else if (free_bytes < DISK_FREE_MIN)
        snprintf(ret, TEXT, "only %llu MiB are free", (unsigned long long)(free_bytes >> 20));
}

/* Reports of an older program that have no issue yet: no reason not to be ready. */
static void
write_progress(struct api *api, struct json_write *w)
{
    struct store *store = NULL;
    uint64_t n = 0;
    enum fz_code code = api_store_get(api, &store, NULL);
    if (code == FZ_OK)
        code = store_ungrouped_count(store, UNGROUPED_MAX, &n, NULL);
    api_store_put(api, store);
    if (code == FZ_OK && n > 0)
        json_write_u64(w, "reports_without_issue", n);
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

/* ---- the page at "/" ---------------------------------------------------------------------- */

/* For a person who opens the server's address in a browser: what this is and where to read on.
 * Nothing that helps an attacker, and no scripts. */

/* The policy allows this one style by its hash; tests/e2e/test_answers.py computes it anew. */
#define STYLE                                                                              \
    "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 "  \
    "1rem;color:#222;background:#fff}pre{background:#f3f3f3;padding:1rem;overflow-x:auto}" \
    "code,pre{font-family:ui-monospace,monospace;font-size:14px}"                          \
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"                \
    "pre{background:#262626}a{color:#8ab4f8}}"
#define STYLE_HASH "sha256-FYKEQ8QVTofolznZqwKjI7S3P6DCeia0SXh8+sF06Os="

static const char page[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<title>framezero</title>\n<style>" STYLE "</style>\n</head>\n<body>\n"
    "<h1>framezero</h1>\n"
    "<p>This is a crash-report server for apps on Apple's platforms. It takes the addresses of a\n"
    "crash, finds the dSYM that was built with that binary, and answers with functions, files and\n"
    "lines.</p>\n"
    "<h2>Send a first report</h2>\n"
    "<p>The server wrote an ingest key and an admin token to <code>credentials.json</code> in its\n"
    "data folder when it first started. With the address of this page as <code>$URL</code>:</p>\n"
    "<pre>curl -H \"Authorization: Bearer $ADMIN_TOKEN\" \"$URL/api/v1/reports?wait=10\" --data "
    "'{\n"
    "  \"framezero\": 1,\n"
    "  \"addresses\": [\"0x104a4010c\"],\n"
    "  \"images\": [{\"uuid\": \"4c4c442e-5555-3144-a138-7743844373d8\", \"name\": \"Demo\",\n"
    "              \"address\": \"0x104a3c000\"}]\n"
    "}'</pre>\n"
    "<p>Its name appears once its dSYM is there:</p>\n"
    "<pre>curl -H \"Authorization: Bearer $ADMIN_TOKEN\" --data-binary @Demo.dSYM.zip \\\n"
    "     \"$URL/api/v1/symbols\"</pre>\n"
    "<h2>Read on</h2>\n<ul>\n"
    "<li><a href=\"api/v1/openapi.json\">The HTTP API</a>, described for programs</li>\n"
    "<li><a href=\"healthz\">Is the server alive?</a> "
    "<a href=\"readyz\">Is it ready?</a></li>\n"
    "</ul>\n</body>\n</html>\n";

void
api_page(void *app FZ_UNUSED, struct http_request *request)
{
    http_add_header(request, "Content-Security-Policy",
                    "default-src 'none'; style-src '" STYLE_HASH
                    "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    http_add_header(request, "Referrer-Policy", "no-referrer");
    http_respond(request, 200, "text/html; charset=utf-8", fz_span_cstr(page));
}
