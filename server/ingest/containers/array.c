/*
 * An array of reports, as KSCrash's sinks send all that piled up, and as people send MetricKit
 * payloads:
 *
 *   [{"report":...},"Incident Identifier: ...\n...",...]
 *
 * An item is a report of any format; a string is the text of one (KSCrash after a filter that
 * writes Apple's text).
 */
#include "base/json/scan.h"
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_member.h"

static bool
array_detect(struct fz_span head)
{
    struct json_walk walk = json_walk_items(head);
    struct json_member item;
    return json_walk_next_item(&walk, &item) &&
           (item.value.data[0] == '{' || item.value.data[0] == '"');
}

static enum fz_code
refuse(struct fz_span body, struct fz_error *err)
{
    return fz_fail(err, FZ_E_UNSUPPORTED, "an array of %zu items, to be taken apart first",
                   ingest_json_count(body));
}

/* Bodies come here from ingest_split() only if they hold nothing. */
static enum fz_code
array_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
            struct fz_error *err)
{
    (void)in;
    (void)ret_id;
    return refuse(body, err);
}

static enum fz_code
array_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
            struct report *ret, struct fz_error *err)
{
    (void)in;
    (void)arena;
    (void)ret;
    return refuse(body, err);
}

/* The text of a JSON string, in the arena. */
static enum fz_code
unescape(struct ingest_found *found, struct fz_span string, struct fz_span *ret,
         struct fz_error *err)
{
    struct json_scan_limits scan = {1, found->in->limits->report_memory,
                                    found->in->limits->report_memory};
    json_auto_t *value = NULL;
    enum fz_code code = json_scan_load(string, &scan, NULL, &value, err);
    if (code != FZ_OK)
        return code;
    struct fz_span text = fz_span_make(json_string_value(value), json_string_length(value));
    char *copy = fz_arena_text(found->arena, text);
    if (!copy)
        return fz_arena_fail(found->arena, err);
    *ret = fz_span_make(copy, text.len);
    return FZ_OK;
}

static enum fz_code
array_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    struct json_walk walk = json_walk_items(body);
    struct json_member item;
    while (!found->failed && json_walk_next_item(&walk, &item)) {
        struct fz_span report = item.value;
        struct fz_error ignored; /* a string that is not valid is rejected as it is */
        /* KSCrash 2 after a filter that makes Apple's text: the item is that text. */
        if (report.data[0] == '"') {
            enum fz_code code = unescape(found, item.value, &report, &ignored);
            if (code == FZ_E_LIMIT || code == FZ_E_NO_MEMORY) {
                *err = ignored;
                return code;
            }
            /* Forms hold arrays, not the other way round: so neither is nested without end. */
            if (code != FZ_OK || ingest_format_of(found->in, report) == &ingest_multipart)
                report = item.value;
        }
        ingest_found_body(found, report);
    }
    return FZ_OK;
}

const struct ingest_format ingest_array = {
    .name = "array",
    .detect = array_detect,
    .check = array_check,
    .parse = array_parse,
    .split = array_split,
};
