/*
 * A run summary of KSCrash 3: sent for every run of the app, crash or not.
 *
 *   {"schema_version":1,"run_id":"1E6B...","user_id":"7","device_id":"...","started_at_ms":1795169472345,"ended_at_ms":...,
 *    "outcome":{"termination_reason":"memory_limit","user_perceptible":true},
 *    "app":{"bundle_id":"com.acme.shop","short_version":"4.2","version":"4201","build_type":"app store"},
 *    "durations_ms":{...},"sessions":{"records":[...]},"os":{},"device":{},"metadata":{}}
 *
 * It is not a report. It becomes one session: release com.acme.shop@4.2+4201, environment "app store",
 * as those of a report of the same app, and here the outcome abnormal.
 */
#include <string.h>

#include "server/ingest/common/json_member.h"
#include "server/ingest/kscrash/kscrash.h"

bool
ingest_kscrash_is_summary(struct fz_span text)
{
    unsigned schema = 0, run = 0, summary = 0;
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    struct fz_span key;
    while (json_walk_key(&walk, &key)) {
        schema += fz_span_is(key, "schema_version");
        run += fz_span_is(key, "run_id");
        summary += fz_span_is(key, "outcome") || fz_span_is(key, "durations_ms") ||
                   fz_span_is(key, "sessions");
        /* A report may have such members as well; the crash, nearly all of it, is not read for that. */
        if (fz_span_is(key, "crash") || fz_span_is(key, "framezero") || fz_span_is(key, "threads"))
            return false;
        if (!json_walk_next(&walk, &member))
            break;
    }
    return schema && run && summary;
}

static enum ingest_outcome
outcome_of(struct ingest_builder *b, const json_t *outcome)
{
    /* Words of KSTerminationReason for ends that say nothing of the app: it ended by itself, or the
     * system, the app or the machine was replaced or restarted. */
    static const char *const usual[] = {"none",       "clean",       "first_launch",
                                        "os_upgrade", "app_upgrade", "reboot"};
    static const char where[] = "outcome", key[] = "termination_reason";
    const char *reason = ingest_json_text(b, outcome, where, key);
    if (!reason)
        return INGEST_HEALTHY;
    if (strcmp(reason, "crash") == 0)
        return INGEST_CRASHED;
    for (size_t i = 0; i < FZ_ARRAY_LEN(usual); i++) {
        if (strcmp(reason, usual[i]) == 0)
            return INGEST_HEALTHY;
    }
    /* Hangs, memory, heat, whatever is unexplained: the system ends apps in the background every day,
     * and no one notices. */
    return ingest_json_bool(b, outcome, where, "user_perceptible", true) ? INGEST_ABNORMAL
                                                                         : INGEST_HEALTHY;
}

/* Where a report of the same app is filed, too. */
static enum fz_code
read_release(struct ingest_builder *b, const json_t *app, const char **ret, struct fz_error *err)
{
    static const char *const version_keys[] = {"short_version", "version", NULL};
    struct report r = {.app_id = ingest_json_text(b, app, "app", "bundle_id"),
                       .app_version = ingest_json_first_text(b, app, "app", version_keys)};
    if (json_object_get(app, "short_version"))
        r.app_build = ingest_json_text(b, app, "app", "version");
    if (!report_release(&r, b->arena, ret))
        return fz_arena_fail(b->arena, err);
    if (!*ret && !b->failed)
        return fz_fail_at(
            err, FZ_E_UNSUPPORTED, 0,
            "KSCrash run summary: neither app.short_version nor app.version is there, "
            "so there is no release to count the run for");
    return FZ_OK;
}

enum fz_code
ingest_kscrash_count(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
                     struct ingest_session *ret, struct fz_error *err)
{
    struct report notes = {.id = NULL}; /* what is odd is not shown anywhere */
    struct ingest_builder b = ingest_builder_make(&notes, arena, in->limits);
    struct fz_uuid run;
    json_auto_t *root = NULL;
    enum fz_code code = ingest_json_load(&b, body, NULL, &root, err);
    if (code != FZ_OK)
        return code;
    const char *run_id = ingest_json_text(&b, root, "", "run_id");
    /* The id of a session, by which it is counted once however often it is sent. */
    if (!b.failed && (!run_id || !fz_uuid_parse(fz_span_cstr(run_id), &run)))
        return fz_fail_at(err, FZ_E_UNSUPPORTED, 0,
                          "KSCrash run summary: run_id is not a UUID, by which a run is counted "
                          "once");
    const json_t *app = ingest_json_member(&b, root, "", "app", JSON_OBJECT);
    const json_t *outcome = ingest_json_member(&b, root, "", "outcome", JSON_OBJECT);
    const char *release = NULL;
    code = read_release(&b, app, &release, err);
    if (code != FZ_OK)
        return code;
    static const char *const user_keys[] = {"user_id", "device_id", NULL};
    struct ingest_session session = {
        .release = release,
        .user = ingest_json_first_text(&b, root, "", user_keys),
        .environment = ingest_json_text(&b, app, "app", "build_type"),
        .started_ms = ingest_json_time(&b, root, "", "started_at_ms"),
        .outcome = outcome_of(&b, outcome),
    };
    if (b.failed)
        return fz_arena_fail(arena, err);
    fz_uuid_format(&run, session.sid);
    *ret = session;
    return FZ_OK;
}
