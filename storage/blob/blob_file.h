/*
 * What blob_file.c and blob_file_sweep.c share: where a blob lies.
 */
#ifndef STORAGE_BLOB_FILE_H
#define STORAGE_BLOB_FILE_H

#include <limits.h>

#include "storage/blob/blob.h"

struct blob_store {
    char dir[PATH_MAX - 128]; /* leaves room for what comes after it */
    char scanned[3];          /* the folder that blob_list_old() looked at last; one thread only */
};

/* Whether it is a blob's name: exactly 64 lower-case hex digits. */
bool blob_is_name(const char *sha256);
/* NOT_FOUND: it is no blob's name. */
FZ_MUST_CHECK enum fz_code blob_path(const struct blob_store *blobs, const char *sha256,
                                     char ret[PATH_MAX], struct fz_error *err);

#endif
