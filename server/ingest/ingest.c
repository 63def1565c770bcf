#include "server/ingest/ingest.h"

#include <ctype.h>
#include <stdio.h>

#include "base/json/scan.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/normalise.h"

enum { HEAD_BYTES = 64 * 1024, START_SHOWN = 16 };

/* A format that another one's bytes could be taken for stands behind that one. */
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
};
/* clang-format on */

static struct fz_span
without_space(struct fz_span body)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    size_t at = body.len >= 3 && memcmp(body.data, byte_order_mark, 3) == 0 ? 3 : 0;
    while (at < body.len && (body.data[at] == ' ' || body.data[at] == '\n' ||
                             body.data[at] == '\r' || body.data[at] == '\t'))
        at++;
    return at == body.len ? (struct fz_span){NULL, 0} : fz_span_make(body.data + at, body.len - at);
}

const struct ingest_format *
ingest_format_of(struct fz_span body)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(formats); i++) {
        if (formats[i]->detect(body))
            return formats[i];
    }
    return NULL;
}

/* Why the body is no report, as precisely as its first bytes allow. */
static enum fz_code
refuse(struct fz_span body, const struct limits *limits, struct fz_error *err)
{
    struct fz_span text = without_space(body);
    if (text.len == 0)
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "the body is empty");
    if (text.data[0] != '{' && text.data[0] != '[') {
        char start[START_SHOWN + 1];
        size_t n = text.len < START_SHOWN ? text.len : START_SHOWN;
        for (size_t i = 0; i < n; i++)
            start[i] = isprint(text.data[i]) ? (char)text.data[i] : '?';
        start[n] = '\0';
        return fz_fail_at(err, FZ_E_UNSUPPORTED, (uint64_t)(text.data - body.data),
                          "no report in a known format: no JSON, no line as 'Thread 0 Crashed:' or "
                          "'0 Demo 0x104 f + 8'; begins with \"%s\"",
                          start);
    }
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    enum fz_code code = json_scan(body, &scan, NULL, NULL, err);
    if (code != FZ_OK)
        return code;
    if (text.data[0] == '[')
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "JSON, but no report in a known format: an array without reports");
    return fz_fail(err, FZ_E_UNSUPPORTED,
                   "JSON, but no report in a known format: it has the keys of none");
}

const char *
ingest_detect(struct fz_span body)
{
    if (body.len > HEAD_BYTES)
        body.len = HEAD_BYTES;
    const struct ingest_format *format = ingest_format_of(body);
    return format == &ingest_utf16 ? ingest_utf16_format(body) : format ? format->name : NULL;
}

enum fz_code
ingest_check(struct fz_span body, const struct limits *limits, const char **ret_format,
             char ret_id[FZ_UUID_TEXT], struct fz_error *err)
{
    const struct ingest_format *format = ingest_format_of(body);
    if (!format)
        return refuse(body, limits, err);
    char id[FZ_UUID_TEXT] = "";
    enum fz_code code = format->check(body, limits, id, err);
    if (code != FZ_OK)
        return code;
    *ret_format = format == &ingest_multipart ? ingest_multipart_format(body, limits)
                  : format == &ingest_utf16   ? ingest_utf16_format(body)
                                              : format->name;
    memcpy(ret_id, id, sizeof(id));
    return FZ_OK;
}

enum fz_code
ingest_parse(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
             struct report *ret, struct fz_error *err)
{
    const struct ingest_format *format = ingest_format_of(body);
    if (!format)
        return refuse(body, limits, err);
    struct report report = {.format = format->name, .crash.thread = -1};
    enum fz_code code = format->parse(body, limits, arena, &report, err);
    if (code != FZ_OK)
        return code;
    if (!ingest_normalise(&report, arena))
        return fz_arena_fail(arena, err);
    *ret = report;
    return FZ_OK;
}
