/*
 * From a slice that a child has read to the symbol file in the answer to the upload. Pure.
 */
#ifndef WORKER_UPLOAD_FILE_H
#define WORKER_UPLOAD_FILE_H

#include "server/protocol/protocol.h"
#include "server/upload/upload.h"

/* The worst that can be said of the slice. */
enum upload_verdict worker_upload_verdict(const struct proto_slice *slice);

/* A symbol map or what says which one an image has: it has no index of its own. */
bool worker_upload_is_map(const struct proto_slice *slice);
bool worker_upload_has_problem(const struct proto_slice *slice, enum sym_problem_kind kind);

/* The problems as those of a result; borrowed from `problems`. NULL list: no memory. */
struct upload_problems worker_upload_problems(const struct sym_problems *problems,
                                              struct fz_arena *arena);

/* Fill in all but size and is_new; texts are borrowed from the slice. NO_MEMORY, LIMIT: the arena's. */
FZ_MUST_CHECK enum fz_code worker_upload_file(const struct proto_slice *slice,
                                              struct fz_arena *arena, struct upload_file *ret,
                                              struct fz_error *err);

#endif
