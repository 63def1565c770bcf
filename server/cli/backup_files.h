/*
 * The files of a backup: DIR/framezero.db, DIR/blobs/, DIR/credentials.json and DIR/backup.json.
 *
 * backup.json is written last, so a folder without it is not a whole backup:
 *
 *   {"format": 1, "created_at": "2026-01-31T12:00:00.000Z", "database_bytes": 1, "database_sha256": "…", "blobs": 2, "blob_bytes": 3}
 */
#ifndef CLI_BACKUP_FILES_H
#define CLI_BACKUP_FILES_H

#include <limits.h>

#include "base/digest.h"
#include "base/error.h"
#include "server/config/config.h"

enum { BACKUP_PATH = PATH_MAX + 64 };

struct backup_facts {
    uint64_t database_bytes, n_blobs, blob_bytes;
    char database_sha256[FZ_SHA256_TEXT];
};

/* DIR/name. */
void backup_path(const char *dir, const char *name, char ret[BACKUP_PATH]);
/* The path of the configured database. UNSUPPORTED: it is not SQLite's. */
FZ_MUST_CHECK enum fz_code backup_database(const struct config *config, const char **ret_path,
                                           struct fz_error *err);

/* Whether DIR is a whole backup. */
bool backup_is_whole(const char *dir);
FZ_MUST_CHECK enum fz_code backup_write_facts(const char *dir, const struct backup_facts *facts,
                                              struct fz_error *err);
/* NOT_FOUND: DIR is not a whole backup. UNSUPPORTED: a later version made it. MALFORMED. */
FZ_MUST_CHECK enum fz_code backup_read_facts(const char *dir, struct backup_facts *ret,
                                             struct fz_error *err);

/* The size and hash of a file. */
FZ_MUST_CHECK enum fz_code backup_hash(const char *path, uint64_t *ret_bytes,
                                       char ret_sha256[FZ_SHA256_TEXT], struct fz_error *err);
/* Copy a file to one that is readable by its owner only and durable. */
FZ_MUST_CHECK enum fz_code backup_copy_file(const char *from, const char *to, struct fz_error *err);

/* "COMMAND: what 12 of 34 MB" on a terminal, over what was written before. `total` 0: not known. */
void backup_progress(const char *what, uint64_t bytes, uint64_t total);
/* End the line of backup_progress(). */
void backup_progress_end(void);

#endif
