/* Parts of a JSON report that are kept as they came, and loading the JSON they are taken from. */
#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/common/builder.h"

void
ingest_take_decref(json_t **value)
{
    json_decref(*value);
}

enum fz_code
ingest_json_load(struct ingest_builder *b, struct fz_span body, struct fz_buffer *text,
                 json_t **ret, struct fz_error *err)
{
    struct json_scan_limits scan = {b->limits->json_depth, b->limits->report_memory,
                                    b->limits->report_memory};
    struct json_scan_notes found;
    enum fz_code code = text ? json_scan_load_text(body, &scan, text, &found, ret, err)
                             : json_scan_load(body, &scan, &found, ret, err);
    if (code != FZ_OK)
        return code;
    uint64_t n = found.n_bad_utf8 + found.n_bad_escapes;
    if (n)
        report_note(
            b->report, b->arena,
            "bytes and escapes that are no Unicode became U+FFFD: %llu, the first at byte %zu",
            (unsigned long long)n, found.first_offset);
    return FZ_OK;
}

static int
append(const char *bytes, size_t len, void *user)
{
    struct fz_buffer *out = user;
    fz_buffer_append(out, bytes, len);
    return out->failed ? -1 : 0;
}

static bool
is_empty(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
           (json_is_array(value) && !json_array_size(value)) ||
           (json_is_string(value) && !json_string_length(value));
}

static void
dump(struct ingest_builder *b, const json_t *value, struct fz_buffer *out)
{
    if (json_dump_callback(value, append, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0 || out->failed)
        b->failed = true;
}

static const char *
keep(struct ingest_builder *b, const struct fz_buffer *text)
{
    const char *copy = b->failed ? NULL : fz_arena_text(b->arena, fz_buffer_span(text));
    if (!copy)
        b->failed = true;
    return copy;
}

const char *
ingest_json_dump(struct ingest_builder *b, const json_t *object, const char *key)
{
    const json_t *value = key ? json_object_get(object, key) : object;
    if (b->failed || is_empty(value))
        return NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    dump(b, value, &text);
    return keep(b, &text);
}

static bool
is_known(const char *key, const char *const *known)
{
    for (; known && *known; known++) {
        if (strcmp(key, *known) == 0)
            return true;
    }
    return false;
}

static void
dump_member(struct ingest_builder *b, const char *key, const json_t *value, struct fz_buffer *out)
{
    json_t *name = json_string(key);
    if (!name) {
        b->failed = true;
        return;
    }
    dump(b, name, out);
    json_decref(name);
    fz_buffer_char(out, ':');
    dump(b, value, out);
}

void
ingest_add_extra(struct ingest_builder *b, const char *key, const json_t *object,
                 const char *const *known)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *before = b->report->extra_json, *name;
    json_t *value;
    size_t n = 0;
    if (before) /* without its closing bracket */
        fz_buffer_append(&text, before, strlen(before) - 1);
    else
        fz_buffer_char(&text, '{');
    if (key)
        fz_buffer_printf(&text, "%s\"%s\":{", before ? "," : "", key);
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (b->failed || is_known(name, known) || is_empty(value))
            continue;
        if (n++ || (before && !key))
            fz_buffer_char(&text, ',');
        dump_member(b, name, value, &text);
    }
    fz_buffer_text(&text, key ? "}}" : "}");
    if (n)
        b->report->extra_json = keep(b, &text);
}

void
ingest_add_client_symbol(struct ingest_builder *b, struct report_frame *frame,
                         const struct report_symbol *symbol)
{
    const char *name = symbol->function;
    if (b->failed || !name || strcmp(name, "<redacted>") == 0 || strcmp(name, "???") == 0)
        return;
    if (!report_add_client_symbol(frame, b->arena, symbol))
        b->failed = true;
}

void
ingest_mark_crashed(struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->crash.thread < 0 && report->threads[i].crashed)
            report->crash.thread = report->threads[i].index;
    }
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->crash.thread >= 0 && report->threads[i].index == report->crash.thread)
            report->threads[i].crashed = true;
    }
}
