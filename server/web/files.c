#include "server/web/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/api_client.h"
#include "server/web/web.h"

/* ---- headers ------------------------------------------------------------------------------ */

/*
 * Everything that the page shows comes from whoever has an ingest key, and each app contains one. So
 * only files of this server are scripts and styles, text cannot become markup (Trusted Types), and
 * nothing is sent to or fetched from anywhere else.
 */
static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void
respond_file(struct http_request *request, const struct web_file *file)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(headers); i++)
        http_add_header(request, headers[i].name, headers[i].value);
    const struct fz_span forms[HTTP_CODINGS_N] = {
        [HTTP_CODING_IDENTITY] = fz_span_make(file->plain, file->plain_len),
        [HTTP_CODING_GZIP] = fz_span_make(file->gzip, file->gzip_len),
        [HTTP_CODING_BROTLI] = fz_span_make(file->brotli, file->brotli_len),
    };
    http_respond_packed(request, file->type, forms);
}

/* ---- files -------------------------------------------------------------------------------- */

static int
compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct web_file *)file)->path);
}

const struct web_file *
web_files_find(const char *path)
{
    return bsearch(path, web_files_all, web_files_n, sizeof(*web_files_all), compare_path);
}

static void
get_page(void *app FZ_UNUSED, struct http_request *request)
{
    respond_file(request, web_files_find("index.html"));
}

/* The path of a request for a file, from the pattern's {a}, {b} and {c}; false if there
 * can be none. The whole is looked up in a table, so ".." in it finds nothing. */
static bool
asset_path(const struct http_request *request, char *ret, size_t room)
{
    static const char *const names[] = {"a", "b", "c"};
    size_t len = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        const char *part = http_param(request, names[i]);
        if (!part)
            break;
        /* "lib%2fapi.js" would be a second address of the same file. */
        if (strchr(part, '/'))
            return false;
        int n = snprintf(ret + len, room - len, "%s%s", len ? "/" : "", part);
        if (n < 0 || (size_t)n >= room - len)
            return false;
        len += (size_t)n;
    }
    return true;
}

static void
get_asset(void *app FZ_UNUSED, struct http_request *request)
{
    char path[128];
    const struct web_file *file = NULL;
    if (strcmp(http_param(request, "tag"), web_files_tag) == 0 &&
        asset_path(request, path, sizeof(path)) && strcmp(path, "index.html") != 0)
        file = web_files_find(path);
    if (!file) {
        struct fz_error err;
        fz_ignore(fz_fail(&err, FZ_E_NOT_FOUND,
                          "no such file of the page; after an update of the server, reload it"));
        http_respond_error(request, &err);
        return;
    }
    http_add_header(request, "Cache-Control", "public, max-age=31536000, immutable");
    respond_file(request, file);
}

/* ---- routes ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct api_route rows[] = {
    {"GET", "/", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/login", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/setup", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/invite", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/reset", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/p/{name}", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/p/{name}/{screen}", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/p/{name}/{screen}/{item}", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/p/{name}/{screen}/{item}/{part}", "page", .flags = HTTP_ROUTE_ETAG},
    {"GET", "/assets/{tag}/{a}", "asset", .handle = get_asset},
    {"GET", "/assets/{tag}/{a}/{b}", "asset", .handle = get_asset},
    {"GET", "/assets/{tag}/{a}/{b}/{c}", "asset", .handle = get_asset},
};
/* clang-format on */

/* Compiled in and compressed, so the answer waits for nothing. */
const struct api_routes web_files = {
    rows, FZ_ARRAY_LEN(rows), {.handle = get_page, .flags = HTTP_ROUTE_QUICK}};
