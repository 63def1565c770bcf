/*
 * The outer form of a minidump: a header, a directory, and streams of parts.
 *
 *   0   4d 44 4d 50   "MDMP" (little-endian; "PMDM" is a big-endian dump)
 *   4   93 a7 .. ..   version; only the low half counts
 *   8   u32           number of streams
 *   12  u32           offset of the directory: type u32, size u32, offset u32 for each stream
 *   16  u32           checksum, not used
 *   20  u32           Unix time
 *   24  u64           flags
 *
 * Every offset counts from the start of the dump. A dump may be cut off: readers get what is there.
 */
#include "server/ingest/minidump/minidump.h"

#include "base/encoding.h"

enum { HEADER = 32, ENTRY = 12, VERSION = 0xa793, STREAMS_MAX = 256 };

struct fz_reader
minidump_reader(const struct minidump *m, struct minidump_place place)
{
    /* A dump that was cut is read as far as it goes, so a place is never refused. */
    size_t len = place.offset > m->body.len ? 0 : m->body.len - place.offset;
    struct fz_span bytes = {NULL, 0};
    if (len > place.size)
        len = place.size;
    if (len)
        bytes = fz_span_make(m->body.data + place.offset, len);
    struct fz_reader r = fz_reader_make(bytes, "minidump");
    r.base = place.offset;
    r.big_endian = m->big_endian;
    return r;
}

struct minidump_place
minidump_read_place(struct fz_reader *r)
{
    struct minidump_place place = {.size = fz_read_u32(r)};
    place.offset = fz_read_u32(r);
    return place;
}

struct fz_reader
minidump_directory(const struct minidump *m)
{
    struct minidump_place directory = {m->n_streams * ENTRY, m->directory};
    return minidump_reader(m, directory);
}

bool
minidump_next_stream(struct fz_reader *directory, uint32_t *ret_type, struct minidump_place *ret)
{
    if (fz_read_left(directory) < ENTRY)
        return false;
    *ret_type = fz_read_u32(directory);
    *ret = minidump_read_place(directory);
    return true;
}

struct minidump_place
minidump_find(const struct minidump *m, uint32_t type)
{
    struct fz_reader directory = minidump_directory(m);
    struct minidump_place place;
    uint32_t found;
    while (minidump_next_stream(&directory, &found, &place)) {
        /* Writers reserve places in the directory that they do not use: size 0. */
        if (found == type && place.size)
            return place;
    }
    return (struct minidump_place){0};
}

struct fz_reader
minidump_list(struct minidump *m, uint32_t type, const char *what, size_t size, size_t *ret_n)
{
    struct minidump_place place = minidump_find(m, type);
    struct fz_reader r = minidump_reader(m, place);
    uint32_t n = place.size >= 4 ? fz_read_u32(&r) : 0;
    /* Breakpad aligns the entries of some lists to 8 bytes. */
    if (r.len == 8 + (uint64_t)n * size)
        fz_read_skip(&r, 4);
    *ret_n = fz_read_left(&r) / size;
    /* A dump that was cut while it was sent is still worth its first entries. */
    if (*ret_n >= n)
        *ret_n = n;
    else
        ingest_note(&m->b, "%s: cut off, %zu of %u are there", what, *ret_n, n);
    return r;
}

const char *
minidump_utf16(struct minidump *m, uint64_t offset, size_t max)
{
    if (offset == 0 || offset > UINT32_MAX || m->b.failed)
        return NULL;
    struct minidump_place place = {4, (uint32_t)offset};
    struct fz_reader head = minidump_reader(m, place);
    uint32_t len = fz_read_u32(&head);
    if (head.failed || len == 0 || offset + 4 > UINT32_MAX)
        return NULL;
    /* The length is in bytes and comes from the dump. */
    place = (struct minidump_place){len > max * 2 ? (uint32_t)max * 2 : len, (uint32_t)offset + 4};
    struct fz_reader r = minidump_reader(m, place);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_encoding_append_utf16(&text, &r);
    if (text.len == 0 && !text.failed)
        return NULL;
    const char *copy = text.failed ? NULL : fz_arena_text(m->b.arena, fz_buffer_span(&text));
    m->b.failed = !copy;
    return copy;
}

struct fz_uuid
minidump_guid(struct fz_reader *r)
{
    struct fz_uuid uuid = {{0}};
    uint32_t first = fz_read_u32(r);
    uint16_t second = fz_read_u16(r), third = fz_read_u16(r);
    /* Only the three numbers are little-endian; these bytes are in their order. */
    struct fz_span rest = fz_read_bytes(r, 8);
    for (unsigned i = 0; i < 4; i++)
        uuid.bytes[i] = (uint8_t)(first >> (24 - 8 * i));
    for (unsigned i = 0; i < 2; i++) {
        uuid.bytes[4 + i] = (uint8_t)(second >> (8 - 8 * i));
        uuid.bytes[6 + i] = (uint8_t)(third >> (8 - 8 * i));
    }
    if (rest.len == 8)
        memcpy(uuid.bytes + 8, rest.data, 8);
    return uuid;
}

/* The system that a dump is of, for a message. */
static const char *
system_name(uint32_t platform)
{
    static const struct {
        uint32_t platform;
        const char *name;
    } names[] = {{0, "Windows"},   {1, "Windows"},    {2, "Windows"},      {3, "Windows CE"},
                 {0x8000, "Unix"}, {0x8201, "Linux"}, {0x8202, "Solaris"}, {0x8203, "Android"},
                 {0x8204, "PS3"},  {0x8205, "NaCl"},  {0x8206, "Fuchsia"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (names[i].platform == platform)
            return names[i].name;
    }
    return "an unknown system";
}

enum fz_code
minidump_open(struct fz_span body, struct minidump *m, struct fz_error *err)
{
    enum { PLATFORM = 20 };
    m->body = body;
    /* Written by a big-endian machine (PowerPC), whose words are all reversed. */
    m->big_endian = body.len >= 4 && body.data[0] == 'P';
    struct minidump_place head = {HEADER, 0};
    struct fz_reader r = minidump_reader(m, head);
    fz_read_skip(&r, 4);
    uint32_t version = fz_read_u32(&r);
    m->n_streams = fz_read_u32(&r);
    m->directory = fz_read_u32(&r);
    fz_read_skip(&r, HEADER - 16);
    if (r.failed)
        return fz_fail_at(err, FZ_E_MALFORMED, body.len,
                          "minidump: cut off within its header of %d bytes", HEADER);
    if ((version & 0xffff) != VERSION)
        return fz_fail_at(err, FZ_E_MALFORMED, 4,
                          "minidump: version 0x%x of the format, only 0x%x is supported",
                          (unsigned)version & 0xffff, VERSION);
    if (m->n_streams && m->directory > body.len - ENTRY)
        return fz_fail_at(err, FZ_E_MALFORMED, 12,
                          "minidump: the list of streams at byte %u is beyond the end at byte %zu",
                          m->directory, body.len);
    /* The directory is searched for each stream, so its length bounds the time. */
    if (m->n_streams > STREAMS_MAX)
        m->n_streams = STREAMS_MAX;
    struct minidump_place system = minidump_find(m, MINIDUMP_SYSTEM_INFO);
    r = minidump_reader(m, system);
    fz_read_skip(&r, PLATFORM);
    uint32_t platform = fz_read_u32(&r);
    if (r.failed || platform == MINIDUMP_MACOS || platform == MINIDUMP_IOS)
        return FZ_OK;
    return fz_fail_at(err, FZ_E_UNSUPPORTED, system.offset + PLATFORM,
                      "minidump of %s (platform 0x%x): only those of macOS and iOS are supported; "
                      "symbols of other systems are not Mach-O",
                      system_name(platform), platform);
}

bool
minidump_report_id(const struct minidump *m, struct fz_uuid *ret)
{
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_CRASHPAD_INFO));
    fz_read_skip(&r, 4);
    *ret = minidump_guid(&r);
    return !r.failed && !fz_uuid_is_nil(ret);
}
