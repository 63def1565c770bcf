/* The table of formats, and the functions that others call with it. */
#include "server/ingest/ingest.h"

#include <stdio.h>
#include <string.h>

#include "server/ingest/common/format.h"
#include "server/ingest/sentry/intake.h"

enum { HEAD_BYTES = 64 * 1024 };

/* A format comes after all formats whose bytes could be taken for its own. */
/* clang-format off */
static const struct ingest_format *const formats[] = {
    &ingest_plcrash, /* binary */
    &ingest_minidump,
    &ingest_multipart,
    &ingest_quincy, /* XML */
    &ingest_ips,
    &ingest_sentry_envelope,
    &ingest_stack_array, /* texts in JSON */
    &ingest_array, /* JSON */
    &ingest_kscrash,
    &ingest_sentry_event,
    &ingest_bugsnag,
    &ingest_metrickit,
    &ingest_native,
    &ingest_crash_text, /* text */
    &ingest_stack_text,
    &ingest_utf16, /* any of the texts */
    NULL,
};
/* clang-format on */

static struct ingest_context
context_of(const struct limits *limits)
{
    return (struct ingest_context){.limits = limits, .formats = formats};
}

const char *
ingest_detect(struct fz_span body)
{
    const struct ingest_context in = {.formats = formats};
    /* Callers ask before they know what the body is: its size must not matter. */
    if (body.len > HEAD_BYTES)
        body.len = HEAD_BYTES;
    const struct ingest_format *format = ingest_format_of(&in, body);
    if (format && format->needs_inside)
        format = format->inside(body, &in, NULL);
    return format ? format->name : NULL;
}

enum fz_code
ingest_split(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
             struct ingest_item **ret, size_t *ret_n, size_t *ret_n_cut, struct fz_error *err)
{
    const struct ingest_context in = context_of(limits);
    return ingest_split_body(&in, body, arena, ret, ret_n, ret_n_cut, err);
}

enum fz_code
ingest_parse(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
             struct report *ret, struct fz_error *err)
{
    return ingest_parse_as(body, NULL, limits, arena, ret, err);
}

enum fz_code
ingest_parse_as(struct fz_span body, const char *reader, const struct limits *limits,
                struct fz_arena *arena, struct report *ret, struct fz_error *err)
{
    struct ingest_context in = context_of(limits);
    in.reader = reader;
    return ingest_parse_body(&in, body, arena, ret, err);
}

/* ---- taking bodies in ---------------------------------------------------------------------- */

/* Whether there is a report is decided by the headers of the items, before it is checked: a report
 * that is not valid must not hide what is counted. */
static enum fz_code
intake_envelope(const struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
                struct ingest_intake *ret, struct fz_error *err)
{
    struct ingest_counted *counted = fz_arena_alloc(arena, sizeof(*counted));
    struct sentry_items *items = fz_arena_alloc(arena, sizeof(*items));
    struct ingest_item *item = fz_arena_alloc(arena, sizeof(*item));
    struct fz_uuid id;
    if (!counted || !items || !item)
        return fz_arena_fail(arena, err);
    enum fz_code code = sentry_items_read(body, arena, items, err);
    if (code != FZ_OK)
        return code;
    if (fz_uuid_parse(sentry_header_text(items->header, "event_id"), &id))
        fz_uuid_format(&id, counted->id);
    for (size_t i = 0; i < items->n; i++)
        counted->has_report = counted->has_report || sentry_is_report(&items->list[i]);
    sentry_count(items, in->limits, arena, counted);
    /* An envelope may be sessions only: they are counted, and nothing is stored. */
    ret->counted = counted;
    if (!counted->has_report)
        return FZ_OK;
    *item = (struct ingest_item){.body = body, .format = ingest_sentry_envelope.name};
    snprintf(item->reader, sizeof(item->reader), "%s",
             ingest_format_reader(&ingest_sentry_envelope));
    if (sentry_items_detect(body))
        item->code = sentry_envelope_check(in, items, item->id, &item->err);
    else /* what would not be detected is not a report either */
        fz_ignore(ingest_check_body(in, body, item) != FZ_OK);
    item->envelope = items;
    ret->items = item;
    ret->n = 1;
    return FZ_OK;
}

/* A run summary becomes a session; *ret_is_run is false for anything else. An item that cannot be counted
 * keeps its place, with the reason. */
static enum fz_code
count_item(const struct ingest_context *in, struct ingest_item *item, struct fz_arena *arena,
           struct ingest_intake *found, bool *ret_is_run)
{
    struct ingest_session session;
    const struct ingest_format *format =
        item->code == FZ_E_UNSUPPORTED ? ingest_format_of(in, item->body) : NULL;
    *ret_is_run = false;
    if (!format || !format->count)
        return FZ_OK;
    if (!found->counted)
        found->counted = fz_arena_alloc(arena, sizeof(*found->counted));
    if (!found->counted)
        return fz_arena_fail(arena, &item->err);
    if (found->counted->n_sessions == INGEST_COUNTED_MAX)
        item->code = fz_fail(&item->err, FZ_E_LIMIT, "more than %d run summaries in one body",
                             (int)INGEST_COUNTED_MAX);
    else
        item->code = format->count(item->body, in, arena, &session, &item->err);
    if (item->code == FZ_E_NO_MEMORY)
        return item->code;
    *ret_is_run = item->code == FZ_OK;
    if (*ret_is_run)
        found->counted->sessions[found->counted->n_sessions++] = session;
    return FZ_OK;
}

/* Any number of reports, and of run summaries, which are counted. */
static enum fz_code
intake_reports(const struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
               struct ingest_intake *ret, struct fz_error *err)
{
    size_t n = 0, n_good = 0;
    enum fz_code code = ingest_find_items(in, body, arena, &ret->items, &ret->n, &ret->n_cut, err);
    for (size_t i = 0; code == FZ_OK && i < ret->n; i++) {
        struct ingest_item *item = &ret->items[i];
        bool is_run;
        code = count_item(in, item, arena, ret, &is_run);
        if (code != FZ_OK && err)
            *err = item->err;
        n_good += item->code == FZ_OK;
        if (!is_run)
            ret->items[n++] = *item;
    }
    if (code != FZ_OK)
        return code;
    ret->n = n;
    if (n_good == 0) {
        *err = ret->items[0].err;
        return ret->items[0].code;
    }
    return FZ_OK;
}

/* An event that only its path marks as one ({"message":"hi"}) is put into an envelope. */
static enum fz_code
event_envelope(struct fz_span body, struct fz_arena *arena, struct fz_span *ret,
               struct fz_error *err)
{
    const char *format = ingest_detect(body);
    *ret = body;
    /* Old SDKs post bare messages here; without an envelope no format would take them later. */
    if (!format || strcmp(format, ingest_sentry_event.name) != 0)
        return sentry_make_envelope(body, NULL, 0, arena, ret, err);
    return FZ_OK;
}

enum fz_code
ingest_intake(const struct ingest_request *request, const struct limits *limits,
              struct fz_arena *arena, struct ingest_intake *ret, struct fz_error *err)
{
    const struct ingest_context in = context_of(limits);
    struct fz_span body = request->body;
    enum fz_code code = FZ_OK;
    *ret = (struct ingest_intake){.n = 0};
    switch (request->kind) {
    case INGEST_ENVELOPE:
        return intake_envelope(&in, body, arena, ret, err);
    case INGEST_EVENT:
        code = event_envelope(body, arena, &body, err);
        break;
    case INGEST_MINIDUMP:
        code = sentry_form_envelope(request, limits, arena, &body, err);
        break;
    case INGEST_REPORTS:
        break;
    }
    if (code != FZ_OK)
        return code;
    return intake_reports(&in, body, arena, ret, err);
}
