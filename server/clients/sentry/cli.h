/*
 * What the files that serve sentry-cli share: its token, its errors, its form of a debug file.
 *
 * The client requires "application/json" without parameters, {"detail":"text"} for errors, and no
 * keys that it does not know. Any organisation is accepted; a project is named by its name or
 * number.
 */
#ifndef CLIENTS_SENTRY_CLI_H
#define CLIENTS_SENTRY_CLI_H

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "server/upload/upload.h"
#include <jansson.h>

/* The token in the value of an Authorization header: "Bearer T", "Basic base64(T:)", and tokens of
 * an organisation, "sntrys_…", which contain one of this server. NULL: another scheme. "" if it is
 * broken.
 */
const char *sentry_cli_credential(const char *header, char room[API_TOKEN_ROOM]);
/* An api_find_token_fn. */
const char *sentry_cli_token(const struct http_request *request, char room[API_TOKEN_ROOM]);
/* An http_write_error_fn: {"detail":"text"}. */
void sentry_cli_error(const struct fz_error *err, int status, const char *detail_json,
                      struct fz_buffer *out);

/* The request's body as a JSON object or array, owned by the caller. An empty body is {}. */
FZ_MUST_CHECK enum fz_code sentry_cli_body(const struct api_call *call, json_t **ret,
                                           struct fz_error *err);
/* A text member; NULL if it is absent, null or not a text. Borrowed from the object. */
const char *sentry_cli_text(const json_t *object, const char *key);
/* A time member (RFC 3339) in Unix milliseconds; 0 without one. */
int64_t sentry_cli_time(const json_t *object, const char *key);

/* Write one debug file as Sentry's API shows it. */
struct sentry_dif {
    const char *id, *sha1; /* "" if not known */
    const char *name, *arch;
    const char *type; /* "dbg", "exe", "src", "other" */
    struct fz_uuid uuid;
    uint64_t size;
    int64_t created_ms;
    bool has_symtab, has_dwarf, has_unwind, has_sources;
};
/* Its type for a kind of symbol file. */
const char *sentry_cli_type(enum store_symbol_kind kind);
void sentry_cli_dif(struct json_write *w, const char *key, const struct sentry_dif *dif);
/* The same from one file of an upload's result; texts are borrowed from it. */
void sentry_cli_dif_of(const struct upload_file *file, struct sentry_dif *ret);
/* `null` where the text or time is not known, as the client's models want some keys. */
void sentry_cli_put_text(struct json_write *w, const char *key, const char *text);
void sentry_cli_put_time(struct json_write *w, const char *key, int64_t unix_ms);

/* Handlers; the table is in cli.c. */
FZ_MUST_CHECK enum fz_code sentry_chunk_options(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_chunks(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_assemble(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_dsyms_unknown(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_dsyms_post(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_dsyms(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_release_create(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_releases(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_release_change(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_release(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_release_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_deploy(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code sentry_deploys(struct api_call *call, struct fz_error *err);

extern const struct api_routes clients_sentry_cli; /* cli.c */

#endif
