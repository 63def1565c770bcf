#include "server/report/columns.h"

#include "server/report/summary.h"

/* What the values are taken from. */
struct source {
    struct report r;
    struct report_summary s;
};

/* In the order of the members in a list. */
static const struct fz_column list[] = {
    {.name = "kind", .term = "kind", .path = "kind", .offset = offsetof(struct source, s.kind)},
    {.name = "received_ms", .type = FZ_COLUMN_TIME, .is_fixed = true, .path = "received"},
    {.name = "timestamp_ms", .type = FZ_COLUMN_TIME, .is_fixed = true, .path = "timestamp"},
    {.name = "run_id", .path = "run_id", .offset = offsetof(struct source, s.run_id)},
    /* For storage, which counts a crash once that arrives in several reports. */
    {.name = "ends_run", .type = FZ_COLUMN_NUMBER, .offset = offsetof(struct source, s.ends_run)},
    /* For the API, which does not show everybody the body of such a report. */
    {.name = "scrubbed", .type = FZ_COLUMN_NUMBER, .offset = offsetof(struct source, s.scrubbed)},
    {.name = "same_as", .is_fixed = true, .path = "same_as"},
    {.name = "app_id",
     .term = "app",
     .path = "app.id",
     .offset = offsetof(struct source, r.app_id)},
    {.name = "app_name",
     .term = "app",
     .is_detail = true,
     .path = "app.name",
     .offset = offsetof(struct source, r.app_name)},
    {.name = "app_version",
     .term = "version",
     .path = "app.version",
     .offset = offsetof(struct source, r.app_version)},
    {.name = "app_build",
     .term = "version",
     .is_detail = true,
     .path = "app.build",
     .offset = offsetof(struct source, r.app_build)},
    {.name = "release", .path = "release", .offset = offsetof(struct source, s.release)},
    {.name = "environment",
     .term = "environment",
     .path = "environment",
     .offset = offsetof(struct source, r.environment)},
    {.name = "os_name",
     .term = "os",
     .path = "os.name",
     .offset = offsetof(struct source, r.os_name)},
    {.name = "os_version",
     .term = "os",
     .is_detail = true,
     .path = "os.version",
     .offset = offsetof(struct source, r.os_version)},
    {.name = "os_build", .path = "os.build", .offset = offsetof(struct source, r.os_build)},
    {.name = "device_model",
     .term = "device",
     .path = "device.model",
     .offset = offsetof(struct source, r.device_model)},
    {.name = "arch", .term = "arch", .path = "arch", .offset = offsetof(struct source, r.arch)},
    {.name = "user_id",
     .term = "user",
     .path = "user?.id",
     .offset = offsetof(struct source, s.user)},
    {.name = "signal",
     .term = "signal",
     .path = "crash.signal",
     .offset = offsetof(struct source, r.crash.signal)},
    {.name = "mach", .path = "crash.mach", .offset = offsetof(struct source, r.crash.mach)},
    {.name = "code", .path = "crash.code", .offset = offsetof(struct source, r.crash.code)},
    {.name = "exception",
     .term = "exception",
     .path = "crash.exception",
     .offset = offsetof(struct source, r.crash.exception)},
    {.name = "reason",
     .term = "reason",
     .type = FZ_COLUMN_LONG_TEXT,
     .path = "crash.reason",
     .offset = offsetof(struct source, r.crash.reason)},
    {.name = "top_function",
     .type = FZ_COLUMN_LONG_TEXT,
     .path = "top?.function",
     .offset = offsetof(struct source, s.top_function)},
    {.name = "top_file",
     .type = FZ_COLUMN_LONG_TEXT,
     .path = "top?.file",
     .offset = offsetof(struct source, s.top_file)},
    {.name = "top_line",
     .type = FZ_COLUMN_NUMBER,
     .path = "top?.line",
     .offset = offsetof(struct source, s.top_line)},
    {.name = "tags", .type = FZ_COLUMN_LONG_TEXT, .offset = offsetof(struct source, s.tags)},
};

const struct fz_columns report_columns = {list, FZ_ARRAY_LEN(list)};

enum fz_code
report_columns_make(const struct report *report, struct fz_arena *arena, union fz_value **ret,
                    struct fz_error *err)
{
    /* Copied, so that one table of offsets covers the model and what is computed. */
    struct source source = {.r = *report};
    union fz_value *values = fz_arena_array(arena, FZ_ARRAY_LEN(list), sizeof(*values));
    if (!values)
        return fz_arena_fail(arena, err);
    /* Before the copy: the table reads from both. */
    enum fz_code code = report_summary_make(report, arena, &source.s, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < FZ_ARRAY_LEN(list); i++) {
        const char *from = (const char *)&source + list[i].offset;
        /* Storage fills these itself. */
        if (list[i].is_fixed)
            continue;
        if (fz_column_is_text(&list[i]))
            memcpy(&values[i].text, from, sizeof(values[i].text));
        else
            memcpy(&values[i].number, from, sizeof(values[i].number));
    }
    *ret = values;
    return FZ_OK;
}
