/*
 * KSCrash's JSON (report version 2.0 to 3.x and develop; the forks of Sentry, Bugsnag, Embrace).
 *
 *   {"report":{"version":"3.6.0","id":"0FDF...","type":"standard","timestamp":...},
 *    "binary_images":[{"image_addr":4362076160,"image_size":49152,"name":"/.../Demo","uuid":"4C.."}],
 *    "system":{...}, "user":{...},
 *    "crash":{"error":{"type":"mach","mach":{...},"signal":{...},"address":16},
 *             "threads":[{"index":0,"crashed":true,"backtrace":{"contents":[
 *                {"instruction_addr":4362092648,"object_addr":4362076160,"symbol_name":"..."}]}}]}}
 *
 * A report that an extension wrote about the app's corpse (version 3.0 of the client) has `corpse`
 * beside these. Its other payload, a summary of one run of the app, is not a report (run_summary.c).
 *
 * A crash of the reporter itself: one report is "minimal" (crash.crashed_thread, no threads), and
 * either holds the unfinished one as `recrash_report` or is held by it.
 */
#include "server/ingest/kscrash/kscrash.h"

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_repair.h"

/* Integers above this count microseconds: as milliseconds it would be the year 5138. */
static const int64_t MILLISECONDS_MAX = 100000000000000;

/* Other JSON has a `crash` too; KSCrash's has these members. */
static bool
is_crash(struct fz_span value)
{
    struct json_walk walk = json_walk_start(value);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "error") || fz_span_is(member.key, "threads") ||
            fz_span_is(member.key, "crashed_thread") || fz_span_is(member.key, "diagnosis"))
            return true;
    }
    return false;
}

/* {"type":"standard","id":...}; a custom one may have nothing else. */
static bool
is_header(struct fz_span value)
{
    struct json_walk walk = json_walk_start(value);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* Other JSON has a `report` too; its type is the one thing that is always there. */
        if (fz_span_is(member.key, "type"))
            return fz_span_is(member.value, "\"standard\"") ||
                   fz_span_is(member.value, "\"minimal\"") ||
                   fz_span_is(member.value, "\"custom\"");
    }
    return false;
}

static bool
kscrash_detect(struct fz_span head)
{
    bool crash = false, rest = false, header = false;
    if (ingest_kscrash_is_summary(head))
        return true;
    struct json_walk walk = json_walk_start(head);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* The native format may have any of these members beside its own. */
        if (fz_span_is(member.key, "framezero"))
            return false;
        if (fz_span_is(member.key, "recrash_report"))
            return true;
        if (fz_span_is(member.key, "binary_images") && ingest_json_begins(member.value, '[')) {
            /* Only KSCrash has this key; where the head ends inside it, no other key can be seen. */
            if (!member.complete)
                return true;
            rest = true;
        }
        if ((fz_span_is(member.key, "report") || fz_span_is(member.key, "system")) &&
            ingest_json_begins(member.value, '{'))
            rest = true;
        if (fz_span_is(member.key, "report"))
            /* A custom report has a header and the app's own members, which may be anything. */
            header = is_header(member.value);
        if (fz_span_is(member.key, "crash"))
            crash = is_crash(member.value);
        if (crash && (rest || !member.complete))
            return true;
    }
    return header;
}

/* Is there anything to show? One answer for the check and for the parse. */
static enum fz_code
need_crash(struct fz_span text, struct fz_error *err)
{
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    /* Stored as a report it would be counted as a crash. */
    if (ingest_kscrash_is_summary(text))
        return fz_fail_at(err, FZ_E_UNSUPPORTED, 0,
                          "KSCrash run summary: not a report; it says how a run of the app ended");
    while (json_walk_next(&walk, &member)) {
        if (((fz_span_is(member.key, "crash") || fz_span_is(member.key, "recrash_report") ||
              fz_span_is(member.key, "report")) &&
             ingest_json_begins(member.value, '{')) ||
            (fz_span_is(member.key, "recrash_report") && ingest_json_begins(member.value, '"')))
            return FZ_OK;
    }
    return fz_fail_at(err, FZ_E_MALFORMED, 0,
                      "KSCrash report: neither 'crash' nor 'report' is there");
}

static enum fz_code
kscrash_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
              struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct fz_span text;
    struct ingest_repair repair;
    enum fz_code code =
        ingest_json_check(body, in->limits, need_crash, &buffer, &text, &repair, err);
    if (code != FZ_OK)
        return code;
    /* Of the outer report: it is what the client sent. */
    ingest_json_id(ingest_json_find(ingest_json_find(text, "report"), "id"), ret_id);
    return FZ_OK;
}

/* ---- origin ------------------------------------------------------------------------------ */

/* The member of the first of two reports that has it. */
static const json_t *
either(const json_t *report, const json_t *other, const char *key)
{
    const json_t *value = json_object_get(report, key);
    if (json_is_object(value) || json_is_array(value))
        return value;
    value = json_object_get(other, key);
    return json_is_object(value) || json_is_array(value) ? value : NULL;
}

/* Version 3.3 and later count microseconds, older ones seconds or write a text. */
static int64_t
read_timestamp(struct ingest_builder *b, const json_t *report, const char *where)
{
    static const char *const keys[] = {"timestamp_millis", "timestamp"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        const json_t *value = json_object_get(report, keys[i]);
        /* Microseconds since 3.3, seconds before: no time of a crash can be both. */
        if (json_is_integer(value) && json_integer_value(value) > MILLISECONDS_MAX)
            return json_integer_value(value) / 1000;
        int64_t ms = ingest_json_time(b, report, where, keys[i]);
        if (ms)
            return ms;
    }
    return 0;
}

static void
read_arch(struct ingest_builder *b, const json_t *system)
{
    struct report *r = b->report;
    /* cpu_arch is what the machine can do, binary_arch what the process ran as. */
    r->arch = ingest_json_text(b, system, "system", "binary_arch");
    if (!r->arch)
        r->arch = ingest_json_cpu(b, system, "system", "binary_cpu_type", "binary_cpu_subtype");
    const char *machine = ingest_json_text(b, system, "system", "cpu_arch");
    if (!r->arch)
        r->arch = machine;
}

static void
read_system(struct ingest_builder *b, const json_t *system)
{
    static const char *const name_keys[] = {"CFBundleName", "CFBundleExecutable", NULL};
    static const char *const known[] = {"system_name",
                                        "system_version",
                                        "os_version",
                                        "machine",
                                        "binary_arch",
                                        "binary_cpu_type",
                                        "binary_cpu_subtype",
                                        "CFBundleExecutablePath",
                                        "CFBundleIdentifier",
                                        "CFBundleName",
                                        "CFBundleVersion",
                                        "CFBundleShortVersionString",
                                        "build_type",
                                        "process_name",
                                        "process_id",
                                        "parent_process_id",
                                        "parent_process_name",
                                        "app_start_time",
                                        NULL};
    struct report *r = b->report;
    r->os_name = ingest_json_text(b, system, "system", "system_name");
    r->os_version = ingest_json_text(b, system, "system", "system_version");
    /* KSCrash calls the build "os_version", after sysctl's kern.osversion. */
    r->os_build = ingest_json_text(b, system, "system", "os_version");
    r->device_model = ingest_json_text(b, system, "system", "machine");
    r->app_id = ingest_json_text(b, system, "system", "CFBundleIdentifier");
    r->app_name = ingest_json_first_text(b, system, "system", name_keys);
    r->app_version = ingest_json_text(b, system, "system", "CFBundleShortVersionString");
    r->app_build = ingest_json_text(b, system, "system", "CFBundleVersion");
    /* "app store", "debug", "test": the nearest to an environment that KSCrash knows. */
    r->environment = ingest_json_text(b, system, "system", "build_type");
    r->process.name = ingest_json_text(b, system, "system", "process_name");
    r->process.path = ingest_json_text(b, system, "system", "CFBundleExecutablePath");
    r->process.parent = ingest_json_text(b, system, "system", "parent_process_name");
    ingest_json_i64(b, system, "system", "process_id", &r->process.pid);
    ingest_json_i64(b, system, "system", "parent_process_id", &r->process.parent_pid);
    r->process.launched_ms = ingest_json_time(b, system, "system", "app_start_time");
    read_arch(b, system);
    ingest_add_extra(b, "system", system, known);
}

/* The scope that Sentry's fork writes beside KSCrash's own members. */
static void
read_scope(struct ingest_builder *b, const json_t *scope)
{
    static const char *const with_user[] = {"tags", "breadcrumbs", "environment", NULL};
    static const char *const known[] = {"tags", "breadcrumbs", "environment", "user", NULL};
    struct report *r = b->report;
    if (!scope)
        return;
    bool other_user = r->user_json; /* what the app hung on the report itself */
    r->tags_json = ingest_json_dump(b, scope, "tags");
    r->breadcrumbs_json = ingest_json_dump(b, scope, "breadcrumbs");
    const char *environment = ingest_json_text(b, scope, "sentry_sdk_scope", "environment");
    if (environment)
        r->environment = environment;
    if (!other_user)
        r->user_json = ingest_json_dump(b, scope, "user");
    ingest_add_extra(b, "sentry_sdk_scope", scope, other_user ? with_user : known);
}

static void
read_origin(struct ingest_builder *b, const json_t *root, const json_t *main, const json_t *other)
{
    static const char *const id_keys[] = {"id", "run_id", NULL};
    bool is_corpse = json_is_object(json_object_get(main, "corpse"));
    /* A corpse's way is known without its monitor, whose name is then one more detail. */
    const char *known[] = {"id",     "timestamp",  "timestamp_millis",
                           "run_id", "session_id", is_corpse ? NULL : "monitor_id",
                           NULL};
    static const char *const known_root[] = {
        "report",     "binary_images",  "system",           "crash", "user",
        "incomplete", "recrash_report", "sentry_sdk_scope", NULL};
    struct report *r = b->report;
    const json_t *own = json_object_get(main, "report");
    r->id = ingest_json_first_text(b, json_object_get(root, "report"), "report", id_keys);
    if (!json_is_object(own))
        own = json_object_get(other, "report");
    r->timestamp_ms = read_timestamp(b, own, "report");
    r->run_id = ingest_json_text(b, own, "report", "run_id");
    r->session_id = ingest_json_text(b, own, "report", "session_id");
    r->capture.way = is_corpse ? "corpse" : ingest_json_text(b, own, "report", "monitor_id");
    const json_t *system = either(main, other, "system");
    if (system)
        read_system(b, system);
    if (!r->process.name)
        r->process.name = ingest_json_text(b, own, "report", "process_name");
    r->user_json = ingest_json_dump(b, either(main, other, "user"), NULL);
    read_scope(b, either(main, other, "sentry_sdk_scope"));
    /* The report that holds the other one gives the id. */
    bool has_id = own == json_object_get(root, "report");
    if (own)
        ingest_add_extra(b, "report", own, has_id ? known : known + 1);
    ingest_add_extra(b, NULL, main, known_root);
    if (json_is_true(json_object_get(main, "incomplete")))
        ingest_note(b, "the client could not finish this report (incomplete)");
}

/* ---- the whole --------------------------------------------------------------------------- */

static struct ingest_kscrash
kscrash_of(struct ingest_builder *b, const json_t *report, struct ingest_kscrash_objects *objects)
{
    struct ingest_kscrash k = {.b = b, .report = report, .type = "", .objects = objects};
    k.crash = json_object_get(report, "crash");
    k.error = json_object_get(k.crash, "error");
    const json_t *type = json_object_get(k.error, "type");
    if (json_is_string(type))
        k.type = json_string_value(type);
    return k;
}

static bool
has_threads(const json_t *report)
{
    return json_is_array(json_object_get(json_object_get(report, "crash"), "threads"));
}

static void
read_report(struct ingest_builder *b, const json_t *root, const json_t *inner)
{
    /* Of two, the one with all threads is the app's crash, the other the reporter's. */
    const json_t *main = root, *other = inner;
    if (json_is_object(inner) && has_threads(inner) && !has_threads(root)) {
        main = inner;
        other = root;
    }
    if (!json_is_object(other))
        other = NULL;
    struct ingest_kscrash_objects of_main = {.n = 0}, of_other = {.n = 0};
    struct ingest_kscrash k = kscrash_of(b, main, &of_main);
    read_origin(b, root, main, other);
    ingest_kscrash_read_error(&k);
    ingest_kscrash_read_corpse(&k);
    ingest_kscrash_read_images(b, either(main, other, "binary_images"));
    ingest_kscrash_read_threads(&k);
    ingest_kscrash_read_profile(&k);
    /* After the threads; minimal reports have no list of images at all. */
    ingest_kscrash_images_of_frames(&k);
    if (other) {
        /* The crash of the reporter is shown too: it is why the first report may be incomplete. */
        k = kscrash_of(b, other, &of_other);
        ingest_kscrash_read_recrash(&k);
        ingest_kscrash_images_of_frames(&k);
    }
    ingest_mark_crashed(b->report);
}

/* The unfinished report, where the reporter could only keep its text. */
static json_t *
load_inner(struct ingest_builder *b, const json_t *text)
{
    json_t *inner = NULL;
    struct fz_error err;
    struct fz_span bytes = fz_span_make(json_string_value(text), json_string_length(text));
    if (ingest_json_load_repaired(b, bytes, "recrash_report", need_crash, &inner, &err) != FZ_OK) {
        ingest_note(b, "recrash_report: %s, left out", err.text);
        return NULL;
    }
    return inner;
}

/* Frames are most of a report, and are read without a tree (frames.c). */
static const char *const frames_path[] = {"crash", "threads", "", "backtrace", "contents", NULL};

static enum fz_code
kscrash_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
              struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    json_auto_t *root = NULL;
    json_auto_t *loaded = NULL;
    b.leave = frames_path;
    enum fz_code code = ingest_json_load_repaired(&b, body, "the report", need_crash, &root, err);
    if (code != FZ_OK)
        return code;
    const json_t *inner = json_object_get(root, "recrash_report");
    /* A file that was not finished is not JSON, so the reporter could only embed it as text. */
    if (json_is_string(inner))
        inner = loaded = load_inner(&b, inner);
    read_report(&b, root, inner);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_kscrash = {
    .name = "kscrash",
    .detect = kscrash_detect,
    .check = kscrash_check,
    .parse = kscrash_parse,
    .count = ingest_kscrash_count,
};
