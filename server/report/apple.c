#include "server/report/apple.h"

#include <ctype.h>
#include <stdio.h>

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "base/time.h"

enum { TEXT_MAX = 64 * 1024 };

bool
report_apple_is_ips(const struct report *report)
{
    return report->format && strcmp(report->format, "ips") == 0;
}

const char *
report_apple_cpu_name(enum fz_arch_cpu cpu)
{
    switch (cpu) {
    case FZ_CPU_ARM64:
        return "ARM-64";
    case FZ_CPU_ARM:
        return "ARM";
    case FZ_CPU_X86_64:
        return "X86-64";
    case FZ_CPU_X86:
        return "X86";
    case FZ_CPU_UNKNOWN:
        break;
    }
    return "";
}

void
report_apple_time(int64_t unix_ms, unsigned fraction, char ret[40])
{
    char text[FZ_TIME_TEXT];
    fz_time_format(unix_ms, text); /* 2026-01-01T00:00:00.125Z */
    text[10] = ' ';
    /* Milliseconds are known, and Apple's texts have four digits. */
    text[23] = '0';
    snprintf(ret, 40, "%.*s +0000", (int)(20 + (fraction < 4 ? fraction : 4)), text);
}

const char *
report_apple_os_name(const struct report *report)
{
    static const struct {
        const char *today, *in_reports;
    } names[] = {{"iOS", "iPhone OS"},
                 {"iPadOS", "iPhone OS"},
                 {"tvOS", "Apple TVOS"},
                 {"watchOS", "Watch OS"},
                 {"visionOS", "xrOS"}};
    const char *name = report->os_name;
    for (size_t i = 0; name && i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i].today) == 0)
            return names[i].in_reports;
    }
    /* Its name until 10.15. */
    if (name && strcmp(name, "macOS") == 0 && report->os_version &&
        fz_text_has_prefix(report->os_version, "10."))
        return "Mac OS X";
    return name;
}

bool
report_apple_time_text(const json_t *extra, const char *path, int64_t unix_ms,
                       struct fz_buffer *out)
{
    size_t before = out->len;
    int64_t ms;
    if (!report_extra_text(extra, path, out))
        return false;
    struct fz_span text = fz_span_make(out->data + before, out->len - before);
    /* A text that is the same moment is kept: it has the zone of the device. */
    if (!out->failed && (!fz_time_parse(text, &ms) || ms == unix_ms))
        return true;
    out->len = before;
    return false;
}

uint64_t
report_apple_frame_offset(const struct report_image *image, const struct report_frame *frame)
{
    uint64_t offset = frame->addr - image->addr;
    /* The offset that was looked up has no Thumb bit, but Apple's texts show the address as it
     * came. */
    bool is_thumb = offset == (frame->image_offset | 1);
    return frame->has_image_offset && !is_thumb ? frame->image_offset : offset;
}

/* "__42-[Cart pay]_block_invoke" is what Apple's tools show, not "-[Cart pay] (block)". */
const char *
report_apple_function(const struct report_symbol *symbol)
{
    const char *mangled = symbol->mangled;
    bool is_client = symbol->source && strcmp(symbol->source, "client") == 0;
    if (!symbol->function || !mangled || !strstr(mangled, "_block_invoke") ||
        !strstr(symbol->function, " (block"))
        return symbol->function;
    /* A linker's name has an underscore before the compiler's; a reporter's may have none. */
    return !is_client && fz_text_has_prefix(mangled, "___") ? mangled + 1 : mangled;
}

void
report_apple_id(const struct report *report, const struct report_envelope *envelope, char ret[64])
{
    /* The server's id first: it is the one by which the report is found again. */
    const char *id = envelope->id ? envelope->id : report->id;
    struct fz_uuid uuid;
    ret[0] = '\0';
    if (!id)
        return;
    if (!fz_uuid_parse(fz_span_cstr(id), &uuid)) {
        snprintf(ret, 64, "%s", id);
        return;
    }
    fz_uuid_format_dashed(&uuid, ret);
    /* Apple writes UUIDs in upper case. */
    for (char *c = ret; *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

/* A library's file is in a folder of libraries, or its name says so. */
static bool
may_be_executable(const struct report_image *image)
{
    static const char *const libraries[] = {".dylib", ".framework/", "/usr/lib/"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(libraries); i++) {
        if ((image->path && strstr(image->path, libraries[i])) ||
            (image->name && strstr(image->name, libraries[i])))
            return false;
    }
    return image->path != NULL;
}

const struct report_image *
report_apple_main_image(const struct report *report)
{
    /* A process has the name of its executable; an app may be named otherwise. */
    const char *names[] = {report->process.name, report->app_name};
    for (size_t k = 0; k < FZ_ARRAY_LEN(names); k++) {
        for (size_t i = 0; names[k] && i < report->n_images; i++) {
            const char *name = report->images[i].name;
            if (name && strcmp(name, names[k]) == 0)
                return &report->images[i];
        }
    }
    return report->n_images && may_be_executable(&report->images[0]) ? &report->images[0] : NULL;
}

const struct report_image *
report_apple_frame_image(const struct report *report, const struct report_frame *frame)
{
    int image = frame->image;
    /* Only resolving sets a frame's image. */
    if (image < 0 && frame->status == REPORT_FRAME_UNRESOLVED)
        image = report_image_at(report, frame->addr);
    return image >= 0 && (size_t)image < report->n_images ? &report->images[image] : NULL;
}

void
report_apple_subtype(const struct report_crash *crash, char *ret, size_t size)
{
    unsigned long long address = crash->address;
    /* Of other exceptions Apple's reports give the numbers only. */
    bool is_access = !crash->mach || strcmp(crash->mach, "EXC_BAD_ACCESS") == 0;
    /* Signals have codes of their own (SEGV_MAPERR), which reporters without Mach write. */
    const char *code = crash->code ? crash->code : crash->signal_code;
    ret[0] = '\0';
    if (crash->subtype)
        snprintf(ret, size, "%s", crash->subtype);
    else if (is_access && code && crash->has_address)
        snprintf(ret, size, "%s at 0x%016llx", code, address);
    else if (is_access && crash->has_address)
        snprintf(ret, size, "at 0x%016llx", address);
    else if (code && (is_access || !crash->n_mach_codes))
        snprintf(ret, size, "%s", code);
}

void
report_apple_codes(const struct report_crash *crash, struct fz_buffer *out)
{
    for (size_t i = 0; i < crash->n_mach_codes; i++)
        fz_buffer_printf(out, "%s0x%016llx", i ? ", " : "",
                         (unsigned long long)crash->mach_codes[i]);
}

/* Does a message hold both texts (NULL: any)? */
static bool
is_said(const struct report_crash *crash, const char *a, const char *b)
{
    for (size_t i = 0; i < crash->n_messages; i++) {
        const char *message = crash->messages[i];
        if ((!a || strstr(message, a)) && (!b || strstr(message, b)))
            return true;
    }
    return false;
}

void
report_apple_thrown(const struct report_crash *crash, struct fz_buffer *out)
{
    if ((!crash->exception && !crash->reason) || is_said(crash, crash->exception, crash->reason))
        return;
    if (crash->exception)
        fz_buffer_printf(out, "*** Terminating app due to uncaught exception '%s'%s",
                         crash->exception, crash->reason ? ", reason: '" : "");
    if (crash->reason)
        fz_buffer_printf(out, "%s%s", crash->reason, crash->exception ? "'" : "");
}

const struct report_thread *
report_apple_crashed(const struct report *report)
{
    bool is_crash = !report->kind || strcmp(report->kind, "crash") == 0;
    /* In a report of a hang no thread crashed, unless it says so. */
    bool any = report->crash.thread >= 0;
    for (size_t i = 0; i < report->n_threads; i++)
        any = any || report->threads[i].crashed;
    return is_crash || any ? report_crashed_thread(report) : NULL;
}

int64_t
report_apple_index(const struct report *report, const struct report_thread *thread)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->threads[i].index < 0 || report->threads[i].index > INT32_MAX)
            return thread - report->threads;
    }
    return thread->index;
}

static bool
find_member(struct fz_span object, const char *key, struct fz_span *ret)
{
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, key)) {
            *ret = member.value;
            return true;
        }
    }
    return false;
}

bool
report_apple_text_in(const char *json, const char *key, const char *inner, struct fz_buffer *out)
{
    /* One text: no nesting, and not more than a message has. */
    struct json_scan_limits limits = {1, TEXT_MAX, 2 * TEXT_MAX};
    struct fz_span value = fz_span_cstr(json);
    json_t *text = NULL;
    if (!json || !find_member(value, key, &value) || (inner && !find_member(value, inner, &value)))
        return false;
    if (json_scan_load(value, &limits, NULL, &text, NULL) != FZ_OK)
        return false;
    bool is_text = json_is_string(text) && json_string_length(text) > 0;
    if (is_text)
        fz_buffer_append(out, json_string_value(text), json_string_length(text));
    json_decref(text);
    return is_text;
}
