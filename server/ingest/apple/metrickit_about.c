/*
 * diagnosticMetaData: where a MetricKit diagnostic comes from and what happened:
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

#include "base/arch/arch.h"
#include "base/text.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/exception_names.h"

static void
read_origin(struct ingest_builder *b, const json_t *meta)
{
    static const char where[] = "diagnosticMetaData";
    struct report *r = b->report;
    r->app_id = ingest_json_text(b, meta, where, "bundleIdentifier");
    r->app_version = ingest_json_text(b, meta, where, "appVersion");
    r->app_build = ingest_json_text(b, meta, where, "appBuildVersion");
    r->device_model = ingest_json_text(b, meta, where, "deviceType");
    r->arch = ingest_json_text(b, meta, where, "platformArchitecture");
    ingest_apple_os(b, ingest_json_text(b, meta, where, "osVersion"));
    ingest_json_i64(b, meta, where, "pid", &r->process.pid);
    /* The one thing that MetricKit says about how the app was distributed. */
    if (json_is_true(json_object_get(meta, "isTestFlightApp")))
        r->environment = "testflight";
}

/* "0x10 is not in any region.": the address of a bad access comes first, in hex or decimal. */
static void
read_address(struct ingest_builder *b, const char *region)
{
    struct report_crash *crash = &b->report->crash;
    size_t len = region ? strcspn(region, " ") : 0;
    if (len)
        crash->has_address = fz_text_u64(fz_span_make(region, len), &crash->address);
}

static void
read_exception(struct ingest_builder *b, const json_t *meta)
{
    static const char where[] = "diagnosticMetaData";
    struct report_crash *crash = &b->report->crash;
    int64_t type, number;
    bool has_type = ingest_json_i64(b, meta, where, "exceptionType", &type);
    if (has_type)
        crash->mach = ingest_mach_exception((uint64_t)type);
    if (ingest_json_i64(b, meta, where, "signal", &number))
        crash->signal = ingest_signal_name(number);
    if (ingest_json_i64(b, meta, where, "exceptionCode", &number)) {
        /* Without an architecture: all that have MetricKit but Intel's Macs are ARM. */
        bool is_arm = !b->report->arch || fz_arch_is_arm(b->report->arch);
        ingest_set_mach_codes(b, (uint64_t[]){(uint64_t)number}, 1);
        if (has_type)
            crash->code = ingest_mach_code((uint64_t)type, (uint64_t)number, is_arm);
    }
    if (has_type && type == MACH_EXC_BAD_ACCESS)
        read_address(b, json_string_value(json_object_get(meta, "virtualMemoryRegionInfo")));
}

/* The texts of what MetricKit measured, as a sentence for people. */
static void
read_measured(struct ingest_builder *b, const json_t *meta)
{
    static const struct {
        const char *key, *before, *after;
    } measured[] = {
        {"hangDuration", "hang of ", ""},
        {"totalCPUTime", "", " of CPU time"},
        {"writesCaused", "", " written to disk"},
        {"launchDuration", "launch took ", ""},
    };
    struct report_crash *crash = &b->report->crash;
    for (size_t i = 0; i < FZ_ARRAY_LEN(measured) && !crash->reason && !b->failed; i++) {
        /* "20 sec", "2000 byte": MetricKit writes units into the values. */
        const char *text = ingest_json_text(b, meta, "diagnosticMetaData", measured[i].key);
        if (!text)
            continue;
        crash->reason = ingest_printf(b, "%s%s%s", measured[i].before, text, measured[i].after);
    }
}

void
ingest_metrickit_read_about(struct ingest_builder *b, const json_t *meta)
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
    struct report_crash *crash = &b->report->crash;
    read_origin(b, meta);
    read_exception(b, meta);
    crash->termination = ingest_json_text(b, meta, "diagnosticMetaData", "terminationReason");
    const json_t *thrown =
        ingest_json_member(b, meta, "diagnosticMetaData", "objectiveCexceptionReason", JSON_OBJECT);
    crash->exception = ingest_json_text(b, thrown, "objectiveCexceptionReason", "exceptionName");
    /* The composed message; formatString and arguments stay in extra. */
    crash->reason = ingest_json_text(b, thrown, "objectiveCexceptionReason", "composedMessage");
    if (thrown)
        ingest_add_extra(b, "objectiveCexceptionReason", thrown, thrown_known);
    /* Only if there is no exception: one diagnostic has one of both. */
    read_measured(b, meta);
    ingest_add_extra(b, "diagnosticMetaData", meta, known);
}
