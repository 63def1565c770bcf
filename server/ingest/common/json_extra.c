/* Parts of a JSON report that are kept as they came. */
#include "server/ingest/common/json_member.h"

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/text.h"

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
    json_scan_dump(value, out);
    b->failed = b->failed || out->failed;
}

const char *
ingest_json_dump(struct ingest_builder *b, const json_t *object, const char *key)
{
    const json_t *value = key ? json_object_get(object, key) : object;
    if (b->failed || is_empty(value))
        return NULL;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    dump(b, value, &text);
    return ingest_text(b, fz_buffer_span(&text));
}

void
ingest_add_extra(struct ingest_builder *b, const char *key, const json_t *object,
                 const char *const *known)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const char *before = b->report->extra_json, *name;
    json_t *value;
    size_t n = 0;
    struct json_write w = json_write_start(&text);
    if (before) { /* without its closing bracket */
        fz_buffer_append(&text, before, strlen(before) - 1);
        w.comma = true;
    } else {
        json_write_open(&w, NULL, '{');
    }
    if (key)
        json_write_open(&w, key, '{');
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        /* Empty members are left out: SDKs send every member that they know, most of them empty. */
        if (b->failed || ingest_is_one_of(fz_span_cstr(name), known) || is_empty(value))
            continue;
        if (n++ || w.comma)
            fz_buffer_char(&text, ',');
        fz_text_json_append(&text, fz_span_cstr(name));
        fz_buffer_char(&text, ':');
        dump(b, value, &text);
    }
    if (key)
        json_write_close(&w, '}');
    json_write_close(&w, '}');
    if (n)
        b->report->extra_json = ingest_text(b, fz_buffer_span(&text));
}

json_t *
ingest_json_rest(struct ingest_builder *b, const json_t *object, const char *const *known,
                 json_t *target, const char *key)
{
    json_auto_t *rest = json_object();
    const char *name;
    json_t *value;
    bool ok = rest != NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        /* The values are shared, not copied: both trees end together. */
        if (ok && !ingest_is_one_of(fz_span_cstr(name), known))
            ok = json_object_set(rest, name, value) == 0;
    }
    if (ok && json_object_size(rest))
        ok = json_object_set(target, key, rest) == 0;
    b->failed = b->failed || !ok;
    return ok ? json_object_get(target, key) : NULL;
}

void
ingest_json_set(struct ingest_builder *b, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        b->failed = true;
}

void
ingest_json_set_base64(struct ingest_builder *b, json_t *object, const char *key,
                       struct fz_span bytes)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer base64 = fz_buffer_make(0);
    fz_text_base64_append(&base64, bytes);
    b->failed = b->failed || base64.failed;
    ingest_json_set(b, object, key, json_string(fz_buffer_cstr(&base64)));
}

json_t *
ingest_json_object(struct ingest_builder *b, json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        ingest_json_set(b, object, key, json_object());
    return json_object_get(object, key);
}
