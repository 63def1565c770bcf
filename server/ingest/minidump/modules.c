/*
 * The module list: 108 bytes for each module.
 *
 *   0   u64 base   8 u32 size   12 u32 checksum   16 u32 time   20 u32 offset of its path
 *   24  VS_FIXEDFILEINFO, 52 bytes: signature 0xfeef04bd, version, file version (2 x u32)...
 *   76  place of the CodeView record: "RSDS", GUID, age u32, name
 */
#include <stdio.h>

#include "server/ingest/minidump/minidump.h"

enum { MODULE = 108 };

static const uint32_t RSDS = 0x53445352, VERSION_INFO = 0xfeef04bd;

/* Breakpad writes a dylib's version X.Y.Z as 0.X.Y.Z, Crashpad does not. */
static const char *
read_version(struct minidump *m, uint32_t high, uint32_t low)
{
    unsigned parts[4] = {high >> 16, high & 0xffff, low >> 16, low & 0xffff};
    if (high == 0 && low == 0)
        return NULL;
    return parts[0] == 0 ? ingest_printf(&m->b, "%u.%u.%u", parts[1], parts[2], parts[3])
           : parts[3] ? ingest_printf(&m->b, "%u.%u.%u.%u", parts[0], parts[1], parts[2], parts[3])
                      : ingest_printf(&m->b, "%u.%u.%u", parts[0], parts[1], parts[2]);
}

static void
read_uuid(struct minidump *m, struct minidump_place place, const char *where,
          struct report_image *image)
{
    struct fz_reader r = minidump_reader(m, place);
    uint32_t signature = fz_read_u32(&r);
    image->uuid = minidump_guid(&r);
    /* Breakpad stores LC_UUID as the GUID of a CodeView record, since the format is Windows's. */
    image->has_uuid = !r.failed && signature == RSDS;
    if (place.size == 0)
        ingest_note(&m->b, "%s: no UUID", where);
    else if (r.failed || signature != RSDS)
        ingest_note(&m->b, "%s: no UUID, the record at byte %u is not CodeView", where,
                    place.offset);
}

static void
read_module(struct minidump *m, struct fz_reader *r, size_t number)
{
    struct report_image image = {.arch = m->b.report->arch};
    char where[INGEST_WHERE];
    snprintf(where, sizeof(where), "images[%zu]", number);
    image.addr = fz_read_u64(r);
    image.size = fz_read_u32(r);
    fz_read_skip(r, 8); /* checksum and time: Mach-O has neither */
    ingest_set_path(&image, minidump_utf16(m, fz_read_u32(r), MINIDUMP_PATH_UNITS));
    bool has_version = fz_read_u32(r) == VERSION_INFO;
    fz_read_skip(r, 4);
    uint32_t high = fz_read_u32(r), low = fz_read_u32(r);
    fz_read_skip(r, 36); /* the rest of VS_FIXEDFILEINFO */
    read_uuid(m, minidump_read_place(r), where, &image);
    fz_read_skip(r, 24); /* an older record for symbols, and reserved words */
    if (has_version)
        image.version = read_version(m, high, low);
    ingest_clip_size(&m->b, &image, where, "size");
    ingest_add_image(&m->b, &image);
}

void
minidump_modules(struct minidump *m)
{
    size_t n;
    struct fz_reader r = minidump_list(m, MINIDUMP_MODULE_LIST, "modules", MODULE, &n);
    n = ingest_limit(&m->b, "images", n, m->b.limits->images);
    for (size_t i = 0; i < n && !m->b.failed; i++)
        read_module(m, &r, i);
}
