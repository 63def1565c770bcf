#include "server/upload_pack.h"

#include <stdio.h>

#include "base/tar.h"
#include "base/text.h"

static void
put_zeros(struct fz_buffer *out, size_t n)
{
    static const char zeros[FZ_TAR_BLOCK] = "";
    fz_buffer_append(out, zeros, n);
}

static void
put_member(struct fz_buffer *out, const char *name, struct fz_span content)
{
    char header[FZ_TAR_BLOCK];
    fz_tar_header(name, content.len, header);
    fz_buffer_append(out, header, sizeof(header));
    fz_buffer_append(out, content.data, content.len);
    put_zeros(out, fz_tar_padding(content.len));
}

void
upload_pack(const struct sym_file_slice *slice, struct fz_buffer *out)
{
    char map_name[FZ_UUID_DASHED + 16], uuid[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&slice->macho.uuid, uuid);
    snprintf(map_name, sizeof(map_name), "%s.bcsymbolmap", uuid);
    put_member(out, fz_text_base_name(slice->path), slice->macho.bytes);
    put_member(out, map_name, slice->symbol_map_bytes);
    put_zeros(out, FZ_TAR_BLOCK);
    put_zeros(out, FZ_TAR_BLOCK);
}
