/* Where a PLCrashReporter report comes from: system, application, process, machine, report info. */
#include "server/ingest/plcrash/plcrash.h"

static void
take_os(struct plcrash *p, uint64_t number)
{
    static const char *const names[] = {"macOS", "iOS", "iOS", NULL, "tvOS"};
    enum { SIMULATOR = 2, UNKNOWN = 3 };
    if (number < FZ_ARRAY_LEN(names) && number != UNKNOWN)
        p->b.report->os_name = names[number];
    else if (number != UNKNOWN)
        ingest_note(&p->b, "system_info.operating_system: unknown number %llu",
                    (unsigned long long)number);
    if (number == SIMULATOR)
        ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, "system_info"), "simulator",
                        json_true());
}

bool
plcrash_system(struct plcrash *p, const struct protobuf_field *field, const char *where,
               void *target)
{
    struct report *r = target;
    uint64_t number;
    switch (field->number) {
    case 1:
        if (plcrash_number(p, field, where, "operating_system", &number))
            take_os(p, number);
        return true;
    case 2:
        r->os_version = plcrash_text(p, field, where, "os_version");
        return true;
    case 3:
        plcrash_number(p, field, where, "architecture", &p->legacy_arch);
        return true;
    case 4:
        if (plcrash_number(p, field, where, "timestamp", &number)) {
            if (number <= INT64_MAX / 1000)
                r->timestamp_ms = (int64_t)number * 1000;
            else
                ingest_note(&p->b, "%s.timestamp: not a time", where);
        }
        return true;
    case 5:
        r->os_build = plcrash_text(p, field, where, "os_build");
        return true;
    default:
        return false;
    }
}

bool
plcrash_application(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target)
{
    struct report *r = target;
    switch (field->number) {
    case 1:
        r->app_id = plcrash_text(p, field, where, "identifier");
        return true;
    case 2: /* CFBundleVersion */
        r->app_build = plcrash_text(p, field, where, "version");
        return true;
    case 3: /* CFBundleShortVersionString */
        r->app_version = plcrash_text(p, field, where, "marketing_version");
        return true;
    default:
        return false;
    }
}

bool
plcrash_process(struct plcrash *p, const struct protobuf_field *field, const char *where,
                void *target)
{
    struct report_process *process = target;
    uint64_t number;
    switch (field->number) {
    case 1:
        process->name = plcrash_text(p, field, where, "process_name");
        return true;
    case 2:
        if (plcrash_number(p, field, where, "process_id", &number))
            process->pid = (uint32_t)number;
        return true;
    case 3:
        process->path = plcrash_text(p, field, where, "process_path");
        return true;
    case 4:
        process->parent = plcrash_text(p, field, where, "parent_process_name");
        return true;
    case 5:
        if (plcrash_number(p, field, where, "parent_process_id", &number))
            process->parent_pid = (uint32_t)number;
        return true;
    case 6: /* false: runs under Rosetta */
        if (plcrash_number(p, field, where, "native", &number))
            ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, where), "native",
                            json_boolean(number != 0));
        return true;
    case 7:
        if (plcrash_number(p, field, where, "start_time", &number) && number <= INT64_MAX / 1000)
            process->launched_ms = (int64_t)number * 1000;
        return true;
    default:
        return false;
    }
}

bool
plcrash_machine(struct plcrash *p, const struct protobuf_field *field, const char *where,
                void *target)
{
    struct report *r = target;
    uint64_t number;
    switch (field->number) {
    case 1:
        r->device_model = plcrash_text(p, field, where, "model");
        return true;
    case 2:
        plcrash_message(p, field, "machine_info.processor", plcrash_cpu_field, &p->machine);
        return true;
    case 3:
        if (plcrash_number(p, field, where, "processor_count", &number))
            ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, where), "processor_count",
                            json_integer((uint32_t)number));
        return true;
    case 4:
        if (plcrash_number(p, field, where, "logical_processor_count", &number))
            ingest_json_set(&p->b, ingest_json_object(&p->b, p->extra, where),
                            "logical_processor_count", json_integer((uint32_t)number));
        return true;
    default:
        return false;
    }
}

bool
plcrash_report_info(struct plcrash *p, const struct protobuf_field *field, const char *where,
                    void *target)
{
    struct report *r = target;
    struct fz_uuid uuid;
    char text[FZ_UUID_DASHED];
    uint64_t number;
    switch (field->number) {
    case 1: /* a report of the running app, no crash */
        if (plcrash_number(p, field, where, "user_requested", &number) && number)
            r->kind = "error";
        return true;
    case 2:
        if (!plcrash_uuid(p, field, where, &uuid))
            return true;
        fz_uuid_format_dashed(&uuid, text);
        r->id = ingest_text(&p->b, fz_span_cstr(text));
        return true;
    default:
        return false;
    }
}
