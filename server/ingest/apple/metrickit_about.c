/*
 * What a MetricKit diagnostic says of itself:
 *
 *   {"appVersion":"1.2","appBuildVersion":"34","osVersion":"iPhone OS 17.2 (21C62)",
 *    "deviceType":"iPhone15,2","platformArchitecture":"arm64e","bundleIdentifier":"com.acme.shop",
 *    "exceptionType":1,"exceptionCode":1,"signal":11,
 *    "terminationReason":"Namespace SIGNAL, Code 11 Segmentation fault: 11",
 *    "virtualMemoryRegionInfo":"0x10 is not in any region.  Bytes before following region: ...",
 *    "objectiveCexceptionReason":{"exceptionName":"NSRangeException","composedMessage":"..."},
 *    "hangDuration":"20 sec"}
 */
#include "server/ingest/apple/metrickit.h"

#include "base/text.h"
#include "server/ingest/apple/apple.h"
#include "server/ingest/common/mach.h"

static void
take_origin(struct ingest_take *t, const json_t *meta)
{
    static const char where[] = "diagnosticMetaData";
    struct report *r = t->report;
    r->app_id = ingest_take_text(t, meta, where, "bundleIdentifier");
    r->app_version = ingest_take_text(t, meta, where, "appVersion");
    r->app_build = ingest_take_text(t, meta, where, "appBuildVersion");
    r->device_model = ingest_take_text(t, meta, where, "deviceType");
    r->arch = ingest_take_text(t, meta, where, "platformArchitecture");
    ingest_apple_os(t, ingest_take_text(t, meta, where, "osVersion"));
    ingest_take_i64(t, meta, where, "pid", &r->process.pid);
    if (json_is_true(json_object_get(meta, "isTestFlightApp")))
        r->environment = "testflight";
}

/* "0x10 is not in any region.": the address of a bad access stands first, hex or decimal. */
static void
take_address(struct ingest_take *t, const char *region)
{
    struct report_crash *crash = &t->report->crash;
    size_t len = region ? strcspn(region, " ") : 0;
    if (len)
        crash->has_address = fz_text_u64(fz_span_make(region, len), &crash->address);
}

static void
take_exception(struct ingest_take *t, const json_t *meta)
{
    static const char where[] = "diagnosticMetaData";
    struct report_crash *crash = &t->report->crash;
    int64_t type, number;
    bool has_type = ingest_take_i64(t, meta, where, "exceptionType", &type);
    if (has_type)
        crash->mach = ingest_mach_exception((uint64_t)type);
    if (ingest_take_i64(t, meta, where, "signal", &number))
        crash->signal = ingest_signal_name(number);
    if (ingest_take_i64(t, meta, where, "exceptionCode", &number)) {
        bool is_arm = !t->report->arch || fz_text_has_prefix(t->report->arch, "arm");
        crash->mach_codes = ingest_take_array(t, 1, sizeof(*crash->mach_codes));
        if (!crash->mach_codes)
            return;
        crash->mach_codes[0] = (uint64_t)number;
        crash->n_mach_codes = 1;
        if (has_type)
            crash->code = ingest_mach_code((uint64_t)type, (uint64_t)number, is_arm);
    }
    if (has_type && type == MACH_EXC_BAD_ACCESS)
        take_address(t, json_string_value(json_object_get(meta, "virtualMemoryRegionInfo")));
}

/* The texts of what MetricKit measured, as a sentence for people. */
static void
take_measured(struct ingest_take *t, const json_t *meta)
{
    static const struct {
        const char *key, *before, *behind;
    } measured[] = {
        {"hangDuration", "hang of ", ""},
        {"totalCPUTime", "", " of CPU time"},
        {"writesCaused", "", " written to disk"},
        {"launchDuration", "launch took ", ""},
    };
    struct report_crash *crash = &t->report->crash;
    for (size_t i = 0; i < FZ_ARRAY_LEN(measured) && !crash->reason && !t->failed; i++) {
        const char *text = ingest_take_text(t, meta, "diagnosticMetaData", measured[i].key);
        if (!text)
            continue;
        crash->reason =
            fz_arena_printf(t->arena, "%s%s%s", measured[i].before, text, measured[i].behind);
        t->failed = !crash->reason;
    }
}

void
metrickit_take_about(struct ingest_take *t, const json_t *meta)
{
    static const char *const known[] = {"bundleIdentifier",
                                        "appVersion",
                                        "appBuildVersion",
                                        "deviceType",
                                        "osVersion",
                                        "pid",
                                        "platformArchitecture",
                                        "isTestFlightApp",
                                        "exceptionType",
                                        "exceptionCode",
                                        "terminationReason",
                                        "objectiveCexceptionReason",
                                        NULL};
    static const char *const thrown_known[] = {"exceptionName", "composedMessage", NULL};
    struct report_crash *crash = &t->report->crash;
    take_origin(t, meta);
    take_exception(t, meta);
    crash->termination = ingest_take_text(t, meta, "diagnosticMetaData", "terminationReason");
    const json_t *thrown =
        ingest_take_json(t, meta, "diagnosticMetaData", "objectiveCexceptionReason", JSON_OBJECT);
    crash->exception = ingest_take_text(t, thrown, "objectiveCexceptionReason", "exceptionName");
    crash->reason = ingest_take_text(t, thrown, "objectiveCexceptionReason", "composedMessage");
    if (thrown)
        ingest_take_extra(t, "objectiveCexceptionReason", thrown, thrown_known);
    take_measured(t, meta);
    ingest_take_extra(t, "diagnosticMetaData", meta, known);
}
