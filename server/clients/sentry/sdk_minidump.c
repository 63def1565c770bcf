/*
 * POST /api/1/minidump/: a minidump, raw or in a form, as sentry-native, Crashpad and Breakpad send
 * it.
 *
 * The dump may be compressed within its part (upload_file_minidump); it is inflated here: finding a
 * part is HTTP framing (base/form.h), inflating it is decompression, and `serve` does both. All
 * content is read by a child, which makes an envelope of the form if it has the fields of an event
 * (server/ingest/sentry/make.c). The answer is the report's id with dashes, as text.
 */
#include <string.h>

#include "base/form.h"
#include "base/text.h"
#include "server/clients/sentry/sdk.h"
#include "server/http/inflate.h"

/* One request on its way. */
struct dump {
    struct api *api;
    struct http_request *request;
    struct fz_arena arena;
};

/* Some clients compress the dump inside its part. */
static enum fz_code
inflate(struct dump *d, struct fz_span *bytes, struct fz_error *err)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    /* By its first bytes: the part's Content-Type is application/octet-stream either way. */
    bool is_gzip = bytes->len > 2 && memcmp(bytes->data, gzip, sizeof(gzip)) == 0;
    bool is_zstd = bytes->len > 4 && memcmp(bytes->data, zstd, sizeof(zstd)) == 0;
    /* Most are not: the form goes to the child as it came. */
    if (!is_gzip && !is_zstd)
        return FZ_OK;
    enum fz_code code =
        http_inflate_whole(is_gzip ? HTTP_CODING_GZIP : HTTP_CODING_ZSTD, *bytes,
                           api_limits(d->api)->envelope_inflated_bytes, &d->arena, bytes, err);
    return code != FZ_OK ? fz_wrap(err, "upload_file_minidump") : FZ_OK;
}

static void
append_range(struct fz_buffer *out, struct fz_span body, uint64_t from, uint64_t to)
{
    struct fz_span bytes = {NULL, 0};
    (void)fz_span_sub(body, from, to - from, &bytes); /* parts are inside the body */
    fz_buffer_append(out, bytes.data, bytes.len);
}

/* The form with each compressed dump inflated in its place; *ret stays as it is without one. */
static enum fz_code
unpack_dumps(struct dump *d, const char *boundary, struct fz_span *ret, bool *ret_was_packed,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit)
    /* Inflated dumps must not take more memory than a report may. */
    struct fz_buffer form = fz_buffer_make(api_limits(d->api)->report_memory);
    struct fz_form_part *parts;
    size_t n;
    uint64_t done = 0;
    enum fz_code code = fz_form_parse(*ret, boundary, &d->arena, &parts, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct fz_span dump = fz_form_content(*ret, &parts[i]), packed = dump;
        if (!parts[i].filename || strcmp(parts[i].name, "upload_file_minidump") != 0)
            continue;
        code = inflate(d, &dump, err);
        /* Not compressed: it stays where it is. */
        if (code != FZ_OK || dump.data == packed.data)
            continue;
        /* What is between the dumps is copied as it came, delimiters too. */
        append_range(&form, *ret, done, parts[i].offset);
        fz_buffer_append(&form, dump.data, dump.len);
        done = parts[i].offset + parts[i].len;
        *ret_was_packed = true;
    }
    if (code != FZ_OK || !*ret_was_packed)
        return code;
    append_range(&form, *ret, done, ret->len);
    code = fz_buffer_done(&form, err);
    if (code != FZ_OK)
        return code;
    const char *copy = fz_arena_text(&d->arena, fz_buffer_span(&form));
    if (!copy)
        return fz_arena_fail(&d->arena, err);
    *ret = fz_span_make(copy, form.len);
    return FZ_OK;
}

static void
answer_dump(struct http_request *request, const struct api_accepted *accepted, void *user FZ_UNUSED)
{
    struct fz_uuid id;
    char text[FZ_UUID_DASHED] = "";
    if (accepted->n == 0) {
        sentry_fail(request, 0, accepted->first);
        return;
    }
    if (fz_uuid_parse(fz_span_cstr(accepted->items[0].id), &id))
        fz_uuid_format_dashed(&id, text);
    http_respond(request, 200, "text/plain", fz_span_cstr(text));
}

void
sentry_minidump_post(void *app, struct http_request *request)
{
    struct dump d = {.api = app, .request = request};
    struct fz_span body = http_body(request);
    struct fz_error err = {.offset = -1};
    char boundary[FZ_FORM_BOUNDARY];
    fz_arena_init(&d.arena, api_limits(d.api)->report_memory);
    enum fz_code code = FZ_OK;
    const char *type = http_header(request, "Content-Type");
    struct proto_intake_request kind = {.kind = PROTO_INTAKE_REPORTS};
    if (type && fz_form_boundary(type, boundary, &err) == FZ_OK) {
        kind.kind = PROTO_INTAKE_MINIDUMP;
        /* The child cannot know it: the header stays here. */
        kind.boundary = boundary;
        code = unpack_dumps(&d, boundary, &body, &kind.was_packed, &err);
    }
    const struct api_intake intake = {
        .api = d.api,
        .request = request,
        .project_id = http_project_id(request),
        .kind = kind,
        .body = body,
        .arena = &d.arena,
        .answer = answer_dump,
    };
    if (code == FZ_OK)
        code = api_intake(&intake, &err);
    if (code != FZ_OK)
        sentry_fail(request, 0, &err);
    fz_arena_deinit(&d.arena);
}
