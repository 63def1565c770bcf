/*
 * Apple's .ips, bug type 309: a header object on line 1, then the report as a second JSON value.
 *
 *   {"app_name":"Demo","bug_type":"309",...}
 *   {"threads":[{"triggered":true,"frames":[{"imageOffset":16488,"imageIndex":0,"symbol":"main",
 *    "symbolLocation":12,"sourceFile":"main.c","sourceLine":5}]}],"usedImages":[...]}
 *
 * An inlined call is a frame of its own ("inline":true) with the offset of the frame it is in. A
 * frame outside all images points at a placeholder image with base 0, so its offset is its address.
 * What came as an .ips keeps its placeholders, the ids of its threads, and all members that the
 * model does not know.
 */
#include "server/report/ips/parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static void
write_slice_uuid(struct json_write *w, const struct report_image *image)
{
    char text[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&image->uuid, text);
    json_write_text(w, "slice_uuid", text);
}

/* "iPhone OS 17.2": `train` for the body; with the build in brackets for the header. */
static void
os_text(const struct report *r, bool with_build, char *ret, size_t size)
{
    const char *name = report_apple_os_name(r);
    snprintf(ret, size, "%s%s%s%s%s%s", name ? name : "", name && r->os_version ? " " : "",
             r->os_version ? r->os_version : "", with_build && r->os_build ? " (" : "",
             with_build && r->os_build ? r->os_build : "", with_build && r->os_build ? ")" : "");
}

static const char *
app_name(const struct report *r)
{
    const struct report_image *app = report_apple_main_image(r);
    return r->app_name ? r->app_name : app ? app->name : NULL;
}

/* A crash, unless what came in was an event of the whole system. */
static const char *
bug_type(const struct report *r)
{
    /* 298 is a jetsam event, which lists processes and has no threads. */
    bool is_memory = r->kind && strcmp(r->kind, "memory") == 0;
    return is_memory && r->n_threads == 0 ? "298" : "309";
}

/* The numbers of Mach-O's platforms; 0 if the system is not known. */
static unsigned
platform(const struct report *r)
{
    static const struct {
        const char *name;
        unsigned number;
    } systems[] = {{"macOS", 1},   {"Mac OS", 1},    {"OS X", 1},       {"iOS", 2},
                   {"iPhone", 2},  {"iPadOS", 2},    {"Apple TVOS", 3}, {"tvOS", 3},
                   {"watchOS", 4}, {"visionOS", 11}, {"xrOS", 11}};
    for (size_t i = 0; r->os_name && i < FZ_ARRAY_LEN(systems); i++) {
        if (fz_text_has_prefix(r->os_name, systems[i].name))
            return systems[i].number;
    }
    return 0;
}

/* The header of an .ips as it came, but for what the model knows; else a new one. */
static void
write_header(struct report_ips *ips, const char *id)
{
    static const char *const written[] = {"app_name", "app_version", "build_version",
                                          "bundleID", "incident_id", NULL};
    struct json_write *w = &ips->w;
    const struct report *r = ips->r;
    const struct report_image *app = report_apple_main_image(r);
    /* Only an .ips has one; other formats' extras may have a member of that name. */
    const json_t *header = report_apple_is_ips(r) ? json_object_get(ips->extra, "header") : NULL;
    char text[160];
    json_write_open(w, NULL, '{');
    json_write_text(w, "app_name", app_name(r));
    /* The header that came keeps its own spelling of the time, with its zone. */
    if (r->timestamp_ms && !json_object_get(header, "timestamp")) {
        char when[40];
        report_apple_time(r->timestamp_ms, 2, when);
        json_write_text(w, "timestamp", when);
    }
    json_write_text(w, "app_version", r->app_version);
    if (app && app->has_uuid && !json_object_get(header, "slice_uuid"))
        write_slice_uuid(w, app);
    json_write_text(w, "build_version", r->app_build);
    if (platform(r) && !json_object_get(header, "platform"))
        json_write_u64(w, "platform", platform(r));
    json_write_text(w, "bundleID", r->app_id);
    if (!json_object_get(header, "bug_type"))
        json_write_text(w, "bug_type", bug_type(r));
    os_text(r, true, text, sizeof(text));
    if (!json_object_get(header, "os_version"))
        json_write_text(w, "os_version", *text ? text : NULL);
    if (!json_object_get(header, "name"))
        json_write_text(w, "name", app_name(r));
    json_write_text(w, "incident_id", *id ? id : NULL);
    report_extra_write(w, header, written);
    json_write_close(w, '}');
    /* The body is a second JSON value after a line break, not a further member. */
    w->comma = false;
}

/* In the zone that came, or else in UTC. */
static void
write_time(struct report_ips *ips, const char *key, const char *text_key, int64_t unix_ms)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    char when[40];
    report_apple_time(unix_ms, 4, when);
    if (report_apple_time_text(ips->extra, key, unix_ms, &text) ||
        report_apple_time_text(ips->extra, text_key, unix_ms, &text))
        json_write_text(&ips->w, key, fz_buffer_cstr(&text));
    else if (unix_ms)
        json_write_text(&ips->w, key, when);
}

static void
write_bundle(struct report_ips *ips)
{
    static const char *const written[] = {"CFBundleShortVersionString", "CFBundleVersion",
                                          "CFBundleIdentifier", NULL};
    struct json_write *w = &ips->w;
    const struct report *r = ips->r;
    const json_t *rest = json_object_get(ips->extra, "bundleInfo");
    /* An empty object would say that the app has no version. */
    if (!r->app_id && !r->app_version && !r->app_build && !rest)
        return;
    json_write_open(w, "bundleInfo", '{');
    json_write_text(w, "CFBundleShortVersionString", r->app_version);
    json_write_text(w, "CFBundleVersion", r->app_build);
    json_write_text(w, "CFBundleIdentifier", r->app_id);
    if (report_apple_is_ips(r))
        report_extra_write(w, rest, written);
    json_write_close(w, '}');
}

static void
write_os(struct report_ips *ips)
{
    static const char *const written[] = {"train", "build", NULL};
    struct json_write *w = &ips->w;
    const json_t *rest = json_object_get(ips->extra, "osVersion");
    char text[160];
    os_text(ips->r, false, text, sizeof(text));
    if (!*text && !ips->r->os_build && !rest)
        return;
    json_write_open(w, "osVersion", '{');
    json_write_text(w, "train", *text ? text : NULL);
    json_write_text(w, "build", ips->r->os_build);
    if (report_apple_is_ips(ips->r))
        report_extra_write(w, rest, written);
    json_write_close(w, '}');
}

static void
write_origin(struct report_ips *ips, const char *id)
{
    struct json_write *w = &ips->w;
    const struct report *r = ips->r;
    const struct report_image *app = report_apple_main_image(r);
    const char *cpu = report_apple_cpu_name(report_cpu(r));
    json_write_u64(w, "version", 2);
    json_write_text(w, "bug_type", bug_type(r));
    json_write_text(w, "incident", *id ? id : NULL);
    json_write_text(w, "modelCode", r->device_model);
    write_os(ips);
    write_time(ips, "captureTime", "Date/Time", r->timestamp_ms);
    write_time(ips, "procLaunch", "Launch Time", r->process.launched_ms);
    json_write_text(w, "cpuType", *cpu ? cpu : NULL);
    json_write_text(w, "procName", r->process.name ? r->process.name : app_name(r));
    json_write_text(w, "procPath", r->process.path ? r->process.path : app ? app->path : NULL);
    if (r->process.pid)
        json_write_i64(w, "pid", r->process.pid);
    json_write_text(w, "parentProc", r->process.parent);
    if (r->process.parent_pid)
        json_write_i64(w, "parentPid", r->process.parent_pid);
    write_bundle(ips);
}

/* What Apple's text has under a heading and an .ips under a key of its own. */
static void
write_headings(struct report_ips *ips)
{
    static const struct {
        const char *heading, *key;
    } names[] = {{"CrashReporter Key", "crashReporterKey"},
                 {"Anonymous UUID", "crashReporterKey"},
                 {"Role", "procRole"},
                 {"Baseband Version", "basebandVersion"},
                 {"Sleep/Wake UUID", "sleepWakeUUID"},
                 {"System Integrity Protection", "sip"},
                 {"VM Region Info", "vmRegionInfo"},
                 {"VM Region Summary", "vmSummary"},
                 {"Kernel Triage", "ktriageinfo"},
                 {"Filtered syslog", "filteredLog"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        /* An .ips may carry both: its own key counts. */
        if (json_object_get(ips->extra, names[i].key) == NULL &&
            report_extra_text(ips->extra, names[i].heading, &text))
            json_write_text(&ips->w, names[i].key, fz_buffer_cstr(&text));
    }
}

/* What an .ips brought and the model has no member for goes out as it came in: uptime, vmSummary...
 * But parts of what is written here already are not repeated. */
static void
write_extra(struct report_ips *ips)
{
    static const char *const written[] = {"header",      "termination", "threads", "exception",
                                          "osVersion",   "bundleInfo",  "asi",     "usedImages",
                                          "captureTime", "procLaunch",  NULL};
    if (report_apple_is_ips(ips->r))
        report_extra_write(&ips->w, ips->extra, written);
    else
        write_headings(ips);
}

static enum fz_code
write_all(struct report_ips *ips, const struct report_envelope *envelope, struct fz_error *err)
{
    char id[64];
    enum fz_code code = report_ips_place_images(ips, err);
    if (code != FZ_OK)
        return code;
    report_apple_id(ips->r, envelope, id);
    write_header(ips, id);
    fz_buffer_char(ips->w.out, '\n');
    json_write_open(&ips->w, NULL, '{');
    write_origin(ips, id);
    report_ips_crash(ips);
    report_ips_stacks(ips);
    report_ips_images(ips);
    write_extra(ips);
    json_write_close(&ips->w, '}');
    fz_buffer_char(ips->w.out, '\n');
    return fz_buffer_done(ips->w.out, err);
}

enum fz_code
report_render_ips(const struct report *report, const struct report_envelope *envelope,
                  struct fz_buffer *out, struct fz_error *err)
{
    json_auto_t *extra = report_extra_load(report);
    struct report_ips ips = {.w = json_write_start(out), .r = report, .extra = extra};
    enum fz_code code = write_all(&ips, envelope, err);
    free(ips.places);
    return code;
}
