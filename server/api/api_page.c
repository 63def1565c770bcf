/*
 * GET /: what somebody sees who opens the server's address in a browser. It names what this is and
 * where to read on; nothing that helps a stranger, and nothing that runs.
 */
#include "server/api/api_private.h"

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
api_page(void *app, struct http_request *request)
{
    (void)app;
    http_add_header(request, "Content-Security-Policy",
                    "default-src 'none'; style-src '" STYLE_HASH
                    "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    http_add_header(request, "Referrer-Policy", "no-referrer");
    http_respond(request, 200, "text/html; charset=utf-8", fz_span_cstr(page));
}
