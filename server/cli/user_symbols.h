/*
 * Reports symbolicated in this process, with symbol files of the user's own: for the command
 * line, where there is no server to protect.
 *
 * An index is built in memory for each image that a frame is in, once for all reports, and only for
 * those.
 */
#ifndef CLI_USER_SYMBOLS_H
#define CLI_USER_SYMBOLS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "server/process/limits.h"
#include "server/report/report.h"

struct user_symbols; /* opaque: the opened symbol files and the indexes made of them */

FZ_MUST_CHECK enum fz_code user_symbols_create(struct user_symbols **ret, struct fz_error *err);
void user_symbols_destroy(struct user_symbols *symbols);

/* Open what the user named: a Mach-O, a .dSYM bundle, an .xcarchive or folder, a zip of one. Errors
 * as sym_file_open(), with the path. */
FZ_MUST_CHECK enum fz_code user_symbols_add(struct user_symbols *symbols, const char *path,
                                            struct fz_error *err);

/* Images without a UUID get symbols of this architecture only, even if the report names another.
 * UNSUPPORTED: no such architecture. */
FZ_MUST_CHECK enum fz_code user_symbols_set_arch(struct user_symbols *symbols, const char *arch,
                                                 struct fz_error *err);

/* Reports get the values of parameters and locals, too. */
void user_symbols_want_variables(struct user_symbols *symbols);

/* Any accepted format in, the resolved and grouped report out (in the arena). Errors as
 * ingest_parse() and resolve_report(). A symbol file that cannot be used makes its image REPORT_IMAGE_FAILED.
 * An image without a UUID gets the symbols that have its name, if only one of them fits. */
FZ_MUST_CHECK enum fz_code user_symbols_resolve(struct user_symbols *symbols, struct fz_span raw,
                                                const struct limits *limits, struct fz_arena *arena,
                                                struct report *ret, struct fz_error *err);

/* Why image `number` has no symbols although files with its name were given, for people: "2 symbol
 * files have that name: armv7 UUID ..., arm64 UUID ...; choose one with -arch". Nothing if no file
 * has the name. */
void user_symbols_explain(struct user_symbols *symbols, const struct report *report, size_t number,
                          struct fz_buffer *out);

#endif
