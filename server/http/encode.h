/*
 * The parts of an answer that depend on Accept-Encoding and If-None-Match: its content coding, its
 * ETag, and 304 in place of a body that the client already has.
 */
#ifndef HTTP_ENCODE_H
#define HTTP_ENCODE_H

#include "server/http/inflate.h"

enum {
    HTTP_ENCODE_MIN = 1024,             /* smaller bodies are not compressed */
    HTTP_ENCODE_MAX = 64 * 1024 * 1024, /* larger ones would occupy a thread for too long */
    HTTP_ETAG_TEXT = 48,
};

/* The coding that the client likes best among zstd, gzip and identity (RFC 9110, 12.5.3); among
 * those it likes alike, the smallest. NULL (no such header), or something unreadable: identity. */
enum http_coding http_encode_choose(const char *accept_encoding);

/* The same among the codings of a file that was packed before: `forms[i]` is the file in coding i, and
 * forms[IDENTITY] is there. */
enum http_coding http_encode_choose_form(const char *accept_encoding,
                                         const struct fz_span forms[HTTP_CODINGS_N]);

/* Is this a type that compresses: text, JSON, XML? */
bool http_encode_helps(const char *content_type);

/* The body in this coding (GZIP or ZSTD), malloc. False: no memory, or it did not become smaller.
 */
bool http_encode_pack(enum http_coding coding, struct fz_span body, uint8_t **ret, size_t *ret_len);

/* The strong ETag of a body in a coding: `"<32 hex>"`, `"<32 hex>-gzip"`. */
void http_etag_make(struct fz_span body, enum http_coding coding, char ret[HTTP_ETAG_TEXT]);

/* Does an If-None-Match header name this ETag? Weak comparison, as for GET; "*" names all. */
bool http_etag_matches(const char *if_none_match, const char *etag);

/* An answer on its way; to be released with free(owned). */
struct http_encoded {
    int status;
    struct fz_span body;
    uint8_t *owned; /* NULL: `body` is the caller's */
};

struct http_request;
/* The coding for an answer of this type, as the request wants it; adds Vary. */
enum http_coding http_encode_negotiate(struct http_request *request, const char *content_type);
/* Add Content-Encoding for it. */
void http_encode_announce(struct http_request *request, enum http_coding coding);

/* The answer as this request is to get it; adds Content-Encoding, ETag, Vary and Cache-Control. Not
 * for the thread that serves all connections: packing takes time. */
void http_encode(struct http_request *request, int status, const char *content_type,
                 struct fz_span body, struct http_encoded *ret);
/* The same for a file that was packed before. */
void http_encode_packed(struct http_request *request, const struct fz_span forms[HTTP_CODINGS_N],
                        struct http_encoded *ret);

#endif
