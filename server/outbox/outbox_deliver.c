/*
 * One delivery: claimed, rendered, sent, ended.
 *
 * The lease is longer than an attempt can take. A channel whose attempt failed gets nothing for a
 * growing time, whatever waits for it, so a receiver that hangs costs the others little.
 */
#include "server/outbox/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "server/alert/schedule.h"

enum { LEASE_MS = 60 * 1000, PAUSE_MS = 5000, PAUSE_DOUBLINGS = 6, TEST_TIMEOUT_MS = 10 * 1000 };

const char *
outbox_kind_name(enum store_event_kind kind)
{
    _Static_assert((int)STORE_EVENT_KINDS == (int)ALERT_N_KINDS &&
                       (int)STORE_EVENT_TEST == (int)ALERT_TEST &&
                       (int)STORE_EVENT_ISSUE_UNMUTED == (int)ALERT_ISSUE_UNMUTED &&
                       (int)STORE_EVENT_CHANNEL_FAILING == (int)ALERT_CHANNEL_FAILING,
                   "both have the same kinds in the same order");
    return alert_kind_name((enum alert_kind)kind);
}

const char *
outbox_result_name(enum net_result result)
{
    static const char *const names[] = {[NET_ANSWERED] = "answered",
                                        [NET_INVALID] = "invalid",
                                        [NET_REFUSED] = "refused",
                                        [NET_FAILED] = "failed"};
    return names[result];
}

/* ---- the channel ---- */

static enum fz_code
split_addresses(const char *lines, struct fz_arena *arena, struct alert_channel *ret,
                struct fz_error *err)
{
    const char **to = fz_arena_array(arena, NET_MAIL_TO_MAX, sizeof(*to));
    if (!to)
        return fz_arena_fail(arena, err);
    while (*lines && ret->n_to < NET_MAIL_TO_MAX) {
        size_t len = strcspn(lines, "\n");
        to[ret->n_to] = fz_arena_text(arena, fz_span_make(lines, len));
        if (!to[ret->n_to++])
            return fz_arena_fail(arena, err);
        lines += len + (lines[len] == '\n');
    }
    ret->to = to;
    return FZ_OK;
}

enum fz_code
outbox_channel(const struct store_channel *from, int64_t now_ms, struct fz_arena *arena,
               struct alert_channel *ret, struct fz_error *err)
{
    struct alert_channel channel = {.url = from->target};
    if (!alert_channel_kind_parse(fz_span_cstr(from->kind), &channel.kind))
        return fz_fail(err, FZ_E_MALFORMED, "there is no kind of channel '%.40s'", from->kind);
    if (from->secret)
        channel.secrets[channel.n_secrets++] = from->secret;
    if (from->old_secret && now_ms < from->old_until_ms)
        channel.secrets[channel.n_secrets++] = from->old_secret;
    enum fz_code code = FZ_OK;
    if (channel.kind == ALERT_CHANNEL_MAIL) {
        channel.url = NULL;
        code = split_addresses(from->target, arena, &channel, err);
    }
    if (code == FZ_OK)
        *ret = channel;
    return code;
}

/* ---- one attempt ---- */

/* Every failure is an outcome: what cannot be rendered never can be sent. */
static void
attempt(const struct outbox_setup *setup, const struct store_channel *from,
        const struct alert_event *event, struct net_outcome *ret)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct alert_sender sender = {
        .server = setup->server, .from = setup->from, .now_ms = fz_time_now_ms()};
    struct alert_channel channel;
    struct alert_message message;
    struct fz_error err;
    enum fz_code code = outbox_channel(from, sender.now_ms, &arena, &channel, &err);
    if (code == FZ_OK && channel.kind == ALERT_CHANNEL_MAIL && (!sender.from || !*sender.from)) {
        /* The operator may set it up later: nothing is wrong with the channel. */
        *ret = (struct net_outcome){.result = NET_FAILED};
        snprintf(ret->text, sizeof(ret->text),
                 "no mail server is configured (settings smtp-url and mail-from)");
        return;
    }
    if (code == FZ_OK)
        code = alert_render(event, &channel, &sender, &arena, &message, &err);
    if (code == FZ_OK) {
        alert_send(&message, &setup->mail, &setup->rules, ret);
        return;
    }
    *ret = (struct net_outcome){.result = code == FZ_E_MALFORMED ? NET_INVALID : NET_FAILED};
    snprintf(ret->text, sizeof(ret->text), "%.255s", err.text);
}

enum fz_code
outbox_test(const struct outbox_setup *setup, const struct store_channel *channel,
            const char *project, const char *by, struct net_outcome *ret, struct fz_error *err)
{
    struct outbox_setup quick = *setup;
    char id[STORE_MESSAGE_TEXT];
    uint64_t random[2];
    /* Somebody waits for the answer. */
    quick.rules.timeout_ms = TEST_TIMEOUT_MS;
    fz_random(random, sizeof(random));
    snprintf(id, sizeof(id), "msg_%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    const struct alert_event event = {
        .kind = ALERT_TEST, .id = id, .time_ms = fz_time_now_ms(), .project = project, .by = by};
    if (!channel->kind)
        return fz_fail(err, FZ_E_MALFORMED, "the channel has no kind");
    attempt(&quick, channel, &event, ret);
    return FZ_OK;
}

/* ---- deliveries ---- */

/* What an attempt came to. */
struct verdict {
    const struct net_outcome *outcome;
    struct alert_next next;
    bool raises; /* `trouble` is raised, for other channels */
    struct store_event trouble;
    struct fz_buffer body;
};

static void
verdict_deinit(struct verdict *verdict)
{
    fz_buffer_deinit(&verdict->body);
}

/* channel.failing; none for a channel that fails to send one, or two could go on about each other. */
static enum fz_code
raise_trouble(struct outbox *outbox, const struct store_delivery *delivery, struct verdict *verdict,
              struct fz_error *err)
{
    const struct store_channel *channel = &delivery->channel;
    const struct net_outcome *outcome = verdict->outcome;
    bool is_disabled = verdict->next.verdict == ALERT_DISABLE;
    if (!verdict->next.is_trouble ||
        (!is_disabled && delivery->kind == STORE_EVENT_CHANNEL_FAILING))
        return FZ_OK;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct store_project project;
    enum fz_code code =
        store_project_by_id(outbox->store, channel->project_id, &arena, &project, err);
    if (code != FZ_OK)
        return code;
    char error[300];
    if (outcome->text[0])
        snprintf(error, sizeof(error), "%s", outcome->text);
    else
        snprintf(error, sizeof(error), "the receiver answered with status %d", outcome->status);
    const char *path = fz_arena_printf(&arena, "/p/%s/settings/alerts", project.name);
    if (!path)
        return fz_arena_fail(&arena, err);
    const struct alert_event event = {
        .kind = ALERT_CHANNEL_FAILING,
        .time_ms = fz_time_now_ms(),
        .project = project.name,
        .path = path,
        .trouble = {.channel = channel->name,
                    .error = error,
                    .n_attempts = delivery->n_tried + 1,
                    .since_ms = channel->failing_ms ? channel->failing_ms : fz_time_now_ms(),
                    .is_disabled = is_disabled}};
    code = alert_event_write(&event, NULL, &verdict->body, err);
    verdict->raises = code == FZ_OK;
    verdict->trouble = (struct store_event){.project_id = channel->project_id,
                                            .kind = STORE_EVENT_CHANNEL_FAILING,
                                            .channel_id = channel->id,
                                            .body = fz_buffer_cstr(&verdict->body)};
    return code;
}

/* 5, 10, 20 s ... 5 min after as many failures in succession. */
static int64_t
channel_pause_ms(const struct store_channel *channel)
{
    uint64_t n = channel->n_failed < PAUSE_DOUBLINGS ? channel->n_failed : PAUSE_DOUBLINGS;
    return (int64_t)PAUSE_MS << n;
}

static void
end_of(const struct store_delivery *delivery, const struct net_outcome *outcome,
       const struct alert_next *next, int64_t now_ms, struct store_delivery_end *ret)
{
    static const enum store_delivery_state states[] = {
        [ALERT_DELIVERED] = STORE_DELIVERY_DELIVERED,
        [ALERT_AGAIN] = STORE_DELIVERY_WAITING,
        [ALERT_GIVE_UP] = STORE_DELIVERY_FAILED,
        [ALERT_DISABLE] = STORE_DELIVERY_FAILED,
    };
    *ret = (struct store_delivery_end){
        .attempt = {.at_ms = now_ms - outcome->took_ms,
                    .took_ms = outcome->took_ms,
                    .result = outbox_result_name(outcome->result),
                    .status = outcome->status,
                    .error = outcome->text,
                    .answer = outcome->answer},
        .state = states[next->verdict],
        .when_ms = next->when_ms,
    };
    if (next->verdict == ALERT_AGAIN) {
        int64_t from_ms = now_ms + channel_pause_ms(&delivery->channel);
        ret->channel_from_ms = next->channel_from_ms > from_ms ? next->channel_from_ms : from_ms;
        /* Its own next attempt is not later for it. */
        if (next->channel_from_ms == 0 && ret->channel_from_ms > next->when_ms)
            ret->channel_from_ms = next->when_ms;
    }
}

static void
log_attempt(const struct store_delivery *delivery, const struct net_outcome *outcome,
            enum store_delivery_state state)
{
    fz_log(state == STORE_DELIVERY_DELIVERED ? FZ_LOG_INFO : FZ_LOG_WARN, "delivery",
           "id=%lld channel=%lld project=%lld type=%s attempt=%u result=%s status=%d state=%s "
           "ms=%lld",
           (long long)delivery->id, (long long)delivery->channel.id,
           (long long)delivery->channel.project_id, outbox_kind_name(delivery->kind),
           delivery->n_tried + 1, outbox_result_name(outcome->result), outcome->status,
           store_delivery_state_name(state), (long long)outcome->took_ms);
}

/* `is_broken`: the event cannot be read, which is not the channel's fault. */
static enum fz_code
finish(struct outbox *outbox, const struct store_delivery *delivery,
       const struct net_outcome *outcome, bool is_broken, struct fz_error *err)
{
    FZ_CLEANUP(verdict_deinit) struct verdict verdict = {.outcome = outcome};
    int64_t now_ms = fz_time_now_ms();
    struct alert_attempt made = {.number = delivery->n_tried + 1,
                                 .is_mail = strcmp(delivery->channel.kind, "mail") == 0,
                                 .outcome = outcome,
                                 .now_ms = now_ms};
    struct store_delivery_end end;
    char why[400];
    fz_random(&made.random, sizeof(made.random));
    alert_next_attempt(&made, &verdict.next);
    if (is_broken)
        verdict.next = (struct alert_next){.verdict = ALERT_GIVE_UP};
    end_of(delivery, outcome, &verdict.next, now_ms, &end);
    if (verdict.next.verdict == ALERT_DISABLE) {
        snprintf(why, sizeof(why), "%s, after %u attempts: %s",
                 outcome->status == 410 ? "the receiver is gone" : "nothing was delivered",
                 made.number, outcome->text[0] ? outcome->text : "no success");
        end.disable = why;
    }
    enum fz_code code = raise_trouble(outbox, delivery, &verdict, err);
    if (code != FZ_OK)
        return code;
    end.raised = verdict.raises ? &verdict.trouble : NULL;
    code = store_delivery_finish(outbox->store, delivery, &end, err);
    if (code == FZ_OK)
        log_attempt(delivery, outcome, end.state);
    /* Another worker has it: this one took longer than its lease. */
    return code == FZ_E_CONFLICT ? FZ_OK : code;
}

enum fz_code
outbox_deliver(struct outbox *outbox, bool *ret_any, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(OUTBOX_ARENA);
    struct store_delivery delivery;
    struct alert_event event;
    struct net_outcome outcome;
    struct fz_error unreadable;
    enum fz_code code =
        store_delivery_claim(outbox->store, LEASE_MS, &arena, &delivery, ret_any, err);
    if (code != FZ_OK || !*ret_any)
        return code;
    bool is_broken = alert_event_read(fz_span_cstr(delivery.body ? delivery.body : ""),
                                      delivery.message, &arena, &event, &unreadable) != FZ_OK;
    if (is_broken) {
        outcome = (struct net_outcome){.result = NET_INVALID};
        snprintf(outcome.text, sizeof(outcome.text), "%.255s", unreadable.text);
    } else {
        attempt(&outbox->setup, &delivery.channel, &event, &outcome);
    }
    if (atomic_load(&outbox->is_stopping) && outcome.result == NET_FAILED)
        return store_delivery_release(outbox->store, &delivery, err);
    return finish(outbox, &delivery, &outcome, is_broken, err);
}
