/*
 * Apple's crash text, as Xcode and Console show it: report version 104 of iOS, 12 of macOS.
 *
 *   Incident Identifier: 0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11
 *   Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
 *   Thread 0 Crashed:
 *   0   Demo                          <tab>       0x104004068 inner(int) + 0 (work.c:2) [inlined]
 *   1   Demo                          <tab>       0x104004068 work_step + 8 (work.c:5)
 *   2   dyld                          <tab>       0x1a0004e28 0x1a0000000 + 20008
 *   Binary Images:
 *          0x104000000 -        0x10400bfff Demo arm64  <4c4c445b...> /private/.../Demo.app/Demo
 *
 * An inlined call is a line of its own with a number of its own and the address of its frame. What
 * is not known has no line. Names come from outside: control characters in them become '?', so none
 * can forge a line or steer a terminal.
 */
#include "server/report/crash/parts.h"

#include "base/text.h"

static bool
is_mac26(const struct report *r)
{
    uint64_t major = 0;
    const char *version = r->os_version ? r->os_version : "";
    size_t len = strcspn(version, ".");
    return r->os_name && strcmp(r->os_name, "macOS") == 0 &&
           fz_text_u64(fz_span_make(version, len), &major) && major >= 26;
}

/* Apps of the simulator (platform 7...) run on macOS, but had the layout of iOS before macOS 26. */
static bool
has_mac_layout(const struct report *r, const json_t *extra)
{
    static const json_int_t platforms[] = {1, 6, 10};
    const json_t *platform = report_extra_get(extra, "header.platform");
    if (!r->os_name || strcmp(r->os_name, "macOS") != 0)
        return false;
    /* Reports of other formats do not name their platform. */
    bool any = !json_is_integer(platform) || is_mac26(r);
    for (size_t i = 0; i < FZ_ARRAY_LEN(platforms); i++)
        any = any || json_integer_value(platform) == platforms[i];
    return any;
}

/* A process that hung or used too much may have been ended for it; then it crashed, in Apple's
 * words too. */
static bool
is_crash(const struct report *r)
{
    static const char *const lived_on[] = {"error", "message"};
    static const char *const perhaps[] = {"hang", "cpu", "disk_write", "memory"};
    for (size_t i = 0; r->kind && i < FZ_ARRAY_LEN(lived_on); i++) {
        if (strcmp(r->kind, lived_on[i]) == 0)
            return false;
    }
    for (size_t i = 0; r->kind && i < FZ_ARRAY_LEN(perhaps); i++) {
        if (strcmp(r->kind, perhaps[i]) == 0)
            return r->crash.signal || r->crash.termination;
    }
    return true;
}

static enum fz_code
render(const struct report *report, const struct report_envelope *envelope, bool with_variables,
       struct fz_buffer *out, struct fz_error *err)
{
    json_auto_t *extra = report_extra_load(report);
    /* Decided once: each part of the text depends on several of these. */
    struct report_crash_out c = {
        .out = out,
        .r = report,
        .envelope = envelope,
        .extra = extra,
        .is_ips = report_apple_is_ips(report),
        .is_mac = has_mac_layout(report, extra),
        .is_mac26 = is_mac26(report),
        .mac_stacks = report->os_name && strcmp(report->os_name, "macOS") == 0,
        .with_variables = with_variables,
        .is_crash = is_crash(report),
    };
    report_crash_head(&c);
    report_crash_event(&c);
    report_crash_stacks(&c);
    report_crash_registers(&c);
    enum fz_code code = report_crash_images(&c, err);
    if (code != FZ_OK)
        return code;
    report_crash_tail(&c);
    return fz_buffer_done(out, err);
}

enum fz_code
report_render_crash(const struct report *report, const struct report_envelope *envelope,
                    struct fz_buffer *out, struct fz_error *err)
{
    return render(report, envelope, false, out, err);
}

enum fz_code
report_render_variables(const struct report *report, const struct report_envelope *envelope,
                        struct fz_buffer *out, struct fz_error *err)
{
    return render(report, envelope, true, out, err);
}
