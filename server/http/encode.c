#include "server/http/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/digest.h"
#include "base/text.h"
#include "server/http/answer.h"
#include "server/http/request.h"

/* Reports shrink to a tenth at any level; higher ones cost more time than they save in transfer. */
enum { GZIP_LEVEL = 4, ZSTD_LEVEL = 3, GZIP_WINDOW = 15 + 16 };

/* ---- Accept-Encoding ---- */

/* "0.5" as 500, "1" as 1000; -1 if it is not a weight. */
static int
parse_weight(struct fz_span weight)
{
    const uint8_t *text = weight.data;
    size_t len = weight.len;
    if (len == 0 || len > 5 || (text[0] != '0' && text[0] != '1') || (len > 1 && text[1] != '.'))
        return -1;
    int value = (text[0] - '0') * 1000;
    for (size_t i = 2, unit = 100; i < len; i++, unit /= 10) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value += (text[i] - '0') * (int)unit;
    }
    return value > 1000 ? -1 : value;
}

/* One element "gzip;q=0.5": its name, its weight; returns where the next one begins. */
static const char *
next_element(const char *at, struct fz_span *ret_name, int *ret_weight)
{
    const char *end = at + strcspn(at, ",;");
    *ret_name = fz_text_trim(fz_span_make(at, (size_t)(end - at)));
    *ret_weight = 1000;
    while (*end == ';') {
        size_t len = strcspn(++end, ",;");
        struct fz_span parameter = fz_text_trim(fz_span_make(end, len));
        if (http_name_is(fz_span_until(parameter, 2), "q="))
            *ret_weight = parse_weight(fz_span_from(parameter, 2));
        end += len;
    }
    return *end ? end + 1 : end;
}

/* In the order of our preference, for clients without one. */
static const struct {
    const char *name, *alias;
    enum http_coding coding;
} codings[] = {{"zstd", "zstd", HTTP_CODING_ZSTD},
               {"br", "br", HTTP_CODING_BROTLI},
               {"gzip", "x-gzip", HTTP_CODING_GZIP},
               {"identity", "identity", HTTP_CODING_IDENTITY}};

/* The weight of each of `codings`; -1: the header says nothing about it. */
static void
read_weights(const char *accept_encoding, int ret[FZ_ARRAY_LEN(codings)])
{
    int rest = -1;
    const char *at = accept_encoding ? accept_encoding : "";
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++)
        ret[i] = -1;
    while (*at) {
        struct fz_span name;
        int weight;
        at = next_element(at, &name, &weight);
        for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++) {
            if (http_name_is(name, codings[i].name) || http_name_is(name, codings[i].alias))
                ret[i] = weight;
        }
        /* RFC 9110, 12.5.3: the weight of every coding that is not named. */
        if (http_name_is(name, "*"))
            rest = weight;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++)
        ret[i] = ret[i] >= 0 ? ret[i] : rest;
}

/* The best of the codings whose bits are set. */
static enum http_coding
choose(const char *accept_encoding, unsigned allowed)
{
    int weights[FZ_ARRAY_LEN(codings)];
    read_weights(accept_encoding, weights);
    enum http_coding best = HTTP_CODING_IDENTITY;
    int best_weight = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(codings); i++) {
        /* Identity is acceptable without being named, but has no weight then. */
        if (allowed & 1U << codings[i].coding && weights[i] > best_weight) {
            best_weight = weights[i];
            best = codings[i].coding;
        }
    }
    return best;
}

enum http_coding
http_encode_choose(const char *accept_encoding)
{
    /* Brotli is not among them: at the levels that are small, it is too slow for each answer. */
    return choose(accept_encoding,
                  1U << HTTP_CODING_IDENTITY | 1U << HTTP_CODING_GZIP | 1U << HTTP_CODING_ZSTD);
}

enum http_coding
http_encode_choose_form(const char *accept_encoding, const struct fz_span forms[HTTP_CODINGS_N])
{
    unsigned allowed = 1U << HTTP_CODING_IDENTITY;
    for (unsigned coding = 0; coding < HTTP_CODINGS_N; coding++)
        allowed |= forms[coding].len ? 1U << coding : 0;
    return choose(accept_encoding, allowed);
}

/* ---- packing ---- */

bool
http_encode_helps(const char *content_type)
{
    static const char *const types[] = {"application/json", "application/x-ndjson",
                                        "application/xml", "text/"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(types); i++) {
        if (strncasecmp(content_type, types[i], strlen(types[i])) == 0)
            return true;
    }
    return false;
}

static size_t
pack_gzip(struct fz_span body, uint8_t *to, size_t room)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    stream.next_in = (Bytef *)(uintptr_t)body.data; /* zlib does not write there */
    stream.avail_in = (uInt)body.len;
    stream.next_out = to;
    stream.avail_out = (uInt)room;
    int result = deflate(&stream, Z_FINISH);
    size_t len = room - stream.avail_out;
    deflateEnd(&stream);
    /* Anything but the end means that the result does not fit: it is larger than the body. */
    return result == Z_STREAM_END ? len : 0;
}

bool
http_encode_pack(enum http_coding coding, struct fz_span body, uint8_t **ret, size_t *ret_len)
{
    /* The result is used only if it is smaller than the body. */
    uint8_t *to = body.len > HTTP_ENCODE_MAX ? NULL : malloc(body.len);
    if (!to)
        return false;
    size_t len = 0;
    if (coding == HTTP_CODING_GZIP) {
        len = pack_gzip(body, to, body.len);
    } else if (coding == HTTP_CODING_ZSTD) {
        len = ZSTD_compress(to, body.len, body.data, body.len, ZSTD_LEVEL);
        len = ZSTD_isError(len) ? 0 : len;
    }
    if (len == 0 || len >= body.len) {
        free(to);
        return false;
    }
    /* It may be held until a slow client has read it. */
    uint8_t *small = realloc(to, len);
    *ret = small ? small : to;
    *ret_len = len;
    return true;
}

/* ---- ETag ---- */

static const char *
coding_name(enum http_coding coding)
{
    return coding == HTTP_CODING_GZIP     ? "gzip"
           : coding == HTTP_CODING_ZSTD   ? "zstd"
           : coding == HTTP_CODING_BROTLI ? "br"
                                          : "";
}

void
http_etag_make(struct fz_span body, enum http_coding coding, char ret[HTTP_ETAG_TEXT])
{
    char hash[FZ_SHA256_TEXT];
    fz_sha256_hex(body, hash);
    const char *name = coding_name(coding);
    snprintf(ret, HTTP_ETAG_TEXT, "\"%.32s%s%s\"", hash, *name ? "-" : "", name);
}

bool
http_etag_matches(const char *if_none_match, const char *etag)
{
    size_t len = strlen(etag);
    const char *at = if_none_match ? if_none_match : "";
    while (*(at += strspn(at, " \t,"))) {
        if (*at == '*')
            return true;
        /* RFC 9110, 13.1.2: If-None-Match compares weakly, and proxies that compress make an
         * ETag weak. */
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        if (strncmp(at, etag, len) == 0 && (at[len] == '\0' || strchr(" \t,", at[len])))
            return true;
        if (*at == '"') /* a comma may be part of it */
            at += 1 + strcspn(at + 1, "\"");
        at += strcspn(at, ",");
    }
    return false;
}

/* ---- one answer ---- */

/* An ETag if the route's answers have one. True: the client has this answer, and gets 304. */
static bool
answer_is_known(struct http_request *request, struct fz_span body, enum http_coding coding,
                struct http_encoded *ret)
{
    if (ret->status != 200 || !request->route || !(request->route->flags & HTTP_ROUTE_ETAG))
        return false;
    char etag[HTTP_ETAG_TEXT];
    http_etag_make(body, coding, etag);
    http_add_header(request, "ETag", etag);
    /* A browser may keep it, but must revalidate it each time. */
    http_add_header(request, "Cache-Control", "private, no-cache");
    /* The handler has run all the same, since the ETag is the hash of its answer; the transfer
     * is what this saves. */
    if (!http_etag_matches(http_header(request, "If-None-Match"), etag))
        return false;
    ret->status = 304;
    ret->body = fz_span_make(NULL, 0);
    return true;
}

enum http_coding
http_encode_negotiate(struct http_request *request, const char *content_type)
{
    if (!content_type || !http_encode_helps(content_type))
        return HTTP_CODING_IDENTITY;
    /* Also for an answer that is not packed: a cache must not give a packed one to a client that
     * cannot read it. */
    http_add_header(request, "Vary", "Accept-Encoding");
    return http_encode_choose(http_header(request, "Accept-Encoding"));
}

void
http_encode_announce(struct http_request *request, enum http_coding coding)
{
    if (coding != HTTP_CODING_IDENTITY)
        http_add_header(request, "Content-Encoding", coding_name(coding));
}

void
http_encode(struct http_request *request, int status, const char *content_type, struct fz_span body,
            struct http_encoded *ret)
{
    *ret = (struct http_encoded){.status = status, .body = body};
    bool may_pack = body.len >= HTTP_ENCODE_MIN && body.len <= HTTP_ENCODE_MAX;
    enum http_coding coding =
        may_pack ? http_encode_negotiate(request, content_type) : HTTP_CODING_IDENTITY;
    size_t len = 0;
    if (answer_is_known(request, body, coding, ret) || coding == HTTP_CODING_IDENTITY ||
        !http_encode_pack(coding, body, &ret->owned, &len))
        return;
    ret->body = fz_span_make(ret->owned, len);
    http_encode_announce(request, coding);
}

void
http_encode_packed(struct http_request *request, const struct fz_span forms[HTTP_CODINGS_N],
                   struct http_encoded *ret)
{
    enum http_coding coding =
        http_encode_choose_form(http_header(request, "Accept-Encoding"), forms);
    *ret = (struct http_encoded){.status = 200, .body = forms[coding]};
    http_add_header(request, "Vary", "Accept-Encoding");
    if (!answer_is_known(request, forms[HTTP_CODING_IDENTITY], coding, ret))
        http_encode_announce(request, coding);
}
