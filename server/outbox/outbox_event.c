/*
 * Events about issues: what they say is read when they are due, since an issue that is new has its
 * names, and its first numbers, only then.
 */
#include "server/outbox/parts.h"

#include "base/uuid.h"
#include "server/group/group.h"
#include "server/query/query.h"

/* ---- the event ---- */

static enum fz_code
add_missing(const struct store_event_issue *issue, struct fz_arena *arena, struct alert_event *ret,
            struct fz_error *err)
{
    struct alert_symbol *symbols = fz_arena_array(arena, issue->n_missing, sizeof(*symbols));
    if (!symbols)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < issue->n_missing; i++) {
        char *uuid = fz_arena_alloc(arena, FZ_UUID_DASHED);
        if (!uuid)
            return fz_arena_fail(arena, err);
        fz_uuid_format_dashed(&issue->missing[i].uuid, uuid);
        symbols[i] = (struct alert_symbol){issue->missing[i].name, uuid, issue->missing[i].arch};
    }
    ret->symbols = symbols;
    ret->n_symbols = issue->n_missing;
    ret->n_waiting = issue->n_reports;
    ret->since_ms = issue->first_ms;
    return FZ_OK;
}

static bool
is_own(const struct group_stack *stack, const struct group_frame *frame)
{
    enum group_origin origin =
        frame->image >= 0 ? stack->images[frame->image].origin : GROUP_ORIGIN_OTHER;
    return origin == GROUP_ORIGIN_EXECUTABLE || origin == GROUP_ORIGIN_BUNDLE ||
           origin == GROUP_ORIGIN_NAMED;
}

/* Own frames first, each part in the order of the stack. */
static enum fz_code
add_frames(struct fz_span encoded, struct fz_arena *arena, struct alert_event *ret,
           struct fz_error *err)
{
    struct alert_frame *frames = fz_arena_array(arena, ALERT_FRAMES_MAX, sizeof(*frames));
    struct group_stack stack;
    size_t n = 0;
    if (!frames)
        return fz_arena_fail(arena, err);
    enum fz_code code = group_stack_decode(encoded, arena, &stack, err);
    /* Of another version: the message is sent without it. */
    if (code == FZ_E_MALFORMED)
        return FZ_OK;
    for (int pass = 0; code == FZ_OK && pass < 2; pass++) {
        for (size_t i = 0; i < stack.n_frames && n < ALERT_FRAMES_MAX; i++) {
            const struct group_frame *frame = &stack.frames[i];
            if (!frame->name || is_own(&stack, frame) != (pass == 0))
                continue;
            const char *image = frame->image >= 0 ? stack.images[frame->image].name : NULL;
            frames[n++] = (struct alert_frame){frame->name, frame->module ? frame->module : image,
                                               frame->file, 0};
        }
    }
    ret->issue.frames = frames;
    ret->issue.n_frames = n;
    return code;
}

enum fz_code
outbox_event_make(struct store *store, const struct store_event_due *due, struct fz_arena *arena,
                  struct alert_event *ret, struct outbox_fact_list *ret_facts, bool *ret_drop,
                  struct fz_error *err)
{
    struct store_event_issue issue;
    enum fz_code code = store_event_issue_get(store, due->issue_id, arena, &issue, err);
    /* It was deleted, or is part of another issue, whose own event says it. */
    *ret_drop = code == FZ_E_NOT_FOUND || (code == FZ_OK && issue.merged_into);
    if (*ret_drop)
        return FZ_OK;
    if (code != FZ_OK)
        return code;
    bool is_unmuted = due->event.kind == STORE_EVENT_ISSUE_UNMUTED;
    struct alert_event event = {
        .kind = (enum alert_kind)due->event.kind,
        .id = due->message,
        .time_ms = due->at_ms,
        .project = due->project,
        .version = due->event.version ? due->event.version : issue.version,
        .path = fz_arena_printf(arena, "/p/%s/issues/%lld", due->project, (long long)issue.number),
        .issue = {.number = (uint64_t)issue.number,
                  .title = issue.title,
                  .culprit = issue.title,
                  .n_reports = issue.n_reports,
                  .n_users = issue.n_users,
                  .first_seen_ms = issue.first_ms,
                  .last_seen_ms = issue.last_ms,
                  .first_version = issue.first_version,
                  .last_version = issue.last_version,
                  .resolved_in = is_unmuted ? NULL : due->event.detail,
                  .reason = is_unmuted ? due->event.detail : NULL}};
    if (!event.path)
        return fz_arena_fail(arena, err);
    if (issue.stack.len)
        code = add_frames(issue.stack, arena, &event, err);
    if (code == FZ_OK && issue.is_placeholder && issue.n_missing)
        code = add_missing(&issue, arena, &event, err);
    if (code != FZ_OK)
        return code;
    *ret = event;
    *ret_facts = (struct outbox_fact_list){issue.facts, issue.n_facts};
    return FZ_OK;
}

/* ---- filters ---- */

enum fz_code
outbox_filter_passes(const struct store_channel *channel, const struct outbox_fact_list *facts,
                     int64_t now_ms, bool *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(QUERY_ARENA + (facts->n + 1) * sizeof(struct query_fact));
    struct store_query query;
    *ret = true;
    if (!*channel->filter)
        return FZ_OK;
    enum fz_code code = query_parse(fz_span_cstr(channel->filter), now_ms, &arena, &query, err);
    /* An older program wrote it: better a message too many than none. */
    if (code == FZ_E_MALFORMED)
        return FZ_OK;
    if (code != FZ_OK)
        return code;
    struct query_fact *list = fz_arena_array(&arena, facts->n + 1, sizeof(*list));
    if (!list)
        return fz_arena_fail(&arena, err);
    for (size_t i = 0; i < facts->n; i++)
        list[i] = (struct query_fact){facts->facts[i].field, facts->facts[i].name,
                                      facts->facts[i].text, facts->facts[i].number};
    const struct query_record record = {list, facts->n};
    *ret = query_matches(&query, &record);
    return FZ_OK;
}
