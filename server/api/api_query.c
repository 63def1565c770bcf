/* The parameters of a request: checked, and read as what they are. */
#include "server/api/api_query.h"

#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "server/query/query.h"

enum { KNOWN_SHOWN = 157 }; /* bytes of the known parameters that a message has room for */

bool
api_is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);
    while (*choices) {
        size_t n = strcspn(choices, ",");
        if (n == len && memcmp(choices, value, len) == 0)
            return true;
        choices += n + strspn(choices + n, ", ");
    }
    return false;
}

enum fz_code
api_check_query(const struct http_request *request, const char *known, struct fz_error *err)
{
    const char *name;
    for (size_t i = 0; (name = http_query_name(request, i)) != NULL; i++) {
        /* Both are read before the handler, for the token and its project. */
        if (api_is_choice(known, name) || api_is_choice("project, key", name))
            continue;
        /* An error's text has 255 bytes, and the filters of the report list alone take more. */
        if (strlen(known) > KNOWN_SHOWN)
            return fz_fail(err, FZ_E_MALFORMED,
                           "unknown parameter '%.40s'; /api/v1/openapi.json lists the known ones",
                           name);
        return fz_fail(err, FZ_E_MALFORMED, "unknown parameter '%.40s'; known are %s%sproject",
                       name, known, *known ? ", " : "");
    }
    return FZ_OK;
}

enum fz_code
api_query_count(const struct http_request *request, const char *name, size_t fallback, size_t max,
                size_t *ret, struct fz_error *err)
{
    const char *text = http_query(request, name);
    uint64_t value = fallback;
    /* Refused, not cut: a client that asks for 10,000 would take 500 for all there are. */
    if (text && (!fz_text_u64(fz_span_cstr(text), &value) || value < 1 || value > max))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not a number from 1 to %zu", name, text,
                       max);
    *ret = (size_t)value;
    return FZ_OK;
}

enum fz_code
api_query_limit(const struct http_request *request, size_t fallback, size_t max, size_t *ret,
                struct fz_error *err)
{
    return api_query_count(request, "limit", fallback, max, ret, err);
}

enum fz_code
api_query_time(const struct http_request *request, const char *name, int64_t *ret,
               struct fz_error *err)
{
    const char *text = http_query(request, name);
    if (text && !query_time_parse(fz_span_cstr(text), fz_time_now_ms(), ret, NULL))
        return fz_fail(
            err, FZ_E_MALFORMED,
            "%s: '%.40s' is not a time; write 2026-11-20T10:11:12Z, Unix seconds, or how "
            "long ago: 30m, 24h, 7d",
            name, text);
    return FZ_OK;
}

enum fz_code
api_query_format(const struct http_request *request, enum api_format *ret, struct fz_error *err)
{
    static const char *const names[] = {"json", "crash", "ips", "raw"};
    const char *text = http_query(request, "format");
    if (!text) {
        *ret = API_FORMAT_JSON;
        return FZ_OK;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum api_format)i;
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_E_MALFORMED, "format: '%.40s' is not one of json, crash, ips, raw",
                   text);
}

enum fz_code
api_query_flag(const struct http_request *request, const char *name, bool *ret,
               struct fz_error *err)
{
    const char *text = http_query(request, name);
    *ret = text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
    if (!text || *ret || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not 1 or 0", name, text);
}

enum fz_code
api_param_uuid(const struct http_request *request, const char *name, const char *what,
               char ret[FZ_UUID_TEXT], struct fz_error *err)
{
    const char *text = http_param(request, name);
    struct fz_uuid uuid;
    if (!text || !fz_uuid_parse(fz_span_cstr(text), &uuid))
        return fz_fail(err, FZ_E_NOT_FOUND, "no %s '%.64s'", what, text ? text : "");
    /* As it is stored, so that dashes and upper case do not matter. */
    fz_uuid_format(&uuid, ret);
    return FZ_OK;
}
