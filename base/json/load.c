#include "base/json/scan.h"

#include "base/json/build.h"
#include "base/json/pool.h"
#include "base/json/rows.h"
#include "base/text.h"

/* Bytes of jansson 2.13 and 2.14 on a 64-bit machine with glibc's allocator, rounded up: the value
 * itself, its slot in a table that doubles when it grows, the smallest table of a container. */
enum { COST_VALUE = 96, COST_KEY = 112, COST_ARRAY = 96, COST_OBJECT = 224 };

/* Counts are bounded by the document's bytes, so the sum cannot overflow 64 bits. */
static uint64_t
tree_estimate(const struct json_scan_notes *notes, size_t text_len)
{
    return notes->n_values * COST_VALUE + notes->n_keys * COST_KEY + notes->n_arrays * COST_ARRAY +
           notes->n_objects * COST_OBJECT + text_len;
}

static enum fz_code
load(struct fz_span in, const struct json_scan_limits *limits, const char *const *leave,
     struct fz_buffer *text, struct json_scan_notes *notes, json_t **ret, struct fz_error *err)
{
    struct json_scan_notes found;
    size_t start = text->len;
    struct json_scan_lists lists;
    enum fz_code code = json_scan_with_lists(in, limits, text, &found, leave ? &lists : NULL, err);
    if (code != FZ_OK)
        return code;
    /* The caller's buffer may hold other texts before this one. */
    size_t len = text->len - start;
    uint64_t need = tree_estimate(&found, len);
    /* Before jansson allocates anything: it cannot be stopped once it has begun. */
    if (limits->tree_bytes && need > limits->tree_bytes)
        return fz_fail(err, FZ_E_LIMIT, "json: needs about %llu bytes of memory, at most %zu",
                       (unsigned long long)need, limits->tree_bytes);
    json_t *tree = json_build(text->data + start, len, leave, leave ? &lists : NULL);
    if (!tree)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    json_pool_keep(tree);
    if (notes)
        *notes = found;
    *ret = tree;
    return FZ_OK;
}

enum fz_code
json_scan(struct fz_span in, const struct json_scan_limits *limits, struct fz_buffer *out,
          struct json_scan_notes *notes, struct fz_error *err)
{
    return json_scan_with_lists(in, limits, out, notes, NULL, err);
}

enum fz_code
json_scan_load_text(struct fz_span in, const struct json_scan_limits *limits,
                    struct fz_buffer *text, struct json_scan_notes *notes, json_t **ret,
                    struct fz_error *err)
{
    return load(in, limits, NULL, text, notes, ret, err);
}

enum fz_code
json_scan_load_leaving(struct fz_span in, const struct json_scan_limits *limits,
                       const char *const *leave, struct json_scan_notes *notes, json_t **ret,
                       struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    return load(in, limits, leave, &text, notes, ret, err);
}

enum fz_code
json_scan_load(struct fz_span in, const struct json_scan_limits *limits,
               struct json_scan_notes *notes, json_t **ret, struct fz_error *err)
{
    return json_scan_load_leaving(in, limits, NULL, notes, ret, err);
}

json_t *
json_row_tree(const struct json_row *row)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_append(&text, row->text.data, row->text.len);
    return text.failed ? NULL : json_build(text.data, text.len, NULL, NULL);
}

bool
json_scan_u64(const json_t *value, uint64_t *ret)
{
    if (json_is_integer(value)) {
        *ret = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_string(value))
        return false;
    return fz_text_u64(fz_span_make(json_string_value(value), json_string_length(value)), ret);
}

static int
append(const char *text, size_t len, void *out)
{
    fz_buffer_append(out, text, len);
    return ((struct fz_buffer *)out)->failed ? -1 : 0;
}

void
json_scan_dump(const json_t *value, struct fz_buffer *out)
{
    if (json_dump_callback(value, append, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        out->failed = true;
}

void
json_seed(void)
{
    json_object_seed(0);
}
