/*
 * ustar: blocks of 512 bytes. A header is name 100, mode 8, uid 8, gid 8, size 12, mtime 12,
 * checksum 8, type 1, ..., "ustar" at 257; numbers in octal.
 */
#include "base/tar.h"

#include <stdio.h>
#include <string.h>

enum {
    MODE_AT = 100,
    SIZE_AT = 124,
    CHECKSUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    NAME_LEN = 99
};

void
fz_tar_header(const char *name, uint64_t size, char ret[FZ_TAR_BLOCK])
{
    unsigned sum = 0;
    memset(ret, 0, FZ_TAR_BLOCK);
    snprintf(ret, NAME_LEN + 1, "%s", name);
    snprintf(ret + MODE_AT, 8, "%07o", 0644u);
    snprintf(ret + 108, 8, "%07o", 0u);
    snprintf(ret + 116, 8, "%07o", 0u);
    snprintf(ret + SIZE_AT, 12, "%011llo", (unsigned long long)size & 077777777777);
    snprintf(ret + 136, 12, "%011o", 0u);
    ret[TYPE_AT] = '0';
    memcpy(ret + MAGIC_AT, "ustar\00000", 8);
    memset(ret + CHECKSUM_AT, ' ', 8);
    for (size_t i = 0; i < FZ_TAR_BLOCK; i++)
        sum += (unsigned char)ret[i];
    snprintf(ret + CHECKSUM_AT, 8, "%06o", sum);
}

size_t
fz_tar_padding(uint64_t size)
{
    return (size_t)((FZ_TAR_BLOCK - size % FZ_TAR_BLOCK) % FZ_TAR_BLOCK);
}
