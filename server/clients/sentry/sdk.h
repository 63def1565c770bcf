/*
 * What the files for Sentry's SDKs share. Private to this folder.
 */
#ifndef CLIENTS_SENTRY_SDK_H
#define CLIENTS_SENTRY_SDK_H

#include "server/api/api_client.h"
#include "server/http/http.h"

/* ---- sdk_key.c: the key of a DSN -------------------- */

/* api_find_token_fn: X-Sentry-Auth, Authorization: Sentry, ?sentry_key=. */
const char *sentry_find_key(const struct http_request *request, char room[API_TOKEN_ROOM]);

/* sentry_key of "Sentry k=v, k=v"; NULL without it. `header` may be NULL. */
const char *sentry_header_key(const char *header, char room[API_TOKEN_ROOM]);

/* The key in an envelope's header line ("dsn":"http://KEY@host/1"); NULL without it. */
const char *sentry_dsn_key(struct fz_span envelope, char room[API_TOKEN_ROOM]);

/* ---- sdk_answer.c: as the SDKs want it -------------------- */

/* {"detail":"...","causes":["..."]} */
void sentry_write_error(const struct fz_error *err, int status, const char *detail_json,
                        struct fz_buffer *out);
/* An error of a handler, with X-Sentry-Error. status 0: that of the code. */
void sentry_fail(struct http_request *request, int status, const struct fz_error *err);
/* {"id":"<32 hex>"}, {} without one. */
void sentry_answer_id(struct http_request *request, const char *id);
/* An api_limited_fn: X-Sentry-Rate-Limits. */
void sentry_limited(struct http_request *request, enum api_takes takes, unsigned wait_s,
                    const char *scope, const char *limit);

/* Whose event it is. */
struct sentry_sender {
    int64_t project_id, token_id;
};

/* An api_accepted_fn: answers {"id"} of the first report, or why it was rejected. */
void sentry_answer_accepted(struct http_request *request, const struct api_accepted *accepted,
                            void *user);

/* ---- handlers -------------------- */

void sentry_minidump_post(void *app, struct http_request *request); /* sdk_minidump.c */

extern const struct api_routes clients_sentry_sdk; /* sdk.c */

#endif
