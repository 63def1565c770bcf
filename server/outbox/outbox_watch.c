/*
 * What no transaction causes: issues that become urgent, dSYMs that stay away, releases that crash,
 * quotas that are used up.
 *
 * One worker looks every 20 seconds, at projects with a channel. Each thing is reported once: the
 * event and its mark are one transaction, so two workers that look at once do no harm either.
 */
#include "server/outbox/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "base/uuid.h"
#include "server/alert/urgent.h"
#include "storage/store_sessions.h"
#include "storage/store_usage.h"
#include "storage/store_watch.h"

enum {
    LOOK_MS = 20 * 1000,
    SWEEP_MS = 60 * 60 * 1000,
    SWEEPS_MAX = 200,
    BURSTS_MAX = 20,
    MISSING_LOOK = 200,
    RELEASES_MAX = 200,
    MARK_MAX = 700
};

/* A dSYM is often uploaded a little later than the first report comes. */
static const int64_t MISSING_AFTER_MS = 10 * 60 * 1000, DAY_MS = INT64_C(24) * 3600 * 1000;

struct watch {
    struct outbox *outbox;
    struct fz_arena *arena; /* of one project */
    const struct store_project *project;
    struct store_watch_rules rules;
    int64_t now_ms;
};

/* Where people see more, at the page; NULL: no memory, and so no link. */
static const char *
path_to(const struct watch *w, const char *screen)
{
    return fz_arena_printf(w->arena, "/p/%s/%s", w->project->name, screen);
}

static enum fz_code
raise_event(struct watch *w, const struct alert_event *event, const struct store_event *base,
            struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct store_event raised = *base;
    bool is_new = false;
    enum fz_code code = alert_event_write(event, NULL, &body, err);
    raised.project_id = w->project->id;
    raised.kind = (enum store_event_kind)event->kind;
    raised.version = event->version;
    raised.body = fz_buffer_cstr(&body);
    if (code == FZ_OK)
        code = store_event_raise(w->outbox->store, &raised, &is_new, err);
    if (code == FZ_OK && is_new)
        fz_log(FZ_LOG_INFO, "event", "type=%s project=%lld", alert_kind_name(event->kind),
               (long long)w->project->id);
    return code;
}

/* ---- urgent issues ---- */

static enum fz_code
judge_burst(struct watch *w, const struct store_burst *burst,
            const struct store_recent_sessions *sessions, struct fz_error *err)
{
    uint64_t hours[STORE_WATCH_HOURS];
    size_t n_hours = 0;
    char mark[MARK_MAX];
    bool is_known = false, drop = false;
    struct alert_event event;
    struct outbox_fact_list facts;
    snprintf(mark, sizeof(mark), "urgent:%lld:%s", (long long)burst->issue_id, burst->version);
    enum fz_code code =
        store_event_is_marked(w->outbox->store, w->project->id, mark, &is_known, err);
    if (code == FZ_OK && !is_known)
        code = store_burst_hours(w->outbox->store, burst->issue_id, hours, &n_hours, err);
    if (code != FZ_OK || is_known)
        return code;
    const struct alert_burst_rules rules = {w->rules.urgent_ppm, w->rules.urgent_users};
    const struct alert_burst_numbers numbers = {
        .n_reports = burst->n_reports,
        .n_users = burst->n_users,
        .has_sessions = sessions->has_any,
        .n_sessions = sessions->n,
        .hours = &hours[STORE_WATCH_HOURS - n_hours],
        .n_hours = n_hours,
        .window_s = w->rules.window_s,
    };
    if (!alert_is_urgent(&rules, &numbers))
        return FZ_OK;
    const struct store_event_due due = {
        .issue_id = burst->issue_id,
        .at_ms = w->now_ms,
        .event = {.kind = STORE_EVENT_ISSUE_URGENT,
                  .version = *burst->version ? burst->version : NULL},
        .project = w->project->name,
        .message = "msg"};
    code = outbox_event_make(w->outbox->store, &due, w->arena, &event, &facts, &drop, err);
    if (code != FZ_OK || drop)
        return code;
    event.burst = (struct alert_burst){.window_s = w->rules.window_s,
                                       .n_reports = burst->n_reports,
                                       .n_users = burst->n_users,
                                       .n_sessions = sessions->has_any ? sessions->n : 0,
                                       .n_crashed = sessions->n_crashed};
    const char *const marks[] = {mark};
    return raise_event(
        w, &event, &(struct store_event){.issue_id = burst->issue_id, .marks = marks, .n_marks = 1},
        err);
}

static enum fz_code
look_for_bursts(struct watch *w, struct fz_error *err)
{
    struct store_burst *bursts = NULL;
    struct store_recent_sessions sessions = {0};
    size_t n = 0;
    int64_t window_ms = (int64_t)w->rules.window_s * 1000;
    const struct store_burst_range range = {w->now_ms - window_ms, w->rules.urgent_users,
                                            BURSTS_MAX};
    /* Each time, so that there is a sample when one is needed. */
    enum fz_code code =
        store_session_sample(w->outbox->store, w->project->id, window_ms, &sessions, err);
    if (code == FZ_OK)
        code =
            store_burst_list(w->outbox->store, w->project->id, &range, w->arena, &bursts, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = judge_burst(w, &bursts[i], &sessions, err);
    return code;
}

/* ---- missing symbols ---- */

static const char *
version_of(const struct store_missing *image)
{
    return image->n_app_versions ? image->app_versions[0] : "";
}

/* Images that no event named yet, all of the version of the one that most reports wait for. */
static enum fz_code
collect_missing(struct watch *w, const struct store_missing *list, size_t n,
                struct alert_event *event, const char **marks, size_t *n_marks,
                struct fz_error *err)
{
    struct alert_symbol *symbols = fz_arena_array(w->arena, ALERT_SYMBOLS_MAX, sizeof(*symbols));
    if (!symbols)
        return fz_arena_fail(w->arena, err);
    event->symbols = symbols;
    for (size_t i = 0; i < n; i++) {
        char *uuid = fz_arena_alloc(w->arena, FZ_UUID_DASHED);
        const char *mark = NULL;
        bool is_known = false;
        if (w->now_ms - list[i].first_seen_ms < MISSING_AFTER_MS ||
            (event->version && strcmp(event->version, version_of(&list[i])) != 0))
            continue;
        if (uuid) {
            fz_uuid_format_dashed(&list[i].uuid, uuid);
            mark = fz_arena_printf(w->arena, "missing:%s", uuid);
        }
        if (!mark)
            return fz_arena_fail(w->arena, err);
        enum fz_code code =
            store_event_is_marked(w->outbox->store, w->project->id, mark, &is_known, err);
        if (code != FZ_OK)
            return code;
        if (is_known)
            continue;
        event->version = version_of(&list[i]);
        marks[(*n_marks)++] = mark;
        event->n_waiting =
            list[i].n_reports > event->n_waiting ? list[i].n_reports : event->n_waiting;
        if (!event->since_ms || list[i].first_seen_ms < event->since_ms)
            event->since_ms = list[i].first_seen_ms;
        if (event->n_symbols < ALERT_SYMBOLS_MAX)
            symbols[event->n_symbols++] = (struct alert_symbol){list[i].name, uuid, list[i].arch};
        else
            event->n_unlisted++;
    }
    return FZ_OK;
}

static enum fz_code
look_for_missing(struct watch *w, struct fz_error *err)
{
    struct store_missing *list = NULL;
    const char *marks[MISSING_LOOK];
    size_t n = 0, n_marks = 0;
    struct alert_event event = {.kind = ALERT_SYMBOLS_MISSING,
                                .time_ms = w->now_ms,
                                .project = w->project->name,
                                .path = path_to(w, "symbols")};
    /* The most wanted first. */
    enum fz_code code = store_missing_list(w->outbox->store, w->project->id, MISSING_LOOK, w->arena,
                                           &list, &n, err);
    if (code == FZ_OK)
        code = collect_missing(w, list, n < MISSING_LOOK ? n : MISSING_LOOK, &event, marks,
                               &n_marks, err);
    if (code != FZ_OK || n_marks == 0)
        return code;
    return raise_event(w, &event, &(struct store_event){.marks = marks, .n_marks = n_marks}, err);
}

/* ---- releases ---- */

static enum fz_code
judge_release(struct watch *w, const struct store_session_count *sum, struct fz_error *err)
{
    uint64_t n = 0, n_crashed = sum->n[STORE_SESSION_CRASHED];
    char mark[MARK_MAX];
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        n += sum->n[i];
    if (!*sum->release || n < w->rules.healthy_sessions || n == 0 ||
        (double)(n - n_crashed) * (double)STORE_PPM >= (double)w->rules.healthy_ppm * (double)n)
        return FZ_OK;
    const struct alert_event event = {.kind = ALERT_RELEASE_UNHEALTHY,
                                      .time_ms = w->now_ms,
                                      .project = w->project->name,
                                      .path = path_to(w, "versions"),
                                      .version = sum->release,
                                      .release = {.since_ms = sum->first_day_ms,
                                                  .n_sessions = n,
                                                  .n_crashed = n_crashed,
                                                  .threshold_ppm = w->rules.healthy_ppm}};
    snprintf(mark, sizeof(mark), "unhealthy:%s", sum->release);
    const char *const marks[] = {mark};
    return raise_event(w, &event, &(struct store_event){.marks = marks, .n_marks = 1}, err);
}

static enum fz_code
look_for_crashes(struct watch *w, struct fz_error *err)
{
    struct store_session_count *counts = NULL;
    size_t n = 0;
    const struct store_session_range range = {
        .since_ms = w->now_ms - DAY_MS, .until_ms = w->now_ms + DAY_MS, .limit = RELEASES_MAX};
    enum fz_code code =
        store_session_counts(w->outbox->store, w->project->id, &range, w->arena, &counts, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct store_session_count sum = counts[i];
        bool is_first = true;
        /* Environments of one release. */
        for (size_t k = 0; k < n; k++) {
            if (k == i || strcmp(counts[k].release, sum.release) != 0)
                continue;
            is_first = is_first && k > i;
            for (size_t o = 0; o < STORE_SESSION_OUTCOMES; o++)
                sum.n[o] += counts[k].n[o];
        }
        if (is_first)
            code = judge_release(w, &sum, err);
    }
    return code;
}

/* ---- quotas ---- */

static enum fz_code
judge_usage(struct watch *w, const struct store_usage *used, int64_t day,
            const struct store_quota *quota, struct fz_error *err)
{
    const struct limits *limits = w->outbox->config.limits;
    uint64_t reports = quota->report_bytes ? quota->report_bytes : limits->report_bytes_per_day;
    uint64_t symbols = quota->symbol_bytes ? quota->symbol_bytes : limits->symbol_bytes_per_day;
    bool is_reports = used->kind == STORE_USAGE_REPORTS;
    uint64_t most = is_reports ? reports : symbols;
    const char *name = is_reports ? "report_bytes_per_day" : "symbol_bytes_per_day";
    char mark[MARK_MAX];
    if (used->project_id != w->project->id || most == 0 || used->bytes < most)
        return FZ_OK;
    const struct alert_event event = {
        .kind = ALERT_INGEST_LIMITED,
        .time_ms = w->now_ms,
        .project = w->project->name,
        .path = path_to(w, "settings"),
        .limit = {
            .name = name, .value = most, .since_ms = w->now_ms, .until_ms = (day + 1) * DAY_MS}};
    snprintf(mark, sizeof(mark), "limited:%s:%lld", name, (long long)day);
    const char *const marks[] = {mark};
    return raise_event(w, &event, &(struct store_event){.marks = marks, .n_marks = 1}, err);
}

static enum fz_code
look_for_limits(struct watch *w, struct fz_error *err)
{
    struct store_usage *used = NULL;
    size_t n = 0;
    int64_t day = 0, left_ms = 0;
    enum fz_code code =
        store_usage_today(w->outbox->store, w->arena, &used, &n, &day, &left_ms, err);
    struct store_quota quota = {0};
    if (code == FZ_OK)
        code = store_quota_get(w->outbox->store, w->project->id, &quota, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = judge_usage(w, &used[i], day, &quota, err);
    return code;
}

/* ---- all ---- */

static bool
has_channel(const struct store_channel *channels, size_t n, int64_t project_id)
{
    for (size_t i = 0; i < n; i++) {
        if (channels[i].project_id == project_id)
            return true;
    }
    return false;
}

static enum fz_code
look(struct outbox *outbox, const struct store_project *project, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct watch w = {
        .outbox = outbox, .arena = &arena, .project = project, .now_ms = fz_time_now_ms()};
    enum fz_code code = store_watch_rules_get(outbox->store, project->id, &w.rules, err);
    if (code == FZ_OK)
        code = look_for_bursts(&w, err);
    if (code == FZ_OK)
        code = look_for_missing(&w, err);
    if (code == FZ_OK)
        code = look_for_crashes(&w, err);
    if (code == FZ_OK)
        code = look_for_limits(&w, err);
    return code;
}

enum fz_code
outbox_watch(struct outbox *outbox, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct store_channel *channels = NULL;
    struct store_project *projects = NULL;
    size_t n_channels = 0, n = 0;
    bool looks = false, sweeps = false;
    /* Neither is given back: the next one is due when they are over. */
    enum fz_code code = store_duty_take(outbox->store, "watch", LOOK_MS, &looks, err);
    if (code != FZ_OK || !looks)
        return code;
    code = store_channel_list(outbox->store, 0, &arena, &channels, &n_channels, err);
    if (code == FZ_OK)
        code = store_project_list(outbox->store, &arena, &projects, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (has_channel(channels, n_channels, projects[i].id))
            code = look(outbox, &projects[i], err);
    }
    if (code == FZ_OK)
        code = store_duty_take(outbox->store, "sweep", SWEEP_MS, &sweeps, err);
    /* In portions, so that no transaction is long; a storm leaves thousands of rows. */
    for (int i = 0; code == FZ_OK && sweeps && i < SWEEPS_MAX; i++) {
        if (atomic_load(&outbox->is_stopping))
            break;
        code = store_outbox_sweep(outbox->store, &sweeps, err);
    }
    return code;
}
