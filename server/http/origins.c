#include "server/http/origins.h"

#include <stddef.h>
#include <string.h>

#include "base/attr.h"

static const char SEPARATORS[] = ", \t";

bool
http_origins_allows(const char *origins, const char *origin)
{
    const char *at = origins ? origins : "";
    while (origin && *(at += strspn(at, SEPARATORS))) {
        size_t len = strcspn(at, SEPARATORS);
        if ((len == 1 && *at == '*') || (strncmp(at, origin, len) == 0 && origin[len] == '\0'))
            return true;
        at += len;
    }
    return false;
}

/* "https://dash.example.com:8443": a scheme, a host, maybe a port, and nothing after it. */
static bool
is_origin(const char *at, size_t len)
{
    static const char *const schemes[] = {"https://", "http://"};
    static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
    if (len == 1 && *at == '*')
        return true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (len > n && strncmp(at, schemes[i], n) == 0)
            return strspn(at + n, host) >= len - n;
    }
    return false;
}

const char *
http_origins_fault(const char *origins)
{
    const char *at = origins ? origins : "";
    while (*(at += strspn(at, SEPARATORS))) {
        size_t len = strcspn(at, SEPARATORS);
        if (!is_origin(at, len))
            return at;
        at += len;
    }
    return NULL;
}
