/*
 * Apple's .ips, bug type 309: a header object on line 1, then the report as a second JSON value.
 *
 *   {"app_name":"Demo","bug_type":"309",...}
 *   {"threads":[{"triggered":true,"frames":[{"imageOffset":16488,"imageIndex":0,"symbol":"main",
 *    "symbolLocation":12,"sourceFile":"main.c","sourceLine":5}]}],"usedImages":[...]}
 *
 * An inlined call is a frame of its own ("inline":true) with the offset of the frame it lies in. A
 * frame outside all images points at a placeholder image with base 0, so its offset is its address.
 */
#include "server/report/render_ips.h"

#include <stdio.h>

#include "base/text.h"
#include "server/json/json_walk.h"

static void
write_dashed_uuid(struct json_write *w, const char *key, const struct report_image *image)
{
    char text[FZ_UUID_DASHED];
    fz_uuid_format_dashed(&image->uuid, text);
    json_write_text(w, key, text);
}

/* "iPhone OS 17.2": `train` for the body; with the build in brackets for the header. */
static void
os_text(const struct report *r, bool with_build, char *ret, size_t size)
{
    snprintf(ret, size, "%s%s%s%s%s%s", r->os_name ? r->os_name : "",
             r->os_name && r->os_version ? " " : "", r->os_version ? r->os_version : "",
             with_build && r->os_build ? " (" : "", with_build && r->os_build ? r->os_build : "",
             with_build && r->os_build ? ")" : "");
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

static void
write_header(struct json_write *w, const struct report *r, const char *id)
{
    const struct report_image *app = report_apple_main_image(r);
    char text[160];
    json_write_open(w, NULL, '{');
    json_write_text(w, "app_name", app_name(r));
    if (r->timestamp_ms) {
        char when[40];
        report_apple_time(r->timestamp_ms, 2, when);
        json_write_text(w, "timestamp", when);
    }
    json_write_text(w, "app_version", r->app_version);
    if (app && app->has_uuid)
        write_dashed_uuid(w, "slice_uuid", app);
    json_write_text(w, "build_version", r->app_build);
    if (platform(r))
        json_write_u64(w, "platform", platform(r));
    json_write_text(w, "bundleID", r->app_id);
    json_write_text(w, "bug_type", bug_type(r));
    os_text(r, true, text, sizeof(text));
    json_write_text(w, "os_version", *text ? text : NULL);
    json_write_text(w, "name", app_name(r));
    json_write_text(w, "incident_id", *id ? id : NULL);
    json_write_close(w, '}');
}

static void
write_time(struct json_write *w, const char *key, int64_t unix_ms)
{
    char when[40];
    if (!unix_ms)
        return;
    report_apple_time(unix_ms, 4, when);
    json_write_text(w, key, when);
}

static void
write_origin(struct json_write *w, const struct report *r, const char *id)
{
    const struct report_image *app = report_apple_main_image(r);
    const char *cpu = report_apple_cpu_name(report_apple_cpu(r));
    char text[160];
    json_write_u64(w, "version", 2);
    json_write_text(w, "bug_type", bug_type(r));
    json_write_text(w, "incident", *id ? id : NULL);
    json_write_text(w, "modelCode", r->device_model);
    os_text(r, false, text, sizeof(text));
    if (*text || r->os_build) {
        json_write_open(w, "osVersion", '{');
        json_write_text(w, "train", *text ? text : NULL);
        json_write_text(w, "build", r->os_build);
        json_write_close(w, '}');
    }
    write_time(w, "captureTime", r->timestamp_ms);
    write_time(w, "procLaunch", r->process.launched_ms);
    json_write_text(w, "cpuType", *cpu ? cpu : NULL);
    json_write_text(w, "procName", r->process.name ? r->process.name : app_name(r));
    json_write_text(w, "procPath", r->process.path ? r->process.path : app ? app->path : NULL);
    if (r->process.pid)
        json_write_i64(w, "pid", r->process.pid);
    json_write_text(w, "parentProc", r->process.parent);
    if (r->process.parent_pid)
        json_write_i64(w, "parentPid", r->process.parent_pid);
    if (r->app_id || r->app_version || r->app_build) {
        json_write_open(w, "bundleInfo", '{');
        json_write_text(w, "CFBundleShortVersionString", r->app_version);
        json_write_text(w, "CFBundleVersion", r->app_build);
        json_write_text(w, "CFBundleIdentifier", r->app_id);
        json_write_close(w, '}');
    }
}

/* What an .ips brought and the model has no member for goes out as it came in: uptime, vmSummary...
 * But parts of what is written here already are not repeated. */
static void
write_extra(struct json_write *w, const struct report *r)
{
    static const char *const written[] = {"header",    "termination", "threads", "exception",
                                          "osVersion", "bundleInfo",  "asi",     "asiBacktraces"};
    if (!r->format || strcmp(r->format, "ips") != 0)
        return;
    struct json_walk walk = json_walk_start(fz_span_cstr(r->extra_json));
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        bool is_written = false;
        for (size_t i = 0; i < FZ_ARRAY_LEN(written); i++)
            is_written = is_written || fz_span_is(member.key, written[i]);
        if (is_written)
            continue;
        fz_buffer_text(w->out, w->comma ? ",\"" : "\"");
        fz_buffer_append(w->out, member.key.data, member.key.len);
        fz_buffer_text(w->out, "\":");
        fz_buffer_append(w->out, member.value.data, member.value.len);
        w->comma = true;
    }
}

/* "4.2 (4201)": version and build. */
static void
write_version(struct json_write *w, const char *version)
{
    char first[128];
    const char *open = version ? strstr(version, " (") : NULL;
    size_t len = version ? strlen(version) : 0;
    if (!open || version[len - 1] != ')' || (size_t)(open - version) >= sizeof(first)) {
        json_write_text(w, "CFBundleShortVersionString", version);
        return;
    }
    char build[128];
    snprintf(first, sizeof(first), "%.*s", (int)(open - version), version);
    snprintf(build, sizeof(build), "%.*s", (int)(version + len - 1 - (open + 2)), open + 2);
    json_write_text(w, "CFBundleShortVersionString", first);
    json_write_text(w, "CFBundleVersion", build);
}

static void
write_images(struct json_write *w, const struct report *r, bool placeholder)
{
    static const struct report_image nowhere = {.name = NULL};
    json_write_open(w, "usedImages", '[');
    for (size_t i = 0; i < r->n_images + (placeholder ? 1 : 0); i++) {
        const struct report_image *image = i < r->n_images ? &r->images[i] : &nowhere;
        json_write_open(w, NULL, '{');
        json_write_text(w, "source", image == &nowhere ? "A" : "P");
        json_write_text(w, "arch", image->arch);
        json_write_u64(w, "base", image->addr);
        json_write_u64(w, "size", image->size);
        write_dashed_uuid(w, "uuid", image); /* zeros if it has none, as Apple writes it */
        json_write_text(w, "path", image->path);
        json_write_text(w, "name", image->name);
        json_write_text(w, "CFBundleIdentifier", image->bundle_id);
        write_version(w, image->version);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

enum fz_code
report_render_ips(const struct report *report, const struct report_envelope *envelope,
                  struct fz_buffer *out, struct fz_error *err)
{
    char id[64];
    report_apple_id(report, envelope, id);
    struct json_write header = json_write_start(out);
    write_header(&header, report, id);
    fz_buffer_char(out, '\n');
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    write_origin(&w, report, id);
    render_ips_crash(&w, report);
    bool outside = render_ips_stacks(&w, report);
    write_images(&w, report, outside);
    write_extra(&w, report);
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
    return fz_buffer_done(out, err);
}
