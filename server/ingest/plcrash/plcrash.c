/*
 * PLCrashReporter's reports: 8 bytes of header, then one protobuf message.
 *
 *   70 6c 63 72 61 73 68 01    "plcrash", version 1
 *   0a ..                      1 system_info   2 application_info  3 threads*    4 binary_images*
 *                              5 exception     6 signal            7 process_info
 *                              8 machine_info  9 report_info       10 custom_data
 *
 * The order of the fields is free. Reports before version 1.1 of the format have no process,
 * machine and report info, and name the processor by SystemInfo.architecture only. The frames of
 * `exception` are return addresses; so are those of a thread, except the first.
 *
 * Source: PLCrashReporter's crash_report.proto.
 */
#include "server/ingest/plcrash/plcrash.h"

#include "base/text.h"
#include "server/ingest/common/exception_names.h"
#include "server/ingest/common/format.h"

static const char MAGIC[] = "plcrash";

enum {
    HEADER = 8,
    VERSION = 1,
    MACH_CODES_MAX = 16, /* the kernel gives two */
};

enum root_field {
    SYSTEM_INFO = 1,
    APPLICATION_INFO,
    THREADS,
    BINARY_IMAGES,
    EXCEPTION,
    SIGNAL,
    PROCESS_INFO,
    MACHINE_INFO,
    REPORT_INFO,
    CUSTOM_DATA
};

enum { EXCEPTION_FRAMES = 3 };

static bool
plcrash_detect(struct fz_span head)
{
    return head.len >= sizeof(MAGIC) - 1 && memcmp(head.data, MAGIC, sizeof(MAGIC) - 1) == 0;
}

/* The message after the header, if it has at least one field of a report. */
static enum fz_code
find_message(struct fz_span body, struct fz_span *ret, struct fz_error *err)
{
    if (body.len < HEADER)
        return fz_fail_at(err, FZ_E_MALFORMED, body.len,
                          "plcrash: cut off within its header of %d bytes", HEADER);
    /* The byte is the file format's version; new fields did not change it. */
    if (body.data[HEADER - 1] != VERSION)
        return fz_fail_at(err, FZ_E_UNSUPPORTED, HEADER - 1,
                          "plcrash: version %u of the format, only version %d is supported",
                          body.data[HEADER - 1], VERSION);
    if (body.len == HEADER)
        return fz_fail_at(err, FZ_E_MALFORMED, HEADER, "plcrash: nothing follows the header");
    struct fz_span bytes = fz_span_make(body.data + HEADER, body.len - HEADER);
    struct protobuf message = protobuf_start(bytes, HEADER);
    struct protobuf_field field;
    /* Nearly any bytes read as some protobuf; a field of a report shows that these are one. */
    while (protobuf_next(&message, &field)) {
        if (field.is_bytes && field.number >= SYSTEM_INFO && field.number <= REPORT_INFO) {
            *ret = bytes;
            return FZ_OK;
        }
    }
    return fz_fail_at(err, FZ_E_MALFORMED, message.fault ? message.fault_at : HEADER,
                      "plcrash: no field of a report%s%s", message.fault ? ": " : "",
                      message.fault ? message.fault : "");
}

/* report_info may be anywhere; the other fields are skipped without looking inside. */
static enum fz_code
plcrash_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
              struct fz_error *err)
{
    (void)in;
    struct fz_span bytes;
    enum fz_code code = find_message(body, &bytes, err);
    if (code != FZ_OK)
        return code;
    struct protobuf message = protobuf_start(bytes, HEADER);
    struct protobuf_field field, inner;
    while (protobuf_next(&message, &field)) {
        /* The last of the report infos counts, as protobuf wants it for a field that is not
         * repeated. */
        if (field.number != REPORT_INFO || !field.is_bytes)
            continue;
        struct protobuf info = protobuf_inner(&field);
        while (protobuf_next(&info, &inner)) {
            struct fz_uuid uuid;
            if (inner.number != 2 || !inner.is_bytes || inner.bytes.len != sizeof(uuid.bytes))
                continue;
            memcpy(uuid.bytes, inner.bytes.data, sizeof(uuid.bytes));
            if (!fz_uuid_is_nil(&uuid))
                fz_uuid_format(&uuid, ret_id);
        }
    }
    return FZ_OK;
}

static void
read_codes(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct report_crash *crash = &p->b.report->crash;
    uint64_t code;
    size_t at = 0;
    (void)where;
    (void)target;
    if (!crash->mach_codes)
        crash->mach_codes = ingest_alloc(&p->b, MACH_CODES_MAX, sizeof(uint64_t));
    /* A repeated field comes packed or as several fields; protobuf allows both. */
    while (crash->mach_codes && crash->n_mach_codes < MACH_CODES_MAX &&
           protobuf_packed(field, &at, &code))
        crash->mach_codes[crash->n_mach_codes++] = code;
}

static void
read_mach(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    const struct plcrash_row rows[] = {
        {1, "type", .value = &p->mach_type, .has = &p->has_mach},
        {2, "codes", .read = read_codes},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
}

static void
read_signal(struct plcrash *p, const struct protobuf_field *field, const char *where, void *target)
{
    struct report_crash *crash = &p->b.report->crash;
    const struct plcrash_row rows[] = {
        {1, "name", .text = &crash->signal},
        {2, "code", .text = &crash->signal_code},
        {3, "address", .value = &crash->address, .has = &crash->has_address},
        {4, "mach_exception", .read = read_mach},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
}

static void
read_exception(struct plcrash *p, const struct protobuf_field *field, const char *where,
               void *target)
{
    struct report_crash *crash = &p->b.report->crash;
    const struct plcrash_row rows[] = {
        {1, "name", .text = &crash->exception},
        {2, "reason", .text = &crash->reason},
        {.number = EXCEPTION_FRAMES},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    if (!field->is_bytes)
        return;
    struct protobuf message = protobuf_inner(field);
    struct ingest_stack stack = plcrash_stack(p, message, EXCEPTION_FRAMES, "exception.frames");
    /* An exception without frames must not replace a stack that is there. */
    if (stack.n)
        ingest_set_exception_stack(p->b.report, &stack);
}

/* The app's own data: JSON and text as such, other bytes in base64. */
static void
read_custom_data(struct plcrash *p, const struct protobuf_field *field, const char *where,
                 void *target)
{
    (void)target;
    if (!field->is_bytes || field->cut) {
        ingest_note(&p->b, "%s: %s, left out", where, field->cut ? "cut off" : "not bytes");
        return;
    }
    struct fz_span bytes = field->bytes;
    if (bytes.len == 0)
        return;
    /* Apps put whatever they like here: JSON, text, a property list, an archive of objects. */
    bool may_be_json = bytes.data[0] == '{' || bytes.data[0] == '[';
    json_t *value = may_be_json ? ingest_json_value(&p->b, bytes) : NULL;
    if (value)
        ingest_json_set(&p->b, p->extra, where, value);
    else if (fz_text_is_utf8(bytes) && !memchr(bytes.data, 0, bytes.len))
        ingest_json_set(&p->b, p->extra, where, json_stringn((const char *)bytes.data, bytes.len));
    else
        ingest_json_set_base64(&p->b, p->extra, "custom_data_base64", bytes);
}

static void
read_root(struct plcrash *p)
{
    static const struct plcrash_row rows[] = {
        {SYSTEM_INFO, "system_info", .read = plcrash_system},
        {APPLICATION_INFO, "application_info", .read = plcrash_application},
        {.number = THREADS},
        {.number = BINARY_IMAGES},
        {EXCEPTION, "exception", .read = read_exception},
        {SIGNAL, "signal", .read = read_signal},
        {PROCESS_INFO, "process_info", .read = plcrash_process},
        {MACHINE_INFO, "machine_info", .read = plcrash_machine},
        {REPORT_INFO, "report_info", .read = plcrash_report_info},
        {CUSTOM_DATA, "custom_data", .read = read_custom_data},
    };
    plcrash_rows(p, protobuf_start(p->body, p->offset), "", rows, FZ_ARRAY_LEN(rows));
}

/* What follows from several fields, which come in any order. */
static void
settle(struct plcrash *p)
{
    static const char *const legacy[] = {"i386", "x86_64", "armv6", "ppc", "ppc64", "armv7"};
    struct report *r = p->b.report;
    const char *arch = p->legacy_arch < FZ_ARRAY_LEN(legacy) ? legacy[p->legacy_arch] : NULL;
    for (size_t i = 0; i < r->n_images && arch; i++) {
        /* Reports before version 1.1 of the format have no processor for each image. */
        if (!r->images[i].arch)
            r->images[i].arch = arch;
    }
    /* The first image is the app itself; the machine's processor may be another (Rosetta). */
    r->arch = r->n_images && r->images[0].arch ? r->images[0].arch : arch;
    /* A report of a live process may have no images. */
    if (!r->arch)
        r->arch = plcrash_cpu_name(&p->machine);
    if (p->has_mach)
        ingest_set_mach(&p->b, p->mach_type);
    ingest_mark_crashed(r);
}

static enum fz_code
plcrash_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
              struct report *ret, struct fz_error *err)
{
    json_auto_t *extra = json_object();
    struct plcrash p = {.b = ingest_builder_make(ret, arena, in->limits),
                        .extra = extra,
                        .offset = HEADER,
                        .legacy_arch = PLCRASH_ARCH_UNKNOWN};
    if (!extra)
        return fz_fail(err, FZ_E_NO_MEMORY, "plcrash: out of memory");
    enum fz_code code = find_message(body, &p.body, err);
    if (code != FZ_OK)
        return code;
    read_root(&p);
    /* Separately, and after the other messages: their number must be known before the limits
     * cut. */
    plcrash_threads(&p);
    plcrash_images(&p);
    settle(&p);
    ingest_add_extra(&p.b, NULL, extra, NULL);
    return p.b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_plcrash = {
    .name = "plcrash",
    .detect = plcrash_detect,
    .check = plcrash_check,
    .parse = plcrash_parse,
};
