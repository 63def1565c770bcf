#include "symbolicator/macho/compressed.h"

#include <limits.h>
#include <stdio.h>

#include <zlib.h>

#include "base/reader.h"

enum {
    HEADER = 12,
    RATIO_MAX = 1032, /* deflate cannot do better */
    PLAIN_PREFIX = 8, /* "__debug_" */
};

struct fz_span
macho_debug_bytes(const struct sym_macho *macho, const char *plain, bool *ret_is_compressed)
{
    char compressed[32];
    const struct sym_section *section = sym_macho_section(macho, "__DWARF", plain);
    *ret_is_compressed = false;
    /* An empty section does not hide a compressed one. */
    if (section && section->bytes.len > 0)
        return section->bytes;
    snprintf(compressed, sizeof(compressed), "__zdebug_%s", plain + PLAIN_PREFIX);
    section = sym_macho_section(macho, "__DWARF", compressed);
    if (!section || section->bytes.len == 0)
        return (struct fz_span){NULL, 0};
    *ret_is_compressed = true;
    return section->bytes;
}

enum fz_code
macho_compressed_size(struct fz_span section, const char *name, size_t *ret_size,
                      struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(section, name);
    /* The size is big-endian in files of either byte order: GNU tools defined it so. */
    r.big_endian = true;
    struct fz_span magic = fz_read_bytes(&r, 4);
    uint64_t size = fz_read_u64(&r);
    if (r.failed || !fz_span_is(magic, "ZLIB"))
        return fz_fail(err, FZ_E_MALFORMED, "%s: no compression header", name);
    /* Checked before anything is allocated: the claim is all there is. */
    uint64_t packed = section.len - HEADER;
    if (size > SIZE_MAX || size > ULONG_MAX || packed > ULONG_MAX || size / RATIO_MAX > packed)
        return fz_fail(err, FZ_E_MALFORMED, "%s: claims to inflate from %llu to %llu bytes", name,
                       (unsigned long long)packed, (unsigned long long)size);
    *ret_size = (size_t)size;
    return FZ_OK;
}

enum fz_code
macho_inflate(struct fz_span section, const char *name, uint8_t *out, size_t size, size_t *ret_len,
              struct fz_error *err)
{
    uLongf got = (uLongf)size;
    *ret_len = 0;
    int status = uncompress(out, &got, section.data + HEADER, (uLong)(section.len - HEADER));
    if (status == Z_MEM_ERROR)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* What came out before a fault is kept: the units in it are as good as any. */
    if (status != Z_OK && status != Z_BUF_ERROR && status != Z_DATA_ERROR)
        got = 0;
    *ret_len = (size_t)got;
    if (status != Z_OK || got != size)
        return fz_fail(err, FZ_E_MALFORMED, "%s: inflates to %lu of %zu bytes", name,
                       (unsigned long)got, size);
    return FZ_OK;
}
