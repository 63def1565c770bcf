/*
 * The DWARF sections of a slice, inflated where they are compressed.
 *
 * __zdebug_*: "ZLIB", the inflated size as 8 bytes big-endian, then a zlib stream.
 */
#include "symbolicator/dwarf/scanner.h"

#include <limits.h>
#include <zlib.h>

#include "base/reader.h"

enum { ZDEBUG_HEADER = 12, DEFLATE_RATIO_MAX = 1032 /* deflate cannot do better */ };

static const struct {
    const char *name, *compressed;
} names[N_SECTIONS] = {
    [SECTION_INFO] = {"__debug_info", "__zdebug_info"},
    [SECTION_ABBREV] = {"__debug_abbrev", "__zdebug_abbrev"},
    [SECTION_LINE] = {"__debug_line", "__zdebug_line"},
    [SECTION_RANGES] = {"__debug_ranges", "__zdebug_ranges"},
    [SECTION_RNGLISTS] = {"__debug_rnglists", "__zdebug_rnglists"},
    [SECTION_STR] = {"__debug_str", "__zdebug_str"},
    [SECTION_LINE_STR] = {"__debug_line_str", "__zdebug_line_str"},
    [SECTION_STR_OFFSETS] = {"__debug_str_offs", "__zdebug_str_offs"},
    [SECTION_ADDR] = {"__debug_addr", "__zdebug_addr"},
};

/* Inflate one section; false tells that its bytes cannot be used. */
static enum fz_code
inflate_section(struct sym_dwarf *dwarf, int id, struct fz_span bytes, struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(bytes, names[id].compressed);
    r.big_endian = true;
    struct fz_span magic = fz_read_bytes(&r, 4);
    uint64_t size = fz_read_u64(&r);
    if (r.failed || !fz_span_is(magic, "ZLIB"))
        return fz_fail(err, FZ_E_MALFORMED, "%s: no compression header", names[id].compressed);
    uint64_t packed = bytes.len - ZDEBUG_HEADER;
    if (size > ULONG_MAX || packed > ULONG_MAX || size / DEFLATE_RATIO_MAX > packed)
        return fz_fail(err, FZ_E_MALFORMED, "%s: claims to inflate from %llu to %llu bytes",
                       names[id].compressed, (unsigned long long)packed, (unsigned long long)size);
    uint8_t *out = sym_grow_zeroed(dwarf->budget, (size_t)size, 1);
    if (!out)
        return sym_grow_fail(dwarf->budget, err);
    uLongf got = (uLongf)size;
    int status = uncompress(out, &got, bytes.data + ZDEBUG_HEADER, (uLong)packed);
    /* What came out before a fault is kept: the units in it are as good as any. */
    if (status != Z_OK && status != Z_BUF_ERROR && status != Z_DATA_ERROR)
        got = 0;
    dwarf->inflated[id] = out;
    dwarf->sections[id] = fz_span_make(out, (size_t)got);
    if (status != Z_OK || got != size)
        return fz_fail(err, FZ_E_MALFORMED, "%s: inflates to %lu of %llu bytes",
                       names[id].compressed, (unsigned long)got, (unsigned long long)size);
    return FZ_OK;
}

enum fz_code
sections_find(struct sym_dwarf *dwarf, const struct sym_macho *macho, struct sym_problems *problems,
              struct fz_error *err)
{
    for (int id = 0; id < N_SECTIONS; id++) {
        const struct sym_section *section = sym_macho_section(macho, "__DWARF", names[id].name);
        if (section) {
            dwarf->sections[id] = section->bytes;
            continue;
        }
        section = sym_macho_section(macho, "__DWARF", names[id].compressed);
        if (!section || section->bytes.len == 0)
            continue;
        struct fz_error why;
        enum fz_code code = inflate_section(dwarf, id, section->bytes, &why);
        if (code == FZ_E_MALFORMED)
            sym_problem_add(problems, "bad_section", "%s", why.text);
        else if (code != FZ_OK)
            return fz_fail(err, code, "%s", why.text);
    }
    if (dwarf->sections[SECTION_INFO].len == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "no .debug_info");
    return FZ_OK;
}
