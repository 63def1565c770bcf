/*
 * A slice and its BCSymbolMap as one upload: a tar archive of both, the map named by the image's
 * own UUID, so that the server gives it to the slice wherever its property list is.
 */
#ifndef CLI_UPLOAD_ARCHIVE_H
#define CLI_UPLOAD_ARCHIVE_H

#include "base/buffer.h"
#include "symbolicator/symbolicator.h"

/* Append the archive to `out`; the slice has a symbol map. Check `out` as ever. */
void upload_archive(const struct sym_file_slice *slice, struct fz_buffer *out);

#endif
