/*
 * Events that are due, given to channels; and digests of what the guard against storms holds.
 *
 * One worker at a time does this (outbox.c), so the guard's state of a channel is read at the
 * start, and stored with each delivery.
 */
#include "server/outbox/parts.h"

#include "base/time.h"
#include "server/alert/schedule.h"

enum { EVENTS_AT_ONCE = 50, DIGEST_ITEMS = ALERT_ITEMS_MAX };

struct dispatch {
    struct outbox *outbox;
    struct fz_arena *arena;
    struct store_channel *channels; /* all that are enabled */
    size_t n_channels;
    struct store_event_target *targets; /* room for all */
    int64_t now_ms;
};

/* A filter is about crashes; an event about the server itself is for everyone. */
static bool
is_filtered(enum store_event_kind kind)
{
    return kind != STORE_EVENT_CHANNEL_FAILING && kind != STORE_EVENT_INGEST_LIMITED;
}

static struct alert_storm_rules
rules_of(const struct store_channel *channel)
{
    return (struct alert_storm_rules){.per_hour = channel->per_hour,
                                      .digest_every_ms = (int64_t)channel->digest_s * 1000};
}

static enum fz_code
wants(struct dispatch *d, const struct store_channel *channel, const struct store_event_due *due,
      const struct outbox_fact_list *facts, bool *ret, struct fz_error *err)
{
    const enum store_event_kind kind = due->event.kind;
    *ret = channel->project_id == due->event.project_id && channel->id != due->channel_id &&
           (channel->events & 1u << kind) != 0;
    if (!*ret || !is_filtered(kind))
        return FZ_OK;
    return outbox_filter_passes(channel, facts, d->now_ms, ret, err);
}

static struct store_event_target
target_of(struct dispatch *d, struct store_channel *channel, enum store_event_kind kind)
{
    const struct alert_storm_rules rules = rules_of(channel);
    struct alert_storm storm = {channel->free_at_ms, channel->held_since_ms};
    bool passes = alert_storm_passes(&rules, &storm, (enum alert_kind)kind, d->now_ms);
    channel->free_at_ms = storm.free_at_ms;
    channel->held_since_ms = storm.held_since_ms;
    return (struct store_event_target){channel->id, !passes, storm.free_at_ms, storm.held_since_ms};
}

/* The version is what filters can ask of an event without an issue. */
static enum fz_code
facts_of_version(const char *version, struct fz_arena *arena, struct outbox_fact_list *ret,
                 struct fz_error *err)
{
    struct store_event_fact *facts = fz_arena_array(arena, 2, sizeof(*facts));
    struct fz_span text = fz_span_cstr(version ? version : "");
    if (!facts)
        return fz_arena_fail(arena, err);
    size_t open = 0, n = 0;
    /* "4.2 (421)" */
    while (open < text.len && text.data[open] != '(')
        open++;
    size_t end = open > 0 && open < text.len && text.data[open - 1] == ' ' ? open - 1 : text.len;
    facts[n++] = (struct store_event_fact){
        .field = STORE_FIELD_VERSION, .text = fz_arena_text(arena, fz_span_make(text.data, end))};
    if (open < text.len && text.data[text.len - 1] == ')')
        facts[n++] = (struct store_event_fact){
            .field = STORE_FIELD_BUILD,
            .text = fz_arena_text(arena, fz_span_make(text.data + open + 1, text.len - open - 2))};
    *ret = (struct outbox_fact_list){facts, n};
    return FZ_OK;
}

/* The event as it is stored; NULL in *ret_body: it is dropped. */
static enum fz_code
body_of(struct dispatch *d, const struct store_event_due *due, struct fz_buffer *out,
        struct outbox_fact_list *ret_facts, const char **ret_body, struct fz_error *err)
{
    struct alert_event event;
    bool drop = false;
    *ret_body = due->event.body;
    if (due->event.body)
        /* Of a burst, the issue is what filters ask about. */
        return due->issue_id ? outbox_event_make(d->outbox->store, due, d->arena, &event, ret_facts,
                                                 &drop, err)
                             : facts_of_version(due->event.version, d->arena, ret_facts, err);
    enum fz_code code =
        outbox_event_make(d->outbox->store, due, d->arena, &event, ret_facts, &drop, err);
    if (code != FZ_OK || drop)
        return code;
    code = alert_event_write(&event, NULL, out, err);
    if (code == FZ_OK)
        *ret_body = fz_buffer_cstr(out);
    return code;
}

static enum fz_code
dispatch_event(struct dispatch *d, const struct store_event_due *due, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct outbox_fact_list facts = {0};
    const char *body = NULL;
    size_t n = 0;
    enum fz_code code = body_of(d, due, &out, &facts, &body, err);
    for (size_t i = 0; code == FZ_OK && body && i < d->n_channels; i++) {
        bool is_wanted = false;
        code = wants(d, &d->channels[i], due, &facts, &is_wanted, err);
        if (code == FZ_OK && is_wanted)
            d->targets[n++] = target_of(d, &d->channels[i], due->event.kind);
    }
    return code == FZ_OK ? store_event_dispatch(d->outbox->store, due->id, body, d->targets, n, err)
                         : code;
}

enum fz_code
outbox_dispatch(struct outbox *outbox, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct dispatch d = {.outbox = outbox, .arena = &arena, .now_ms = fz_time_now_ms()};
    struct store_event_due *due = NULL;
    size_t n = 0;
    enum fz_code code = store_event_list_due(outbox->store, EVENTS_AT_ONCE, &arena, &due, &n, err);
    if (code == FZ_OK)
        code = store_channel_list(outbox->store, 0, &arena, &d.channels, &d.n_channels, err);
    d.targets = fz_arena_array(&arena, d.n_channels, sizeof(*d.targets));
    if (code == FZ_OK && !d.targets)
        return fz_arena_fail(&arena, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        /* The texts of one event, at most; all together would not fit. */
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena one = fz_arena_make(OUTBOX_ARENA);
        d.arena = &one;
        code = dispatch_event(&d, &due[i], err);
    }
    return code;
}

/* ---- digests ---- */

static void
item_of(const struct store_held *held, struct fz_arena *arena, struct alert_item *ret)
{
    struct alert_event event;
    struct fz_error err;
    *ret = (struct alert_item){.kind = (enum alert_kind)held->kind, .time_ms = held->at_ms};
    /* The digest lists it even if it cannot be read. */
    if (alert_event_read(fz_span_cstr(held->body ? held->body : ""), "msg", arena, &event, &err) !=
        FZ_OK)
        return;
    ret->number = event.issue.number;
    /* A limit has no issue, and its name is what people ask for. */
    ret->title = event.kind == ALERT_INGEST_LIMITED ? event.limit.name : event.issue.title;
    ret->version = event.version;
}

static enum fz_code
make_digest(struct outbox *outbox, const struct store_channel *channel, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    struct alert_item items[DIGEST_ITEMS];
    struct store_held_list held = {0};
    struct store_project project;
    enum fz_code code =
        store_held_get(outbox->store, channel->id, DIGEST_ITEMS, &arena, &held, err);
    if (code == FZ_OK)
        code = store_project_by_id(outbox->store, channel->project_id, &arena, &project, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < held.n_shown; i++)
        item_of(&held.shown[i], &arena, &items[i]);
    struct alert_event event = {.kind = ALERT_DIGEST,
                                .time_ms = fz_time_now_ms(),
                                .project = project.name,
                                .path = fz_arena_printf(&arena, "/p/%s/issues", project.name),
                                .items = items,
                                .n_items = held.n_shown,
                                .n_events = held.n,
                                .since_ms = held.first_ms};
    for (size_t kind = 0; kind < STORE_EVENT_KINDS; kind++)
        event.n_by_kind[kind] = held.n_by_kind[kind];
    code = alert_event_write(&event, NULL, &body, err);
    return code == FZ_OK
               ? store_digest_add(outbox->store, channel, held.last_id, fz_buffer_cstr(&body), err)
               : code;
}

enum fz_code
outbox_digest(struct outbox *outbox, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct store_channel *channels = NULL;
    size_t n = 0;
    int64_t now_ms = fz_time_now_ms();
    enum fz_code code = store_channel_list(outbox->store, 0, &arena, &channels, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct alert_storm storm = {channels[i].free_at_ms, channels[i].held_since_ms};
        const struct alert_storm_rules rules = rules_of(&channels[i]);
        int64_t due_ms = alert_storm_digest_ms(&rules, &storm, now_ms);
        if (due_ms && due_ms <= now_ms)
            code = make_digest(outbox, &channels[i], err);
    }
    return code;
}
