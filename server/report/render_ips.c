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
#include "server/report/render_apple.h"

#include <stdio.h>

#include "base/text.h"
#include "server/json/json_write.h"

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
process_name(const struct report *r)
{
    const struct report_image *app = report_apple_main_image(r);
    return r->app_name ? r->app_name : app ? app->name : NULL;
}

static void
write_header(struct json_write *w, const struct report *r, const char *id)
{
    const struct report_image *app = report_apple_main_image(r);
    char text[160];
    json_write_open(w, NULL, '{');
    json_write_text(w, "app_name", process_name(r));
    if (r->timestamp_ms) {
        char when[40];
        report_apple_time(r->timestamp_ms, 2, when);
        json_write_text(w, "timestamp", when);
    }
    json_write_text(w, "app_version", r->app_version);
    if (app && app->has_uuid)
        write_dashed_uuid(w, "slice_uuid", app);
    json_write_text(w, "build_version", r->app_build);
    json_write_text(w, "bundleID", r->app_id);
    json_write_text(w, "bug_type", "309");
    os_text(r, true, text, sizeof(text));
    json_write_text(w, "os_version", *text ? text : NULL);
    json_write_text(w, "name", process_name(r));
    json_write_text(w, "incident_id", *id ? id : NULL);
    json_write_close(w, '}');
}

static void
write_origin(struct json_write *w, const struct report *r, const char *id)
{
    const struct report_image *app = report_apple_main_image(r);
    const char *cpu = report_apple_cpu_name(report_apple_cpu(r));
    char text[160];
    json_write_u64(w, "version", 2);
    json_write_text(w, "bug_type", "309");
    json_write_text(w, "incident", *id ? id : NULL);
    json_write_text(w, "modelCode", r->device_model);
    os_text(r, false, text, sizeof(text));
    if (*text || r->os_build) {
        json_write_open(w, "osVersion", '{');
        json_write_text(w, "train", *text ? text : NULL);
        json_write_text(w, "build", r->os_build);
        json_write_close(w, '}');
    }
    if (r->timestamp_ms) {
        char when[40];
        report_apple_time(r->timestamp_ms, 4, when);
        json_write_text(w, "captureTime", when);
    }
    json_write_text(w, "cpuType", *cpu ? cpu : NULL);
    json_write_text(w, "procName", process_name(r));
    json_write_text(w, "procPath", app ? app->path : NULL);
    if (r->app_id || r->app_version || r->app_build) {
        json_write_open(w, "bundleInfo", '{');
        json_write_text(w, "CFBundleShortVersionString", r->app_version);
        json_write_text(w, "CFBundleVersion", r->app_build);
        json_write_text(w, "CFBundleIdentifier", r->app_id);
        json_write_close(w, '}');
    }
}

static void
write_exception(struct json_write *w, const struct report *r)
{
    const struct report_crash *crash = &r->crash;
    char subtype[256];
    report_apple_subtype(crash, subtype, sizeof(subtype));
    json_write_open(w, "exception", '{');
    json_write_text(w, "type", crash->mach);
    json_write_text(w, "signal", crash->signal);
    json_write_text(w, "subtype", *subtype ? subtype : NULL);
    json_write_close(w, '}');
    if (!crash->exception && !crash->reason)
        return;
    struct fz_buffer line;
    fz_buffer_init(&line, 0);
    if (crash->exception)
        fz_buffer_printf(&line, "*** Terminating app due to uncaught exception '%s'%s",
                         crash->exception, crash->reason ? ", reason: '" : "");
    if (crash->reason)
        fz_buffer_printf(&line, "%s%s", crash->reason, crash->exception ? "'" : "");
    json_write_open(w, "asi", '{');
    json_write_open(w, "CoreFoundation", '[');
    json_write_text(w, NULL, fz_buffer_cstr(&line));
    json_write_close(w, ']');
    json_write_close(w, '}');
    fz_buffer_deinit(&line);
}

/* The number of an arm64 register x0 to x28, -1 for others. */
static int
x_number(const char *name)
{
    uint64_t number;
    if (name[0] != 'x' || !fz_text_u64(fz_span_cstr(name + 1), &number) || number > 28)
        return -1;
    return (int)number;
}

/* x0 to x28 are an array in Apple's arm64 state. How many from x0 on the thread has; what stands
 * behind a gap is written by name, since zeros in the gap would be made up. */
static size_t
leading_x(const struct report_thread *thread)
{
    uint32_t seen = 0;
    size_t n = 0;
    for (size_t i = 0; i < thread->n_registers; i++) {
        int number = x_number(thread->registers[i].name);
        if (number >= 0)
            seen |= (uint32_t)1 << number;
    }
    while (seen >> n & 1)
        n++;
    return n;
}

static void
write_register(struct json_write *w, const char *key, uint64_t value)
{
    json_write_open(w, key, '{');
    json_write_u64(w, "value", value);
    json_write_close(w, '}');
}

static void
write_registers(struct json_write *w, const struct report_thread *thread, enum report_cpu cpu)
{
    if (thread->n_registers == 0)
        return;
    bool is_arm64 = cpu == REPORT_CPU_ARM64;
    size_t n_x = is_arm64 ? leading_x(thread) : 0;
    uint64_t x[29] = {0};
    for (size_t i = 0; n_x && i < thread->n_registers; i++) {
        int number = x_number(thread->registers[i].name);
        if (number >= 0)
            x[number] = thread->registers[i].value;
    }
    json_write_open(w, "threadState", '{');
    if (n_x) {
        json_write_open(w, "x", '[');
        for (size_t i = 0; i < n_x; i++)
            write_register(w, NULL, x[i]);
        json_write_close(w, ']');
    }
    if (cpu != REPORT_CPU_UNKNOWN)
        json_write_text(w, "flavor",
                        is_arm64                ? "ARM_THREAD_STATE64"
                        : cpu == REPORT_CPU_ARM ? "ARM_THREAD_STATE"
                                                : "x86_THREAD_STATE");
    for (size_t i = 0; i < thread->n_registers; i++) {
        const struct report_register *reg = &thread->registers[i];
        int number = x_number(reg->name);
        if (number < 0 || (size_t)number >= n_x)
            write_register(w, reg->name, reg->value);
    }
    json_write_close(w, '}');
}

static void
write_frame(struct json_write *w, const struct report *r, const struct report_frame *frame,
            const struct report_symbol *symbol)
{
    const struct report_image *image = report_apple_frame_image(r, frame);
    uint64_t base = image ? image->addr : 0;
    json_write_open(w, NULL, '{');
    json_write_u64(w, "imageOffset",
                   image && frame->has_image_offset ? frame->image_offset : frame->addr - base);
    json_write_u64(w, "imageIndex", image ? (uint64_t)(image - r->images) : r->n_images);
    if (symbol) {
        json_write_text(w, "symbol", symbol->function);
        if (symbol->has_offset || symbol->inlined)
            json_write_u64(w, "symbolLocation", symbol->has_offset ? symbol->offset : 0);
        json_write_text(w, "sourceFile", symbol->file ? fz_text_base_name(symbol->file) : NULL);
        if (symbol->line)
            json_write_u64(w, "sourceLine", symbol->line);
        if (symbol->inlined)
            json_write_bool(w, "inline", true);
    }
    json_write_close(w, '}');
}

/* Returns whether a frame lies in no image. */
static bool
write_threads(struct json_write *w, const struct report *r)
{
    const struct report_thread *crashed = report_crashed_thread(r);
    enum report_cpu cpu = report_apple_cpu(r);
    bool outside = false;
    if (crashed)
        json_write_u64(w, "faultingThread", (uint64_t)(crashed - r->threads));
    json_write_open(w, "threads", '[');
    for (size_t i = 0; i < r->n_threads; i++) {
        const struct report_thread *thread = &r->threads[i];
        json_write_open(w, NULL, '{');
        if (thread == crashed)
            json_write_bool(w, "triggered", true);
        json_write_i64(w, "id", thread->index);
        json_write_text(w, "name", thread->name);
        json_write_text(w, "queue", thread->queue);
        write_registers(w, thread, cpu);
        json_write_open(w, "frames", '[');
        for (size_t k = 0; k < thread->n_frames; k++) {
            const struct report_frame *frame = &thread->frames[k];
            outside = outside || !report_apple_frame_image(r, frame);
            for (size_t s = 0; s < frame->n_symbols; s++)
                write_frame(w, r, frame, &frame->symbols[s]);
            if (frame->n_symbols == 0)
                write_frame(w, r, frame, NULL);
        }
        json_write_close(w, ']');
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    return outside;
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
    write_exception(&w, report);
    bool outside = write_threads(&w, report);
    write_images(&w, report, outside);
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
    return fz_buffer_done(out, err);
}
