/* The table of formats, and the functions that others call with it. */
#include "server/ingest/ingest.h"

#include <string.h>

#include "server/ingest/common/format.h"

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
    if (body.len > HEAD_BYTES)
        body.len = HEAD_BYTES;
    const struct ingest_format *format = ingest_format_of(&in, body);
    if (format && format->needs_inside)
        format = format->inside(body, &in, NULL);
    return format ? format->name : NULL;
}

enum fz_code
ingest_check(struct fz_span body, const struct limits *limits, const char **ret_format,
             char ret_id[FZ_UUID_TEXT], struct fz_error *err)
{
    const struct ingest_context in = context_of(limits);
    struct ingest_item item = {.body = body};
    enum fz_code code = ingest_check_body(&in, body, &item);
    if (code != FZ_OK) {
        if (err)
            *err = item.err;
        return code;
    }
    *ret_format = item.format;
    memcpy(ret_id, item.id, sizeof(item.id));
    return FZ_OK;
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
