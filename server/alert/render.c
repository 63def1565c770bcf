#include "server/alert/render.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/alert/sign.h"

static const char *const channel_names[ALERT_CHANNEL_N_KINDS] = {
    [ALERT_CHANNEL_WEBHOOK] = "webhook",       [ALERT_CHANNEL_SLACK] = "slack",
    [ALERT_CHANNEL_MATTERMOST] = "mattermost", [ALERT_CHANNEL_DISCORD] = "discord",
    [ALERT_CHANNEL_TEAMS] = "teams",           [ALERT_CHANNEL_MAIL] = "mail",
};

const char *
alert_channel_kind_name(enum alert_channel_kind kind)
{
    return channel_names[kind];
}

bool
alert_channel_kind_parse(struct fz_span name, enum alert_channel_kind *ret)
{
    for (size_t i = 0; i < ALERT_CHANNEL_N_KINDS; i++) {
        if (fz_span_is(name, channel_names[i])) {
            *ret = (enum alert_channel_kind)i;
            return true;
        }
    }
    return false;
}

static enum fz_code
check_mail(const struct alert_channel *channel, struct fz_error *err)
{
    if (channel->n_to == 0 || channel->n_to > NET_MAIL_TO_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a mail channel has 1 to %d addresses",
                       (int)NET_MAIL_TO_MAX);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < channel->n_to && code == FZ_OK; i++)
        code = net_mail_check_address(channel->to[i], err);
    return code;
}

enum fz_code
alert_channel_check(const struct alert_channel *channel, const struct net_guard *guard,
                    struct fz_error *err)
{
    uint8_t secret[ALERT_SECRET_MAX];
    size_t len;
    if (channel->kind == ALERT_CHANNEL_MAIL)
        return check_mail(channel, err);
    if (!channel->url)
        return fz_fail(err, FZ_E_MALFORMED, "a channel of this kind has a URL");
    bool is_signed = channel->kind == ALERT_CHANNEL_WEBHOOK;
    if (is_signed && (channel->n_secrets == 0 || channel->n_secrets > ALERT_SECRETS_MAX))
        return fz_fail(err, FZ_E_MALFORMED, "a webhook has 1 to %d secrets",
                       (int)ALERT_SECRETS_MAX);
    enum fz_code code = net_request_check_url(channel->url, guard, err);
    for (size_t i = 0; is_signed && i < channel->n_secrets && code == FZ_OK; i++)
        code = alert_secret_parse(channel->secrets[i], secret, &len, err);
    return code;
}

/* ---- mail -------------------------------------------------------------------------------- */

void
alert_render_mail(const struct alert_doc *doc, const struct alert_event *event,
                  struct fz_buffer *out)
{
    fz_buffer_printf(out, "%s\n", doc->summary);
    fz_buffer_text(out, doc->n_fields ? "\n" : "");
    for (size_t i = 0; i < doc->n_fields; i++)
        fz_buffer_printf(out, "%s: %s\n", doc->fields[i].name, doc->fields[i].value);
    fz_buffer_text(out, doc->n_lines ? "\n" : "");
    for (size_t i = 0; i < doc->n_lines; i++)
        fz_buffer_printf(out, "    %s\n", doc->lines[i]);
    if (doc->n_more)
        fz_buffer_printf(out, "    and %llu more\n", (unsigned long long)doc->n_more);
    if (doc->advice)
        fz_buffer_printf(out, "\n%s\n", doc->advice);
    fz_buffer_text(out, doc->n_commands ? "\n" : "");
    for (size_t i = 0; i < doc->n_commands; i++)
        fz_buffer_printf(out, "    %s\n", doc->commands[i]);
    if (doc->link)
        fz_buffer_printf(out, "\n%s\n", doc->link);
    /* "-- " begins a signature, which readers of mail show apart. */
    fz_buffer_printf(out, "\n-- \nframezero, %s\n", alert_kind_name(event->kind));
}

/* ---- messages ---------------------------------------------------------------------------- */

static void
add_header(struct net_request *request, const char *name, const char *value)
{
    request->headers[request->n_headers++] = (struct net_header){.name = name, .value = value};
}

static enum fz_code
sign(struct net_request *request, const struct alert_event *event,
     const struct alert_channel *channel, int64_t now_ms, struct fz_arena *arena,
     struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer signature = fz_buffer_make(0);
    struct alert_signed what = {.id = event->id, .time_s = now_ms / 1000, .body = request->body};
    if (channel->n_secrets == 0 || channel->n_secrets > ALERT_SECRETS_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "a webhook has 1 to %d secrets",
                       (int)ALERT_SECRETS_MAX);
    enum fz_code code = alert_sign(&what, channel->secrets, channel->n_secrets, &signature, err);
    if (code != FZ_OK)
        return code;
    const char *time = fz_arena_printf(arena, "%lld", (long long)what.time_s);
    const char *value = fz_arena_text(arena, fz_buffer_span(&signature));
    if (!time || !value)
        return fz_arena_fail(arena, err);
    add_header(request, "webhook-id", event->id);
    add_header(request, "webhook-timestamp", time);
    add_header(request, "webhook-signature", value);
    return FZ_OK;
}

/* Only characters that ids of mails have; NULL for NULL. */
static const char *
mail_id(char *text)
{
    for (char *c = text; c && *c; c++)
        *c = (unsigned char)*c >= 0x80 || !isalnum((unsigned char)*c)
                 ? '-'
                 : (char)tolower((unsigned char)*c);
    return text;
}

/* Mails about one issue are one thread. NULL for events without an issue. */
static const char *
thread_of(const struct alert_event *event, struct fz_arena *arena)
{
    if (!event->issue.number)
        return NULL;
    return mail_id(fz_arena_printf(arena, "issue-%llu-%.100s",
                                   (unsigned long long)event->issue.number,
                                   event->project ? event->project : ""));
}

static enum fz_code
render_mail(const struct alert_event *event, const struct alert_channel *channel,
            const struct alert_sender *sender, const struct alert_doc *doc, struct fz_arena *arena,
            struct net_mail *ret)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    alert_render_mail(doc, event, &text);
    *ret = (struct net_mail){
        .from = sender->from ? sender->from : "",
        .to = channel->to,
        .n_to = channel->n_to,
        .subject = doc->headline,
        .text = text.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&text)),
        .id = event->id,
        .thread = thread_of(event, arena),
        .list = mail_id(fz_arena_printf(
            arena, "framezero-%.100s", event->project && *event->project ? event->project : "all")),
        .time_ms = sender->now_ms,
    };
    return ret->text ? FZ_OK : FZ_E_NO_MEMORY;
}

static enum fz_code
render_body(const struct alert_event *event, const struct alert_channel *channel,
            const struct alert_sender *sender, const struct alert_doc *doc, struct fz_buffer *out,
            struct fz_error *err)
{
    switch (channel->kind) {
    case ALERT_CHANNEL_WEBHOOK:
        return alert_event_write(event, sender->server ? sender->server : "", out, err);
    case ALERT_CHANNEL_SLACK:
        alert_render_slack(doc, out);
        break;
    case ALERT_CHANNEL_MATTERMOST:
        alert_render_mattermost(doc, out);
        break;
    case ALERT_CHANNEL_DISCORD:
        alert_render_discord(doc, event->time_ms, out);
        break;
    case ALERT_CHANNEL_TEAMS:
        alert_render_teams(doc, out);
        break;
    case ALERT_CHANNEL_MAIL:
    case ALERT_CHANNEL_N_KINDS:
    default:
        return fz_fail(err, FZ_E_INTERNAL, "this channel has no body");
    }
    return fz_buffer_done(out, err);
}

enum fz_code
alert_render(const struct alert_event *event, const struct alert_channel *channel,
             const struct alert_sender *sender, struct fz_arena *arena, struct alert_message *ret,
             struct fz_error *err)
{
    struct alert_message message = {.is_mail = channel->kind == ALERT_CHANNEL_MAIL};
    struct alert_doc doc;
    enum fz_code code = alert_doc_make(event, sender->server, arena, &doc, err);
    if (code != FZ_OK)
        return code;
    if (message.is_mail) {
        if (render_mail(event, channel, sender, &doc, arena, &message.mail) != FZ_OK)
            return fz_arena_fail(arena, err);
        *ret = message;
        return FZ_OK;
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    code = render_body(event, channel, sender, &doc, &body, err);
    if (code != FZ_OK)
        return code;
    const char *copy = fz_arena_text(arena, fz_buffer_span(&body));
    if (!copy)
        return fz_arena_fail(arena, err);
    message.request =
        (struct net_request){.url = channel->url, .body = fz_span_make(copy, body.len)};
    add_header(&message.request, "Content-Type", "application/json");
    if (channel->kind == ALERT_CHANNEL_WEBHOOK)
        code = sign(&message.request, event, channel, sender->now_ms, arena, err);
    if (code == FZ_OK)
        *ret = message;
    return code;
}

void
alert_send(const struct alert_message *message, const struct net_mail_server *server,
           const struct net_rules *rules, struct net_outcome *ret)
{
    if (!message->is_mail) {
        net_request_send(&message->request, rules, ret);
    } else if (server && server->url && *server->url) {
        net_mail_send(&message->mail, server, rules, ret);
    } else {
        *ret = (struct net_outcome){.result = NET_FAILED};
        snprintf(ret->text, sizeof(ret->text),
                 "no mail server is configured (settings smtp-url and mail-from)");
    }
}
