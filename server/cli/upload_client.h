/*
 * A server as `framezero upload` sees it: what it lacks, and sending it one symbol file.
 *
 * Requests that a busy server or a broken connection refused are sent again
 * (base/net/http_client.h); each such pause is reported on standard error. One thread.
 */
#ifndef CLI_UPLOAD_CLIENT_H
#define CLI_UPLOAD_CLIENT_H

#include "base/error.h"
#include "base/span.h"
#include "base/uuid.h"
#include <jansson.h>
#include <stdbool.h>

struct upload_client; /* opaque */

struct upload_client_config {
    const char *server, *token, *project; /* borrowed; project NULL = the token's */
    bool show_progress;                   /* percentages on standard error */
};

FZ_MUST_CHECK enum fz_code upload_client_open(const struct upload_client_config *config,
                                              struct upload_client **ret, struct fz_error *err);
void upload_client_close(struct upload_client *client);
void upload_client_closep(struct upload_client **client);

/* Of `n` UUIDs, those for which the server has no ready file of `kind` ("dsym", "binary"):
 * ret_missing[i] is set accordingly. */
FZ_MUST_CHECK enum fz_code upload_client_missing(struct upload_client *client, const char *kind,
                                                 const struct fz_uuid *uuids, size_t n,
                                                 bool *ret_missing, struct fz_error *err);

/* Send one file and wait until the server has read it. *ret_answer is the upload's answer
 * ({"files":[...],...}), a new reference. The error is the server's own message. */
FZ_MUST_CHECK enum fz_code upload_client_send(struct upload_client *client, const char *name,
                                              struct fz_span bytes, json_t **ret_answer,
                                              struct fz_error *err);

#endif
