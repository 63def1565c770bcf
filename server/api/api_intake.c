/*
 * Taking in the reports of one body: read by a child, handed to the committer, answered when the
 * last of them is on disk.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_usage.h"

/* A commit that takes longer has an unknown end. The client is to send the report again: it is
 * known then if it was stored. */
enum { COMMIT_WITHIN_MS = 1800 };

struct taking {
    struct api_intake intake;
    struct fz_arena arena; /* what the child found, and what the client's protocol put there */
    struct store_report_new *items;
    size_t n, n_refused;
    struct fz_error first;
    atomic_size_t n_open;    /* items that are not committed yet, and one for the submission */
    atomic_bool is_unstored; /* the store failed for at least one */
    struct fz_error failure; /* written once, by who set is_unstored */
};

static void
destroy_taking(struct taking *taking)
{
    fz_arena_deinit(&taking->arena);
    free(taking);
}

static void
count(const struct taking *taking)
{
    struct metrics *metrics = taking->intake.api->config.metrics;
    for (size_t i = 0; !taking->intake.transient && i < taking->n; i++) {
        const struct store_report_new *item = &taking->items[i];
        /* A repeated report takes no space, so it does not count for the quota. */
        if (!item->is_duplicate)
            api_usage_add(taking->intake.api->usage, item->project_id, STORE_USAGE_REPORTS,
                          item->body.len);
        if (metrics && item->is_duplicate)
            metrics->reports_duplicate++;
        else if (metrics)
            metrics->reports_accepted++;
    }
}

/* One item less is open; the last one answers. */
static void
close_one(struct taking *taking)
{
    if (atomic_fetch_sub(&taking->n_open, 1) > 1)
        return;
    struct http_request *request = taking->intake.request;
    if (atomic_load(&taking->is_unstored)) {
        /* Those that were stored are known when the client sends all of them again. */
        http_respond_error(request, &taking->failure);
    } else {
        struct api_taken taken = {.items = taking->items,
                                  .n = taking->n,
                                  .n_refused = taking->n_refused,
                                  .first = taking->n_refused ? &taking->first : NULL};
        count(taking);
        http_answer_within(request, 0);
        if (taking->n > 0)
            http_log_note(request, "report", taking->items[0].id);
        taking->intake.answer(request, &taken, taking->intake.user);
    }
    destroy_taking(taking);
}

static void
fail_one(struct taking *taking, enum fz_code code, const char *text)
{
    if (!atomic_exchange(&taking->is_unstored, true))
        fz_ignore(fz_fail(&taking->failure, code, "%s", text)); /* only fills it */
}

/* On the committer's thread: must not block. */
static void
committed(void *user, struct store_report_new *item FZ_UNUSED, enum fz_code code, const char *text)
{
    struct taking *taking = user;
    if (code != FZ_OK)
        fail_one(taking, code, text);
    close_one(taking);
}

/* Lengths too, so that bytes cannot move from one piece to the next unseen. */
static void
add_piece(struct fz_hash *hash, struct fz_span bytes)
{
    uint64_t len = bytes.len;
    fz_hash_update(hash, fz_span_make(&len, sizeof(len)));
    fz_hash_update(hash, bytes);
}

/* The hash of what makes the report the same as one that was sent before. */
static enum fz_code
identify(const struct children_result *result, const struct proto_item *item, struct fz_span body,
         char ret[FZ_SHA256_TEXT], struct fz_error *err)
{
    struct fz_span bytes = children_item_body(result, item, body);
    if (item->n_pieces == 0) {
        fz_sha256_hex(bytes, ret);
        return FZ_OK;
    }
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    enum fz_code code = fz_hash_create(FZ_HASH_SHA256, &hash, err);
    if (code != FZ_OK)
        return code;
    add_piece(hash, fz_span_cstr(item->id));
    for (size_t i = 0; i < item->n_pieces; i++) {
        const struct proto_piece *piece = &item->pieces[i];
        struct fz_span part = {NULL, 0};
        /* The decoder has checked that the range is inside. */
        (void)fz_span_sub(item->is_made ? result->made : body, piece->offset, piece->len, &part);
        add_piece(hash, piece->text ? fz_span_cstr(piece->text) : part);
    }
    fz_hash_finish(hash, ret);
    return FZ_OK;
}

static void
make_row(const struct taking *taking, const struct proto_item *item, struct fz_span body,
         struct store_report_new *ret)
{
    /* For a report whose sender gave it none. */
    struct fz_uuid uuid = fz_uuid_new();
    *ret = (struct store_report_new){
        .project_id = taking->intake.project_id,
        .format = item->format,
        .reader = item->reader,
        .body = body,
        .received_ms = fz_time_now_ms(),
        .transient = taking->intake.transient,
    };
    /* A report that only passes through must never meet a stored one by its id. */
    if (*item->id && !taking->intake.transient)
        memcpy(ret->id, item->id, sizeof(ret->id));
    else
        fz_uuid_format(&uuid, ret->id);
}

/* One report that was not read: the server made it, or a child died of it. The child
 * of a worker judges those. */
static enum fz_code
take_whole(struct taking *taking, const char *format, const char *reader, struct fz_error *err)
{
    taking->items = fz_arena_array(&taking->arena, 1, sizeof(*taking->items));
    if (!taking->items)
        return fz_arena_fail(&taking->arena, err);
    const struct proto_item item = {.format = format, .reader = reader};
    make_row(taking, &item, taking->intake.body, &taking->items[0]);
    /* Of the whole body, since its parts are not known. */
    fz_sha256_hex(taking->intake.body, taking->items[0].body_sha256);
    taking->n = 1;
    return FZ_OK;
}

static void
refuse(struct fz_error *err, const struct proto_item *item)
{
    fz_ignore(fz_fail(err, item->code, "%s", item->text)); /* only fills it */
    err->offset = item->err_offset;
}

static enum fz_code
take_found(struct taking *taking, const struct children_result *result, struct fz_error *err)
{
    const struct proto_intake *found = &result->found;
    uint64_t n_all = found->n_items + found->n_cut;
    /* The answer is the report itself, so there can be only one. */
    if (taking->intake.transient && n_all > 1)
        return fz_fail(err, FZ_E_UNSUPPORTED, "%llu reports in one body; send them one by one",
                       (unsigned long long)n_all);
    taking->items = fz_arena_array(&taking->arena, found->n_items, sizeof(*taking->items));
    if (!taking->items)
        return fz_arena_fail(&taking->arena, err);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < found->n_items; i++) {
        const struct proto_item *item = &found->items[i];
        if (item->code != FZ_OK) {
            if (taking->n_refused++ == 0)
                refuse(&taking->first, item);
            continue;
        }
        struct store_report_new *row = &taking->items[taking->n++];
        make_row(taking, item, children_item_body(result, item, taking->intake.body), row);
        code = identify(result, item, taking->intake.body, row->body_sha256, err);
    }
    /* One that can be read is enough: the sender learns of the others in the answer. */
    if (code == FZ_OK && taking->n == 0) {
        if (taking->n_refused == 0)
            return fz_fail(err, FZ_E_MALFORMED, "no report in the body");
        *err = taking->first;
        return taking->first.code;
    }
    if (found->n_cut && taking->n_refused == 0)
        fz_ignore(fz_fail(&taking->first, FZ_E_LIMIT, "more than %d reports in one body",
                          PROTO_ITEMS_MAX)); /* only fills it */
    taking->n_refused += found->n_cut;
    return code;
}

enum fz_code
api_intake_read(const struct api_intake *intake, struct children_result *ret, struct fz_error *err)
{
    struct proto_intake_request request = intake->kind;
    if (!request.kind)
        request.kind = PROTO_INTAKE_REPORTS;
    return children_intake_read(intake->api->intake, intake->project_id, &request, intake->body,
                                intake->arena, ret, err);
}

static enum fz_code
take_body(struct taking *taking, struct fz_error *err)
{
    struct api_intake intake = taking->intake;
    struct children_result result;
    if (intake.own_format)
        return take_whole(taking, intake.own_format, intake.own_format, err);
    if (!intake.result) {
        intake.arena = &taking->arena;
        enum fz_code code = api_intake_read(&intake, &result, err);
        if (code != FZ_OK)
            return code;
        intake.result = &result;
    }
    return intake.result->is_unchecked ? take_whole(taking, "unknown", NULL, err)
                                       : take_found(taking, intake.result, err);
}

enum fz_code
api_intake(const struct api_intake *intake, struct fz_error *err)
{
    struct taking *taking = calloc(1, sizeof(*taking));
    if (!taking)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    taking->intake = *intake;
    /* The reports must live until the commit, longer than the handler that owns the arena. */
    if (intake->arena)
        taking->arena = *intake->arena;
    else
        fz_arena_init(&taking->arena, intake->api->config.limits->report_memory);
    enum fz_code code = take_body(taking, err);
    if (code != FZ_OK) {
        if (intake->arena)
            *intake->arena = taking->arena; /* grown by the reading; still the caller's */
        else
            fz_arena_deinit(&taking->arena);
        free(taking);
        return code;
    }
    if (intake->arena) /* moved */
        fz_arena_init(intake->arena, intake->arena->cap);
    http_answer_within(intake->request, COMMIT_WITHIN_MS);
    size_t n = taking->n; /* `taking` may be gone after the last submission */
    atomic_store(&taking->n_open, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct fz_error refused;
        code = store_committer_submit(intake->api->committer, &taking->items[i], committed, taking,
                                      &refused);
        if (code != FZ_OK) {
            fail_one(taking, code, refused.text);
            close_one(taking);
        }
    }
    close_one(taking);
    return FZ_OK;
}
