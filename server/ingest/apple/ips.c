/*
 * Apple's .ips: a JSON header on line 1, then a second JSON value with the report.
 *
 *   {"app_name":"Demo","timestamp":"2026-01-01 00:00:00.00 +0000","bug_type":"309",...}
 *   { "threads":[{"triggered":true,"frames":[{"imageOffset":16488,"imageIndex":0}]}],
 *     "usedImages":[{"base":4362076160,"uuid":"4c4c445b-...","name":"Demo"}], ... }
 *
 * The report may come without its header; after the header there may be Apple's text instead (bug
 * type 109 before iOS 15); and before the header there may be a text, since Console copies both.
 * The bug type does not decide what is read, but which members are there: threads, processByPid or
 * processes.
 */
#include "server/ingest/apple/ips.h"

#include "base/arch/arch.h"
#include "base/json/scan.h"
#include "base/json/walk.h"
#include "server/ingest/common/apple_text.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_repair.h"

/* In a text before the report: how many lines are examined that may begin it, and how many bytes of
 * each. A header is far smaller, and that many bytes of a report have enough of its keys. */
enum { STARTS_MAX = 16, LOOK_BYTES = 64 * 1024, BODY_KEYS = 3 };

enum ips_kind { IPS_NONE, IPS_HEADER, IPS_BODY };

/* The parts of a body; empty spans for those that it does not have. */
struct ips_parts {
    struct fz_span header, body, text;
    const struct ingest_format *text_format; /* the row that takes `text` */
    size_t n_after;                          /* bytes after the body */
};

/* What the object at the start of `text` is, by its keys. `text` may end inside it. */
static enum ips_kind
kind_of(struct fz_span text)
{
    static const char *const header_keys[] = {
        "timestamp",   "os_version",    "app_name", "name",       "incident_id", "bundleID",
        "app_version", "build_version", "platform", "slice_uuid", NULL};
    static const char *const body_keys[] = {
        "incident",    "captureTime",  "procName",         "procPath",       "procLaunch",
        "procRole",    "modelCode",    "crashReporterKey", "coalitionName",  "coalitionID",
        "usedImages",  "vmSummary",    "cpuType",          "legacyInfo",     "faultingThread",
        "sharedCache", "processByPid", "memoryStatus",     "largestProcess", NULL};
    size_t n_header = 0, n_body = 0, n_all = 0;
    bool bug_type = false, threads = false, images = false, cut = true;
    if (text.len > LOOK_BYTES)
        text.len = LOOK_BYTES;
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        bug_type = bug_type || fz_span_is(member.key, "bug_type");
        threads = threads || fz_span_is(member.key, "threads");
        images = images || fz_span_is(member.key, "usedImages");
        n_header += ingest_is_one_of(member.key, header_keys);
        n_body += ingest_is_one_of(member.key, body_keys);
        cut = !member.complete;
        n_all++;
    }
    /* Other JSON may have one of the keys by chance. */
    if ((threads && images) || n_body >= BODY_KEYS)
        return IPS_BODY;
    /* A header is one short line, so an object that is longer than the bytes examined cannot be
     * one. */
    return bug_type && (n_header || n_all == 1) && !cut ? IPS_HEADER : IPS_NONE;
}

/* Where the header at `at` ends; 0 if it does not. */
static size_t
header_end(struct fz_span body, size_t at)
{
    struct json_scan_limits scan = {JSON_SCAN_DEPTH_MAX, SIZE_MAX, 0};
    size_t used;
    if (json_scan_first(fz_span_from(body, at), &scan, NULL, NULL, &used, NULL) != FZ_OK)
        return 0;
    return at + used;
}

/* Does the object at `at` begin a report: as the report itself, or as a header that something
 * follows? *ret_is_json: what follows is JSON. */
static bool
begins_report(struct fz_span body, size_t at, bool *ret_is_json)
{
    enum ips_kind kind = kind_of(fz_span_from(body, at));
    *ret_is_json = kind == IPS_BODY;
    if (kind != IPS_HEADER)
        return kind == IPS_BODY;
    size_t end = header_end(body, at);
    size_t next = end ? ingest_json_skip_space(body, end) : body.len;
    *ret_is_json = next < body.len && body.data[next] == '{';
    return true;
}

/* Where header or body begins; body.len if nowhere. */
static size_t
find_start(struct fz_span body)
{
    size_t at = ingest_json_start(body);
    bool is_json;
    if (at == body.len)
        return body.len;
    if (body.data[at] == '{')
        return begins_report(body, at, &is_json) ? at : body.len;
    /* After a text: the first line that begins a report in JSON, else a header alone. */
    size_t header = body.len;
    for (unsigned n = 0; n < STARTS_MAX && at < body.len; at++) {
        const uint8_t *line = memchr(body.data + at, '\n', body.len - at);
        if (!line)
            break;
        at = (size_t)(line - body.data);
        if (at + 1 >= body.len || body.data[at + 1] != '{')
            continue;
        n++;
        if (!begins_report(body, at + 1, &is_json))
            continue;
        /* A header alone may also be a line of the text; one that JSON follows is surely the
         * report's. */
        if (is_json)
            return at + 1;
        if (header == body.len)
            header = at + 1;
    }
    return header;
}

static bool
ips_detect(struct fz_span head)
{
    return head.len > 0 && find_start(head) < head.len;
}

/* Find the parts. UNSUPPORTED, MALFORMED: no report follows the header. */
static enum fz_code
open_parts(struct fz_span all, const struct ingest_context *in, struct ips_parts *ret,
           struct fz_error *err)
{
    struct ips_parts parts = {.text_format = NULL};
    size_t start = find_start(all), at = start;
    if (kind_of(fz_span_from(all, at)) == IPS_HEADER) {
        at = header_end(all, start);
        if (at == 0)
            return fz_fail_at(err, FZ_E_MALFORMED, start, "ips: the header line is broken");
        fz_span_sub(all, start, at - start, &parts.header);
        at = ingest_json_skip_space(all, at);
    }
    if (at >= all.len)
        return fz_fail_at(err, FZ_E_MALFORMED, all.len, "ips: no report follows the header");
    struct fz_span rest = fz_span_from(all, at);
    if (rest.data[0] == '{') {
        parts.body = rest;
        *ret = parts;
        return FZ_OK;
    }
    /* Bug type 109, before iOS 15: the header line and then Apple's text. */
    parts.text = rest;
    parts.text_format = ingest_format_of(in, rest);
    /* An .ips inside the text of an .ips would nest without end. */
    if (!parts.text_format || parts.text_format == &ingest_ips)
        return fz_fail_at(err, FZ_E_UNSUPPORTED, at,
                          "ips: the text after the header is not a report in a known format");
    *ret = parts;
    return FZ_OK;
}

/* Why a report without stacks cannot be symbolicated. */
static enum fz_code
refuse_body(struct fz_span bug_type, struct fz_error *err)
{
    bool is_panic = fz_span_is(bug_type, "\"210\"");
    int len = bug_type.len < 16 ? (int)bug_type.len : 16;
    return fz_fail(err, FZ_E_UNSUPPORTED,
                   "ips: no 'threads', 'processByPid' or 'processes', so no stacks to symbolicate "
                   "(bug type %.*s%s)",
                   len ? len : 7, len ? (const char *)bug_type.data : "unknown",
                   is_panic ? ", a panic of the kernel" : "");
}

/* Does the body have a part that is read, and what is its id? The same for check and parse. */
static enum fz_code
examine_body(const struct ips_parts *parts, char ret_id[FZ_UUID_TEXT], struct fz_error *err)
{
    static const char *const id_keys[] = {"incident_id", "incident", NULL};
    struct fz_span bug_type = {NULL, 0}, id = {NULL, 0};
    const struct fz_span spans[] = {parts->header, parts->body};
    bool any = parts->text_format != NULL;
    for (size_t i = 0; i < FZ_ARRAY_LEN(spans); i++) {
        struct json_walk walk = json_walk_start(spans[i]);
        struct json_member member;
        while (json_walk_next(&walk, &member)) {
            if (fz_span_is(member.key, "bug_type"))
                bug_type = member.value;
            /* Both have an id; that of the body is found last and counts, as in the parse. */
            else if (ingest_is_one_of(member.key, id_keys))
                id = member.value;
            else if (i == 1 &&
                     (fz_span_is(member.key, "threads") || fz_span_is(member.key, "processes")))
                any = any || ingest_json_begins(member.value, '[');
            else if (i == 1 && fz_span_is(member.key, "processByPid"))
                any = any || ingest_json_begins(member.value, '{');
        }
    }
    if (!any)
        return refuse_body(bug_type, err);
    ingest_json_id(id, ret_id);
    return FZ_OK;
}

/* Make parts->body one valid JSON value: without what follows it, and repaired where it is broken
 * (then it is in `buffer`, and *repair says what was done). */
static enum fz_code
open_body(struct fz_span all, const struct limits *limits, struct fz_buffer *buffer,
          struct ips_parts *parts, struct ingest_repair *repair, struct fz_error *err)
{
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    struct fz_error fault;
    size_t used;
    enum fz_code code = json_scan_first(parts->body, &scan, NULL, NULL, &used, &fault);
    if (code == FZ_OK) {
        size_t rest = ingest_json_skip_space(parts->body, used);
        /* People paste reports with text after them. */
        parts->n_after = parts->body.len - rest;
        fz_span_sub(parts->body, 0, used, &parts->body);
        return FZ_OK;
    }
    uint64_t start = (uint64_t)(parts->body.data - all.data);
    if (code == FZ_E_MALFORMED)
        code = ingest_json_repair(parts->body, limits, buffer, repair, &fault);
    if (code != FZ_OK) {
        /* Offsets count from the start of the body that the client sent. */
        fault.offset += fault.offset >= 0 ? (int64_t)start : 0;
        if (err)
            *err = fault;
        return fz_wrap(err, "ips: the report from byte %llu on", (unsigned long long)start);
    }
    repair->fault.offset += (int64_t)start;
    parts->body = fz_buffer_span(buffer);
    return FZ_OK;
}

/* The parts, ready to be read: the same for check and parse. */
static enum fz_code
open_all(struct fz_span all, const struct ingest_context *in, struct fz_buffer *buffer,
         struct ips_parts *ret, struct ingest_repair *repair, char ret_id[FZ_UUID_TEXT],
         struct fz_error *err)
{
    enum fz_code code = open_parts(all, in, ret, err);
    if (code == FZ_OK && ret->body.len)
        code = open_body(all, in->limits, buffer, ret, repair, err);
    if (code != FZ_OK)
        return code;
    code = examine_body(ret, ret_id, err);
    /* The fault explains more than what is missing because of it. */
    if (code != FZ_OK && repair->cut)
        return fz_fail_at(err, FZ_E_MALFORMED, (uint64_t)repair->fault.offset, "ips: %s",
                          repair->fault.text);
    return code;
}

static enum fz_code
ips_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
          struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct ingest_repair repair = {0};
    struct ips_parts parts;
    enum fz_code code = open_all(body, in, &buffer, &parts, &repair, ret_id, err);
    char text_id[FZ_UUID_TEXT] = "";
    if (code == FZ_OK && parts.text_format)
        code = parts.text_format->check(parts.text, in, text_id, err);
    /* The header of old files may lack the id that the text has. */
    if (code == FZ_OK && !*ret_id)
        memcpy(ret_id, text_id, sizeof(text_id));
    return code;
}

static void
note_body(struct ingest_builder *b, const struct ips_parts *parts,
          const struct ingest_repair *repair)
{
    if (parts->n_after)
        ingest_note(b, "%zu bytes after the report are not read", parts->n_after);
    if (repair->n_commas)
        ingest_note(b, "not valid JSON: %zu commas before a closing bracket", repair->n_commas);
    if (repair->cut)
        ingest_note(b, "not valid JSON (%s); what precedes the fault is kept", repair->fault.text);
}

/* What the header alone has, or what the body left out. */
static void
read_header(struct ingest_builder *b, const json_t *header)
{
    /* The time is kept as well: only its text has the zone. */
    static const char *const known[] = {"app_name", "app_version", "build_version",
                                        "bundleID", "incident_id", NULL};
    struct report *r = b->report;
    const char *name = ingest_json_text(b, header, "header", "app_name");
    if (!name)
        name = ingest_json_text(b, header, "header", "name");
    r->id = r->id ? r->id : ingest_json_text(b, header, "header", "incident_id");
    r->app_name = name ? name : r->app_name; /* the process may be an extension of the app */
    if (!r->app_id)
        r->app_id = ingest_json_text(b, header, "header", "bundleID");
    if (!r->app_version)
        r->app_version = ingest_json_text(b, header, "header", "app_version");
    if (!r->app_build)
        r->app_build = ingest_json_text(b, header, "header", "build_version");
    if (r->timestamp_ms == 0)
        r->timestamp_ms = ingest_json_time(b, header, "header", "timestamp");
    ingest_apple_os(b, ingest_json_text(b, header, "header", "os_version"));
    ingest_add_extra(b, "header", header, known);
}

static void
read_process(struct ingest_builder *b, const json_t *body)
{
    struct report_process *process = &b->report->process;
    process->name = ingest_json_text(b, body, "", "procName");
    process->path = ingest_json_text(b, body, "", "procPath");
    process->parent = ingest_json_text(b, body, "", "parentProc");
    process->launched_ms = ingest_json_time(b, body, "", "procLaunch");
    ingest_json_i64(b, body, "", "pid", &process->pid);
    ingest_json_i64(b, body, "", "parentPid", &process->parent_pid);
}

/* Some members have another name in stackshots and jetsam events: product, build, date. */
static void
read_origin(struct ingest_builder *b, const json_t *body)
{
    struct report *r = b->report;
    const json_t *bundle = ingest_json_member(b, body, "", "bundleInfo", JSON_OBJECT);
    const json_t *os = ingest_json_member(b, body, "", "osVersion", JSON_OBJECT);
    read_process(b, body);
    r->id = ingest_json_text(b, body, "", "incident");
    r->timestamp_ms = ingest_json_time(b, body, "", "captureTime");
    if (r->timestamp_ms == 0)
        r->timestamp_ms = ingest_json_time(b, body, "", "date");
    /* Until the header says otherwise: in a pasted report without one, the process is all there
     * is. */
    r->app_name = r->process.name;
    r->app_id = ingest_json_text(b, bundle, "bundleInfo", "CFBundleIdentifier");
    r->app_version = ingest_json_text(b, bundle, "bundleInfo", "CFBundleShortVersionString");
    r->app_build = ingest_json_text(b, bundle, "bundleInfo", "CFBundleVersion");
    r->device_model = ingest_json_text(b, body, "", "modelCode");
    if (!r->device_model)
        /* Jetsam events and stackshots have the model here. */
        r->device_model = ingest_json_text(b, body, "", "product");
    r->os_build = ingest_json_text(b, os, "osVersion", "build");
    /* `train` is "iPhone OS 17.2": the version; the build has a member of its own. */
    ingest_apple_os(b, ingest_json_text(b, os, "osVersion", "train"));
    if (!r->os_name)
        ingest_apple_os(b, ingest_json_text(b, body, "", "build"));
}

/* What the body has and the model has no member for. */
static void
read_rest(struct ingest_builder *b, const json_t *body)
{
    static const char *const known[] = {
        "procName",  "procPath",     "parentProc",  "pid",          "parentPid",
        "incident",  "modelCode",    "bug_type",    "exception",    "faultingThread",
        "threads",   "product",      "termination", "usedImages",   "lastExceptionBacktrace",
        "cpuType",   "version",      "build",       "processByPid", "bundleInfo",
        "osVersion", "binaryImages", NULL};
    static const char *const bundle_known[] = {"CFBundleIdentifier", "CFBundleShortVersionString",
                                               "CFBundleVersion", NULL};
    static const char *const os_known[] = {"train", "build", NULL};
    /* The times are in it once more, since the model has no time zone. */
    ingest_add_extra(b, NULL, body, known);
    const json_t *bundle = json_object_get(body, "bundleInfo");
    if (json_is_object(bundle))
        ingest_add_extra(b, "bundleInfo", bundle, bundle_known);
    const json_t *os = json_object_get(body, "osVersion");
    if (json_is_object(os))
        ingest_add_extra(b, "osVersion", os, os_known);
}

/* The processor of the app's own image; else that of the process. */
static void
set_arch(struct report *r, const json_t *body)
{
    /* Not the first image with an architecture: the system's own are arm64e where the app is
     * arm64. */
    for (size_t i = 0; i < r->n_images && !r->arch; i++) {
        const struct report_image *image = &r->images[i];
        if (image->arch && image->name && r->process.name &&
            strcmp(image->name, r->process.name) == 0)
            r->arch = image->arch;
    }
    if (!r->arch)
        r->arch =
            fz_arch_of_code_type(fz_span_cstr(json_string_value(json_object_get(body, "cpuType"))));
    if (!r->arch && r->n_images)
        r->arch = r->images[0].arch;
}

static const char *
kind_of_body(const json_t *header, const json_t *body)
{
    const char *type = json_string_value(json_object_get(header, "bug_type"));
    if (!type)
        type = json_string_value(json_object_get(body, "bug_type"));
    /* ExcUserFault: the process lived on. */
    if (json_is_true(json_object_get(body, "isNonFatal")) ||
        json_integer_value(json_object_get(body, "isNonFatal")) ||
        (type && strcmp(type, "385") == 0))
        return "error";
    return NULL;
}

static void
read_body(struct ingest_builder *b, const json_t *header, const json_t *body)
{
    struct report *r = b->report;
    struct ingest_ips_images images;
    /* First: the header completes what the body leaves out. */
    read_origin(b, body);
    if (header)
        read_header(b, header);
    /* Not by the bug type: it is in the header, which a pasted report may lack. */
    if (json_is_array(json_object_get(body, "threads"))) {
        r->kind = kind_of_body(header, body);
        /* Before the threads: faultingThread must not be cut by the limit on them. */
        ingest_ips_read_crash(b, body);
        ingest_ips_read_images(b, body, &images);
        set_arch(r, body);
        ingest_ips_read_threads(b, body, &images);
        ingest_mark_crashed(r);
    } else if (json_is_object(json_object_get(body, "processByPid"))) {
        ingest_ips_read_stackshot(b, body);
    } else {
        ingest_ips_read_jetsam(b, body);
    }
    read_rest(b, body);
}

static enum fz_code
ips_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
          struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    json_auto_t *header = NULL;
    json_auto_t *root = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct ingest_repair repair = {0};
    struct ips_parts parts;
    char id[FZ_UUID_TEXT];
    enum fz_code code = open_all(body, in, &buffer, &parts, &repair, id, err);
    if (code == FZ_OK && parts.header.len)
        code = ingest_json_load(&b, parts.header, NULL, &header, err);
    if (code != FZ_OK)
        return code;
    if (parts.text_format) {
        code = parts.text_format->parse(parts.text, in, arena, ret, err);
        /* The header has the app's name, where the text has that of the process. */
        if (code == FZ_OK && header)
            read_header(&b, header);
    } else {
        code = ingest_json_load(&b, parts.body, NULL, &root, err);
        if (code == FZ_OK) {
            read_body(&b, header, root);
            note_body(&b, &parts, &repair);
        }
    }
    if (code != FZ_OK)
        return code;
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_ips = {
    .name = "ips",
    .detect = ips_detect,
    .check = ips_check,
    .parse = ips_parse,
};
