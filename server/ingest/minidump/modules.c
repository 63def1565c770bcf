/*
 * The module list: 108 bytes a module.
 *
 *   0   u64 base   8 u32 size   12 u32 checksum   16 u32 time   20 u32 offset of its path
 *   24  VS_FIXEDFILEINFO, 52 bytes: signature 0xfeef04bd, version, file version (2 x u32)...
 *   76  place of the CodeView record: "RSDS", GUID, age u32, name
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "server/ingest/minidump/minidump.h"

enum { MODULE = 108 };

static const uint32_t RSDS = 0x53445352, VERSION_INFO = 0xfeef04bd;

/* Breakpad puts a dylib's version X.Y.Z behind a leading 0, Crashpad does not. */
static const char *
take_version(struct minidump *m, uint32_t high, uint32_t low)
{
    unsigned parts[4] = {high >> 16, high & 0xffff, low >> 16, low & 0xffff};
    if (high == 0 && low == 0)
        return NULL;
    const char *version =
        parts[0] == 0 ? fz_arena_printf(m->b.arena, "%u.%u.%u", parts[1], parts[2], parts[3])
        : parts[3]
            ? fz_arena_printf(m->b.arena, "%u.%u.%u.%u", parts[0], parts[1], parts[2], parts[3])
            : fz_arena_printf(m->b.arena, "%u.%u.%u", parts[0], parts[1], parts[2]);
    m->b.failed = m->b.failed || !version;
    return version;
}

static void
take_uuid(struct minidump *m, struct minidump_place place, const char *where,
          struct report_image *image)
{
    struct fz_reader r = minidump_reader(m, place);
    uint32_t signature = fz_read_u32(&r);
    image->uuid = minidump_guid(&r);
    image->has_uuid = !r.failed && signature == RSDS && !fz_uuid_is_nil(&image->uuid);
    if (place.size == 0)
        report_note(m->b.report, m->b.arena, "%s: no UUID", where);
    else if (r.failed || signature != RSDS)
        report_note(m->b.report, m->b.arena, "%s: its CodeView record (at byte %u) is none", where,
                    place.offset);
}

static void
take_module(struct minidump *m, struct fz_reader *r, size_t number)
{
    struct report *report = m->b.report;
    struct report_image *image = &report->images[report->n_images++];
    char where[INGEST_WHERE];
    snprintf(where, sizeof(where), "images[%zu]", number);
    image->addr = fz_read_u64(r);
    image->size = fz_read_u32(r);
    fz_read_skip(r, 8);
    image->path = minidump_utf16(m, fz_read_u32(r), MINIDUMP_PATH_UNITS);
    bool has_version = fz_read_u32(r) == VERSION_INFO;
    fz_read_skip(r, 4);
    uint32_t high = fz_read_u32(r), low = fz_read_u32(r);
    fz_read_skip(r, 36);
    take_uuid(m, minidump_read_place(r), where, image);
    fz_read_skip(r, 24);
    image->name = image->path ? fz_text_base_name(image->path) : NULL;
    image->arch = report->arch;
    if (has_version)
        image->version = take_version(m, high, low);
    if (image->size > UINT64_MAX - image->addr) {
        report_note(report, m->b.arena, "%s.size: reaches beyond 2^64", where);
        image->size = UINT64_MAX - image->addr;
    }
}

static int
compare_ranges(const void *a, const void *b)
{
    const struct minidump_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void
minidump_modules(struct minidump *m)
{
    struct report *report = m->b.report;
    size_t n;
    struct fz_reader r = minidump_list(m, MINIDUMP_MODULE_LIST, "modules", MODULE, &n);
    n = ingest_limit(&m->b, "images", n, m->b.limits->images);
    if (n == 0)
        return;
    report->images = ingest_alloc(&m->b, n, sizeof(*report->images));
    m->ranges = ingest_alloc(&m->b, n, sizeof(*m->ranges));
    for (size_t i = 0; i < n && !m->b.failed; i++) {
        take_module(m, &r, i);
        const struct report_image *image = &report->images[i];
        if (image->size)
            m->ranges[m->n_ranges++] =
                (struct minidump_range){image->addr, image->addr + image->size};
    }
    if (m->n_ranges)
        qsort(m->ranges, m->n_ranges, sizeof(*m->ranges), compare_ranges);
}
