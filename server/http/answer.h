/*
 * An answer on its way to the client: status, headers, body, and the two ways out (libmicrohttpd's
 * queue, or the socket itself for refusals in the middle of a body).
 */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include <microhttpd.h>

#include "server/http/content.h"

struct http_request;

struct http_answer {
    int status; /* 0: none yet */
    char content_type[96];
    uint8_t *body; /* owned */
    size_t len;
    struct http_content *content; /* owned: in its place if it is long */
    struct http_stream *stream;   /* owned: in its place if it is made while it is sent */
    struct http_extra {
        struct http_extra *next;
        char *name, *value;
    } * headers; /* owned */
    bool close;
};

void http_answer_deinit(struct http_answer *answer);
/* Status and body; the body is copied. The headers stay. */
void http_answer_set(struct http_answer *answer, int status, const char *content_type,
                     struct fz_span body);

/* Fill request->answer with the error. */
void http_answer_error(struct http_request *request, int status, const struct fz_error *err,
                       const char *detail_json);
/* The refusal in request->body_*, as an answer. */
void http_answer_refusal(struct http_request *request);
/* What was added so far is for the late answer too. Before another thread gets the request. */
void http_answer_keep_headers(struct http_request *request);
/* Not answered in time: fill request->late, unless it holds a fallback. */
void http_answer_late(struct http_request *request);
enum MHD_Result http_answer_queue(struct http_request *request);
/* Past libmicrohttpd, which cannot answer while a body comes in: write the answer at once. */
void http_answer_send_now(struct http_request *request);

#endif
