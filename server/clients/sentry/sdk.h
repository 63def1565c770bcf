/*
 * What the files that serve Sentry's SDKs share.
 */
#ifndef CLIENTS_SENTRY_SDK_H
#define CLIENTS_SENTRY_SDK_H

#include "server/api/api_client.h"
#include "server/http/http.h"
#include "server/ingest/sentry/items.h"
#include "storage/store_sessions.h"

/* ---- sdk_key.c: the key of a DSN -------------------- */

/* api_find_token_fn: X-Sentry-Auth, Authorization: Sentry, ?sentry_key=. */
const char *sentry_find_key(const struct http_request *request, char room[API_TOKEN_ROOM]);

/* sentry_key of "Sentry k=v, k=v"; NULL without it. `header` may be NULL. */
const char *sentry_header_key(const char *header, char room[API_TOKEN_ROOM]);

/* The key in an envelope's header ("dsn":"http://KEY@host/1"); NULL without it. */
const char *sentry_dsn_key(struct fz_span header, char room[API_TOKEN_ROOM]);

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

/* Take in one body and answer {"id"}. On failure nothing was answered. The arena (may be NULL, else
 * it is taken over) holds the body unless that is the request's. */
FZ_MUST_CHECK enum fz_code sentry_intake(struct api *api, struct http_request *request,
                                         const struct sentry_sender *sender, struct fz_span body,
                                         struct fz_arena *arena, struct fz_error *err);

/* ---- sdk_sessions.c -------------------- */

/* Is it an item that is counted: session, sessions, client_report? */
bool sentry_is_counted(const struct sentry_item *item);
bool sentry_is_session(const struct sentry_item *item); /* and not a client report */
/* All of them in an envelope whose framing is sound, up to SENTRY_COUNTED_MAX of each. What is odd
 * is left out. */
enum { SENTRY_COUNTED_MAX = 100 };
struct sentry_counted {
    struct fz_arena *arena;
    struct store_session sessions[SENTRY_COUNTED_MAX];
    struct store_discarded discarded[SENTRY_COUNTED_MAX];
    size_t n_sessions, n_discarded;
};
FZ_MUST_CHECK enum fz_code sentry_read_counted(struct fz_span envelope, const struct limits *limits,
                                               struct fz_arena *arena, struct sentry_counted **ret,
                                               struct fz_error *err);

/* ---- handlers -------------------- */

void sentry_minidump_post(void *app, struct http_request *request); /* sdk_minidump.c */

/* An event item and attachments as one envelope; `event` is JSON. For bodies that are not
 * recognised as an event, and for events with files. */
struct sentry_file {
    const char *name, *type, *kind; /* any may be NULL */
    struct fz_span bytes;
};
FZ_MUST_CHECK enum fz_code sentry_make_envelope(struct fz_span event,
                                                const struct sentry_file *files, size_t n_files,
                                                struct fz_arena *arena, struct fz_span *ret,
                                                struct fz_error *err);

extern const struct api_routes clients_sentry_sdk; /* sdk.c */

#endif
