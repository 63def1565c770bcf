/*
 * A file that sentry-cli names by its SHA-1: its state, and putting it together from chunks.
 */
#ifndef CLIENTS_SENTRY_CLI_FILES_H
#define CLIENTS_SENTRY_CLI_FILES_H

#include "server/clients/sentry/cli.h"
#include "storage/store_chunks.h"

enum sentry_state {
    SENTRY_UNKNOWN,
    SENTRY_NOT_FOUND, /* chunks are missing: those whose is_there is false */
    SENTRY_ASSEMBLING,
    SENTRY_OK,
    SENTRY_FAILED,
};

/* One file of a request, and its state. */
struct sentry_file {
    const char *sha1, *name;
    struct fz_uuid uuid; /* nil: not known */
    bool has_bad_id;
    struct store_chunk *chunks;
    size_t n_chunks;
    /* out */
    enum sentry_state state;
    const char *detail;            /* FAILED: why; arena of the call */
    struct sentry_dif dif;         /* OK */
    char upload_id[STORE_ID_TEXT]; /* ASSEMBLING */
};

/* The state of the file; UNKNOWN if it is not stored, or was deleted. Changes nothing. */
FZ_MUST_CHECK enum fz_code sentry_file_look(struct api_call *call, struct sentry_file *file,
                                            struct fz_error *err);
/* The same, and put it together if all of it is there: never UNKNOWN. *joined counts the bytes that
 * were put together for this request; beyond a limit the rest is ASSEMBLING without an upload,
 * until the client asks again. */
FZ_MUST_CHECK enum fz_code sentry_file_step(struct api_call *call, struct sentry_file *file,
                                            uint64_t *joined, struct fz_error *err);

#endif
