/*
 * The symbolicated report read back from its JSON, the inverse of render_json.c.
 *
 * What it finds in another shape than it was written is taken as absent; only JSON that is not
 * an object, and memory, are errors.
 */
#include "server/report/render.h"

#include "base/json/walk.h"
#include "server/report/load.h"

static void
load_attachments(struct report_load *l, const json_t *root)
{
    const json_t *list = json_object_get(root, "attachments");
    struct report *r = l->report;
    r->attachments = report_load_array(l, list, sizeof(*r->attachments), &r->n_attachments);
    for (size_t i = 0; i < r->n_attachments && !l->failed; i++) {
        const json_t *object = json_array_get(list, i);
        r->attachments[i] = (struct report_attachment){
            .name = report_load_text(l, object, "name"),
            .type = report_load_text(l, object, "type"),
            .kind = report_load_text(l, object, "kind"),
            .offset = report_load_u64(object, "offset"),
            .size = report_load_u64(object, "size"),
        };
    }
}

static void
load_crash(struct report_load *l, const json_t *object, struct report_crash *crash)
{
    crash->thread = report_load_int(object, "thread", -1);
    crash->signal = report_load_text(l, object, "signal");
    crash->mach = report_load_text(l, object, "mach");
    crash->code = report_load_text(l, object, "code");
    crash->exception = report_load_text(l, object, "exception");
    crash->exception_mangled = report_load_text(l, object, "exception_mangled");
    crash->reason = report_load_text(l, object, "reason");
    crash->has_address = json_scan_u64(json_object_get(object, "address"), &crash->address);
    crash->signal_code = report_load_text(l, object, "signal_code");
    crash->subtype = report_load_text(l, object, "subtype");
    const json_t *codes = json_object_get(object, "mach_codes");
    crash->mach_codes =
        report_load_array(l, codes, sizeof(*crash->mach_codes), &crash->n_mach_codes);
    for (size_t i = 0; i < crash->n_mach_codes; i++) {
        if (!json_scan_u64(json_array_get(codes, i), &crash->mach_codes[i]))
            /* A code keeps its place: the second one is the address. */
            crash->mach_codes[i] = 0;
    }
    crash->termination = report_load_text(l, object, "termination");
    crash->diagnosis = report_load_text(l, object, "diagnosis");
    crash->messages =
        report_load_text_list(l, json_object_get(object, "messages"), &crash->n_messages);
}

static void
load_capture(struct report_load *l, const json_t *object, struct report_capture *capture)
{
    capture->client = report_load_text(l, object, "client");
    capture->way = report_load_text(l, object, "way");
    capture->privacy = report_load_text(l, object, "privacy");
    capture->handler_crashed = report_load_bool(object, "handler_crashed");
    capture->truncated =
        report_load_text_list(l, json_object_get(object, "truncated"), &capture->n_truncated);
}

static void
load_origin(struct report_load *l, const json_t *root, struct report_envelope *envelope)
{
    struct report *r = l->report;
    envelope->id = report_load_text(l, root, "id");
    envelope->project = report_load_text(l, root, "project");
    envelope->status = report_load_text(l, root, "status");
    envelope->received_ms = report_load_time(root, "received");
    envelope->same_crash =
        report_load_text_list(l, json_object_get(root, "same_crash"), &envelope->n_same_crash);
    /* The id that the app knows, for formats that carry it. */
    r->id = report_load_text(l, root, "client_id");
    if (!r->id)
        /* render_json.c writes client_id only where it differs. */
        r->id = envelope->id;
    r->run_id = report_load_text(l, root, "run_id");
    r->session_id = report_load_text(l, root, "session_id");
    r->format = report_load_text(l, root, "format");
    r->kind = report_load_text(l, root, "kind");
    r->timestamp_ms = report_load_time(root, "timestamp");
    const json_t *app = json_object_get(root, "app"), *os = json_object_get(root, "os");
    r->app_id = report_load_text(l, app, "id");
    r->app_name = report_load_text(l, app, "name");
    r->app_version = report_load_text(l, app, "version");
    r->app_build = report_load_text(l, app, "build");
    r->os_name = report_load_text(l, os, "name");
    r->os_version = report_load_text(l, os, "version");
    r->os_build = report_load_text(l, os, "build");
    r->device_model = report_load_text(l, json_object_get(root, "device"), "model");
    r->arch = report_load_text(l, root, "arch");
    r->environment = report_load_text(l, root, "environment");
    const json_t *process = json_object_get(root, "process");
    r->process = (struct report_process){
        .name = report_load_text(l, process, "name"),
        .path = report_load_text(l, process, "path"),
        .parent = report_load_text(l, process, "parent"),
        .pid = report_load_int(process, "pid", 0),
        .parent_pid = report_load_int(process, "parent_pid", 0),
        .launched_ms = report_load_time(process, "launched"),
    };
    load_crash(l, json_object_get(root, "crash"), &r->crash);
    load_capture(l, json_object_get(root, "capture"), &r->capture);
}

/* The members that are JSON texts in the model, cut out of the repaired text. */
static void
load_verbatim(struct report_load *l, struct fz_span text)
{
    struct report *r = l->report;
    const struct {
        const char *key, **at;
    } members[] = {{"user", &r->user_json},
                   {"tags", &r->tags_json},
                   {"scrubbed", &r->scrubbed_json},
                   {"breadcrumbs", &r->breadcrumbs_json},
                   {"extra", &r->extra_json}};
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    /* Cut out of the text, not written from the tree: numbers keep their digits. */
    while (json_walk_next(&walk, &member)) {
        for (size_t i = 0; i < FZ_ARRAY_LEN(members); i++) {
            if (fz_span_is(member.key, members[i].key))
                *members[i].at = report_load_keep(l, member.value);
        }
    }
}

/* The list has room for more, since report_note() appends to it. */
static void
load_notes(struct report_load *l, const json_t *root)
{
    struct report *r = l->report;
    const json_t *list = json_object_get(root, "notes");
    size_t n = json_array_size(list);
    if (n)
        r->notes = fz_arena_array(l->arena, REPORT_NOTES_MAX, sizeof(*r->notes));
    if (n && !r->notes)
        l->failed = true;
    for (size_t i = 0; i < n && r->n_notes < REPORT_NOTES_MAX && !l->failed; i++) {
        const json_t *value = json_array_get(list, i);
        if (json_is_string(value))
            r->notes[r->n_notes++] = report_load_keep(l, fz_span_cstr(json_string_value(value)));
    }
}

static void
load_issue(struct report_load *l, const json_t *object)
{
    struct report_issue *issue = &l->report->issue;
    issue->number = report_load_int(object, "number", 0);
    issue->title = report_load_text(l, object, "title");
    issue->rules = report_load_text(l, object, "rules");
    issue->hash = report_load_text(l, object, "hash");
    issue->variant = report_load_text(l, object, "variant");
    issue->label = report_load_text(l, object, "label");
    issue->key = report_load_text_list(l, json_object_get(object, "key"), &issue->n_key);
}

enum fz_code
report_load_json(struct fz_span json, struct fz_arena *arena, struct report *ret,
                 struct report_envelope *ret_envelope, struct fz_error *err)
{
    /* The server wrote this JSON itself, so only memory bounds it. */
    struct json_scan_limits limits = {JSON_SCAN_DEPTH_MAX, SIZE_MAX, arena->cap};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load_text(json, &limits, &text, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    /* Only a damaged database has another value there. */
    if (!json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "stored report: not a JSON object");
    struct report report = {0};
    struct report_envelope envelope = {0};
    struct report_load load = {.report = &report, .arena = arena};
    load_origin(&load, root, &envelope);
    report_load_images(&load, root);
    report_load_threads(&load, root);
    load_issue(&load, json_object_get(root, "issue"));
    load_attachments(&load, root);
    load_verbatim(&load, fz_buffer_span(&text));
    load_notes(&load, root);
    /* As many notes as there were: a name of this program is never left out. */
    if (load.failed || !report_number_registers(&report, arena))
        return fz_arena_fail(arena, err);
    *ret = report;
    *ret_envelope = envelope;
    return FZ_OK;
}
