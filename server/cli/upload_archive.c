/*
 * ustar: blocks of 512 bytes. A header (name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum
 * 8, type 1, ..., "ustar" at 257; numbers in octal), then the content filled up with zeros; two
 * blocks of zeros at the end.
 */
#include "server/cli/upload_archive.h"

#include <stdio.h>

#include "base/text.h"

enum {
    BLOCK = 512,
    SIZE_AT = 124,
    CHECKSUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    NAME_LEN = 99
};

static void
put_zeros(struct fz_buffer *out, size_t n)
{
    static const char zeros[BLOCK] = "";
    fz_buffer_append(out, zeros, n);
}

static void
put_member(struct fz_buffer *out, const char *name, struct fz_span content)
{
    char header[BLOCK] = "";
    unsigned sum = 0;
    /* A longer name is cut; the server knows the slice by its UUID. */
    snprintf(header, NAME_LEN + 1, "%s", name);
    snprintf(header + 100, 8, "%07o", 0644u);
    snprintf(header + 108, 8, "%07o", 0u);
    snprintf(header + 116, 8, "%07o", 0u);
    snprintf(header + SIZE_AT, 12, "%011llo", (unsigned long long)content.len);
    snprintf(header + 136, 12, "%011o", 0u);
    header[TYPE_AT] = '0';
    memcpy(header + MAGIC_AT, "ustar\00000", 8);
    /* The sum counts its own field as blanks. */
    memset(header + CHECKSUM_AT, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    /* Six digits and a NUL; the blank after them is already there. */
    snprintf(header + CHECKSUM_AT, 8, "%06o", sum);
    fz_buffer_append(out, header, BLOCK);
    fz_buffer_append(out, content.data, content.len);
    put_zeros(out, (BLOCK - content.len % BLOCK) % BLOCK);
}

void
upload_archive(const struct sym_file_slice *slice, struct fz_buffer *out)
{
    char map_name[FZ_UUID_DASHED + 16], uuid[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&slice->macho.uuid, uuid);
    snprintf(map_name, sizeof(map_name), "%s.bcsymbolmap", uuid);
    put_member(out, fz_text_base_name(slice->path), slice->macho.bytes);
    put_member(out, map_name, slice->symbol_map_bytes);
    put_zeros(out, BLOCK);
    put_zeros(out, BLOCK);
}
