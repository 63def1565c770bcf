#include "server/report/extra.h"

#include <stdio.h>

#include "base/json/scan.h"

enum { DEPTH = 256, PATH_MAX_BYTES = 96 };

/* A tree takes several times the memory of its text. */
static const size_t TREE_BYTES = (size_t)128 << 20;

json_t *
report_extra_load(const struct report *report)
{
    struct json_scan_limits limits = {DEPTH, SIZE_MAX, TREE_BYTES};
    json_t *extra = NULL;
    struct fz_span text = fz_span_cstr(report->extra_json);
    if (text.len == 0 || json_scan_load(text, &limits, NULL, &extra, NULL) != FZ_OK)
        return NULL;
    return extra;
}

const json_t *
report_extra_get(const json_t *extra, const char *path)
{
    /* Headings of Apple's text may hold a dot: the whole path is tried first. */
    const json_t *whole = json_object_get(extra, path);
    if (whole)
        return whole;
    const char *dot = strchr(path, '.');
    char key[PATH_MAX_BYTES];
    if (!dot || (size_t)(dot - path) >= sizeof(key))
        return NULL;
    snprintf(key, sizeof(key), "%.*s", (int)(dot - path), path);
    return report_extra_get(json_object_get(extra, key), dot + 1);
}

bool
report_extra_text(const json_t *extra, const char *path, struct fz_buffer *out)
{
    const json_t *value = report_extra_get(extra, path);
    size_t before = out->len;
    if (json_is_string(value))
        fz_buffer_append(out, json_string_value(value), json_string_length(value));
    /* Codes and process ids are numbers in an .ips. */
    else if (json_is_integer(value))
        fz_buffer_printf(out, "%lld", (long long)json_integer_value(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = json_string_value(json_array_get(value, i));
        if (text)
            fz_buffer_printf(out, "%s%s", out->len > before ? "\n" : "", text);
    }
    return out->len > before;
}

static int
append(const char *bytes, size_t len, void *user)
{
    struct fz_buffer *out = user;
    fz_buffer_append(out, bytes, len);
    return out->failed ? -1 : 0;
}

void
report_extra_write(struct json_write *w, const json_t *object, const char *const *skip)
{
    const char *key;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool is_skipped = false;
        for (size_t i = 0; skip && skip[i]; i++)
            is_skipped = is_skipped || strcmp(key, skip[i]) == 0;
        if (is_skipped)
            continue;
        /* As text, since jansson cannot write into a document that another writer began. */
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        if (json_dump_callback(value, append, &text, JSON_COMPACT | JSON_ENCODE_ANY) == 0)
            json_write_raw(w, key, fz_buffer_cstr(&text));
        else
            w->out->failed = true;
    }
}
