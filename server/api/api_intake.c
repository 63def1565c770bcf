/*
 * Taking in the reports of one body: split, checked, handed to the committer, answered when the
 * last of them is on disk.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_usage.h"
#include "server/ingest/identity.h"
#include "server/ingest/ingest.h"

/* A commit that takes longer has an unknown end. The client is to send the report again: it is
 * known then if it was stored. */
enum { COMMIT_WITHIN_MS = 1800 };

struct taking {
    struct api_intake intake;
    struct fz_arena arena; /* the split bodies, and what the client protocol put there */
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
committed(void *user, struct store_report_new *item, enum fz_code code, const char *text)
{
    struct taking *taking = user;
    (void)item;
    if (code != FZ_OK)
        fail_one(taking, code, text);
    close_one(taking);
}

static enum fz_code
make_item(const struct taking *taking, const struct ingest_item *from, struct store_report_new *to,
          struct fz_error *err)
{
    struct fz_uuid uuid = fz_uuid_new();
    *to = (struct store_report_new){
        .project_id = taking->intake.project_id,
        .format = from->format,
        .body = from->body,
        .received_ms = fz_time_now_ms(),
        .transient = taking->intake.transient,
    };
    if (from->id[0] && !taking->intake.transient)
        memcpy(to->id, from->id, sizeof(to->id));
    else
        fz_uuid_format(&uuid, to->id);
    return ingest_identity(from->body, from->id, to->body_sha256, err);
}

static enum fz_code
split(struct taking *taking, struct fz_error *err)
{
    const struct limits *limits = taking->intake.api->config.limits;
    struct ingest_item *found;
    size_t n, n_cut;
    enum fz_code code =
        ingest_split(taking->intake.body, limits, &taking->arena, &found, &n, &n_cut, err);
    if (code != FZ_OK)
        return code;
    if (taking->intake.transient && n + n_cut > 1)
        return fz_fail(err, FZ_E_UNSUPPORTED, "%zu reports in one body; send them one by one",
                       n + n_cut);
    taking->items = fz_arena_array(&taking->arena, n, sizeof(*taking->items));
    if (!taking->items)
        return fz_arena_fail(&taking->arena, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (found[i].code == FZ_OK)
            code = make_item(taking, &found[i], &taking->items[taking->n++], err);
        else if (taking->n_refused++ == 0)
            taking->first = found[i].err;
    }
    if (n_cut && taking->n_refused == 0)
        fz_ignore(fz_fail(&taking->first, FZ_E_LIMIT, "more than %d reports in one body",
                          INGEST_ITEMS_MAX)); /* only fills it */
    taking->n_refused += n_cut;
    return code;
}

enum fz_code
api_intake(const struct api_intake *intake, struct fz_error *err)
{
    struct taking *taking = calloc(1, sizeof(*taking));
    if (!taking)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    taking->intake = *intake;
    if (intake->arena)
        taking->arena = *intake->arena;
    else
        fz_arena_init(&taking->arena, intake->api->config.limits->report_memory);
    enum fz_code code = split(taking, err);
    if (code != FZ_OK) {
        if (intake->arena)
            *intake->arena = taking->arena; /* grown by the split; still the caller's */
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
