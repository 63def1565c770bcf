/*
 * Envelopes that are made of other bodies: of an event, and of a form with a minidump:
 *
 *   upload_file_minidump   the dump
 *   sentry                 an event, JSON
 *   sentry[tags][k]        members of one, each in a field
 *   other files            attachments; other fields belong to the dump (Crashpad's annotations)
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/form.h"
#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/ingest/sentry/intake.h"

enum { KEYS_MAX = 8, JSON_DEPTH = 64 };

/* ---- an envelope --------------------------------------------------------------------------- */

static void
append_item(struct fz_buffer *out, const char *type, const struct sentry_file *file,
            struct fz_span bytes)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "type", type);
    json_write_u64(&w, "length", bytes.len);
    if (file && file->name)
        json_write_text(&w, "filename", file->name);
    if (file && file->type)
        json_write_text(&w, "content_type", file->type);
    /* Without it Sentry's rule applies: a plain attachment. */
    if (file && file->kind)
        json_write_text(&w, "attachment_type", file->kind);
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
    fz_buffer_append(out, bytes.data, bytes.len);
    fz_buffer_char(out, '\n');
}

enum fz_code
sentry_make_envelope(struct fz_span event, const struct sentry_file *files, size_t n_files,
                     struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* An empty header: the event has its own id, and there is no DSN. */
    fz_buffer_text(&out, "{}\n");
    append_item(&out, "event", NULL, event);
    for (size_t i = 0; i < n_files; i++)
        append_item(&out, "attachment", &files[i], files[i].bytes);
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    char *copy = fz_arena_text(arena, fz_buffer_span(&out));
    if (!copy)
        return fz_arena_fail(arena, err);
    *ret = fz_span_make(copy, out.len);
    return FZ_OK;
}

/* ---- the event of a form ------------------------------------------------------------------- */

struct form {
    struct fz_span body;
    struct fz_form_part *parts;
    size_t n_parts;
};

static struct fz_span
content(const struct form *form, const struct fz_form_part *part)
{
    return fz_form_content(form->body, part);
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
        /* The names are the client's: too long or too deep ones are ignored. */
        const char *end = strchr(at, ']');
        size_t len = end ? (size_t)(end - at - 1) : 0;
        if (len == 0 || len >= sizeof(keys[0]))
            return true; /* not such a path: it stays out */
        memcpy(keys[n], at + 1, len);
        keys[n][len] = '\0';
        at = end[1] == '[' ? end + 1 : NULL;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        /* Fields come in any order: an object may be there already. */
        json_t *next = json_object_get(object, keys[i]);
        if (!json_is_object(next)) {
            next = json_object();
            if (!next || json_object_set_new(object, keys[i], next) != 0)
                return false;
        }
        object = next;
    }
    /* Text that is not UTF-8 makes no JSON: that member stays out, the dump counts more. */
    json_t *text = json_stringn((const char *)value.data, value.len);
    return n == 0 || !text || json_object_set_new(object, keys[n - 1], text) == 0;
}

/* What the fields say of the event; JSON in the arena. */
static enum fz_code
make_event(const struct form *form, const struct limits *limits, struct fz_arena *arena,
           struct fz_span *ret, struct fz_error *err)
{
    struct json_scan_limits scan = {JSON_DEPTH, limits->report_inflated_bytes,
                                    limits->report_memory};
    json_auto_t *event = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < form->n_parts && !event; i++) {
        struct fz_error ignored;
        if (strcmp(form->parts[i].name, "sentry") == 0 && !form->parts[i].filename &&
            json_scan_load(content(form, &form->parts[i]), &scan, NULL, &event, &ignored) != FZ_OK)
            event = NULL; /* a broken event must not lose the dump */
    }
    if (!json_is_object(event)) {
        json_decref(event);
        event = json_object();
    }
    for (size_t i = 0; event && i < form->n_parts; i++) {
        const struct fz_form_part *part = &form->parts[i];
        if (is_of_event(part) && strcmp(part->name, "sentry") != 0)
            is_whole = set_member(event, part->name, content(form, part)) && is_whole;
        else if (!part->filename && strcmp(part->name, "sentry") != 0) {
            char path[80];
            /* Crashpad's annotations and the uploader's own fields. */
            snprintf(path, sizeof(path), "[extra][%.60s]", part->name);
            is_whole = set_member(event, path, content(form, part)) && is_whole;
        }
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    if (event && is_whole)
        json_scan_dump(event, &text);
    char *copy = text.len && !text.failed ? fz_arena_text(arena, fz_buffer_span(&text)) : NULL;
    if (!copy)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = fz_span_cstr(copy);
    return FZ_OK;
}

enum fz_code
sentry_form_envelope(const struct ingest_request *request, const struct limits *limits,
                     struct fz_arena *arena, struct fz_span *ret, struct fz_error *err)
{
    struct form form = {.body = request->body};
    struct fz_span event;
    /* A dump that was compressed in its part is not the form's bytes any more. */
    bool is_made = request->was_packed;
    enum fz_code code =
        fz_form_parse(form.body, request->boundary, arena, &form.parts, &form.n_parts, err);
    if (code != FZ_OK)
        return code;
    struct sentry_file *files = fz_arena_array(arena, form.n_parts + 1, sizeof(*files));
    size_t n = 0;
    if (!files)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < form.n_parts; i++) {
        const struct fz_form_part *part = &form.parts[i];
        bool is_dump = strcmp(part->name, "upload_file_minidump") == 0;
        is_made = is_made || is_of_event(part);
        if (part->filename)
            files[n++] =
                (struct sentry_file){part->filename, part->content_type,
                                     is_dump ? "event.minidump" : NULL, content(&form, part)};
    }
    /* A form with a dump only stays a form: multipart.c knows the names of its fields. */
    *ret = form.body;
    if (!is_made)
        return FZ_OK;
    code = make_event(&form, limits, arena, &event, err);
    return code != FZ_OK ? code : sentry_make_envelope(event, files, n, arena, ret, err);
}
