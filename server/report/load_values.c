/* Members of the JSON of a report, whatever is in their place. */
#include "server/report/load.h"

#include <stdlib.h>

#include "base/time.h"

const char *
report_load_keep(struct report_load *l, struct fz_span text)
{
    const char *copy = l->failed ? NULL : fz_arena_text(l->arena, text);
    if (!copy)
        l->failed = true;
    return copy;
}

const char *
report_load_text(struct report_load *l, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return NULL;
    return report_load_keep(l, fz_span_make(json_string_value(value), json_string_length(value)));
}

/* A member that is JSON in the model, written anew on one line. */
const char *
report_load_dump(struct report_load *l, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    /* Without the member this is not a failure. */
    if (!value || l->failed)
        return NULL;
    json_scan_dump(value, &text);
    l->failed = text.failed;
    return l->failed ? NULL : report_load_keep(l, fz_buffer_span(&text));
}

int64_t
report_load_int(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* Numbers above 2^63 - 1 come out of the scanner as texts. */
uint64_t
report_load_u64(const json_t *object, const char *key)
{
    uint64_t number;
    return json_scan_u64(json_object_get(object, key), &number) ? number : 0;
}

uint32_t
report_load_u32(const json_t *object, const char *key)
{
    uint64_t number = report_load_u64(object, key);
    /* Lines and counts; a larger number was not written by this program. */
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

bool
report_load_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

int64_t
report_load_time(const json_t *object, const char *key)
{
    int64_t ms;
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value) ||
        !fz_time_parse(fz_span_make(json_string_value(value), json_string_length(value)), &ms))
        return 0;
    return ms;
}

bool
report_load_uuid(const json_t *object, const char *key, struct fz_uuid *ret)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) && fz_uuid_parse(fz_span_cstr(json_string_value(value)), ret);
}

unsigned
report_load_choice(const json_t *object, const char *key, const char *const *names, size_t n)
{
    const char *text = json_string_value(json_object_get(object, key));
    for (unsigned i = 0; text && i < n; i++) {
        /* A state without a name is not written. */
        if (names[i] && strcmp(names[i], text) == 0)
            return i;
    }
    return 0;
}

void *
report_load_array(struct report_load *l, const json_t *list, size_t size, size_t *ret_n)
{
    size_t n = json_array_size(list);
    void *array = n && !l->failed ? fz_arena_array(l->arena, n, size) : NULL;
    if (n && !array)
        l->failed = true;
    *ret_n = array ? n : 0;
    return array;
}

const char **
report_load_text_list(struct report_load *l, const json_t *list, size_t *ret_n)
{
    size_t n, kept = 0;
    const char **texts = report_load_array(l, list, sizeof(*texts), &n);
    for (size_t i = 0; i < n && !l->failed; i++) {
        const json_t *value = json_array_get(list, i);
        /* Other items are left out, as a member of another shape is. */
        if (json_is_string(value))
            texts[kept++] = report_load_keep(l, fz_span_cstr(json_string_value(value)));
    }
    *ret_n = kept;
    return texts;
}
