/*
 * POST /api/1/minidump/: a minidump, raw or in a form, as sentry-native, Crashpad and Breakpad send
 * it.
 *
 *   upload_file_minidump   the dump, maybe compressed
 *   sentry                 an event, JSON
 *   sentry[tags][k]        members of one, each in a field
 *   other files            attachments; other fields belong to the dump (Crashpad's annotations)
 *
 * A form that speaks of an event becomes an envelope; others are taken as they are. The answer is
 * the report's id with dashes, as text.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/form.h"
#include "base/json/scan.h"
#include "base/text.h"
#include "server/clients/sentry/sdk.h"
#include "server/http/inflate.h"

enum { KEYS_MAX = 8, JSON_DEPTH = 64 };

/* One request on its way. */
struct dump {
    struct api *api;
    struct http_request *request;
    struct fz_arena arena;
    struct fz_form_part *parts;
    size_t n_parts;
};

static struct fz_span
content(const struct dump *d, const struct fz_form_part *part)
{
    return fz_form_content(http_body(d->request), part);
}

static bool
is_of_event(const struct fz_form_part *part)
{
    return !part->filename &&
           (strcmp(part->name, "sentry") == 0 || fz_text_has_prefix(part->name, "sentry["));
}

/* "sentry[a][b]" = value: object.a.b, if objects are there or can be made. */
static bool
set_member(json_t *object, const char *path, struct fz_span value)
{
    char keys[KEYS_MAX][64];
    size_t n = 0;
    for (const char *at = strchr(path, '['); at && n < KEYS_MAX; n++) {
        const char *end = strchr(at, ']');
        size_t len = end ? (size_t)(end - at - 1) : 0;
        if (len == 0 || len >= sizeof(keys[0]))
            return true; /* not such a path: it is left out */
        memcpy(keys[n], at + 1, len);
        keys[n][len] = '\0';
        at = end[1] == '[' ? end + 1 : NULL;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        json_t *next = json_object_get(object, keys[i]);
        if (!json_is_object(next)) {
            next = json_object();
            if (!next || json_object_set_new(object, keys[i], next) != 0)
                return false;
        }
        object = next;
    }
    json_t *text = json_stringn((const char *)value.data, value.len);
    return n == 0 || !text || json_object_set_new(object, keys[n - 1], text) == 0;
}

/* The event that the fields describe; JSON in the arena. */
static enum fz_code
make_event(struct dump *d, struct fz_span *ret, struct fz_error *err)
{
    struct json_scan_limits scan = {JSON_DEPTH, api_limits(d->api)->report_inflated_bytes,
                                    api_limits(d->api)->report_memory};
    json_auto_t *event = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < d->n_parts && !event; i++) {
        struct fz_error ignored;
        if (strcmp(d->parts[i].name, "sentry") == 0 && !d->parts[i].filename &&
            json_scan_load(content(d, &d->parts[i]), &scan, NULL, &event, &ignored) != FZ_OK)
            event = NULL; /* a broken event must not cost the dump */
    }
    if (!json_is_object(event)) {
        json_decref(event);
        event = json_object();
    }
    for (size_t i = 0; event && i < d->n_parts; i++) {
        const struct fz_form_part *part = &d->parts[i];
        if (is_of_event(part) && strcmp(part->name, "sentry") != 0)
            is_whole = set_member(event, part->name, content(d, part)) && is_whole;
        else if (!part->filename && strcmp(part->name, "sentry") != 0) {
            char path[80];
            snprintf(path, sizeof(path), "[extra][%.60s]", part->name);
            is_whole = set_member(event, path, content(d, part)) && is_whole;
        }
    }
    char *text = event && is_whole ? json_dumps(event, JSON_COMPACT) : NULL;
    char *copy = text ? fz_arena_strdup(&d->arena, text) : NULL;
    free(text);
    if (!copy)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = fz_span_cstr(copy);
    return FZ_OK;
}

static enum fz_code
append(void *sink, struct fz_span bytes, struct fz_error *err)
{
    fz_buffer_append(sink, bytes.data, bytes.len);
    return fz_buffer_done(sink, err);
}

/* Some clients compress the dump inside its part. */
static enum fz_code
inflate(struct dump *d, struct fz_span *bytes, struct fz_error *err)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    bool is_gzip = bytes->len > 2 && memcmp(bytes->data, gzip, sizeof(gzip)) == 0;
    bool is_zstd = bytes->len > 4 && memcmp(bytes->data, zstd, sizeof(zstd)) == 0;
    FZ_CLEANUP(http_inflate_destroyp) struct http_inflate *stream = NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    if (!is_gzip && !is_zstd)
        return FZ_OK;
    enum fz_code code =
        http_inflate_create(is_gzip ? HTTP_CODING_GZIP : HTTP_CODING_ZSTD,
                            api_limits(d->api)->envelope_inflated_bytes, &stream, err);
    if (code == FZ_OK)
        code = http_inflate_feed(stream, *bytes, append, &out, err);
    if (code == FZ_OK)
        code = http_inflate_finish(stream, err);
    if (code != FZ_OK)
        return fz_wrap(err, "upload_file_minidump");
    char *copy = fz_arena_text(&d->arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(&d->arena, err);
    *bytes = fz_span_make(copy, out.len);
    return FZ_OK;
}

/* The form as an envelope; *ret stays the body if it has no field of an event. */
static enum fz_code
as_envelope(struct dump *d, const char *boundary, struct fz_span *ret, struct fz_error *err)
{
    struct fz_span event;
    bool has_event = false, has_packed = false;
    enum fz_code code = fz_form_parse(*ret, boundary, &d->arena, &d->parts, &d->n_parts, err);
    if (code != FZ_OK)
        return code;
    struct sentry_file *files = fz_arena_array(&d->arena, d->n_parts + 1, sizeof(*files));
    size_t n = 0;
    if (!files)
        return fz_arena_fail(&d->arena, err);
    for (size_t i = 0; i < d->n_parts && code == FZ_OK; i++) {
        const struct fz_form_part *part = &d->parts[i];
        has_event = has_event || is_of_event(part);
        if (!part->filename)
            continue;
        struct sentry_file file = {part->filename, part->content_type, NULL, content(d, part)};
        if (strcmp(part->name, "upload_file_minidump") == 0) {
            size_t len = file.bytes.len;
            file.kind = "event.minidump";
            code = inflate(d, &file.bytes, err);
            has_packed = has_packed || len != file.bytes.len;
        }
        files[n++] = file;
    }
    if (code != FZ_OK || (!has_event && !has_packed))
        return code;
    code = make_event(d, &event, err);
    return code != FZ_OK ? code : sentry_make_envelope(event, files, n, &d->arena, ret, err);
}

static void
taken(struct http_request *request, const struct api_taken *taken, void *user)
{
    struct fz_uuid id;
    char text[FZ_UUID_DASHED] = "";
    (void)user;
    if (taken->n == 0) {
        sentry_fail(request, 0, taken->first);
        return;
    }
    if (fz_uuid_parse(fz_span_cstr(taken->items[0].id), &id))
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
    if (type && fz_form_boundary(type, boundary, &err) == FZ_OK)
        code = as_envelope(&d, boundary, &body, &err);
    const struct api_intake intake = {
        .api = d.api,
        .request = request,
        .project_id = http_project_id(request),
        .body = body,
        .arena = &d.arena,
        .answer = taken,
    };
    if (code == FZ_OK)
        code = api_intake(&intake, &err);
    if (code != FZ_OK)
        sentry_fail(request, 0, &err);
    fz_arena_deinit(&d.arena);
}
