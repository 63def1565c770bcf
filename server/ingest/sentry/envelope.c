/*
 * Sentry envelopes: the event item is the report, the other items belong to it.
 *
 *   event, feedback, user_report      the report; the later ones only if there is none before
 *   attachment                        kept in the body; a minidump or an Apple crash report is read
 *                                     too, for what the event lacks
 *   further feedback, user_report     into `extra`
 *   session, sessions, client_report  are not of this report: whoever took the envelope counts them
 *
 * Framing: items.h.
 */
#include <string.h>

#include "base/text.h"
#include "server/ingest/common/format.h"
#include "server/ingest/sentry/intake.h"
#include "server/ingest/sentry/sentry.h"

enum { ATTACHMENTS_MAX = 256 };

/* What an envelope holds. */
struct contents {
    const struct sentry_items *items;
    struct sentry_item event; /* event.header.len 0: none */
    struct sentry_item dump;  /* an attachment that is a report by itself, the same */
    size_t n_attachments;
};

static bool
is_type(const struct sentry_item *item, const char *type)
{
    return fz_span_is(item->type, type);
}

/* A minidump or an Apple crash report: bytes that another format takes. */
static const struct ingest_format *
format_of_dump(const struct ingest_context *in, const struct sentry_item *item)
{
    struct fz_span kind = sentry_header_text(item->header, "attachment_type");
    if (!fz_span_is(kind, "event.minidump") && !fz_span_is(kind, "event.applecrashreport"))
        return NULL;
    /* Only what holds no other report: an envelope in an envelope would nest without end. */
    static const char *const names[] = {"minidump", "crash", "ips", "plcrash", "text", NULL};
    const struct ingest_format *format = ingest_format_of(in, item->payload);
    return format && ingest_is_one_of(fz_span_cstr(format->name), names) ? format : NULL;
}

/* Which item is the report: the highest, the first of them. */
static int
rank_of(const struct sentry_item *item)
{
    return is_type(item, "event")         ? 3
           : is_type(item, "feedback")    ? 2
           : is_type(item, "user_report") ? 1
                                          : 0;
}

bool
sentry_is_report(const struct sentry_item *item)
{
    struct fz_span kind = sentry_header_text(item->header, "attachment_type");
    return rank_of(item) > 0 || fz_span_is(kind, "event.minidump") ||
           fz_span_is(kind, "event.applecrashreport");
}

static struct contents
find_contents(const struct ingest_context *in, const struct sentry_items *items)
{
    struct contents found = {.items = items};
    for (size_t i = 0; i < items->n; i++) {
        const struct sentry_item *item = &items->list[i];
        if (rank_of(item) > rank_of(&found.event))
            /* The first of the highest rank: further ones are kept as words of the user. */
            found.event = *item;
        else if (is_type(item, "attachment")) {
            found.n_attachments++;
            /* One dump is read: a second one would be of another process. */
            if (found.dump.header.len == 0 && format_of_dump(in, item))
                found.dump = *item;
        }
    }
    /* What somebody wrote beside a crash report belongs to that. */
    if (found.dump.header.len && rank_of(&found.event) == 1)
        found.event = (struct sentry_item){.offset = 0};
    return found;
}

/* MALFORMED in the event: with the offset in the envelope. */
static enum fz_code
in_envelope(enum fz_code code, const struct sentry_item *event, struct fz_error *err)
{
    if (code == FZ_OK || !err)
        return code;
    if (err->offset >= 0)
        /* The sender looks for the fault in the envelope that it sent. */
        err->offset += (int64_t)event->offset;
    return fz_wrap(err, "sentry envelope: the event at byte %zu", event->offset);
}

static enum fz_code
need_report(const struct contents *found, struct fz_error *err)
{
    if (found->event.header.len || found->dump.header.len)
        return FZ_OK;
    return fz_fail(err, FZ_E_UNSUPPORTED, "sentry envelope: no event and no crash report in it");
}

enum fz_code
sentry_envelope_check(const struct ingest_context *in, const struct sentry_items *items,
                      char ret_id[FZ_UUID_TEXT], struct fz_error *err)
{
    const struct contents found = find_contents(in, items);
    enum fz_code code = need_report(&found, err);
    if (code != FZ_OK)
        return code;
    if (found.event.header.len)
        code = in_envelope(sentry_check_event(found.event.payload, in->limits, ret_id, err),
                           &found.event, err);
    /* A dump is a report by itself, so a broken event beside it costs only the event. */
    if (code != FZ_OK && !found.dump.header.len)
        return code;
    /* A user report names the id of the crash that it is about; it has no id of its own. */
    if (rank_of(&found.event) == 1)
        ret_id[0] = '\0';
    else
        (void)ingest_set_id(sentry_header_text(items->header, "event_id"), ret_id);
    return FZ_OK;
}

static enum fz_code
envelope_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
               struct fz_error *err)
{
    struct sentry_items items;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(in->limits->report_memory);
    enum fz_code code = sentry_items_read(body, &arena, &items, err);
    return code != FZ_OK ? code : sentry_envelope_check(in, &items, ret_id, err);
}

static void
read_attachment(struct ingest_builder *b, const struct sentry_item *item)
{
    struct report *r = b->report;
    json_auto_t *header = ingest_json_value(b, item->header);
    static const char where[] = "attachment";
    /* More stay in the raw body; the limit is noted before. */
    if (r->n_attachments == ATTACHMENTS_MAX)
        return;
    r->attachments[r->n_attachments++] = (struct report_attachment){
        .name = ingest_json_text(b, header, where, "filename"),
        .type = ingest_json_text(b, header, where, "content_type"),
        .kind = ingest_json_text(b, header, where, "attachment_type"),
        .offset = item->offset,
        .size = item->payload.len,
    };
}

/* What people wrote, each kind in a list. */
static void
add_words(struct ingest_builder *b, const struct sentry_item *item, json_t *words)
{
    char key[32];
    json_auto_t *value = ingest_json_value(b, item->payload);
    if (!value || item->type.len >= sizeof(key)) {
        ingest_note(b, "%.*s item at byte %zu: not JSON, left out",
                    (int)(item->type.len < 32 ? item->type.len : 32), (const char *)item->type.data,
                    item->offset);
        return;
    }
    memcpy(key, item->type.data, item->type.len);
    key[item->type.len] = '\0';
    json_t *list = json_object_get(words, key);
    /* An envelope may have several reports of the user about one crash. */
    if (!list && json_object_set_new(words, key, list = json_array()) != 0)
        b->failed = true;
    else if (json_array_append(list, value) != 0)
        b->failed = true;
}

static void
read_item(struct ingest_builder *b, const struct contents *found, const struct sentry_item *item,
          json_t *words)
{
    if (item->offset == found->event.offset && found->event.header.len)
        return;
    if (is_type(item, "attachment")) {
        read_attachment(b, item);
        return;
    }
    if (is_type(item, "user_report") || is_type(item, "feedback")) {
        add_words(b, item, words);
        return;
    }
    /* Sessions and client reports are counted when the envelope comes in. */
    if (sentry_is_counted(item))
        return;
    const char *type = ingest_clean_text(b, item->type);
    ingest_note(b, "%.40s item of %zu bytes at byte %zu: left out", type ? type : "nameless",
                item->payload.len, item->offset);
}

static void
read_items(struct ingest_builder *b, const struct contents *found)
{
    static const char *const known[] = {"event_id", "dsn", NULL};
    size_t n = ingest_limit(b, "attachments", found->n_attachments, ATTACHMENTS_MAX);
    b->report->attachments = ingest_alloc(b, n, sizeof(*b->report->attachments));
    json_auto_t *words = json_object();
    json_auto_t *header = ingest_json_value(b, found->items->header);
    for (size_t i = 0; i < found->items->n && !b->failed; i++)
        read_item(b, found, &found->items->list[i], words);
    b->failed = b->failed || !words;
    ingest_add_extra(b, NULL, words, NULL);
    ingest_add_extra(b, "envelope", header, known);
    const char *id = ingest_json_text(b, header, "envelope", "event_id");
    if (id)
        /* The header's id wins over that of the event, as with Relay. */
        b->report->id = id;
}

static bool
has_frames(const struct report *r)
{
    for (size_t i = 0; i < r->n_threads; i++) {
        if (r->threads[i].n_frames)
            return true;
    }
    return r->n_exception_frames > 0;
}

static void
fill(const char **to, const char *from)
{
    if (!*to)
        *to = from;
}

/* A crash report that came as a file: its stacks where the event has none, and what it knows of the
 * app and the system where the event is silent. */
static void
join(struct report *r, const struct report *dump)
{
    if (!has_frames(r)) {
        /* All of the crash or nothing: threads of one and images of the other do not fit. */
        r->threads = dump->threads;
        r->cpu = dump->cpu;
        r->n_threads = dump->n_threads;
        r->exception_frames = dump->exception_frames;
        r->n_exception_frames = dump->n_exception_frames;
        r->n_exception_frames_cut = dump->n_exception_frames_cut;
        r->images = dump->images;
        r->n_images = dump->n_images;
        r->memory = dump->memory;
        r->n_memory = dump->n_memory;
        /* The event has the exception's words, which a dump of a signal lacks. */
        struct report_crash event = r->crash;
        r->crash = dump->crash;
        fill(&r->crash.exception, event.exception);
        fill(&r->crash.reason, event.reason);
        r->kind = dump->kind;
        r->process = dump->process;
        if (dump->arch)
            r->arch = dump->arch;
    }
    fill(&r->app_id, dump->app_id);
    fill(&r->app_name, dump->app_name);
    fill(&r->app_version, dump->app_version);
    fill(&r->app_build, dump->app_build);
    fill(&r->os_name, dump->os_name);
    fill(&r->os_version, dump->os_version);
    fill(&r->os_build, dump->os_build);
    fill(&r->device_model, dump->device_model);
    if (!r->timestamp_ms)
        r->timestamp_ms = dump->timestamp_ms;
}

static enum fz_code
read_dump(const struct ingest_context *in, struct ingest_builder *b, const struct sentry_item *item,
          struct fz_error *err)
{
    const struct ingest_format *format = format_of_dump(in, item);
    struct report dump = {.crash.thread = -1};
    if (!format)
        return FZ_OK;
    struct ingest_item *items;
    size_t n, n_cut;
    enum fz_code code = ingest_split_body(in, item->payload, b->arena, &items, &n, &n_cut, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        /* Apple's crash text may be several texts, one after the other. */
        if (items[i].code != FZ_OK)
            continue;
        if (n > 1)
            ingest_note(b, "%s: the first of %zu reports is shown", format->name, n + n_cut);
        code = ingest_parse_body(in, items[i].body, b->arena, &dump, err);
        break;
    }
    if (code != FZ_OK)
        return in_envelope(code, item, err);
    for (size_t i = 0; i < dump.n_notes; i++)
        ingest_note(b, "%s: %s", format->name, dump.notes[i]);
    if (dump.extra_json) {
        json_auto_t *extra = ingest_json_value(b, fz_span_cstr(dump.extra_json));
        ingest_add_extra(b, format->name, extra, NULL);
    }
    join(b->report, &dump);
    return b->failed ? fz_arena_fail(b->arena, err) : FZ_OK;
}

/* Words about a crash that was sent before, by themselves: {"event_id","name","email","comments"}.
 */
static void
read_words(struct ingest_builder *b, const struct sentry_item *item)
{
    static const char *const not_user[] = {"event_id", "comments", NULL};
    struct report *r = b->report;
    json_auto_t *value = ingest_json_value(b, item->payload);
    json_auto_t *user = json_copy(value);
    for (size_t i = 0; not_user[i]; i++)
        (void)json_object_del(user, not_user[i]); /* absent is fine */
    r->kind = "message";
    /* Its event_id is that of the crash that it is about: as its own, both would be one report. */
    r->id = NULL;
    r->crash.reason = ingest_json_text(b, value, "user_report", "comments");
    r->user_json = ingest_json_dump(b, user, NULL);
    ingest_add_extra(b, "user_report", value, NULL);
}

static enum fz_code
envelope_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
               struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    struct sentry_items items;
    struct fz_error own = {.text = ""};
    char id[FZ_UUID_TEXT];
    err = err ? err : &own; /* what is wrong with one item is a note in the report */
    enum fz_code code = sentry_items_read(body, arena, &items, err);
    if (code != FZ_OK)
        return code;
    const struct contents found = find_contents(in, &items);
    code = need_report(&found, err);
    if (code != FZ_OK)
        return code;
    if (rank_of(&found.event) == 1)
        code = in_envelope(sentry_check_event(found.event.payload, in->limits, id, err),
                           &found.event, err);
    else if (found.event.header.len)
        code = in_envelope(sentry_read_event(&b, found.event.payload, err), &found.event, err);
    if (code != FZ_OK && (!found.dump.header.len || b.failed))
        return code;
    if (code != FZ_OK)
        report_note(ret, arena, "%s", err->text);
    if (found.event.header.len && is_type(&found.event, "feedback"))
        /* Somebody wrote to the developers; nothing crashed. */
        ret->kind = "message";
    code = FZ_OK;
    read_items(&b, &found);
    if (rank_of(&found.event) == 1)
        read_words(&b, &found.event);
    if (found.dump.header.len) {
        enum fz_code dump = read_dump(in, &b, &found.dump, err);
        /* The dump's fault; others (memory, limits) are tried again by the job queue. */
        if (dump == FZ_E_MALFORMED || dump == FZ_E_UNSUPPORTED) {
            report_note(ret, arena, "%s", err->text);
            code = found.event.header.len ? FZ_OK : dump;
        } else {
            code = dump;
        }
    }
    if (code != FZ_OK)
        return code;
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_sentry_envelope = {
    .name = "sentry",
    .detect = sentry_items_detect,
    .check = envelope_check,
    .parse = envelope_parse,
};
