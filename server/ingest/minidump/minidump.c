/*
 * Minidumps of macOS and iOS, as Breakpad and Crashpad write them.
 *
 * Every part is optional. Dumps of other systems are refused: their modules and symbols are not
 * Mach-O.
 */
#include "server/ingest/minidump/minidump.h"

#include <stdio.h>

#include "base/arch/arch.h"
#include "base/encoding.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/format.h"

static bool
minidump_detect(struct fz_span head)
{
    return head.len >= 4 &&
           (memcmp(head.data, "MDMP", 4) == 0 || memcmp(head.data, "PMDM", 4) == 0);
}

static enum fz_code
minidump_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
               struct fz_error *err)
{
    (void)in;
    struct minidump m = {0};
    struct fz_uuid id;
    enum fz_code code = minidump_open(body, &m, err);
    if (code == FZ_OK && minidump_report_id(&m, &id))
        fz_uuid_format(&id, ret_id);
    return code;
}

static void
read_header(struct minidump *m)
{
    struct report *r = m->b.report;
    struct minidump_place time = {4, 20};
    struct fz_reader reader = minidump_reader(m, time);
    r->timestamp_ms = (int64_t)fz_read_u32(&reader) * 1000;
    struct fz_uuid id;
    if (minidump_report_id(m, &id))
        r->id = ingest_uuid_text(&m->b, &id);
}

static void
read_cpu(struct minidump *m, uint16_t number)
{
    enum { ARM_V7 = 9, ALL = 0, X86_ALL = 3 }; /* cpu subtypes of Mach-O */
    static const struct {
        uint16_t number;
        uint32_t type, subtype;
    } cpus[] = {
        {0, FZ_ARCH_I386, X86_ALL},   {3, FZ_ARCH_PPC, ALL},    {5, FZ_ARCH_ARM, ARM_V7},
        {9, FZ_ARCH_X86_64, X86_ALL}, {12, FZ_ARCH_ARM64, ALL}, {0x8002, FZ_ARCH_PPC64, ALL},
        {0x8003, FZ_ARCH_ARM64, ALL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cpus); i++) {
        if (cpus[i].number == number) {
            m->b.report->arch = fz_arch_name(cpus[i].type, cpus[i].subtype);
            /* Contexts and frame records cannot be read without it. */
            m->cpu = m->b.report->cpu = fz_arch_cpu(m->b.report->arch);
            return;
        }
    }
    ingest_note(&m->b, "system_info: unknown processor %u", number);
}

static void
read_system(struct minidump *m)
{
    struct report *report = m->b.report;
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_SYSTEM_INFO));
    uint16_t cpu = fz_read_u16(&r); /* PROCESSOR_ARCHITECTURE_* */
    fz_read_skip(&r, 4);
    uint8_t n_cpus = fz_read_u8(&r);
    fz_read_skip(&r, 1);
    uint32_t major = fz_read_u32(&r), minor = fz_read_u32(&r), patch = fz_read_u32(&r);
    uint32_t platform = fz_read_u32(&r), build = fz_read_u32(&r);
    if (r.failed) {
        ingest_note(&m->b, "system_info: missing, so the processor is not known");
        return;
    }
    read_cpu(m, cpu);
    m->is_ios = platform == MINIDUMP_IOS;
    report->os_name = m->is_ios ? "iOS" : "macOS";
    /* "14.2", not "14.2.0": as Apple writes it, so that versions of other formats compare equal. */
    report->os_version = patch ? ingest_printf(&m->b, "%u.%u.%u", major, minor, patch)
                               : ingest_printf(&m->b, "%u.%u", major, minor);
    report->os_build = minidump_utf16(m, build, MINIDUMP_PATH_UNITS);
    if (n_cpus)
        ingest_json_set(&m->b, ingest_json_object(&m->b, m->extra, "system_info"),
                        "processor_count", json_integer(n_cpus));
}

/* MINIDUMP_MISC_INFO to _5: each version is longer than the one before. */
static void
read_misc(struct minidump *m)
{
    enum { HAS_PID = 1, HAS_TIMES = 2, BUILD_AT = 232, BUILD_BYTES = 520 };
    struct report_process *process = &m->b.report->process;
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_MISC_INFO));
    fz_read_skip(&r, 4);
    uint32_t flags = fz_read_u32(&r), pid = fz_read_u32(&r), started = fz_read_u32(&r);
    uint32_t user = fz_read_u32(&r), kernel = fz_read_u32(&r);
    if (r.failed)
        return;
    /* Members that were not filled in hold anything: the flags say which were. */
    if (flags & HAS_PID)
        process->pid = pid;
    if (flags & HAS_TIMES) {
        json_t *misc = ingest_json_object(&m->b, m->extra, "misc_info");
        process->launched_ms = (int64_t)started * 1000;
        ingest_json_set(&m->b, misc, "user_seconds", json_integer(user));
        ingest_json_set(&m->b, misc, "kernel_seconds", json_integer(kernel));
    }
    /* Only version 4 and later have the text about the system. */
    if (r.len < BUILD_AT + BUILD_BYTES)
        return;
    fz_read_seek(&r, BUILD_AT);
    struct fz_reader words = fz_reader_make(fz_read_bytes(&r, BUILD_BYTES), "minidump");
    words.big_endian = m->big_endian;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_encoding_append_utf16(&text, &words);
    if (text.len == 0)
        return;
    ingest_json_set(&m->b, ingest_json_object(&m->b, m->extra, "misc_info"), "build",
                    json_string(fz_buffer_cstr(&text)));
    /* Crashpad writes the system, the kernel and the machine, each of which may be missing: "Mac OS
     * X 10.15.7 (19H2); MacBookPro16,1 (Mac-E1008331FDC96864)" "iOS 17.2 (21C62); Darwin 23.2.0
     * Darwin Kernel Version ...; root:xnu-... arm64; iPhone15,2" */
    m->b.report->device_model = ingest_apple_model(&m->b, fz_buffer_cstr(&text));
}

/* A dump does not name its process, but the first module is its executable. */
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

/* Streams that are not read are listed, so that a reader knows to look into the raw report. */
static void
list_others(struct minidump *m)
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
    struct fz_reader directory = minidump_directory(m);
    struct minidump_place place;
    uint32_t type;
    while (minidump_next_stream(&directory, &type, &place)) {
        char key[16];
        size_t i = 0;
        while (i < FZ_ARRAY_LEN(known) && known[i] != type)
            i++;
        snprintf(key, sizeof(key), "0x%x", type);
        /* The size alone: their contents are in the raw body. */
        if (i == FZ_ARRAY_LEN(known))
            ingest_json_set(&m->b, ingest_json_object(&m->b, m->extra, "other_streams"), key,
                            json_integer(place.size));
    }
}

static enum fz_code
minidump_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
               struct report *ret, struct fz_error *err)
{
    json_auto_t *extra = json_object();
    json_auto_t *tags = json_object();
    struct minidump m = {.b = ingest_builder_make(ret, arena, in->limits),
                         .extra = extra,
                         .tags = tags,
                         .text_left = MINIDUMP_TEXT_BUDGET};
    if (!extra || !tags)
        return fz_fail(err, FZ_E_NO_MEMORY, "minidump: out of memory");
    enum fz_code code = minidump_open(body, &m, err);
    if (code != FZ_OK)
        return code;
    read_header(&m);
    read_system(&m);
    read_misc(&m);
    minidump_modules(&m);
    minidump_crashpad(&m);
    minidump_crash_info(&m);
    minidump_threads(&m);
    minidump_exception(&m);
    minidump_memory(&m);
    minidump_calls(&m);
    settle_process(&m);
    list_others(&m);
    ingest_add_extra(&m.b, NULL, extra, NULL);
    ret->tags_json = ingest_json_dump(&m.b, tags, NULL);
    return m.b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_minidump = {
    .name = "minidump",
    .detect = minidump_detect,
    .check = minidump_check,
    .parse = minidump_parse,
};
