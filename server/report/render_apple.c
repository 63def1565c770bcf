#include "server/report/render_apple.h"

#include <ctype.h>
#include <stdio.h>

#include "base/text.h"
#include "base/time.h"

enum report_cpu
report_apple_cpu(const struct report *report)
{
    const char *arch = report->arch;
    if (!arch && report->n_images)
        arch = report->images[0].arch;
    if (!arch)
        return REPORT_CPU_UNKNOWN;
    if (fz_text_has_prefix(arch, "arm64"))
        return REPORT_CPU_ARM64;
    if (fz_text_has_prefix(arch, "arm"))
        return REPORT_CPU_ARM;
    if (fz_text_has_prefix(arch, "x86_64"))
        return REPORT_CPU_X86_64;
    return fz_text_has_prefix(arch, "i386") ? REPORT_CPU_X86 : REPORT_CPU_UNKNOWN;
}

const char *
report_apple_cpu_name(enum report_cpu cpu)
{
    switch (cpu) {
    case REPORT_CPU_ARM64:
        return "ARM-64";
    case REPORT_CPU_ARM:
        return "ARM";
    case REPORT_CPU_X86_64:
        return "X86-64";
    case REPORT_CPU_X86:
        return "X86";
    case REPORT_CPU_UNKNOWN:
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
    text[23] = '0';
    snprintf(ret, 40, "%.*s +0000", (int)(20 + (fraction < 4 ? fraction : 4)), text);
}

void
report_apple_id(const struct report *report, const struct report_envelope *envelope, char ret[64])
{
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
    for (char *c = ret; *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

const struct report_image *
report_apple_main_image(const struct report *report)
{
    for (size_t i = 0; report->app_name && i < report->n_images; i++) {
        const char *name = report->images[i].name;
        if (name && strcmp(name, report->app_name) == 0)
            return &report->images[i];
    }
    return report->n_images ? &report->images[0] : NULL;
}

const struct report_image *
report_apple_frame_image(const struct report *report, const struct report_frame *frame)
{
    int image = frame->image;
    if (image < 0 && frame->status == REPORT_FRAME_UNRESOLVED)
        image = report_image_at(report, frame->addr);
    return image >= 0 && (size_t)image < report->n_images ? &report->images[image] : NULL;
}

uint64_t
report_apple_image_end(const struct report *report, const struct report_image *image)
{
    if (image->size)
        return image->addr + (image->size - 1);
    uint64_t next = image->addr;
    for (size_t i = 0; i < report->n_images; i++) {
        uint64_t start = report->images[i].addr;
        if (start > image->addr && (next == image->addr || start < next))
            next = start;
    }
    return next == image->addr ? next : next - 1;
}

void
report_apple_subtype(const struct report_crash *crash, char *ret, size_t size)
{
    unsigned long long address = crash->address;
    ret[0] = '\0';
    if (crash->code && crash->has_address)
        snprintf(ret, size, "%s at 0x%016llx", crash->code, address);
    else if (crash->has_address)
        snprintf(ret, size, "at 0x%016llx", address);
    else if (crash->code)
        snprintf(ret, size, "%s", crash->code);
}
