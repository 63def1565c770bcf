/*
 * Request targets: path segments and query pairs, percent-decoded, and the routes they match.
 *
 * Pure functions over foreign bytes. Percent-decoding happens once, after the split at '/', '&' and
 * '=', so an encoded separator is data. %00, broken escapes and bytes that are not UTF-8 are
 * malformed (RFC 3986, 2.1; RFC 9112, 3.2).
 */
#ifndef HTTP_URI_H
#define HTTP_URI_H

#include "base/error.h"
#include "base/span.h"

enum { HTTP_MAX_SEGMENTS = 24, HTTP_MAX_PAIRS = 128, HTTP_MAX_PARAMS = 8 };

struct http_pair {
    const char *name, *value;
};

struct http_uri {
    void *memory; /* owned; everything below points into it */
    const char *segments[HTTP_MAX_SEGMENTS];
    size_t n_segments;       /* "/" has one empty segment, "/a/" has "a" and "" */
    struct http_pair *query; /* with room for as many as there may be */
    size_t n_query;
};

struct http_params {
    struct http_pair pairs[HTTP_MAX_PARAMS]; /* names point into the pattern, NUL-less: name_len */
    size_t name_len[HTTP_MAX_PARAMS];
    size_t n;
};

/*
 * Parse an origin-form or absolute-form target ("/a/b?c=d", "http://host/a"). On failure *ret is
 * empty and needs no end. MALFORMED; LIMIT: too many segments or pairs.
 */
FZ_MUST_CHECK enum fz_code http_uri_parse(struct fz_span raw, struct http_uri *ret,
                                          struct fz_error *err);
void http_uri_deinit(struct http_uri *uri);

/* The value of the first pair of that name in the query, or NULL. */
const char *http_uri_query(const struct http_uri *uri, const char *name);

enum http_match {
    HTTP_MATCH_EXACT,
    HTTP_MATCH_LOOSE,    /* empty segments of the path do not count */
    HTTP_MATCH_ANYWHERE, /* loose, and the pattern may follow other segments */
};

/* True if the path is that of the pattern. {name} segments match any non-empty one and are listed
 * in *ret, which is untouched otherwise. */
bool http_uri_match(const struct http_uri *uri, const char *pattern, enum http_match how,
                    struct http_params *ret);

#endif
