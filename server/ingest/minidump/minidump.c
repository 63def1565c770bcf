/*
 * Minidumps of macOS and iOS, as Breakpad and Crashpad write them.
 *
 *   0   4d 44 4d 50   "MDMP" (little-endian; "PMDM" is a big-endian dump)
 *   4   93 a7 .. ..   version; only the low half counts
 *   8   u32           how many streams
 *   12  u32           where their directory begins: type u32, size u32, offset u32 each
 *   16  u32           checksum, not used
 *   20  u32           Unix time
 *   24  u64           flags
 *
 * Every part is optional, and every place in a part counts from the start of the dump; what lies
 * behind its end is left out. Dumps of other systems are refused: their modules and symbols are not
 * Mach-O.
 */
#include "server/ingest/minidump/minidump.h"

#include <stdio.h>

#include "base/text.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/format.h"
#include "server/ingest/containers/encoding.h"

enum { HEADER = 32, ENTRY = 12, VERSION = 0xa793, STREAMS_MAX = 256, TEXT_BUDGET = 1 << 20 };

static const uint32_t SYSTEM_MACOS = 0x8101, SYSTEM_IOS = 0x8102;

static bool
minidump_detect(struct fz_span head)
{
    return head.len >= 4 &&
           (memcmp(head.data, "MDMP", 4) == 0 || memcmp(head.data, "PMDM", 4) == 0);
}

struct fz_reader
minidump_reader(const struct minidump *m, struct minidump_place place)
{
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

struct minidump_place
minidump_find(const struct minidump *m, uint32_t type)
{
    struct minidump_place directory = {m->n_streams * ENTRY, m->directory};
    struct fz_reader r = minidump_reader(m, directory);
    while (fz_read_left(&r) >= ENTRY) {
        uint32_t found = fz_read_u32(&r);
        struct minidump_place place = minidump_read_place(&r);
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
    if (*ret_n >= n)
        *ret_n = n;
    else
        report_note(m->b.report, m->b.arena, "%s: cut off, %zu of %u are there", what, *ret_n, n);
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
    place = (struct minidump_place){len > max * 2 ? (uint32_t)max * 2 : len, (uint32_t)offset + 4};
    struct fz_reader r = minidump_reader(m, place);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    encoding_append_utf16(&text, &r);
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

void
minidump_set(struct minidump *m, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        m->b.failed = true;
}

json_t *
minidump_extra(struct minidump *m, const char *key)
{
    json_t *object = json_object_get(m->extra, key);
    if (!object) {
        minidump_set(m, m->extra, key, json_object());
        object = json_object_get(m->extra, key);
    }
    return object;
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

/* The header, the directory, and that the dump is of one of our systems. */
static enum fz_code
open_dump(struct fz_span body, struct minidump *m, struct fz_error *err)
{
    enum { PLATFORM = 20 };
    m->body = body;
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
        return fz_fail_at(err, FZ_E_MALFORMED, 4, "minidump: version 0x%x, 0x%x is known",
                          (unsigned)version & 0xffff, VERSION);
    if (m->n_streams && m->directory > body.len - ENTRY)
        return fz_fail_at(err, FZ_E_MALFORMED, 12,
                          "minidump: its list of streams (at byte %u) lies behind its end (%zu)",
                          m->directory, body.len);
    if (m->n_streams > STREAMS_MAX)
        m->n_streams = STREAMS_MAX;
    struct minidump_place system = minidump_find(m, MINIDUMP_SYSTEM_INFO);
    r = minidump_reader(m, system);
    fz_read_skip(&r, PLATFORM);
    uint32_t platform = fz_read_u32(&r);
    if (r.failed || platform == SYSTEM_MACOS || platform == SYSTEM_IOS)
        return FZ_OK;
    return fz_fail_at(err, FZ_E_UNSUPPORTED, system.offset + PLATFORM,
                      "minidump of %s (platform 0x%x): only those of macOS and iOS are read; its "
                      "symbols are of another kind",
                      system_name(platform), platform);
}

/* Crashpad's own id of the report. */
static bool
report_id(const struct minidump *m, struct fz_uuid *ret)
{
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_CRASHPAD_INFO));
    fz_read_skip(&r, 4);
    *ret = minidump_guid(&r);
    return !r.failed && !fz_uuid_is_nil(ret);
}

static enum fz_code
minidump_check(struct fz_span body, const struct limits *limits, char ret_id[FZ_UUID_TEXT],
               struct fz_error *err)
{
    (void)limits;
    struct minidump m = {0};
    struct fz_uuid id;
    enum fz_code code = open_dump(body, &m, err);
    if (code == FZ_OK && report_id(&m, &id))
        fz_uuid_format(&id, ret_id);
    return code;
}

static void
take_header(struct minidump *m)
{
    struct report *r = m->b.report;
    struct minidump_place time = {4, 20};
    struct fz_reader reader = minidump_reader(m, time);
    r->timestamp_ms = (int64_t)fz_read_u32(&reader) * 1000;
    struct fz_uuid id;
    char text[FZ_UUID_DASHED];
    if (!report_id(m, &id))
        return;
    fz_uuid_format_dashed(&id, text);
    r->id = fz_arena_strdup(m->b.arena, text);
    m->b.failed = m->b.failed || !r->id;
}

static void
take_cpu(struct minidump *m, uint16_t number)
{
    static const struct {
        uint16_t number;
        enum minidump_cpu cpu;
        const char *arch;
    } cpus[] = {{0, MINIDUMP_X86, "i386"},        {5, MINIDUMP_ARM, "armv7"},
                {9, MINIDUMP_AMD64, "x86_64"},    {12, MINIDUMP_ARM64, "arm64"},
                {3, MINIDUMP_NO_CPU, "ppc"},      {0x8002, MINIDUMP_NO_CPU, "ppc64"},
                {0x8003, MINIDUMP_ARM64, "arm64"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cpus); i++) {
        if (cpus[i].number == number) {
            m->cpu = cpus[i].cpu;
            m->b.report->arch = cpus[i].arch;
            return;
        }
    }
    report_note(m->b.report, m->b.arena, "system_info: unknown processor %u", number);
}

static void
take_system(struct minidump *m)
{
    struct report *report = m->b.report;
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_SYSTEM_INFO));
    uint16_t cpu = fz_read_u16(&r);
    fz_read_skip(&r, 4);
    uint8_t n_cpus = fz_read_u8(&r);
    fz_read_skip(&r, 1);
    uint32_t major = fz_read_u32(&r), minor = fz_read_u32(&r), patch = fz_read_u32(&r);
    uint32_t platform = fz_read_u32(&r), build = fz_read_u32(&r);
    if (r.failed) {
        report_note(report, m->b.arena, "system_info: missing, so the processor is not known");
        return;
    }
    take_cpu(m, cpu);
    m->is_ios = platform == SYSTEM_IOS;
    report->os_name = m->is_ios ? "iOS" : "macOS";
    report->os_version = patch ? fz_arena_printf(m->b.arena, "%u.%u.%u", major, minor, patch)
                               : fz_arena_printf(m->b.arena, "%u.%u", major, minor);
    m->b.failed = m->b.failed || !report->os_version;
    report->os_build = minidump_utf16(m, build, MINIDUMP_PATH_UNITS);
    if (n_cpus)
        minidump_set(m, minidump_extra(m, "system_info"), "processor_count", json_integer(n_cpus));
}

/* MINIDUMP_MISC_INFO to _5: each version is longer than the one before. */
static void
take_misc(struct minidump *m)
{
    enum { HAS_PID = 1, HAS_TIMES = 2, BUILD_AT = 232, BUILD_BYTES = 520 };
    struct report_process *process = &m->b.report->process;
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_MISC_INFO));
    fz_read_skip(&r, 4);
    uint32_t flags = fz_read_u32(&r), pid = fz_read_u32(&r), started = fz_read_u32(&r);
    uint32_t user = fz_read_u32(&r), kernel = fz_read_u32(&r);
    if (r.failed)
        return;
    if (flags & HAS_PID)
        process->pid = pid;
    if (flags & HAS_TIMES) {
        json_t *misc = minidump_extra(m, "misc_info");
        process->launched_ms = (int64_t)started * 1000;
        minidump_set(m, misc, "user_seconds", json_integer(user));
        minidump_set(m, misc, "kernel_seconds", json_integer(kernel));
    }
    if (r.len < BUILD_AT + BUILD_BYTES)
        return;
    fz_read_seek(&r, BUILD_AT);
    struct fz_reader words = fz_reader_make(fz_read_bytes(&r, BUILD_BYTES), "minidump");
    words.big_endian = m->big_endian;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    encoding_append_utf16(&text, &words);
    if (text.len == 0)
        return;
    minidump_set(m, minidump_extra(m, "misc_info"), "build", json_string(fz_buffer_cstr(&text)));
    /* Crashpad's has the system, the kernel and the machine, each of which may be missing:
     * "Mac OS X 10.15.7 (19H2); MacBookPro16,1 (Mac-E1008331FDC96864)"
     * "iOS 17.2 (21C62); Darwin 23.2.0 Darwin Kernel Version ...; root:xnu-... arm64; iPhone15,2" */
    m->b.report->device_model = ingest_apple_model(&m->b, fz_buffer_cstr(&text));
}

/* A dump does not name its process; the first module is its executable. */
static void
settle_process(struct minidump *m)
{
    struct report *r = m->b.report;
    const struct report_image *first = r->n_images ? &r->images[0] : NULL;
    if (!first || !first->name || !*first->name)
        return;
    r->process.path = first->path;
    r->process.name = first->name;
    if (!r->app_name)
        r->app_name = first->name;
}

/* Streams that nothing here reads are told, so that one knows to look into the raw report. */
static void
tell_others(struct minidump *m)
{
    static const uint32_t known[] = {
        0,
        MINIDUMP_THREAD_LIST,
        MINIDUMP_MODULE_LIST,
        MINIDUMP_MEMORY_LIST,
        MINIDUMP_EXCEPTION,
        MINIDUMP_SYSTEM_INFO,
        MINIDUMP_MEMORY64_LIST,
        MINIDUMP_COMMENT_A,
        MINIDUMP_COMMENT_W,
        MINIDUMP_MISC_INFO,
        MINIDUMP_THREAD_NAMES,
        MINIDUMP_CRASHPAD_INFO,
        MINIDUMP_BREAKPAD_INFO,
        MINIDUMP_MAC_CRASH_INFO,
    };
    struct minidump_place directory = {m->n_streams * ENTRY, m->directory};
    struct fz_reader r = minidump_reader(m, directory);
    while (fz_read_left(&r) >= ENTRY) {
        uint32_t type = fz_read_u32(&r);
        struct minidump_place place = minidump_read_place(&r);
        char key[16];
        size_t i = 0;
        while (i < FZ_ARRAY_LEN(known) && known[i] != type)
            i++;
        snprintf(key, sizeof(key), "0x%x", type);
        if (i == FZ_ARRAY_LEN(known))
            minidump_set(m, minidump_extra(m, "other_streams"), key, json_integer(place.size));
    }
}

static enum fz_code
minidump_parse(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
               struct report *ret, struct fz_error *err)
{
    FZ_CLEANUP(ingest_take_decref) json_t *extra = json_object();
    FZ_CLEANUP(ingest_take_decref) json_t *tags = json_object();
    struct minidump m = {.b = ingest_builder_make(ret, arena, limits),
                         .extra = extra,
                         .tags = tags,
                         .cpu = MINIDUMP_NO_CPU,
                         .text_left = TEXT_BUDGET};
    if (!extra || !tags)
        return fz_fail(err, FZ_E_NO_MEMORY, "minidump: out of memory");
    enum fz_code code = open_dump(body, &m, err);
    if (code != FZ_OK)
        return code;
    take_header(&m);
    take_system(&m);
    take_misc(&m);
    minidump_modules(&m);
    minidump_crashpad(&m);
    minidump_crash_info(&m);
    minidump_threads(&m);
    minidump_exception(&m);
    minidump_memory(&m);
    minidump_walk(&m);
    settle_process(&m);
    tell_others(&m);
    ingest_add_extra(&m.b, NULL, extra, NULL);
    ret->tags_json = ingest_json_dump(&m.b, tags, NULL);
    return m.b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_minidump = {"minidump", minidump_detect, minidump_check,
                                              minidump_parse, NULL};
