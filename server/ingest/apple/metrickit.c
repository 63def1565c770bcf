/*
 * MetricKit diagnostics, MXDiagnosticPayload.jsonRepresentation():
 *
 *   {"timeStampBegin":"2026-01-01 00:00:00 +0000","timeStampEnd":"...",
 *    "crashDiagnostics":[{"version":"1.0.0","callStackTree":{"callStackPerThread":true,
 *        "callStacks":[{"threadAttributed":true,"callStackRootFrames":[FRAME]}]},
 *      "diagnosticMetaData":{"exceptionType":1,"signal":11,...}}],
 *    "hangDiagnostics":[...],"cpuExceptionDiagnostics":[...],...}
 *
 * A payload holds several diagnostics, each of which is a report; apps also send single
 * diagnostics and bare call stack trees.
 */
#include "server/ingest/apple/metrickit.h"

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/json/write.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_repair.h"

/* What else of a payload is copied to each of its diagnostics: small members only. */
enum { SHARED_BYTES = 256, SHARED_ALL_BYTES = 4096 };

static const struct kind {
    const char *key, *kind; /* kind NULL: a crash */
} kinds[] = {
    {"crashDiagnostics", NULL},         {"hangDiagnostics", "hang"},
    {"cpuExceptionDiagnostics", "cpu"}, {"diskWriteExceptionDiagnostics", "disk_write"},
    {"appLaunchDiagnostics", "launch"},
};

static const struct kind *
kind_of(struct fz_span key)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (fz_span_is(key, kinds[i].key))
            return &kinds[i];
    }
    return NULL;
}

/* Of an object, by its keys; the text may end inside it. */
static bool
is_diagnostics(struct fz_span text)
{
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (kind_of(member.key) && ingest_json_begins(member.value, '['))
            return true;
        /* Apps also send single diagnostics, and bare trees. */
        if (fz_span_is(member.key, "callStackTree") && ingest_json_begins(member.value, '{'))
            return true;
        if (fz_span_is(member.key, "callStacks") && ingest_json_begins(member.value, '['))
            return true;
    }
    return false;
}

/* The limits of this format: a frame is two levels of JSON deep, and stacks have 512 frames. */
static struct limits
deep(const struct limits *limits)
{
    struct limits ours = *limits;
    ours.json_depth = JSON_SCAN_DEPTH_MAX;
    return ours;
}

/* Are there diagnostics? One answer for the check and for the parse. */
static enum fz_code
need_diagnostics(struct fz_span text, struct fz_error *err)
{
    if (is_diagnostics(text))
        return FZ_OK;
    return fz_fail_at(err, FZ_E_MALFORMED, 0, "MetricKit: no diagnostics and no call stacks");
}

static enum fz_code
metrickit_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
                struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct ingest_repair repair;
    struct limits ours = deep(in->limits);
    struct fz_span text;
    (void)ret_id; /* a payload has no id */
    return ingest_json_check(body, &ours, need_diagnostics, &buffer, &text, &repair, err);
}

/* {"timeStampBegin":...,"timeStampEnd":...,KEY:[diagnostic]} */
static void
hand_over(struct ingest_found *found, const struct fz_buffer *shared, const char *key,
          struct fz_span diagnostic)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct json_write w = json_write_start(&text);
    json_write_open(&w, NULL, '{');
    fz_buffer_append(&text, shared->data, shared->len); /* members, each with a comma after it */
    json_write_open(&w, key, '[');
    fz_buffer_append(&text, diagnostic.data, diagnostic.len);
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    ingest_found_copy(found, &text);
}

/* Count the diagnostics of a payload, collect what they share. */
static size_t
look_through(struct fz_span payload, struct fz_buffer *shared)
{
    size_t n = 0;
    struct json_walk walk = json_walk_start(payload);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (kind_of(member.key))
            n += ingest_json_count(member.value);
        /* Each report gets a copy, so a large member would be stored as often as there are
         * diagnostics. */
        else if (member.value.len <= SHARED_BYTES && member.key.len <= SHARED_BYTES &&
                 shared->len < SHARED_ALL_BYTES)
            ingest_json_append(shared, &member);
    }
    return n;
}

static void
split_payload(struct ingest_found *found, struct fz_span payload)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer shared = fz_buffer_make(0);
    /* One diagnostic is read as it came. */
    if (look_through(payload, &shared) < 2 || shared.failed)
        return;
    struct json_walk walk = json_walk_start(payload);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        const struct kind *kind = kind_of(member.key);
        struct json_walk items = json_walk_items(member.value);
        struct json_member item;
        while (kind && !found->failed && json_walk_next_item(&items, &item))
            hand_over(found, &shared, kind->key, item.value);
    }
}

static enum fz_code
metrickit_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer buffer = fz_buffer_make(0);
    struct ingest_repair repair;
    struct limits ours = deep(found->in->limits);
    struct fz_span text;
    /* Where it fails, the check says what is wrong. */
    if (ingest_json_check(body, &ours, need_diagnostics, &buffer, &text, &repair, err) == FZ_OK)
        split_payload(found, text);
    return FZ_OK;
}

/* The diagnostic of a payload, and what kind it is. */
static const json_t *
find_diagnostic(struct ingest_builder *b, const json_t *root)
{
    const json_t *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        /* Crashes come first in the table: they say more than the samples beside them. */
        const json_t *list = json_object_get(root, kinds[i].key);
        n += json_array_size(list);
        if (!found && json_array_size(list)) {
            found = json_array_get(list, 0);
            b->report->kind = kinds[i].kind;
        }
    }
    if (n > 1)
        ingest_note(b, "%zu diagnostics, of which the first is read", n);
    return found;
}

static void
read_root(struct ingest_builder *b, const json_t *root)
{
    static const char *const payload_known[] = {"timeStampEnd",
                                                "crashDiagnostics",
                                                "hangDiagnostics",
                                                "cpuExceptionDiagnostics",
                                                "diskWriteExceptionDiagnostics",
                                                "appLaunchDiagnostics",
                                                "callStacks",
                                                "callStackPerThread",
                                                "callStackTree",
                                                "diagnosticMetaData",
                                                NULL};
    static const char *const diagnostic_known[] = {"callStackTree", "diagnosticMetaData", NULL};
    struct report *r = b->report;
    const json_t *diagnostic = find_diagnostic(b, root);
    /* A bare call stack tree does not say what it is about. */
    enum ingest_metrickit_stacks kind = r->kind ? METRICKIT_SAMPLED : METRICKIT_BY_LOOKING;
    /* A payload has a range of time, not the time of its crashes; timeStampBegin stays in extra. */
    r->timestamp_ms = ingest_json_time(b, root, "", "timeStampEnd");
    ingest_add_extra(b, NULL, root, payload_known);
    if (json_is_object(diagnostic))
        ingest_add_extra(b, "diagnostic", diagnostic, diagnostic_known);
    else
        diagnostic = root;
    const json_t *meta = ingest_json_member(b, diagnostic, "", "diagnosticMetaData", JSON_OBJECT);
    if (meta)
        ingest_metrickit_read_about(b, meta);
    if (!r->kind && (r->crash.mach || r->crash.signal ||
                     json_is_object(json_array_get(json_object_get(root, "crashDiagnostics"), 0))))
        kind = METRICKIT_OF_CRASH;
    const json_t *tree = ingest_json_member(b, diagnostic, "", "callStackTree", JSON_OBJECT);
    const json_t *stacks =
        ingest_json_member(b, tree ? tree : diagnostic, "callStackTree", "callStacks", JSON_ARRAY);
    /* Only samples of all threads together are one tree. */
    if (json_is_false(json_object_get(tree ? tree : diagnostic, "callStackPerThread")))
        kind = METRICKIT_SAMPLED;
    ingest_metrickit_read_stacks(b, stacks, kind);
    if (r->n_threads == 0)
        ingest_note(b, "no call stacks in the diagnostic");
}

static enum fz_code
metrickit_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
                struct report *ret, struct fz_error *err)
{
    json_auto_t *root = NULL;
    struct limits ours = deep(in->limits);
    /* `ours` lives as long as the builder: both end with this function. */
    struct ingest_builder b = ingest_builder_make(ret, arena, &ours);
    enum fz_code code =
        ingest_json_load_repaired(&b, body, "the payload", need_diagnostics, &root, err);
    if (code != FZ_OK)
        return code;
    read_root(&b, root);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_metrickit = {
    .name = "metrickit",
    .detect = is_diagnostics,
    .check = metrickit_check,
    .parse = metrickit_parse,
    .split = metrickit_split,
};
