/*
 * Apple's crash text, report version 104, as Xcode and Console show it:
 *
 *   Incident Identifier: 0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11
 *   Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
 *   Thread 0 Crashed:
 *   0   Demo                          <tab>0x0000000104004068 inner(int) [inlined] (work.c:2)
 *   1   Demo                          <tab>0x0000000104004068 work_step + 8 (work.c:5)
 *   2   dyld                          <tab>0x00000001a0004e28 0x1a0000000 + 20008
 *   Binary Images:
 *   0x104000000 - 0x10400bfff Demo arm64  <4c4c445b...> /private/.../Demo.app/Demo
 *
 * An inlined call is a line of its own with a number of its own and the address of its frame. What
 * is not known has no line. Names come from outside: control characters in them become '?', so none
 * can forge a line or steer a terminal.
 */
#include "server/report/render_crash.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

enum { NAME_BYTES = 1024, MESSAGE_BYTES = 16 * 1024 };

/* Characters that a terminal acts upon (C0, DEL, C1), that turn the reading direction, and bytes of
 * a text that was cut inside a character. */
static bool
is_unsafe(const uint8_t *c, size_t len)
{
    if (len <= 1)
        return len == 0 || c[0] < 0x20 || c[0] == 0x7f;
    if (len == 2)
        return c[0] == 0xc2 && c[1] < 0xa0;
    if (len != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

void
render_crash_text(struct fz_buffer *out, const char *text)
{
    struct fz_span all = fz_span_cstr(text), rest;
    size_t start = 0, i = 0;
    while (fz_span_sub(all, i, all.len - i, &rest) && rest.len) {
        size_t len = fz_text_utf8_len(rest);
        if (is_unsafe(rest.data, len)) {
            fz_buffer_append(out, text + start, i - start);
            fz_buffer_char(out, '?');
            start = i + (len ? len : 1);
        }
        i += len ? len : 1;
    }
    fz_buffer_append(out, text + start, i - start);
}

/* "<key>: <value>" with the value in column 21; nothing without a value. */
static void
put_field(struct fz_buffer *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    char label[32];
    snprintf(label, sizeof(label), "%s:", key);
    fz_buffer_printf(out, "%-21s", label);
    render_crash_text(out, value);
    fz_buffer_char(out, '\n');
}

static void
put_pair(struct fz_buffer *out, const char *key, const char *value, const char *in_brackets)
{
    char text[256];
    if (!value && !in_brackets)
        return;
    if (value && in_brackets)
        snprintf(text, sizeof(text), "%s (%s)", value, in_brackets);
    else
        snprintf(text, sizeof(text), "%s", value ? value : in_brackets);
    put_field(out, key, text);
}

/* "launchd [1]" */
static void
put_process(struct fz_buffer *out, const char *key, const char *name, int64_t pid)
{
    char text[NAME_BYTES];
    if (!name && !pid)
        return;
    if (pid)
        snprintf(text, sizeof(text), "%s [%lld]", name ? name : "???", (long long)pid);
    else
        snprintf(text, sizeof(text), "%s", name);
    put_field(out, key, text);
}

static void
put_time(struct fz_buffer *out, const char *key, int64_t unix_ms)
{
    char when[40];
    if (!unix_ms)
        return;
    report_apple_time(unix_ms, 4, when);
    put_field(out, key, when);
}

/* A text that .ips or Apple's text brought and the model has no member for. */
static void
put_extra(struct fz_buffer *out, const char *key, const struct report *r, const char *ips_key)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (report_apple_text_in(r->extra_json, ips_key, NULL, &text) ||
        report_apple_text_in(r->extra_json, key, NULL, &text))
        put_field(out, key, fz_buffer_cstr(&text));
}

static void
put_header(struct fz_buffer *out, const struct report *r, const struct report_envelope *envelope)
{
    char id[64], os[160] = "";
    const struct report_image *app = report_apple_main_image(r);
    const struct report_process *process = &r->process;
    report_apple_id(r, envelope, id);
    put_field(out, "Incident Identifier", id);
    put_extra(out, "CrashReporter Key", r, "crashReporterKey");
    put_field(out, "Hardware Model", r->device_model);
    put_process(out, "Process",
                process->name ? process->name
                : r->app_name ? r->app_name
                : app         ? app->name
                              : NULL,
                process->pid);
    put_field(out, "Path", process->path ? process->path : app ? app->path : NULL);
    put_field(out, "Identifier", r->app_id);
    put_pair(out, "Version", r->app_version, r->app_build);
    put_field(out, "Code Type", report_apple_cpu_name(report_apple_cpu(r)));
    put_extra(out, "Role", r, "procRole");
    put_process(out, "Parent Process", process->parent, process->parent_pid);
    fz_buffer_char(out, '\n');
    put_time(out, "Date/Time", r->timestamp_ms);
    put_time(out, "Launch Time", process->launched_ms);
    if (r->os_name || r->os_version)
        snprintf(os, sizeof(os), "%s%s%s", r->os_name ? r->os_name : "",
                 r->os_name && r->os_version ? " " : "", r->os_version ? r->os_version : "");
    put_pair(out, "OS Version", *os ? os : NULL, r->os_build);
    put_field(out, "Report Version", "104");
    fz_buffer_char(out, '\n');
}

static void
put_line(struct fz_buffer *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    fz_buffer_text(out, key);
    render_crash_text(out, value);
    fz_buffer_char(out, '\n');
}

/* Would the line be read as a heading or a frame? */
static bool
looks_like_structure(const char *line)
{
    static const char *const headings[] = {"Thread ", "Binary Images", "Last Exception", "EOF"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(headings); i++) {
        if (fz_text_has_prefix(line, headings[i]))
            return true;
    }
    return *line >= '0' && *line <= '9';
}

/* A message; its further lines are indented, as is a first one that could be taken for more. */
static void
put_message(struct fz_buffer *out, const char *text)
{
    for (bool first = true; *text; first = false) {
        size_t len = strcspn(text, "\n");
        char line[MESSAGE_BYTES];
        snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1),
                 text);
        if (*line) {
            fz_buffer_text(out, first && !looks_like_structure(line) ? "" : "    ");
            render_crash_text(out, line);
            fz_buffer_char(out, '\n');
        }
        text += len + (text[len] == '\n');
    }
}

static void
put_messages(struct fz_buffer *out, const struct report_crash *crash)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer thrown = fz_buffer_make(0);
    report_apple_thrown(crash, &thrown);
    if (thrown.len == 0 && crash->n_messages == 0)
        return;
    fz_buffer_text(out, "\nApplication Specific Information:\n");
    put_message(out, fz_buffer_cstr(&thrown));
    for (size_t i = 0; i < crash->n_messages; i++)
        put_message(out, crash->messages[i]);
}

static void
put_exception(struct fz_buffer *out, const struct report *r)
{
    const struct report_crash *crash = &r->crash;
    const struct report_thread *thread = report_apple_crashed(r);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer codes = fz_buffer_make(0);
    char text[256] = "";
    if (r->kind && strcmp(r->kind, "crash") != 0)
        put_line(out, "Event:           ", r->kind);
    if (crash->mach && crash->signal)
        snprintf(text, sizeof(text), "%s (%s)", crash->mach, crash->signal);
    else if (crash->mach || crash->signal || crash->exception)
        snprintf(text, sizeof(text), "%s",
                 crash->mach     ? crash->mach
                 : crash->signal ? crash->signal
                                 : crash->exception);
    put_line(out, "Exception Type:  ", text);
    report_apple_subtype(crash, text, sizeof(text));
    put_line(out, "Exception Subtype: ", text);
    report_apple_codes(crash, &codes);
    put_line(out, "Exception Codes: ", codes.len ? fz_buffer_cstr(&codes) : crash->signal_code);
    put_line(out, "Termination Reason: ", crash->termination);
    if (thread)
        fz_buffer_printf(out, "Triggered by Thread:  %lld\n",
                         (long long)report_apple_index(r, thread));
    put_messages(out, crash);
}

static int
compare_images(const void *a, const void *b)
{
    const struct report_image *const *x = a, *const *y = b;
    if ((*x)->addr != (*y)->addr)
        return (*x)->addr < (*y)->addr ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static enum fz_code
put_images(struct fz_buffer *out, const struct report *r, struct fz_error *err)
{
    fz_buffer_text(out, "\nBinary Images:\n");
    if (r->n_images == 0)
        return FZ_OK;
    const struct report_image **sorted = calloc(r->n_images, sizeof(*sorted));
    if (!sorted)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < r->n_images; i++)
        sorted[i] = &r->images[i];
    qsort(sorted, r->n_images, sizeof(*sorted), compare_images);
    for (size_t i = 0; i < r->n_images; i++) {
        const struct report_image *image = sorted[i];
        char uuid[FZ_UUID_TEXT];
        bool is_name = image->addr == 0 && image->size == 0 && !image->has_uuid && !image->path;
        if (is_name) /* its frames tell it */
            continue;
        fz_uuid_format(&image->uuid, uuid); /* zeros if it has none, as Apple writes it */
        fz_buffer_printf(out, "0x%llx - ", (unsigned long long)image->addr);
        if (image->size)
            fz_buffer_printf(out, "0x%llx ", (unsigned long long)image->addr + (image->size - 1));
        else
            fz_buffer_text(out, "??? ");
        render_crash_text(out, image->name ? image->name : "???");
        fz_buffer_char(out, ' ');
        render_crash_text(out, image->arch ? image->arch : r->arch ? r->arch : "unknown");
        fz_buffer_printf(out, "  <%s>", uuid);
        if (image->path) {
            fz_buffer_char(out, ' ');
            render_crash_text(out, image->path);
        }
        fz_buffer_char(out, '\n');
    }
    free(sorted);
    return FZ_OK;
}

enum fz_code
report_render_crash(const struct report *report, const struct report_envelope *envelope,
                    struct fz_buffer *out, struct fz_error *err)
{
    put_header(out, report, envelope);
    put_exception(out, report);
    render_crash_stacks(out, report);
    render_crash_registers(out, report);
    if (report->crash.diagnosis) { /* the heading that KSCrash gives it */
        fz_buffer_text(out, "\nCrashDoctor Diagnosis: ");
        put_message(out, report->crash.diagnosis);
    }
    enum fz_code code = put_images(out, report, err);
    if (code != FZ_OK)
        return code;
    fz_buffer_text(out, "\nEOF\n");
    return fz_buffer_done(out, err);
}
