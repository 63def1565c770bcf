/*
 * Files: mapped read-only, read whole, written atomically, made durable.
 */
#ifndef FZ_FILE_H
#define FZ_FILE_H

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"

/* A file mapped read-only. The bytes are borrowed until fz_map_close(). */
struct fz_map {
    struct fz_span bytes;
};

/* NOT_FOUND: no such file. UNSUPPORTED: not a regular file. An empty file maps to the empty span.
 */
FZ_MUST_CHECK enum fz_code fz_map_open(const char *path, struct fz_map *ret, struct fz_error *err);
/* The same for a descriptor, which stays the caller's and may be closed at once. */
FZ_MUST_CHECK enum fz_code fz_map_open_fd(int fd, struct fz_map *ret, struct fz_error *err);
void fz_map_close(struct fz_map *map);

/* The whole file appended to `out`; FZ_E_LIMIT if it is longer than `max` bytes. "-" reads standard
 * input. */
FZ_MUST_CHECK enum fz_code fz_file_read(const char *path, size_t max, struct fz_buffer *out,
                                        struct fz_error *err);

/* All bytes to the descriptor, through short writes and EINTR. */
FZ_MUST_CHECK enum fz_code fz_file_write_fd(int fd, struct fz_span bytes, struct fz_error *err);
/* The same at `offset`; a gap before it reads as zeros. */
FZ_MUST_CHECK enum fz_code fz_file_write_at(int fd, uint64_t offset, struct fz_span bytes,
                                            struct fz_error *err);

/* The file appears whole or not at all and survives a power cut: temporary file, fsync, rename,
 * fsync of the folder. */
FZ_MUST_CHECK enum fz_code fz_file_write_atomic(const char *path, struct fz_span bytes,
                                                unsigned mode, struct fz_error *err);

/* fsync of the folder that holds `path`, so that a rename into it lasts. */
FZ_MUST_CHECK enum fz_code fz_file_sync_parent(const char *path, struct fz_error *err);

/*
 * Call `fn` for each entry of a folder, in the order of their names, without "." and "..". `path`
 * begins with `folder`; `st` is of the entry itself, also if it is a link. Entries that disappear
 * meanwhile are skipped. A failure of `fn` ends the list with its code.
 */
typedef enum fz_code (*fz_file_fn)(void *user, const char *path, const struct stat *st,
                                   struct fz_error *err);
FZ_MUST_CHECK enum fz_code fz_file_list(const char *folder, fz_file_fn fn, void *user,
                                        struct fz_error *err);

/* mkdir -p with mode 0700; an existing folder is fine. */
FZ_MUST_CHECK enum fz_code fz_file_make_dirs(const char *path, struct fz_error *err);

void fz_closep(int *fd); /* for FZ_CLEANUP: closes *fd unless it is negative */

#endif
