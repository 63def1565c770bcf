/* What a page of another origin needs to read an answer (the Fetch standard's CORS protocol). */
#include "server/http/internal.h"
#include "server/http/origins.h"

void
http_cors_answer(struct http_request *request)
{
    static const char exposed[] = "ETag, X-Request-Id, Retry-After, Content-Disposition, Location, "
                                  "X-Sentry-Error, X-Sentry-Rate-Limits";
    const char *origin = http_header(request, "Origin"), *origins = request->server->cors_origins;
    unsigned flags = request->route->flags;
    if (flags & HTTP_ROUTE_CORS) {
        http_add_header(request, "Access-Control-Allow-Origin", "*");
    } else if ((flags & HTTP_ROUTE_ORIGINS) && origins) {
        /* Caches must not give one origin's answer to another, or to a request without one. */
        http_add_header(request, "Vary", "Origin");
        if (!http_origins_allows(origins, origin))
            return;
        http_add_header(request, "Access-Control-Allow-Origin", origin);
    } else {
        return;
    }
    http_add_header(request, "Access-Control-Expose-Headers", exposed);
}
