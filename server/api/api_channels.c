/*
 * Channels of alerts: made, shown, changed, deleted, and their secrets.
 *
 * A secret is shown when it is made, and never again. Of a URL, whose path is a secret of most
 * services, only the host is shown.
 */
#include "server/api/api_channels.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/alert/schedule.h"
#include "server/alert/sign.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/query/query.h"

enum {
    NAME_BYTES = 100,
    PER_HOUR_MAX = 3600,
    DIGEST_MIN_S = 10,
    DIGEST_MAX_S = 24 * 3600,
    /* A digest and a test are not chosen. */
    EVENTS_ALL = (1u << STORE_EVENT_DIGEST) - 1
};

/* ---- out --------------------------------------------------------------------------------------- */

/* "https://hooks.slack.com/..." */
static const char *
shown_url(struct fz_arena *arena, const char *url)
{
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : strlen(url);
    return url[len] && url[len + 1] ? fz_arena_printf(arena, "%.*s/...", (int)len, url) : url;
}

static void
write_events(struct json_write *w, unsigned events)
{
    json_write_open(w, "events", '[');
    for (int kind = 0; kind < STORE_EVENT_DIGEST; kind++) {
        if (events & 1u << kind)
            json_write_text(w, NULL, outbox_kind_name((enum store_event_kind)kind));
    }
    json_write_close(w, ']');
}

static void
write_target(struct json_write *w, struct fz_arena *arena, const struct store_channel *channel)
{
    const char *lines = channel->target;
    if (strcmp(channel->kind, "mail") != 0) {
        json_write_text(w, "url", shown_url(arena, channel->target));
        return;
    }
    json_write_open(w, "to", '[');
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        json_write_span(w, NULL, fz_span_make(lines, len));
        lines += len + (lines[len] == '\n');
    }
    json_write_close(w, ']');
}

/* `secret`: NULL, or that which was made just now. */
static void
write_channel(struct json_write *w, struct fz_arena *arena, const struct store_channel *channel,
              const char *secret)
{
    json_write_u64(w, "id", (uint64_t)channel->id);
    json_write_text(w, "name", channel->name);
    json_write_text(w, "kind", channel->kind);
    write_target(w, arena, channel);
    json_write_text(w, "query", channel->filter);
    write_events(w, channel->events);
    json_write_u64(w, "per_hour", channel->per_hour);
    json_write_u64(w, "digest_s", channel->digest_s);
    json_write_bool(w, "enabled", channel->is_enabled);
    if (channel->why_disabled)
        json_write_text(w, "why_disabled", channel->why_disabled);
    json_write_time(w, "created", channel->created_ms);
    json_write_time(w, "delivered", channel->delivered_ms);
    json_write_time(w, "failing_since", channel->failing_ms);
    if (secret)
        json_write_text(w, "secret", secret);
}

enum fz_code
api_channel_list(struct api_call *call, struct fz_error *err)
{
    struct store_channel *list = NULL;
    size_t n = 0;
    enum fz_code code =
        store_channel_list(call->store, call->project_id, call->arena, &list, &n, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "channels", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(&w, NULL, '{');
        write_channel(&w, call->arena, &list[i], NULL);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

/* ---- in ---------------------------------------------------------------------------------------- */

static enum fz_code
wrong(struct api_call *call, const char *member, const char *what, struct fz_error *err)
{
    call->detail = api_path_detail(call, member, -1);
    return fz_fail(err, FZ_E_MALFORMED, "%s: %s", member, what);
}

static enum fz_code
read_name(struct api_call *call, const json_t *root, struct store_channel *ret,
          struct fz_error *err)
{
    const char *name = json_string_value(json_object_get(root, "name"));
    if (!name || !*name || strlen(name) > NAME_BYTES || strpbrk(name, "\r\n"))
        return wrong(call, "name", "not a text of 1 to 100 bytes on one line", err);
    ret->name = fz_arena_text(call->arena, fz_span_cstr(name));
    return ret->name ? FZ_OK : fz_arena_fail(call->arena, err);
}

static enum fz_code
read_to(struct api_call *call, const json_t *list, struct store_channel *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n == 0 || n > NET_MAIL_TO_MAX)
        return wrong(call, "to", "not an array of 1 to 50 addresses", err);
    for (size_t i = 0; i < n; i++) {
        const char *address = json_string_value(json_array_get(list, i));
        /* Storage keeps one a line; whether it is an address is checked with the channel. */
        if (!address || strpbrk(address, "\r\n"))
            return wrong(call, "to", "an entry is not an address", err);
        fz_buffer_text(&text, i ? "\n" : "");
        fz_buffer_text(&text, address);
    }
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        ret->target = fz_arena_text(call->arena, fz_buffer_span(&text));
    return code != FZ_OK ? code : ret->target ? FZ_OK : fz_arena_fail(call->arena, err);
}

/* The URL or the addresses, as the guard that will send to them reads them. */
static enum fz_code
read_target(struct api_call *call, const json_t *root, struct store_channel *ret,
            struct fz_error *err)
{
    bool is_mail = strcmp(ret->kind, "mail") == 0;
    const char *member = is_mail ? "to" : "url", *other = is_mail ? "url" : "to";
    const char *url = json_string_value(json_object_get(root, "url"));
    struct alert_channel channel;
    enum fz_code code = FZ_OK;
    if (json_object_get(root, other))
        return wrong(call, other,
                     is_mail ? "a channel of mail has no URL; send the addresses as to"
                             : "only a channel of mail has addresses; send the url",
                     err);
    if (!is_mail && !url)
        return wrong(call, "url", "not a text", err);
    if (!is_mail)
        ret->target = fz_arena_text(call->arena, fz_span_cstr(url));
    if (!is_mail && !ret->target)
        return fz_arena_fail(call->arena, err);
    if (is_mail)
        code = read_to(call, json_object_get(root, "to"), ret, err);
    if (code == FZ_OK)
        code = outbox_channel(ret, 0, call->arena, &channel, err);
    if (code == FZ_OK)
        code = alert_channel_check(&channel, &call->api->config.alerts->rules.guard, err);
    if (code == FZ_E_MALFORMED || code == FZ_E_DENIED) {
        if (!call->detail)
            call->detail = api_path_detail(call, member, -1);
        /* DENIED would mean the token. */
        err->code = FZ_E_MALFORMED;
        return FZ_E_MALFORMED;
    }
    return code;
}

static enum fz_code
read_query(struct api_call *call, const json_t *root, struct store_channel *ret,
           struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    const char *text = json_string_value(json_object_get(root, "query"));
    struct store_query query;
    if (!text)
        return wrong(call, "query", "not a text", err);
    enum fz_code code = query_parse(fz_span_cstr(text), fz_time_now_ms(), &arena, &query, err);
    if (code == FZ_E_MALFORMED) {
        /* Where in the query: its bytes are those of the value, not of the body. */
        call->detail = api_path_detail(call, "query", err->offset);
        return code;
    }
    if (code != FZ_OK)
        return code;
    ret->filter = fz_arena_text(call->arena, fz_span_cstr(text));
    return ret->filter ? FZ_OK : fz_arena_fail(call->arena, err);
}

static enum fz_code
read_events(struct api_call *call, const json_t *list, struct store_channel *ret,
            struct fz_error *err)
{
    ret->events = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        enum alert_kind kind;
        if (!name || !alert_kind_parse(fz_span_cstr(name), &kind) || kind >= ALERT_DIGEST)
            return wrong(call, "events",
                         "an entry is not one of issue.created, issue.regressed, issue.urgent, "
                         "issue.unmuted, symbols.missing, release.unhealthy, ingest.limited, "
                         "channel.failing",
                         err);
        ret->events |= 1u << kind;
    }
    return ret->events ? FZ_OK
                       : wrong(call, "events", "not an array with at least one type of event", err);
}

static enum fz_code
read_count(struct api_call *call, const json_t *root, const char *member, const unsigned range[2],
           unsigned *ret, struct fz_error *err)
{
    const json_t *value = json_object_get(root, member);
    char what[80];
    if (!value)
        return FZ_OK;
    snprintf(what, sizeof(what), "not a number from %u to %u", range[0], range[1]);
    if (!json_is_integer(value) || json_integer_value(value) < range[0] ||
        json_integer_value(value) > range[1])
        return wrong(call, member, what, err);
    *ret = (unsigned)json_integer_value(value);
    return FZ_OK;
}

/* Members that are there; the others stay as they are. */
static enum fz_code
read_members(struct api_call *call, json_t *root, struct store_channel *ret, struct fz_error *err)
{
    static const char known[] = "name, kind, url, to, query, events, per_hour, digest_s, enabled";
    static const unsigned per_hour[] = {0, PER_HOUR_MAX}, digest_s[] = {DIGEST_MIN_S, DIGEST_MAX_S};
    const json_t *enabled = json_object_get(root, "enabled");
    json_t *value;
    const char *key;
    enum fz_code code = FZ_OK;
    if (!json_is_object(root))
        return fz_fail(err, FZ_E_MALFORMED, "the body is not an object");
    json_object_foreach(root, key, value)
    {
        /* A misspelt filter would otherwise let everything pass. */
        if (!api_is_choice(known, key))
            return fz_fail(err, FZ_E_MALFORMED, "unknown member '%.40s'; known: %s", key, known);
    }
    if (json_object_get(root, "name"))
        code = read_name(call, root, ret, err);
    if (code == FZ_OK && (json_object_get(root, "url") || json_object_get(root, "to")))
        code = read_target(call, root, ret, err);
    if (code == FZ_OK && json_object_get(root, "query"))
        code = read_query(call, root, ret, err);
    if (code == FZ_OK && json_object_get(root, "events"))
        code = read_events(call, json_object_get(root, "events"), ret, err);
    if (code == FZ_OK)
        code = read_count(call, root, "per_hour", per_hour, &ret->per_hour, err);
    if (code == FZ_OK)
        code = read_count(call, root, "digest_s", digest_s, &ret->digest_s, err);
    if (code == FZ_OK && enabled) {
        if (!json_is_boolean(enabled))
            return wrong(call, "enabled", "neither true nor false", err);
        ret->is_enabled = json_is_true(enabled);
    }
    return code;
}

static enum fz_code
read_body(struct api_call *call, json_t **ret, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    const struct json_scan_limits scan = {.depth = limits->json_depth,
                                          .output_bytes = 2 * limits->json_bytes};
    return json_scan_load(http_body(call->request), &scan, NULL, ret, err);
}

enum fz_code
api_channel_post(struct api_call *call, struct fz_error *err)
{
    json_auto_t *root = NULL;
    const struct alert_storm_rules storm = alert_storm_default();
    struct store_channel channel = {.project_id = call->project_id,
                                    .filter = "",
                                    .target = "",
                                    .events = EVENTS_ALL,
                                    .per_hour = storm.per_hour,
                                    .digest_s = (unsigned)(storm.digest_every_ms / 1000),
                                    .is_enabled = true};
    enum alert_channel_kind kind;
    char secret[ALERT_SECRET_TEXT];
    enum fz_code code = read_body(call, &root, err);
    if (code != FZ_OK)
        return code;
    const char *name = json_string_value(json_object_get(root, "kind"));
    if (!name || !alert_channel_kind_parse(fz_span_cstr(name), &kind))
        return wrong(call, "kind", "not one of webhook, slack, mattermost, discord, teams, mail",
                     err);
    channel.kind = alert_channel_kind_name(kind);
    channel.name = channel.kind;
    if (kind == ALERT_CHANNEL_WEBHOOK) {
        alert_secret_make(secret);
        channel.secret = secret;
    }
    code = read_members(call, root, &channel, err);
    if (code == FZ_OK && !*channel.target)
        return wrong(call, kind == ALERT_CHANNEL_MAIL ? "to" : "url", "it is missing", err);
    if (code == FZ_OK && !channel.is_enabled)
        return wrong(call, "enabled", "a new channel is always enabled; change it with PATCH", err);
    if (code == FZ_OK)
        code = store_channel_add(call->store, &channel, &channel.id, err);
    if (code == FZ_OK)
        code = store_channel_get(call->store, call->project_id, channel.id, call->arena, &channel,
                                 err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    write_channel(&w, call->arena, &channel, kind == ALERT_CHANNEL_WEBHOOK ? secret : NULL);
    return api_answer(call, 201, &w, '}', err);
}

/* ---- one channel ------------------------------------------------------------------------------- */

int64_t
api_channel_number(const struct http_request *request, const char *name)
{
    const char *text = http_param(request, name);
    int64_t number;
    return text && fz_text_i64(fz_span_cstr(text), &number) && number > 0 ? number : 0;
}

enum fz_code
api_channel_find(struct api_call *call, struct store_channel *ret, struct fz_error *err)
{
    return store_channel_get(call->store, call->project_id, api_channel_number(call->request, "id"),
                             call->arena, ret, err);
}

enum fz_code
api_channel_patch(struct api_call *call, struct fz_error *err)
{
    json_auto_t *root = NULL;
    struct store_channel channel;
    enum fz_code code = read_body(call, &root, err);
    if (code == FZ_OK)
        code = api_channel_find(call, &channel, err);
    if (code == FZ_OK && json_object_get(root, "kind"))
        return wrong(call, "kind", "it cannot be changed; make a new channel", err);
    if (code == FZ_OK)
        code = read_members(call, root, &channel, err);
    if (code == FZ_OK)
        code = store_channel_change(call->store, &channel, json_object_get(root, "enabled") != NULL,
                                    err);
    if (code == FZ_OK)
        code = api_channel_find(call, &channel, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    write_channel(&w, call->arena, &channel, NULL);
    return api_answer(call, 200, &w, '}', err);
}

enum fz_code
api_channel_delete(struct api_call *call, struct fz_error *err)
{
    enum fz_code code = store_channel_delete(call->store, call->project_id,
                                             api_channel_number(call->request, "id"), err);
    if (code == FZ_OK)
        http_respond(call->request, 204, "text/plain", (struct fz_span){0});
    return code;
}

enum fz_code
api_channel_rotate(struct api_call *call, struct fz_error *err)
{
    struct store_channel channel;
    char secret[ALERT_SECRET_TEXT];
    int64_t until_ms = 0;
    enum fz_code code = api_channel_find(call, &channel, err);
    if (code == FZ_OK && !channel.secret)
        return fz_fail(err, FZ_E_CONFLICT, "a channel of kind %s has no secret", channel.kind);
    alert_secret_make(secret);
    if (code == FZ_OK)
        code =
            store_channel_rotate(call->store, call->project_id, channel.id, secret, &until_ms, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "secret", secret);
    json_write_time(&w, "old_until", until_ms);
    return api_answer(call, 200, &w, '}', err);
}
