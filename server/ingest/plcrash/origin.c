/*
 * Where a PLCrashReporter report comes from: system, application, process, machine, report info.
 *
 * Numbers are read into local variables that begin as "not there" and used at the end of their
 * message, since the order of its fields is free.
 */
#include "server/ingest/plcrash/plcrash.h"

enum { OS_SIMULATOR = 2, OS_UNKNOWN = 3 };

static int64_t
milliseconds(uint64_t seconds)
{
    return seconds <= INT64_MAX / 1000 ? (int64_t)seconds * 1000 : 0;
}

static void
read_os(struct plcrash *p, uint64_t number)
{
    static const char *const names[] = {"macOS", "iOS", "iOS", NULL, "tvOS"};
    /* The simulator reports iOS, whose frameworks it runs. */
    if (number < FZ_ARRAY_LEN(names) && number != OS_UNKNOWN)
        p->b.report->os_name = names[number];
    else if (number != OS_UNKNOWN)
        ingest_note(&p->b, "system_info.operating_system: unknown number %llu",
                    (unsigned long long)number);
    if (number == OS_SIMULATOR)
        ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, "system_info"), "simulator",
                        json_true());
}

void
plcrash_system(struct plcrash *p, const struct protobuf_field *field, const char *where,
               void *target)
{
    struct report *r = p->b.report;
    uint64_t os = OS_UNKNOWN, seconds = 0;
    const struct plcrash_row rows[] = {
        {1, "operating_system", .value = &os},         {2, "os_version", .text = &r->os_version},
        {3, "architecture", .value = &p->legacy_arch}, {4, "timestamp", .value = &seconds},
        {5, "os_build", .text = &r->os_build},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    read_os(p, os);
    r->timestamp_ms = milliseconds(seconds);
    if (seconds && !r->timestamp_ms)
        ingest_note(&p->b, "%s.timestamp: not a time", where);
}

void
plcrash_application(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target)
{
    struct report *r = p->b.report;
    const struct plcrash_row rows[] = {
        {1, "identifier", .text = &r->app_id},
        {2, "version", .text = &r->app_build},             /* CFBundleVersion */
        {3, "marketing_version", .text = &r->app_version}, /* CFBundleShortVersionString */
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
}

void
plcrash_process(struct plcrash *p, const struct protobuf_field *field, const char *where,
                void *target)
{
    struct report_process *process = &p->b.report->process;
    uint64_t pid = 0, parent_pid = 0, native = 0, started = 0;
    bool has_native = false;
    const struct plcrash_row rows[] = {
        {1, "process_name", .text = &process->name},
        {2, "process_id", .value = &pid},
        {3, "process_path", .text = &process->path},
        {4, "parent_process_name", .text = &process->parent},
        {5, "parent_process_id", .value = &parent_pid},
        {6, "native", .value = &native, .has = &has_native}, /* false: runs under Rosetta */
        {7, "start_time", .value = &started},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    /* Fields of 32 bits: writers sign-extend them to a varint of 64. */
    process->pid = (uint32_t)pid;
    process->parent_pid = (uint32_t)parent_pid;
    process->launched_ms = milliseconds(started);
    if (has_native)
        ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, where), "native",
                        json_boolean(native != 0));
}

void
plcrash_machine(struct plcrash *p, const struct protobuf_field *field, const char *where,
                void *target)
{
    static const char *const names[] = {"processor_count", "logical_processor_count"};
    uint64_t counts[2];
    bool has[2] = {false, false};
    const struct plcrash_row rows[] = {
        {1, "model", .text = &p->b.report->device_model},
        {2, "processor", .read = plcrash_read_cpu, .target = &p->machine},
        {3, names[0], .value = &counts[0], .has = &has[0]},
        {4, names[1], .value = &counts[1], .has = &has[1]},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (has[i])
            ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, where), names[i],
                            json_integer((uint32_t)counts[i]));
    }
}

void
plcrash_report_info(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target)
{
    struct report *r = p->b.report;
    struct fz_uuid uuid;
    uint64_t requested = 0;
    bool has_uuid = false;
    const struct plcrash_row rows[] = {
        {1, "user_requested", .value = &requested},
        {2, "uuid", .uuid = &uuid, .has = &has_uuid},
    };
    (void)target;
    plcrash_message(p, field, where, rows, FZ_ARRAY_LEN(rows));
    /* generateLiveReport() makes one of the running app: nothing crashed. */
    if (requested)
        r->kind = "error";
    if (has_uuid)
        r->id = ingest_uuid_text(&p->b, &uuid);
}
