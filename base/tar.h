/*
 * Headers of a tar archive (POSIX ustar), for putting a few files into one.
 *
 * An archive is, for each file, its header and its content filled up with zeros to whole blocks,
 * and two blocks of zeros at the end.
 */
#ifndef FZ_TAR_H
#define FZ_TAR_H

#include <stddef.h>
#include <stdint.h>

enum { FZ_TAR_BLOCK = 512 };

/* The header of a file; a name is cut at 99 bytes, the size must be below 8 GiB. */
void fz_tar_header(const char *name, uint64_t size, char ret[FZ_TAR_BLOCK]);

/* Bytes that content of this size lacks to whole blocks. */
size_t fz_tar_padding(uint64_t size);

#endif
