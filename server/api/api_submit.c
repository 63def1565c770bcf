/*
 * Reports in: POST /reports and POST /symbolicate.
 *
 * The handler has a child check the body and hands its reports to the committer; the answer is given
 * on the committer's thread once they are on disk, or by the watcher for those who wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/write.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_watch.h"

enum { WAIT_MAX_MS = 30000, SYMBOLICATE_WAIT_MS = 30000 };

/* It is stored, so even if something hangs from now on, the client need not send it again. */
static void
promise_queued(struct http_request *request, const char *id, const char *report_format)
{
    /* Small and bounded: an id and two words. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(256);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    api_write_status(&w, id, "queued", report_format);
    json_write_close(&w, '}');
    http_set_fallback(request, 202, fz_buffer_span(&out));
}

/* The first report's id is where a single report's id is; the list has all of them. */
static void
answer_several(struct http_request *request, const struct api_accepted *accepted)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    api_write_status(&w, accepted->items[0].id, "queued", accepted->items[0].format);
    json_write_open(&w, "reports", '[');
    for (size_t i = 0; i < accepted->n; i++) {
        json_write_open(&w, NULL, '{');
        api_write_status(&w, accepted->items[i].id, "queued", accepted->items[i].format);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    if (accepted->n_runs)
        json_write_u64(&w, "sessions", accepted->n_runs);
    /* Those that are stored must not be sent again because of the others. */
    if (accepted->n_refused) {
        json_write_u64(&w, "refused", accepted->n_refused);
        json_write_text(&w, "refused_why", accepted->first->text);
    }
    json_write_close(&w, '}');
    http_respond_json(request, 202, fz_buffer_span(&out));
}

/* Nothing was stored: there is no id to ask for, and nothing to wait for. */
static void
answer_counted(struct http_request *request, const struct api_accepted *accepted)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "status", "counted");
    json_write_u64(&w, "sessions", accepted->n_runs);
    if (accepted->n_refused) {
        json_write_u64(&w, "refused", accepted->n_refused);
        json_write_text(&w, "refused_why", accepted->first->text);
    }
    json_write_close(&w, '}');
    http_respond_json(request, 200, fz_buffer_span(&out));
}

/* On the committer's thread: must not block. `user` is how the request waits for its report, NULL
 * if it does not; made before, so that nothing can fail after the commit. */
static void
answer_accepted(struct http_request *request, const struct api_accepted *accepted, void *user)
{
    struct api_wait *wait = user;
    const struct store_report_new *item = accepted->items;
    if (accepted->n == 0) {
        answer_counted(request, accepted);
        free(wait);
        return;
    }
    if (accepted->n + accepted->n_refused + accepted->n_runs > 1) {
        /* Waiting is for one report: an answer with several would have to wait for all of them. */
        answer_several(request, accepted);
        free(wait);
        return;
    }
    if (!wait) {
        api_answer_queued(request, item->id, item->format);
        return;
    }
    /* The id is known only now: a body without one gets it from the server. */
    memcpy(wait->id, item->id, sizeof(item->id));
    snprintf(wait->report_format, sizeof(wait->report_format), "%s", item->format);
    if (wait->kind != API_WAIT_TRANSIENT)
        promise_queued(request, item->id, item->format);
    if (!wait->finished) /* else it looks at the body again */
        http_drop_body(request);
    api_wait_begin(wait);
}

/* "2", "2.5"; more than the maximum means the maximum, since a refusal would cost the report. */
static enum fz_code
query_wait(const struct http_request *request, int64_t *ret_ms, struct fz_error *err)
{
    const char *text = http_query(request, "wait");
    *ret_ms = 0;
    if (!text)
        return FZ_OK;
    size_t digits = strspn(text, "0123456789"), fraction = 0;
    if (text[digits] == '.')
        fraction = 1 + strspn(text + digits + 1, "0123456789");
    /* strtod() alone would accept "inf", hex and spaces. */
    if (digits == 0 || digits > 9 || text[digits + fraction] != '\0')
        return fz_fail(err, FZ_E_MALFORMED, "wait: '%.40s' is not a number of seconds up to %d",
                       text, WAIT_MAX_MS / 1000);
    double ms = strtod(text, NULL) * 1000;
    *ret_ms = ms > (double)WAIT_MAX_MS ? WAIT_MAX_MS : (int64_t)ms;
    return FZ_OK;
}

/* An ingest key is built into apps and therefore public: it must not become a way to look up names,
 * or to read what others sent. */
static enum api_wait_kind
choose_kind(struct api *api, const struct http_request *request)
{
    return api_token_may(api, request, STORE_SCOPE_READ) ? API_WAIT_REPORT : API_WAIT_STATUS;
}

static enum fz_code
submit(struct api *api, struct http_request *request, bool transient, struct fz_error *err)
{
    struct api_wait *wait = NULL, like = {.watcher = api->watcher,
                                          .kind = API_WAIT_TRANSIENT,
                                          .request = request,
                                          .project_id = http_project_id(request)};
    int64_t wait_ms = SYMBOLICATE_WAIT_MS;
    /* This handler runs without api_run(), so no row of the table checks its query. */
    enum fz_code code = api_check_query(request, transient ? "format, rebuild" : "wait", err);
    if (code == FZ_OK && transient)
        code = api_query_format(request, &like.format, err);
    if (code == FZ_OK && like.format == API_FORMAT_RAW)
        code = fz_fail(err, FZ_E_MALFORMED, "format: raw is what was sent; take json, crash, ips");
    if (code == FZ_OK && !transient)
        code = query_wait(request, &wait_ms, err);
    if (code == FZ_OK && !transient && wait_ms > 0)
        like.kind = choose_kind(api, request);
    /* Made before the commit: afterwards, lack of memory could not undo it. */
    if (code == FZ_OK && wait_ms > 0)
        code = api_wait_create(&like, wait_ms, &wait, err);
    if (code != FZ_OK)
        return code;
    const struct api_intake intake = {.api = api,
                                      .request = request,
                                      .project_id = like.project_id,
                                      .transient = transient,
                                      .counts_runs = !transient,
                                      .body = http_body(request),
                                      .answer = answer_accepted,
                                      .user = wait};
    code = api_intake(&intake, err);
    if (code != FZ_OK) /* else the callback has it, and may have ended it already */
        free(wait);
    return code;
}

enum fz_code
api_symbolicate_body(struct api_call *call, struct fz_span body, api_finished_fn finished,
                     struct fz_error *err)
{
    struct api_wait *wait = NULL;
    const struct api_wait like = {.watcher = call->api->watcher,
                                  .kind = API_WAIT_TRANSIENT,
                                  .request = call->request,
                                  .project_id = call->project_id,
                                  .format = API_FORMAT_JSON,
                                  .finished = finished};
    enum fz_code code = api_wait_create(&like, SYMBOLICATE_WAIT_MS, &wait, err);
    if (code != FZ_OK)
        return code;
    const struct api_intake intake = {.api = call->api,
                                      .request = call->request,
                                      .project_id = call->project_id,
                                      .transient = true,
                                      .body = body,
                                      /* The server wrote it, so no child has to check it first. */
                                      .own_format = "framezero",
                                      .arena = call->arena,
                                      .answer = answer_accepted,
                                      .user = wait};
    code = api_intake(&intake, err);
    if (code != FZ_OK)
        free(wait);
    return code;
}

void
api_report_post(void *app, struct http_request *request)
{
    struct fz_error err;
    if (submit(app, request, false, &err) != FZ_OK)
        http_respond_error(request, &err);
}

void
api_symbolicate(void *app, struct http_request *request)
{
    struct fz_error err;
    if (submit(app, request, true, &err) != FZ_OK)
        http_respond_error(request, &err);
}
