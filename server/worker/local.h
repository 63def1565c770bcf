/*
 * One report symbolicated in this process, with symbol files of the user's own: for the command
 * line, where there is no server to protect.
 *
 * An index is built in memory for each image that a frame lies in, and only for those.
 */
#ifndef WORKER_LOCAL_H
#define WORKER_LOCAL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "server/limits.h"
#include "server/report/report.h"

struct local_symbols; /* opaque: the opened symbol files and the indexes made of them */

FZ_MUST_CHECK enum fz_code local_symbols_create(struct local_symbols **ret, struct fz_error *err);
void local_symbols_destroy(struct local_symbols *symbols);

/* Open what the user named: a Mach-O, a .dSYM bundle, an .xcarchive or folder, a zip of one. Errors
 * as sym_file_open(), with the path. */
FZ_MUST_CHECK enum fz_code local_symbols_add(struct local_symbols *symbols, const char *path,
                                             struct fz_error *err);

/* Any accepted format in, the resolved report out (in the arena). Errors as ingest_parse() and
 * resolve_report(). A symbol file that cannot be used makes its image REPORT_IMAGE_FAILED.
 * An image without a UUID takes the symbols that have its name, if they are one. */
FZ_MUST_CHECK enum fz_code local_symbolicate(struct local_symbols *symbols, struct fz_span raw,
                                             const struct limits *limits, struct fz_arena *arena,
                                             struct report *ret, struct fz_error *err);

#endif
