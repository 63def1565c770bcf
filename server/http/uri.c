#include "server/http/uri.h"

#include <stdlib.h>

#include "base/text.h"

/* Decode `len` bytes of `raw` to `to` (which may be the same place); returns the end, NULL on a
 * broken escape or a NUL. */
static char *
decode(const char *raw, size_t len, bool plus_is_space, char *to)
{
    for (size_t i = 0; i < len; i++) {
        char c = raw[i];
        if (c == '%') {
            if (len - i < 3)
                return NULL;
            int high = fz_text_hex_digit(raw[i + 1]), low = fz_text_hex_digit(raw[i + 2]);
            if (high < 0 || low < 0)
                return NULL;
            c = (char)((unsigned)high << 4 | (unsigned)low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        /* Texts end with a NUL: the rest would be ignored here and seen by a proxy. */
        if (c == '\0')
            return NULL;
        *to++ = c;
    }
    return to;
}

/* A run of the target, decoded and NUL-terminated at *at, which moves on. */
static enum fz_code
decode_run(const char *raw, size_t len, bool in_query, char **at, const char **ret,
           struct fz_error *err)
{
    char *start = *at;
    char *end = decode(raw, len, in_query, start);
    if (!end)
        return fz_fail(err, FZ_E_MALFORMED, "the %s has a broken percent escape or %%00",
                       in_query ? "query" : "path");
    if (!fz_text_is_utf8(fz_span_make(start, (size_t)(end - start))))
        return fz_fail(err, FZ_E_MALFORMED, "the %s is not UTF-8", in_query ? "query" : "path");
    for (const char *p = start; !in_query && p < end; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return fz_fail(err, FZ_E_MALFORMED, "the path has a control character");
    }
    *end = '\0';
    *ret = start;
    *at = end + 1;
    return FZ_OK;
}

static enum fz_code
parse_path(const char *raw, size_t len, struct http_uri *uri, char **at, struct fz_error *err)
{
    /* raw[0] is '/'. */
    for (size_t start = 1; start <= len;) {
        const char *slash = memchr(raw + start, '/', len - start);
        size_t end = slash ? (size_t)(slash - raw) : len;
        if (uri->n_segments == HTTP_MAX_SEGMENTS)
            return fz_fail(err, FZ_E_LIMIT, "the path has more than %d segments",
                           (int)HTTP_MAX_SEGMENTS);
        enum fz_code code =
            decode_run(raw + start, end - start, false, at, &uri->segments[uri->n_segments], err);
        if (code != FZ_OK)
            return code;
        uri->n_segments++;
        start = end + 1;
    }
    return FZ_OK;
}

/* How many pairs parse_query() finds at most. */
static size_t
most_pairs(const char *raw, size_t len)
{
    size_t n = 1;
    for (const char *end = raw + len;
         n < HTTP_MAX_PAIRS && (raw = memchr(raw, '&', (size_t)(end - raw))); raw++)
        n++;
    return n;
}

static enum fz_code
parse_query(const char *raw, size_t len, struct http_uri *uri, char **at, struct fz_error *err)
{
    for (size_t start = 0; start < len;) {
        const char *amp = memchr(raw + start, '&', len - start);
        size_t end = amp ? (size_t)(amp - raw) : len;
        size_t pair_len = end - start;
        /* "a=1&&b=2": a form's empty pairs mean nothing (WHATWG URL, 5.1). */
        if (pair_len) {
            const char *equals = memchr(raw + start, '=', pair_len);
            size_t name_len = equals ? (size_t)(equals - raw) - start : pair_len;
            size_t value_at = equals ? start + name_len + 1 : end;
            if (uri->n_query == HTTP_MAX_PAIRS)
                return fz_fail(err, FZ_E_LIMIT, "the query has more than %d parameters",
                               (int)HTTP_MAX_PAIRS);
            struct http_pair *pair = &uri->query[uri->n_query];
            enum fz_code code = decode_run(raw + start, name_len, true, at, &pair->name, err);
            if (code == FZ_OK)
                code = decode_run(raw + value_at, end - value_at, true, at, &pair->value, err);
            if (code != FZ_OK)
                return code;
            uri->n_query++;
        }
        start = end + 1;
    }
    return FZ_OK;
}

/* The path and query of an absolute-form target; false if it has no form that is known. */
static bool
skip_authority(const char **raw, size_t *len)
{
    if (*len && (*raw)[0] == '/')
        return true;
    /* RFC 9112, 3.2.2: proxies get this form, but a server must accept it too. */
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(schemes); i++) {
        size_t scheme_len = strlen(schemes[i]);
        if (*len <= scheme_len || memcmp(*raw, schemes[i], scheme_len) != 0)
            continue;
        const char *slash = memchr(*raw + scheme_len, '/', *len - scheme_len);
        if (!slash)
            return false;
        *len -= (size_t)(slash - *raw);
        *raw = slash;
        return true;
    }
    return false;
}

enum fz_code
http_uri_parse(struct fz_span raw, struct http_uri *ret, struct fz_error *err)
{
    *ret = (struct http_uri){0};
    const char *text = (const char *)raw.data;
    size_t len = raw.len;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7f)
            return fz_fail_at(err, FZ_E_MALFORMED, i,
                              "the request target has a space or control character");
    }
    if (!skip_authority(&text, &len))
        return fz_fail(err, FZ_E_MALFORMED, "the request target does not start with '/'");
    const char *mark = memchr(text, '?', len);
    size_t path_len = mark ? (size_t)(mark - text) : len;
    size_t n_pairs = mark ? most_pairs(mark + 1, len - path_len - 1) : 0;
    /* Decoding never grows a text; each of the pieces gets one NUL more. */
    size_t text_room = len + 2 * (n_pairs + 1) + HTTP_MAX_SEGMENTS;
    ret->memory = malloc(n_pairs * sizeof(ret->query[0]) + text_room);
    if (!ret->memory)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    ret->query = ret->memory;
    char *at = (char *)(ret->query + n_pairs);
    enum fz_code code = parse_path(text, path_len, ret, &at, err);
    if (code == FZ_OK && mark)
        code = parse_query(mark + 1, len - path_len - 1, ret, &at, err);
    if (code != FZ_OK)
        http_uri_deinit(ret);
    return code;
}

void
http_uri_deinit(struct http_uri *uri)
{
    if (!uri)
        return;
    free(uri->memory);
    *uri = (struct http_uri){0};
}

const char *
http_uri_query(const struct http_uri *uri, const char *name)
{
    for (size_t i = 0; i < uri->n_query; i++) {
        if (strcmp(uri->query[i].name, name) == 0)
            return uri->query[i].value;
    }
    return NULL;
}

/* The number of the first segment from `segment` on that counts. */
static size_t
next_segment(const struct http_uri *uri, size_t segment, bool loose)
{
    /* Sentry's paths end with a slash, and a base URL with one makes two in a row. */
    while (loose && segment < uri->n_segments && !*uri->segments[segment])
        segment++;
    return segment;
}

/* The pattern from segment `first` to the end of the path. */
static bool
match_from(const struct http_uri *uri, size_t first, const char *pattern, bool loose,
           struct http_params *ret)
{
    struct http_params found = {.n = 0};
    size_t segment = next_segment(uri, first, loose);
    for (const char *p = pattern; *p == '/'; segment = next_segment(uri, segment + 1, loose)) {
        p++;
        size_t len = strcspn(p, "/");
        if (segment == uri->n_segments)
            return false;
        const char *have = uri->segments[segment];
        if (len >= 2 && p[0] == '{' && p[len - 1] == '}') {
            /* "/reports/" is not a report with an empty id. */
            if (!*have || found.n == HTTP_MAX_PARAMS)
                return false;
            found.pairs[found.n] = (struct http_pair){.name = p + 1, .value = have};
            found.name_len[found.n++] = len - 2;
        } else if (strlen(have) != len || memcmp(have, p, len) != 0) {
            return false;
        }
        p += len;
    }
    if (segment != uri->n_segments)
        return false;
    /* Only now: a pattern that fits in part must leave nothing. */
    *ret = found;
    return true;
}

bool
http_uri_match(const struct http_uri *uri, const char *pattern, enum http_match how,
               struct http_params *ret)
{
    /* A DSN may have a path before its project, if the server is below one. */
    size_t n = how == HTTP_MATCH_ANYWHERE ? uri->n_segments : 1;
    for (size_t first = 0; first < n; first++) {
        if (match_from(uri, first, pattern, how != HTTP_MATCH_EXACT, ret))
            return true;
    }
    return false;
}
