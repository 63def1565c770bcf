/*
 * Whether two bodies are the same report. For the server only: a build without it has no hashes
 * (base/digest.h).
 */
#ifndef INGEST_IDENTITY_H
#define INGEST_IDENTITY_H

#include "base/digest.h"
#include "base/error.h"
#include "base/span.h"

/*
 * What makes a body the same report as another: the hash of what a client repeats unchanged when it
 * sends a report again (not an envelope's sent_at, not a form's boundary). `body` and `id` are those
 * of an item of ingest_split().
 */
FZ_MUST_CHECK enum fz_code ingest_identity(struct fz_span body, const char *id,
                                           char ret_sha256[FZ_SHA256_TEXT], struct fz_error *err);

#endif
