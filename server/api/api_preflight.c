/*
 * CORS preflight: what a browser asks before a page of another origin may send a request.
 *
 * Paths that take reports answer every origin: SDKs run in pages, and their keys are public. Other
 * paths of the API answer the origins of the configuration, and only if there are any.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/http/client.h"

/* Every header that clients of the API or of a client protocol send with a request. */
static const char allowed_headers[] =
    "Authorization, Content-Type, Content-Encoding, If-None-Match, X-Framezero-Key, X-Request-Id, "
    "X-Sentry-Auth, X-Requested-With, X-Forwarded-For, Origin, Referer, Accept, Authentication, "
    "Transfer-Encoding, User-Agent, Bugsnag-Api-Key, Bugsnag-Payload-Version, Bugsnag-Sent-At, "
    "Bugsnag-Integrity";

static bool
has_options(const struct api *api, const char *pattern)
{
    for (size_t i = 0; i < api->n_routes; i++) {
        if (strcmp(api->routes[i].method, "OPTIONS") == 0 &&
            strcmp(api->routes[i].pattern, pattern) == 0)
            return true;
    }
    return false;
}

static void
preflight(void *app, struct http_request *request)
{
    const struct api *api = app;
    const char *pattern = http_route_user(request), *origin = http_header(request, "Origin");
    const char *asked = http_header(request, "Access-Control-Request-Method");
    char methods[96] = "";
    bool any = false, configured = false;
    for (size_t i = 0; i < api->n_routes; i++) {
        const struct http_route *route = &api->routes[i];
        if (strcmp(route->pattern, pattern) != 0)
            continue;
        size_t len = strlen(methods);
        snprintf(methods + len, sizeof(methods) - len, "%s%s", len ? ", " : "", route->method);
        bool is_asked = asked && strcmp(asked, route->method) == 0;
        any = any || (is_asked && (route->flags & HTTP_ROUTE_CORS));
        configured = configured || (is_asked && (route->flags & HTTP_ROUTE_ORIGINS));
    }
    /* A cache must not give one origin's permission to another. */
    http_add_header(request, "Vary", "Origin, Access-Control-Request-Method");
    if (any)
        http_add_header(request, "Access-Control-Allow-Origin", "*");
    else if (configured && http_origins_allows(api->config.cors_origins, origin))
        http_add_header(request, "Access-Control-Allow-Origin", origin);
    http_add_header(request, "Allow", methods);
    http_add_header(request, "Access-Control-Allow-Methods", methods);
    http_add_header(request, "Access-Control-Allow-Headers", allowed_headers);
    /* Otherwise a browser asks again before every request. */
    http_add_header(request, "Access-Control-Max-Age", "3600");
    http_respond(request, 204, NULL, (struct fz_span){NULL, 0});
}

void
api_add_preflights(struct api *api)
{
    const char *origins = api->config.cors_origins;
    unsigned flags = HTTP_ROUTE_CORS | (origins && *origins ? HTTP_ROUTE_ORIGINS : 0);
    /* Only those so far: the ones that are added here are OPTIONS themselves. */
    size_t n = api->n_routes;
    for (size_t i = 0; i < n && api->n_routes < API_ROUTES_MAX; i++) {
        const struct http_route *route = &api->routes[i];
        /* Client protocols with an OPTIONS row of their own answer as their original does. */
        if (!(route->flags & flags) || has_options(api, route->pattern))
            continue;
        api->routes[api->n_routes++] = (struct http_route){
            .method = "OPTIONS",
            .pattern = route->pattern,
            .name = "preflight",
            /* No scope: a browser sends no token with this request. */
            .handle = preflight,
            .flags = route->flags & (HTTP_ROUTE_LOOSE | HTTP_ROUTE_ANYWHERE),
            .user = route->pattern,
        };
    }
}

void
api_cors_options(void *app FZ_UNUSED, struct http_request *request)
{
    http_add_header(request, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    http_add_header(request, "Access-Control-Allow-Headers",
                    "x-sentry-auth, x-requested-with, x-forwarded-for, origin, referer, accept, "
                    "content-type, authentication, authorization, content-encoding, "
                    "transfer-encoding, user-agent");
    http_add_header(request, "Access-Control-Max-Age", "3600");
    http_add_header(request, "Access-Control-Expose-Headers",
                    "x-sentry-error, x-sentry-rate-limits, retry-after");
    http_respond(request, 200, "text/plain", (struct fz_span){NULL, 0});
}
