/*
 * The Mach-O members of a zip or tar archive, one after the other as memory files.
 *
 * Nothing is written to a path: names in an archive are only labels here.
 */
#ifndef SYM_ARCHIVE_MEMBER_H
#define SYM_ARCHIVE_MEMBER_H

#include "base/error.h"
#include "base/span.h"

/* True for zip, tar, and gzip, bzip2, xz, zstd (a compressed tar). */
bool sym_member_is_archive(struct fz_span file);

/* One member; `fd` is closed after the call (a map of it stays valid). A failure ends the walk. */
typedef enum fz_code (*sym_member_fn)(void *user, const char *name, int fd, struct fz_error *err);

/* Call `fn` for every member that is a Mach-O, a BCSymbolMap or a property list named by a UUID. MALFORMED: a broken archive; LIMIT: over 16 GiB or 100,000
 * entries. */
FZ_MUST_CHECK enum fz_code sym_member_walk(struct fz_span file, sym_member_fn fn, void *user,
                                           struct fz_error *err);

#endif
