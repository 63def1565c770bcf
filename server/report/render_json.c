/*
 * The symbolicated report as JSON, member by member in the order of docs/api. load_json.c reads the
 * same names back; a test holds the two together.
 */
#include "server/report/render.h"

#include "base/json/write.h"
#include "base/text.h"
#include "server/report/render_frames.h"

enum { MEMORY_SHOWN = 1024 };

struct text_member {
    const char *key, *text;
};

/* An object of texts; nothing at all if every one is unknown. */
static void
write_texts(struct json_write *w, const char *key, const struct text_member *members, size_t n)
{
    /* An object without members says nothing and would look like a value. */
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || members[i].text;
    if (!any)
        return;
    json_write_open(w, key, '{');
    for (size_t i = 0; i < n; i++)
        json_write_text(w, members[i].key, members[i].text);
    json_write_close(w, '}');
}

static bool
same_id(const char *a, const char *b)
{
    struct fz_uuid a_uuid, b_uuid;
    if (fz_uuid_parse(fz_span_cstr(a), &a_uuid) && fz_uuid_parse(fz_span_cstr(b), &b_uuid))
        return fz_uuid_equal(&a_uuid, &b_uuid);
    return strcmp(a, b) == 0;
}

static void
write_origin(struct json_write *w, const struct report *r, const struct report_envelope *e)
{
    const char *id = e->id ? e->id : r->id;
    json_write_text(w, "id", id);
    /* The server's id may be another than the one the app knows its crash by. */
    if (id && r->id && !same_id(id, r->id))
        json_write_text(w, "client_id", r->id);
    json_write_text(w, "run_id", r->run_id);
    json_write_text(w, "session_id", r->session_id);
    report_write_list(w, "same_crash", e->same_crash, e->n_same_crash);
    json_write_text(w, "project", e->project);
    json_write_text(w, "status", e->status ? e->status : report_status_names[report_status(r)]);
    json_write_text(w, "format", r->format);
    json_write_text(w, "kind", r->kind);
    json_write_time(w, "received", e->received_ms);
    json_write_time(w, "timestamp", r->timestamp_ms);
    const struct text_member app[] = {{"id", r->app_id},
                                      {"name", r->app_name},
                                      {"version", r->app_version},
                                      {"build", r->app_build}};
    const struct text_member os[] = {
        {"name", r->os_name}, {"version", r->os_version}, {"build", r->os_build}};
    const struct text_member device[] = {{"model", r->device_model}};
    write_texts(w, "app", app, FZ_ARRAY_LEN(app));
    write_texts(w, "os", os, FZ_ARRAY_LEN(os));
    write_texts(w, "device", device, FZ_ARRAY_LEN(device));
    json_write_text(w, "arch", r->arch);
    json_write_text(w, "environment", r->environment);
}

static void
write_process(struct json_write *w, const struct report_process *p)
{
    if (!p->name && !p->path && !p->parent && !p->pid && !p->parent_pid && !p->launched_ms)
        return;
    json_write_open(w, "process", '{');
    json_write_text(w, "name", p->name);
    json_write_text(w, "path", p->path);
    if (p->pid)
        json_write_i64(w, "pid", p->pid);
    json_write_text(w, "parent", p->parent);
    if (p->parent_pid)
        json_write_i64(w, "parent_pid", p->parent_pid);
    json_write_time(w, "launched", p->launched_ms);
    json_write_close(w, '}');
}

static void
write_crash(struct json_write *w, const struct report_crash *crash)
{
    /* Reports of hangs and messages have no such members. */
    if (crash->thread < 0 && !crash->signal && !crash->mach && !crash->code && !crash->exception &&
        !crash->reason && !crash->has_address && !crash->signal_code && !crash->subtype &&
        !crash->n_mach_codes && !crash->termination && !crash->diagnosis && !crash->n_messages)
        return;
    json_write_open(w, "crash", '{');
    if (crash->thread >= 0)
        json_write_i64(w, "thread", crash->thread);
    json_write_text(w, "signal", crash->signal);
    json_write_text(w, "mach", crash->mach);
    json_write_text(w, "code", crash->code);
    if (crash->has_address)
        json_write_hex(w, "address", crash->address);
    json_write_text(w, "exception", crash->exception);
    json_write_text(w, "exception_mangled", crash->exception_mangled);
    json_write_text(w, "reason", crash->reason);
    json_write_text(w, "signal_code", crash->signal_code);
    json_write_text(w, "subtype", crash->subtype);
    if (crash->n_mach_codes) {
        json_write_open(w, "mach_codes", '[');
        for (size_t i = 0; i < crash->n_mach_codes; i++)
            json_write_hex(w, NULL, crash->mach_codes[i]);
        json_write_close(w, ']');
    }
    json_write_text(w, "termination", crash->termination);
    json_write_text(w, "diagnosis", crash->diagnosis);
    report_write_list(w, "messages", crash->messages, crash->n_messages);
    json_write_close(w, '}');
}

static void
write_capture(struct json_write *w, const struct report_capture *capture)
{
    if (!capture->client && !capture->way && !capture->privacy && !capture->handler_crashed &&
        !capture->n_truncated)
        return;
    json_write_open(w, "capture", '{');
    json_write_text(w, "client", capture->client);
    json_write_text(w, "way", capture->way);
    json_write_text(w, "privacy", capture->privacy);
    if (capture->handler_crashed)
        json_write_bool(w, "handler_crashed", true);
    report_write_list(w, "truncated", capture->truncated, capture->n_truncated);
    json_write_close(w, '}');
}

static bool
is_empty(const struct report_memory *memory)
{
    return memory->bytes.len == 0 && memory->size == 0;
}

/* Bytes that a person may look at; more of them are in the report as it came. */
static void
write_memory(struct json_write *w, const char *key, const struct report_memory *memory)
{
    if (is_empty(memory))
        return;
    json_write_open(w, key, '{');
    json_write_hex(w, "address", memory->addr);
    json_write_u64(w, "size", memory->size ? memory->size : memory->bytes.len);
    json_write_text(w, "why", memory->why);
    if (memory->truncated)
        json_write_bool(w, "truncated", true);
    if (memory->bytes.len && memory->bytes.len <= MEMORY_SHOWN) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer base64 = fz_buffer_make(0);
        fz_text_base64_append(&base64, memory->bytes);
        json_write_text(w, "bytes", base64.failed ? NULL : base64.data);
    }
    json_write_close(w, '}');
}

static void
write_vector(struct json_write *w, enum fz_arch_cpu cpu, const struct report_vector *vector)
{
    char name[REPORT_VECTOR_NAME], text[2 + 2 * sizeof(vector->bytes) + 1] = "0x";
    uint8_t high_first[sizeof(vector->bytes)];
    for (size_t i = 0; i < vector->size; i++)
        high_first[i] = vector->bytes[vector->size - 1 - i];
    /* All digits: how many there are says how much of the register is known. */
    fz_text_hex(fz_span_make(high_first, vector->size), text + 2);
    report_vector_name(cpu, vector, name);
    json_write_text(w, name, text);
}

static void
write_registers(struct json_write *w, const struct report *r, const struct report_thread *thread)
{
    /* Vectors of the crashed thread only: a minidump has them of all, a kilobyte for each. */
    size_t n_vectors = thread->crashed ? thread->n_vectors : 0;
    if (thread->n_registers == 0 && n_vectors == 0)
        return;
    json_write_open(w, "registers", '{');
    for (size_t i = 0; i < thread->n_registers; i++)
        json_write_hex(w, report_register_name(r, &thread->registers[i]),
                       thread->registers[i].value);
    for (size_t i = 0; i < n_vectors; i++)
        write_vector(w, report_cpu(r), &thread->vectors[i]);
    json_write_close(w, '}');
}

static void
write_thread(struct json_write *w, const struct report *r, const struct report_thread *thread)
{
    json_write_open(w, NULL, '{');
    json_write_i64(w, "index", thread->index);
    json_write_text(w, "name", thread->name);
    json_write_text(w, "queue", thread->queue);
    json_write_text(w, "state", thread->state);
    json_write_bool(w, "crashed", thread->crashed);
    if (thread->samples)
        json_write_u64(w, "samples", thread->samples);
    write_registers(w, r, thread);
    write_memory(w, "stack", &thread->stack);
    json_write_raw(w, "notable_addresses", thread->notable_json);
    report_write_frames(w, r, thread->frames, thread->n_frames, thread->n_frames_cut);
    if (thread->frames_truncated)
        json_write_bool(w, "frames_truncated", true);
    json_write_close(w, '}');
}

static void
write_issue(struct json_write *w, const struct report_issue *issue)
{
    if (!issue->hash)
        return;
    json_write_open(w, "issue", '{');
    if (issue->number)
        json_write_i64(w, "number", issue->number);
    json_write_text(w, "title", issue->title);
    json_write_text(w, "hash", issue->hash);
    json_write_text(w, "variant", issue->variant);
    json_write_text(w, "label", issue->label);
    json_write_text(w, "rules", issue->rules);
    report_write_list(w, "key", issue->key, issue->n_key);
    json_write_close(w, '}');
}

static void
write_symbol_files(struct json_write *w, const struct report_image *image)
{
    if (image->n_files == 0)
        return;
    json_write_open(w, "symbol_files", '[');
    for (size_t i = 0; i < image->n_files; i++) {
        json_write_open(w, NULL, '{');
        json_write_text(w, "kind", image->files[i].kind);
        json_write_text(w, "name", image->files[i].name);
        json_write_text(w, "sha256", image->files[i].sha256);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static void
write_images(struct json_write *w, const struct report *r)
{
    json_write_open(w, "images", '[');
    for (size_t i = 0; i < r->n_images; i++) {
        const struct report_image *image = &r->images[i];
        json_write_open(w, NULL, '{');
        report_write_uuid(w, "uuid", image);
        json_write_text(w, "name", image->name);
        json_write_text(w, "path", image->path);
        json_write_text(w, "arch", image->arch);
        json_write_text(w, "bundle_id", image->bundle_id);
        json_write_text(w, "version", image->version);
        /* An image that frames name only (MetricKit's, stacks of names) has no place. */
        if (image->addr || image->size)
            json_write_hex(w, "address", image->addr);
        if (image->size)
            json_write_u64(w, "size", image->size);
        json_write_text(w, "symbols", report_image_state_names[image->state]);
        write_symbol_files(w, image);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    /* A list of its own, so that a build script need not search the images. */
    json_write_open(w, "missing", '[');
    for (size_t i = 0; i < r->n_images; i++) {
        const struct report_image *image = &r->images[i];
        /* Without a UUID there is nothing that could be uploaded for it. */
        if (image->state != REPORT_IMAGE_MISSING || !image->has_uuid)
            continue;
        json_write_open(w, NULL, '{');
        report_write_uuid(w, "uuid", image);
        json_write_text(w, "name", image->name);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static void
write_attachments(struct json_write *w, const struct report *r)
{
    if (r->n_attachments == 0)
        return;
    json_write_open(w, "attachments", '[');
    for (size_t i = 0; i < r->n_attachments; i++) {
        const struct report_attachment *at = &r->attachments[i];
        json_write_open(w, NULL, '{');
        json_write_text(w, "name", at->name);
        json_write_text(w, "type", at->type);
        json_write_text(w, "kind", at->kind);
        json_write_u64(w, "offset", at->offset);
        json_write_u64(w, "size", at->size);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static void
write_regions(struct json_write *w, const struct report *r)
{
    bool any = false;
    for (size_t i = 0; i < r->n_memory; i++)
        any = any || !is_empty(&r->memory[i]);
    if (!any)
        return;
    json_write_open(w, "memory", '[');
    for (size_t i = 0; i < r->n_memory; i++)
        write_memory(w, NULL, &r->memory[i]);
    json_write_close(w, ']');
}

enum fz_code
report_render_json(const struct report *report, const struct report_envelope *envelope,
                   struct fz_buffer *out, struct fz_error *err)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    write_origin(&w, report, envelope);
    write_process(&w, &report->process);
    write_crash(&w, &report->crash);
    write_capture(&w, &report->capture);
    /* These are JSON in the model, checked when they came in. */
    json_write_raw(&w, "user", report->user_json);
    json_write_raw(&w, "tags", report->tags_json);
    json_write_raw(&w, "scrubbed", report->scrubbed_json);
    json_write_open(&w, "threads", '[');
    for (size_t i = 0; i < report->n_threads; i++)
        write_thread(&w, report, &report->threads[i]);
    json_write_close(&w, ']');
    if (report->n_exception_frames) {
        json_write_open(&w, "exception_backtrace", '{');
        report_write_frames(&w, report, report->exception_frames, report->n_exception_frames,
                            report->n_exception_frames_cut);
        json_write_close(&w, '}');
    }
    write_issue(&w, &report->issue);
    write_images(&w, report);
    write_regions(&w, report);
    write_attachments(&w, report);
    json_write_raw(&w, "breadcrumbs", report->breadcrumbs_json);
    json_write_raw(&w, "extra", report->extra_json);
    report_write_list(&w, "notes", report->notes, report->n_notes);
    json_write_close(&w, '}');
    return fz_buffer_done(out, err);
}
