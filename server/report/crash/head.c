/* The head of Apple's crash text: who crashed, where and when. */
#include "server/report/crash/parts.h"

#include <stdio.h>

#include "base/time.h"

enum { NAME_BYTES = 1024 };

/* "1.2 (34)"; either alone without brackets. */
static void
put_pair(struct report_crash_out *c, const char *key, const char *value, const char *in_brackets)
{
    char text[256];
    if (!value && !in_brackets)
        return;
    if (value && in_brackets)
        snprintf(text, sizeof(text), "%s (%s)", value, in_brackets);
    else
        snprintf(text, sizeof(text), "%s", value ? value : in_brackets);
    report_crash_field(c, key, text);
}

/* "launchd [1]" */
static void
put_process(struct report_crash_out *c, const char *key, const char *name, int64_t pid)
{
    char text[NAME_BYTES];
    if (!name && !pid)
        return;
    if (pid)
        snprintf(text, sizeof(text), "%s [%lld]", name ? name : "???", (long long)pid);
    else
        snprintf(text, sizeof(text), "%s", name);
    report_crash_field(c, key, text);
}

/* The same of two members of an .ips; else as the text has it. */
static void
put_named(struct report_crash_out *c, const char *key, const char *name_path,
          const char *number_path)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer name = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer number = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    bool has_name = report_crash_take(c, name_path, NULL, &name);
    if (!report_crash_take(c, number_path, NULL, &number)) {
        report_crash_extra(c, key, name_path);
        return;
    }
    fz_buffer_printf(&text, "%s [%s]", has_name ? fz_buffer_cstr(&name) : "<none>",
                     fz_buffer_cstr(&number));
    report_crash_field(c, key, fz_buffer_cstr(&text));
}

/* In the zone that came, or else in UTC. */
static void
put_time(struct report_crash_out *c, const char *key, const char *path, int64_t unix_ms)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    char when[40];
    int64_t ms;
    bool as_it_came = report_apple_time_text(c->extra, path, unix_ms, &text) ||
                      report_apple_time_text(c->extra, key, unix_ms, &text);
    /* A jetsam event has its time under another name, and some reports only in the header. */
    if (!as_it_came && unix_ms && c->is_ips)
        as_it_came = report_apple_time_text(c->extra, "date", unix_ms, &text) ||
                     report_apple_time_text(c->extra, "header.timestamp", unix_ms, &text);
    /* A text that is not a time says less than one that the report has elsewhere. */
    if (unix_ms && as_it_came && !fz_time_parse(fz_buffer_span(&text), &ms))
        as_it_came = false;
    json_object_del(c->extra, key);
    if (!as_it_came && !unix_ms)
        return;
    report_apple_time(unix_ms, 4, when);
    report_crash_field(c, key, as_it_came ? fz_buffer_cstr(&text) : when);
}

static void
put_os(struct report_crash_out *c)
{
    const struct report *r = c->r;
    const char *name = report_apple_os_name(r);
    char os[160] = "";
    if (name || r->os_version)
        snprintf(os, sizeof(os), "%s%s%s", name ? name : "", name && r->os_version ? " " : "",
                 r->os_version ? r->os_version : "");
    put_pair(c, "OS Version", *os ? os : NULL, r->os_build);
}

/* Anything else than native is said by the report: "X86-64 (Translated)". */
static void
put_code_type(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (report_crash_take(c, NULL, "Code Type", &text)) {
        report_crash_field(c, "Code Type", fz_buffer_cstr(&text));
        return;
    }
    const char *cpu = report_apple_cpu_name(report_cpu(c->r));
    const json_t *translated = report_extra_get(c->extra, "translated");
    bool is_translated = json_is_true(translated) || json_integer_value(translated) == 1;
    if (*cpu)
        put_pair(c, "Code Type", cpu, is_translated ? "Translated" : "Native");
}

static void
put_id(struct report_crash_out *c)
{
    char id[64];
    report_apple_id(c->r, c->envelope, id);
    report_crash_field(c, "Incident Identifier", id);
}

static void
put_app(struct report_crash_out *c)
{
    const struct report *r = c->r;
    /* Formats without a process have the app's own image in its place. */
    const struct report_image *app = report_apple_main_image(r);
    const struct report_process *process = &r->process;
    put_process(c, "Process",
                process->name ? process->name
                : r->app_name ? r->app_name
                : app         ? app->name
                              : NULL,
                process->pid);
    report_crash_field(c, "Path", process->path ? process->path : app ? app->path : NULL);
    report_crash_field(c, "Identifier", r->app_id ? r->app_id : c->is_ips ? process->name : NULL);
    if (c->is_ips && !r->app_version && !r->app_build)
        report_crash_field(c, "Version", "???");
    put_pair(c, "Version", r->app_version, r->app_build);
    report_crash_extra(c, "AppStoreTools", "bundleInfo.DTAppStoreToolsBuild");
    report_crash_extra(c, "AppVariant", "storeInfo.applicationVariant");
}

/* The process among others: iOS, and macOS since 26. */
static void
put_relations(struct report_crash_out *c)
{
    const struct report *r = c->r;
    put_code_type(c);
    if (c->is_ips && r->n_threads && !json_object_get(c->extra, "procRole"))
        report_crash_field(c, "Role", "Unspecified");
    report_crash_extra(c, "Role", "procRole");
    put_process(c, "Parent Process", r->process.parent, r->process.parent_pid);
    put_named(c, "Coalition", "coalitionName", "coalitionID");
    put_named(c, "Responsible Process", "responsibleProc", "responsiblePid");
}

static void
put_ios(struct report_crash_out *c)
{
    const struct report *r = c->r;
    const json_t *beta = report_extra_get(c->extra, "isBeta");
    /* TestFlight's reports name the tester's device in place of the reporter's key. */
    bool is_beta = c->is_ips && (json_is_true(beta) || json_integer_value(beta) == 1);
    put_id(c);
    if (is_beta)
        report_crash_extra(c, "Beta Identifier", "storeInfo.deviceIdentifierForVendor");
    else
        report_crash_extra(c, "CrashReporter Key", "crashReporterKey");
    report_crash_extra(c, "Beta Identifier", NULL);
    report_crash_field(c, "Hardware Model", r->device_model);
    report_crash_extra(c, "Device Model", "codeName");
    put_app(c);
    if (is_beta)
        report_crash_field(c, "Beta", "YES");
    report_crash_extra(c, "Beta", NULL);
    put_relations(c);
    fz_buffer_char(c->out, '\n');
    put_time(c, "Date/Time", "captureTime", r->timestamp_ms);
    put_time(c, "Launch Time", "procLaunch", r->process.launched_ms);
    put_os(c);
    report_crash_extra(c, "Release Type", "osVersion.releaseType");
    report_crash_extra(c, "Baseband Version", "basebandVersion");
    report_crash_extra(c, "UDID", "systemID");
    /* The text is of this layout, whatever version it had when it came. */
    json_object_del(c->extra, "Report Version");
    report_crash_field(c, "Report Version", "104");
    fz_buffer_char(c->out, '\n');
}

/* Some lines have kept the columns of older layouts. */
static void
put_wide(struct report_crash_out *c, const char *key, const char *value)
{
    bool is_mac26 = c->is_mac26;
    c->is_mac26 = false;
    report_crash_field(c, key, value);
    c->is_mac26 = is_mac26;
}

/* "7.4 (20P4252)" */
static void
put_bridge(struct report_crash_out *c)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer build = fz_buffer_make(0);
    bool has_build = report_crash_take(c, "bridgeVersion.build", NULL, &build);
    if (!report_crash_take(c, "bridgeVersion.train", NULL, &text))
        report_crash_take(c, "bridgeVersion.status", "Bridge OS Version", &text);
    else if (has_build)
        fz_buffer_printf(&text, " (%s)", fz_buffer_cstr(&build));
    put_wide(c, "Bridge OS Version", fz_buffer_cstr(&text));
}

static void
put_seconds(struct report_crash_out *c, const char *key, const char *path)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (report_crash_take(c, path, NULL, &text))
        fz_buffer_text(&text, " seconds");
    else if (!report_crash_take(c, NULL, key, &text))
        return;
    put_wide(c, key, fz_buffer_cstr(&text));
}

/* "Crashed Thread: 0  CrBrowserMain  Dispatch queue: com.apple.main-thread", since macOS 26
 * "Triggered by Thread: 6  worker, Dispatch Queue: com.acme.work" */
static void
put_crashed_thread(struct report_crash_out *c, const char *key, const char *before_queue)
{
    const struct report_thread *thread = report_apple_crashed(c->r);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (!thread || !c->is_crash)
        return;
    fz_buffer_printf(&text, "%lld", (long long)report_apple_index(c->r, thread));
    if (thread->name)
        fz_buffer_printf(&text, "  %s", thread->name);
    if (thread->queue)
        fz_buffer_printf(&text, "%s%s", before_queue, thread->queue);
    report_crash_field(c, key, fz_buffer_cstr(&text));
    fz_buffer_char(c->out, '\n');
}

static void
put_plugin(struct report_crash_out *c)
{
    size_t before = c->out->len;
    report_crash_extra(c, "PlugIn Path", "plugin.ExecutablePath");
    report_crash_extra(c, "PlugIn Identifier", "plugin.Identifier");
    report_crash_extra(c, "PlugIn Version", "plugin.ShortVersionString");
    if (c->out->len > before)
        fz_buffer_char(c->out, '\n');
}

/* The lines that both layouts of macOS have alike. */
static void
put_awake(struct report_crash_out *c)
{
    size_t before = c->out->len;
    put_seconds(c, "Time Awake Since Boot", "uptime");
    put_seconds(c, "Time Since Wake", "wakeTime");
    if (c->out->len > before)
        fz_buffer_char(c->out, '\n');
    before = c->out->len;
    report_crash_extra(c, "System Integrity Protection", "sip");
    if (c->out->len > before)
        fz_buffer_char(c->out, '\n');
}

static void
put_mac26(struct report_crash_out *c)
{
    const struct report *r = c->r;
    put_app(c);
    put_relations(c);
    report_crash_extra(c, "User ID", "userID");
    fz_buffer_char(c->out, '\n');
    put_plugin(c);
    put_time(c, "Date/Time", "captureTime", r->timestamp_ms);
    put_time(c, "Launch Time", "procLaunch", r->process.launched_ms);
    report_crash_field(c, "Hardware Model", r->device_model);
    report_crash_extra(c, "Device Model", "codeName");
    put_os(c);
    report_crash_extra(c, "Release Type", "osVersion.releaseType");
    put_bridge(c);
    report_crash_extra(c, "Baseband Version", "basebandVersion");
    fz_buffer_char(c->out, '\n');
    report_crash_extra(c, "Crash Reporter Key", "crashReporterKey");
    report_crash_extra(c, "UDID", "systemID");
    put_id(c);
    fz_buffer_char(c->out, '\n');
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer sleep = fz_buffer_make(0);
    if (report_crash_take(c, "sleepWakeUUID", "Sleep/Wake UUID", &sleep)) {
        put_wide(c, "Sleep/Wake UUID", fz_buffer_cstr(&sleep));
        fz_buffer_char(c->out, '\n');
    }
    put_awake(c);
    put_crashed_thread(c, "Triggered by Thread", ", Dispatch Queue: ");
}

static void
put_mac(struct report_crash_out *c)
{
    const struct report *r = c->r;
    /* A text that came without an id must not get one that only the server knows. */
    bool is_text = r->format && strcmp(r->format, "crash") == 0;
    if (!c->is_ips && (!is_text || r->id))
        put_id(c);
    put_app(c);
    put_code_type(c);
    put_process(c, "Parent Process", r->process.parent, r->process.parent_pid);
    put_named(c, "Responsible", "responsibleProc", "responsiblePid");
    report_crash_extra(c, "User ID", "userID");
    fz_buffer_char(c->out, '\n');
    put_plugin(c);
    put_time(c, "Date/Time", "captureTime", r->timestamp_ms);
    /* macOS itself leaves out the id, the launch and the model: they are there only where the
     * report was not made by it. */
    if (!c->is_ips)
        put_time(c, "Launch Time", "procLaunch", r->process.launched_ms);
    put_os(c);
    if (!c->is_ips && !json_object_get(c->extra, "Model")) /* a line at the end, with more in it */
        report_crash_field(c, "Hardware Model", r->device_model);
    json_object_del(c->extra, "Report Version");
    report_crash_field(c, "Report Version", "12");
    put_bridge(c);
    report_crash_extra(c, "Anonymous UUID", "crashReporterKey");
    fz_buffer_char(c->out, '\n');
    report_crash_extra(c, "Sleep/Wake UUID", "sleepWakeUUID");
    fz_buffer_char(c->out, '\n');
    put_awake(c);
    put_crashed_thread(c, "Crashed Thread", "  Dispatch queue: ");
}

void
report_crash_head(struct report_crash_out *c)
{
    if (c->is_mac26 && c->is_mac)
        put_mac26(c);
    else if (c->is_mac)
        put_mac(c);
    else
        put_ios(c);
}
