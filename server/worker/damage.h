/*
 * Stored files whose bytes are not what their names say: found, named in the log, and repaired.
 *
 * An index is built again from its symbol file. A symbol file that is damaged gets the state failed
 * and the problem "corrupt", and its UUID counts as missing until it is uploaded again.
 */
#ifndef WORKER_DAMAGE_H
#define WORKER_DAMAGE_H

#include "server/worker/job.h"

/* A child says that an index of the image cannot be used. It is not believed: the worker reads the
 * indexes itself, of at most WORKER_CHECKS_MAX images of a report. */
enum { WORKER_CHECKS_MAX = 16 };
void worker_image_damaged(struct worker *worker, int64_t project_id, const struct fz_uuid *uuid,
                          unsigned *n_checks);

/* The child gets this file. */
void worker_file_handed(struct worker *worker, const char *sha256);
/* The child died because a page of a mapped file could not be read (SIGBUS): whether one of the files that it was given is
 * damaged, gone or cannot be read. Damaged ones are repaired. */
bool worker_files_damaged(struct worker *worker);

/* Before a child reads the body of an upload. MALFORMED: it is damaged or gone. */
FZ_MUST_CHECK enum fz_code
worker_upload_check(struct worker *worker, const struct store_upload *upload, struct fz_error *err);

/* Read the stored files of one of the folders of blobs, if it is time. */
void worker_verify(struct worker *worker, int64_t now_ms);

#endif
