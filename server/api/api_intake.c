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
/* While reports move to other issues, which is one transaction: with SQLite commits wait for its end,
 * and what the client sent again would wait as well. The committer gives up after about that time. */
enum { COMMIT_WHILE_MOVING_MS = 20000 };

struct batch {
    struct api_intake intake;
    struct fz_arena arena; /* what the child found, and what the client's protocol put there */
    struct store_report_new *items;
    size_t n, n_refused, n_runs;
    struct fz_error first;
    atomic_size_t n_open;    /* items that are not committed yet, and one for the submission */
    atomic_bool is_unstored; /* the store failed for at least one */
    struct fz_error failure; /* written once, by who set is_unstored */
};

static void
destroy_batch(struct batch *batch)
{
    fz_arena_deinit(&batch->arena);
    free(batch);
}

static void
count(const struct batch *batch)
{
    struct metrics *metrics = batch->intake.api->config.metrics;
    for (size_t i = 0; !batch->intake.transient && i < batch->n; i++) {
        const struct store_report_new *item = &batch->items[i];
        /* A repeated report takes no space, so it does not count for the quota. */
        if (!item->is_duplicate)
            api_usage_add(batch->intake.api->usage, item->project_id, STORE_USAGE_REPORTS,
                          item->body.len);
        if (metrics && item->is_duplicate)
            metrics->reports_duplicate++;
        else if (metrics)
            metrics->reports_accepted++;
    }
}

/* One item less is open; the last one answers. */
static void
close_one(struct batch *batch)
{
    if (atomic_fetch_sub(&batch->n_open, 1) > 1)
        return;
    struct http_request *request = batch->intake.request;
    if (atomic_load(&batch->is_unstored)) {
        /* Those that were stored are known when the client sends all of them again. */
        http_respond_error(request, &batch->failure);
    } else {
        struct api_accepted accepted = {.items = batch->items,
                                        .n = batch->n,
                                        .n_refused = batch->n_refused,
                                        .n_runs = batch->n_runs,
                                        .first = batch->n_refused ? &batch->first : NULL};
        count(batch);
        http_answer_within(request, 0);
        http_leave_queue(request);
        if (batch->n > 0)
            http_log_note(request, "report", batch->items[0].id);
        batch->intake.answer(request, &accepted, batch->intake.user);
    }
    destroy_batch(batch);
}

static void
fail_one(struct batch *batch, enum fz_code code, const char *text)
{
    if (!atomic_exchange(&batch->is_unstored, true))
        fz_ignore(fz_fail(&batch->failure, code, "%s", text)); /* only fills it */
}

/* On the committer's thread: must not block. */
static void
committed(void *user, struct store_report_new *item FZ_UNUSED, enum fz_code code, const char *text)
{
    struct batch *batch = user;
    if (code != FZ_OK)
        fail_one(batch, code, text);
    close_one(batch);
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
make_row(const struct batch *batch, const struct proto_item *item, struct fz_span body,
         struct store_report_new *ret)
{
    /* For a report whose sender gave it none. */
    struct fz_uuid uuid = fz_uuid_new();
    *ret = (struct store_report_new){
        .project_id = batch->intake.project_id,
        .format = item->format,
        .reader = item->reader,
        .body = body,
        .received_ms = fz_time_now_ms(),
        .transient = batch->intake.transient,
    };
    /* A report that only passes through must never meet a stored one by its id. */
    if (*item->id && !batch->intake.transient)
        memcpy(ret->id, item->id, sizeof(ret->id));
    else
        fz_uuid_format(&uuid, ret->id);
}

/* One report that was not read: the server made it, or a child died of it. The child
 * of a worker judges those. */
static enum fz_code
add_unread(struct batch *batch, const char *format, const char *reader, struct fz_error *err)
{
    batch->items = fz_arena_array(&batch->arena, 1, sizeof(*batch->items));
    if (!batch->items)
        return fz_arena_fail(&batch->arena, err);
    const struct proto_item item = {.format = format, .reader = reader};
    make_row(batch, &item, batch->intake.body, &batch->items[0]);
    /* Of the whole body, since its parts are not known. */
    fz_sha256_hex(batch->intake.body, batch->items[0].body_sha256);
    batch->n = 1;
    return FZ_OK;
}

static void
refuse(struct fz_error *err, const struct proto_item *item)
{
    fz_ignore(fz_fail(err, item->code, "%s", item->text)); /* only fills it */
    err->offset = item->err_offset;
}

static enum fz_code
add_found(struct batch *batch, const struct children_result *result, struct fz_error *err)
{
    const struct proto_intake *found = &result->found;
    uint64_t n_all = found->n_items + found->n_cut;
    /* The answer is the report itself, so there can be only one. */
    if (batch->intake.transient && n_all > 1)
        return fz_fail(err, FZ_E_UNSUPPORTED, "%llu reports in one body; send them one by one",
                       (unsigned long long)n_all);
    batch->items = fz_arena_array(&batch->arena, found->n_items, sizeof(*batch->items));
    if (!batch->items)
        return fz_arena_fail(&batch->arena, err);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < found->n_items; i++) {
        const struct proto_item *item = &found->items[i];
        if (item->code != FZ_OK) {
            if (batch->n_refused++ == 0)
                refuse(&batch->first, item);
            continue;
        }
        struct store_report_new *row = &batch->items[batch->n++];
        make_row(batch, item, children_item_body(result, item, batch->intake.body), row);
        code = identify(result, item, batch->intake.body, row->body_sha256, err);
    }
    /* One that can be read is enough: the sender learns of the others in the answer. */
    if (code == FZ_OK && batch->n == 0 && batch->n_runs == 0) {
        if (batch->n_refused == 0)
            return fz_fail(err, FZ_E_MALFORMED, "no report in the body");
        *err = batch->first;
        return batch->first.code;
    }
    if (found->n_cut && batch->n_refused == 0)
        fz_ignore(fz_fail(&batch->first, FZ_E_LIMIT, "more than %d reports in one body",
                          PROTO_ITEMS_MAX)); /* only fills it */
    batch->n_refused += found->n_cut;
    return code;
}

/* Run summaries. Before the reports, whose commit answers the request: if that fails and the client
 * sends all of them again, runs are known by their ids. */
static enum fz_code
count_runs(struct batch *batch, const struct proto_intake *found, struct fz_error *err)
{
    struct store *store = NULL;
    if (found->n_sessions == 0)
        return FZ_OK;
    if (!batch->intake.counts_runs)
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "KSCrash run summary: not a report; send it to /api/v1/reports or "
                       "/kscrash/KEY, where it is counted as a run of the app");
    enum fz_code code = api_store_get(batch->intake.api, batch->intake.project_id, &store, err);
    if (code == FZ_OK)
        code = api_count_found(store, batch->intake.project_id, found, &batch->arena, err);
    api_store_put(batch->intake.api, store);
    batch->n_runs = found->n_sessions;
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
add_reports(struct batch *batch, struct fz_error *err)
{
    struct api_intake intake = batch->intake;
    struct children_result result;
    if (intake.own_format)
        return add_unread(batch, intake.own_format, intake.own_format, err);
    if (!intake.result) {
        intake.arena = &batch->arena;
        enum fz_code code = api_intake_read(&intake, &result, err);
        if (code == FZ_OK)
            code = count_runs(batch, &result.found, err);
        if (code != FZ_OK)
            return code;
        intake.result = &result;
    }
    return intake.result->is_unchecked ? add_unread(batch, "unknown", NULL, err)
                                       : add_found(batch, intake.result, err);
}

enum fz_code
api_intake(const struct api_intake *intake, struct fz_error *err)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    batch->intake = *intake;
    /* The reports must live until the commit, longer than the handler that owns the arena. */
    if (intake->arena)
        batch->arena = *intake->arena;
    else
        fz_arena_init(&batch->arena, intake->api->config.limits->report_memory);
    enum fz_code code = add_reports(batch, err);
    if (code != FZ_OK) {
        if (intake->arena)
            *intake->arena = batch->arena; /* grown by the reading; still the caller's */
        else
            fz_arena_deinit(&batch->arena);
        free(batch);
        return code;
    }
    if (intake->arena) /* moved */
        fz_arena_init(intake->arena, intake->arena->cap);
    http_answer_within(intake->request, atomic_load(&intake->api->n_moves) ? COMMIT_WHILE_MOVING_MS
                                                                           : COMMIT_WITHIN_MS);
    size_t n = batch->n; /* `batch` may be gone after the last submission */
    atomic_store(&batch->n_open, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct fz_error refused;
        code = store_committer_submit(intake->api->committer, &batch->items[i], committed, batch,
                                      &refused);
        if (code != FZ_OK) {
            fail_one(batch, code, refused.text);
            close_one(batch);
        }
    }
    close_one(batch);
    return FZ_OK;
}
