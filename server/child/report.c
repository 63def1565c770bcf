/* SYMBOLICATE: raw bytes of a report → report model → names → JSON and what the worker must know.
 */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "server/child/learned.h"
#include "server/child/parts.h"
#include "server/ingest/ingest.h"
#include "server/report/columns.h"
#include "server/report/render.h"
#include "server/resolve/resolve.h"
#include "server/scrub/scrub.h"

static void
count_frames(const struct report *report, struct proto_info *info)
{
    for (size_t t = 0; t < report->n_threads; t++) {
        for (size_t i = 0; i < report->threads[t].n_frames; i++) {
            const struct report_frame *frame = &report->threads[t].frames[i];
            if (frame->n_symbols)
                info->n_frames_named++;
            else
                info->n_frames_unnamed++;
            /* A learned name is the only symbol of its frame. */
            if (frame->n_symbols && strcmp(frame->symbols[0].source, "learned") == 0)
                info->n_frames_learned++;
        }
    }
}

static struct proto_image *
find_image(struct proto_info *info, const struct fz_uuid *uuid)
{
    for (size_t i = 0; i < info->n_images; i++) {
        if (fz_uuid_equal(&info->images[i].uuid, uuid))
            return &info->images[i];
    }
    return NULL;
}

/* A better symbol file would change the report: there is none, it cannot be read, or it is a binary
 * whose dSYM has not come yet, or a dSYM whose BCSymbolMap has not. */
static bool
wants_symbols(const struct report_image *image)
{
    return image->state == REPORT_IMAGE_MISSING || image->state == REPORT_IMAGE_FAILED ||
           (image->state == REPORT_IMAGE_FOUND && image->wants_better);
}

static enum fz_code
collect_images(const struct report *report, struct fz_arena *arena, struct proto_info *info,
               struct fz_error *err)
{
    info->images = fz_arena_array(arena, report->n_images, sizeof(*info->images));
    if (!info->images)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < report->n_images; i++) {
        const struct report_image *image = &report->images[i];
        if (!image->has_uuid)
            continue;
        /* A linear search: a report has at most 4,096 images (limits.images). */
        struct proto_image *to = find_image(info, &image->uuid);
        if (!to) {
            to = &info->images[info->n_images++];
            *to =
                (struct proto_image){.uuid = image->uuid, .name = image->name, .arch = image->arch};
        }
        /* A UUID may be listed twice, and only the second may have been hit. */
        to->is_waiting = to->is_waiting || wants_symbols(image);
        to->is_damaged = to->is_damaged || image->is_damaged;
    }
    return FZ_OK;
}

static enum fz_code
collect_info(struct report *report, struct child_cache *cache, struct fz_arena *arena,
             struct proto_info *info, struct fz_error *err)
{
    static const enum proto_status statuses[] = {[REPORT_UNSYMBOLICATED] = PROTO_UNSYMBOLICATED,
                                                 [REPORT_PARTIAL] = PROTO_PARTIAL,
                                                 [REPORT_SYMBOLICATED] = PROTO_SYMBOLICATED};
    union fz_value *values;
    enum fz_code code = report_columns_make(report, arena, &values, err);
    if (code != FZ_OK)
        return code;
    /* Into protocol's own types, so that a change of the model does not change messages. */
    *info = (struct proto_info){.status = statuses[report_status(report)],
                                .format = report->format,
                                .timestamp_ms = report->timestamp_ms,
                                .values = values};
    count_frames(report, info);
    child_cache_counts(cache, &info->n_cache_hits, &info->n_cache_misses);
    return collect_images(report, arena, info, err);
}

/* The lines of `text` as a list. */
static enum fz_code
split_prefixes(const char *text, struct fz_arena *arena, struct resolve_options *ret,
               struct fz_error *err)
{
    size_t n = 0;
    for (const char *p = text; p && *p; p++)
        /* The last line may lack its end, hence one more below. */
        n += *p == '\n';
    const char **list = fz_arena_array(arena, n + 1, sizeof(*list));
    if (!list)
        return fz_arena_fail(arena, err);
    *ret = (struct resolve_options){.cut_prefixes = list};
    while (text && *text) {
        size_t len = strcspn(text, "\n");
        list[ret->n_cut_prefixes] = fz_arena_text(arena, fz_span_make(text, len));
        if (!list[ret->n_cut_prefixes++])
            return fz_arena_fail(arena, err);
        text += len + (text[len] == '\n');
    }
    return FZ_OK;
}

/* What the result file is filled with: the report's JSON, then the info for the worker, then the
 * body without memory, if it had any. */
struct result {
    struct fz_buffer bytes;
    size_t json_len, info_len;
};

struct raw {
    struct fz_span bytes;
    const char *reader; /* what was detected in them; NULL = not known */
    const char *rules;  /* of grouping, of the project; NULL = none */
    bool is_scrubbed;
    const char *scrub_rules; /* NULL = none */
};

/* Before anything is made of the report, and after its memory was looked for by its texts. */
static enum fz_code
scrub(const struct raw *raw, struct fz_arena *arena, struct report *report, struct fz_error *err)
{
    struct scrub_rules rules;
    struct fz_error wrong;
    if (!raw->is_scrubbed)
        return FZ_OK;
    /* They were checked when they were stored; a report is not lost because of them. */
    if (scrub_rules_parse(raw->scrub_rules, arena, &rules, &wrong) != FZ_OK) {
        report_note(report, arena, "%s; the defaults are used", wrong.text);
        rules = scrub_rules_default();
    }
    return scrub_report(report, &rules, arena, err);
}

/* Ingest, resolve and write; everything is in the arena or in `ret`. */
static enum fz_code
symbolicate(struct child *child, const struct raw *raw, const struct report_envelope *envelope,
            const struct resolve_options *options, struct fz_arena *arena, struct result *ret,
            struct fz_error *err)
{
    struct report report;
    struct proto_info info;
    struct proto_issue issue = {.is_placeholder = false};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer stack = fz_buffer_make(PROTO_STACK_MAX);
    struct fz_span stripped = {NULL, 0};
    child->arena = arena; /* of what the worker answers while the report is resolved */
    enum fz_code code =
        ingest_parse_as(raw->bytes, raw->reader, &child->limits, arena, &report, err);
    if (code == FZ_OK)
        code =
            ingest_strip(raw->bytes, raw->reader, &child->limits, &report, arena, &stripped, err);
    if (code == FZ_OK)
        code = scrub(raw, arena, &report, err);
    if (code == FZ_OK)
        code = resolve_report(&report, child_cache_find, child, options, arena, err);
    /* Before the columns, which have the function that the key names. */
    if (code == FZ_OK)
        code = child_issue(&report, raw->rules, arena, &stack, &issue, err);
    if (code == FZ_OK)
        code = collect_info(&report, child->cache, arena, &info, err);
    if (code == FZ_OK)
        info.issue = issue;
    /* After resolving: a frame with a name from a symbol file brings no name to learn. */
    if (code == FZ_OK && options->learned)
        child_learned_collect(&report, arena, &info.learned, &info.n_learned);
    if (code == FZ_OK && options->values)
        code = resolve_redact_notable(&report, arena, err);
    /* Values were read from it; it is stored nowhere but in the body. */
    if (code == FZ_OK)
        ingest_drop_memory(&report, options->values);
    if (code == FZ_OK)
        code = report_render_json(&report, envelope, &ret->bytes, err);
    if (code != FZ_OK)
        return code;
    ret->json_len = ret->bytes.len;
    /* After the JSON in the same file: both may be longer than a packet. */
    proto_info_encode(&info, &report_columns, &ret->bytes);
    ret->info_len = ret->bytes.len - ret->json_len;
    fz_buffer_append(&ret->bytes, stripped.data, stripped.len);
    return fz_buffer_done(&ret->bytes, err);
}

static enum fz_code
answer(struct child *child, const struct result *result, int result_fd, struct fz_error *err)
{
    enum fz_code code = fz_file_write_fd(result_fd, fz_buffer_span(&result->bytes), err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u64(&body, result->json_len);
    proto_put_u64(&body, result->info_len);
    proto_put_u64(&body, result->bytes.len - result->json_len - result->info_len);
    return child_send(child, PROTO_DONE, &body, err);
}

enum fz_code
child_symbolicate(struct child *child, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(child->limits.report_memory);
    struct result result = {.bytes = fz_buffer_make(child->limits.report_memory)};
    struct fz_map raw = {.bytes = {NULL, 0}};

    FZ_CLEANUP(fz_closep) int report_fd = proto_take_fd(&child->inbox, 0);
    FZ_CLEANUP(fz_closep) int result_fd = proto_take_fd(&child->inbox, 1);
    struct fz_reader in = fz_reader_make(child->inbox.body, "request");
    /* The same order as in send_report() of server/worker/job_report.c. */
    struct report_envelope envelope = {.status = NULL};
    envelope.id = proto_get_text(&in, PROTO_TEXT_MAX, &arena);
    envelope.project = proto_get_text(&in, PROTO_TEXT_MAX, &arena);
    envelope.received_ms = (int64_t)fz_read_u64(&in);
    const char *prefixes = proto_get_text(&in, PROTO_PREFIXES_MAX, &arena);
    bool learns = fz_read_u8(&in) != 0;
    bool has_values = fz_read_u8(&in) != 0;
    struct resolve_redact_rules rules;
    rules.allow = proto_get_text(&in, PROTO_REDACT_MAX, &arena);
    rules.deny = proto_get_text(&in, PROTO_REDACT_MAX, &arena);
    const char *reader = proto_get_text(&in, PROTO_TEXT_MAX, &arena);
    const char *group_rules = proto_get_text(&in, PROTO_RULES_MAX, &arena);
    bool is_scrubbed = fz_read_u8(&in) != 0;
    const char *scrub_rules = proto_get_text(&in, PROTO_REDACT_MAX, &arena);
    child_cache_begin(child->cache, fz_read_u64(&in));
    struct resolve_options options;
    enum fz_code code = fz_read_done(&in, err);
    if (code == FZ_OK)
        code = split_prefixes(prefixes, &arena, &options, err);
    if (code == FZ_OK && learns)
        options.learned = child_learned_find;
    if (code == FZ_OK) {
        options.files = child_slices_find;
        options.values = has_values;
        options.redact = &rules;
    }
    if (code == FZ_OK)
        code = fz_map_open_fd(report_fd, &raw, err);
    const struct raw body = {raw.bytes, reader, group_rules, is_scrubbed, scrub_rules};
    if (code == FZ_OK)
        code = symbolicate(child, &body, &envelope, &options, &arena, &result, err);
    if (code == FZ_OK)
        code = answer(child, &result, result_fd, err);
    fz_map_close(&raw);
    fz_buffer_deinit(&result.bytes);
    return code;
}
