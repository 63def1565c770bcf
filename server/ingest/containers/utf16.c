/* Reports of any text format in UTF-16, with or without a byte order mark: read as UTF-8. */
#include <stdio.h>

#include "base/encoding.h"
#include "server/ingest/common/format.h"

enum { HEAD_BYTES = 64 * 1024 };

/* The row for the text in it; NULL if it is not UTF-16 or holds no report. Its start is enough. */
static const struct ingest_format *
inside(struct fz_span body, const struct ingest_context *in, char reader[INGEST_READER_TEXT])
{
    bool big;
    if (!fz_encoding_is_utf16(body, &big))
        return NULL;
    if (body.len > HEAD_BYTES)
        body.len = HEAD_BYTES;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer head = fz_buffer_make(0);
    fz_encoding_append_text(&head, body, big);
    const struct ingest_format *format =
        head.failed ? NULL : ingest_format_of(in, fz_buffer_span(&head));
    /* A text cannot be UTF-16 twice; without this rule, detection would call itself. */
    if (!format || format == &ingest_utf16)
        return NULL;
    if (reader)
        snprintf(reader, INGEST_READER_TEXT, "%s", ingest_format_reader(format));
    return format;
}

static bool
utf16_detect(struct fz_span head)
{
    bool big;
    return fz_encoding_is_utf16(head, &big);
}

/* The text as UTF-8, in the arena: what is kept of it may point into it. */
static enum fz_code
decode(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
       struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit)
    struct fz_buffer text = fz_buffer_make(limits->report_inflated_bytes);
    bool big = false;
    fz_ignore(fz_encoding_is_utf16(body, &big)); /* detected already */
    fz_encoding_append_text(&text, body, big);
    enum fz_code code = fz_buffer_done(&text, err);
    const char *copy = code == FZ_OK ? fz_arena_text(arena, fz_buffer_span(&text)) : NULL;
    if (code == FZ_OK && !copy)
        return fz_arena_fail(arena, err);
    *ret = fz_span_cstr(copy);
    return code;
}

static enum fz_code
utf16_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
            struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(2 * in->limits->report_inflated_bytes);
    struct ingest_item item = {.format = NULL};
    struct fz_span text;
    enum fz_code code = decode(body, in->limits, &arena, &text, err);
    if (code != FZ_OK)
        return code;
    /* The offsets in its errors count in the decoded text, which is what a user sees in an
     * editor. */
    code = ingest_check_body(in, text, &item);
    memcpy(ret_id, item.id, sizeof(item.id));
    if (code != FZ_OK && err)
        *err = item.err;
    return code;
}

static enum fz_code
utf16_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
            struct report *ret, struct fz_error *err)
{
    struct fz_span text;
    enum fz_code code = decode(body, in->limits, arena, &text, err);
    return code == FZ_OK ? ingest_parse_body(in, text, arena, ret, err) : code;
}

/* Several reports in it are handed on as UTF-8. */
static enum fz_code
utf16_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    const struct ingest_format *format = inside(body, found->in, NULL);
    if (!format || !format->split)
        return FZ_OK;
    struct fz_span text;
    enum fz_code code = decode(body, found->in->limits, found->arena, &text, err);
    return code == FZ_OK ? format->split(text, found, err) : code;
}

const struct ingest_format ingest_utf16 = {
    .name = "utf16",
    .detect = utf16_detect,
    .check = utf16_check,
    .parse = utf16_parse,
    .split = utf16_split,
    .inside = inside,
    .needs_inside = true,
};
