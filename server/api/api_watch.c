#include "server/api/api_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_events.h"
#include "server/api/api_object.h"
#include "server/upload/upload.h"
#include "storage/store_request.h"
#include "storage/store_row_security.h"

/* A commit wakes the watcher at once; this bounds the delay for a new waiter and for a deadline. */
enum { NAP_MS = 50 };

struct api_watcher {
    struct api *api;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct api_wait *added; /* not seen by the thread yet */
    bool is_hurried, is_stopped;
    /* the thread's own */
    struct api_wait *waits;
    struct store *store; /* sees all: for what has changed */
    struct store *asker; /* sees the project of whoever waits */
};

static void
answer_deadline(struct api_call *call, const struct api_wait *wait)
{
    struct fz_error err;
    switch (wait->kind) {
    case API_WAIT_REPORT:
    case API_WAIT_STATUS:
        api_answer_queued(wait->request, wait->id, wait->report_format);
        break;
    case API_WAIT_UPLOAD:
        api_answer_upload_queued(wait->request, wait->id);
        break;
    case API_WAIT_TRANSIENT:
        /* No client will fetch it any more. */
        fz_ignore(store_report_delete(call->store, wait->project_id, wait->id, NULL));
        fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE,
                          "no worker had time for the report; POST it to /api/v1/reports to have "
                          "it stored and symbolicated later"));
        http_respond_public(wait->request, 503, &err, NULL);
        break;
    case API_WAIT_CHECK: /* it has answered, unless the database is away */
        fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE, "the database is not available; try again"));
        http_respond_error(wait->request, &err);
        break;
    }
}

/* Each of these answers and sets *ret_done, returns FZ_OK without it if the job is not done, or
 * fails. */
static enum fz_code
check_report(struct api_call *call, const struct api_wait *wait, bool *ret_done,
             struct fz_error *err)
{
    struct store_report columns;
    enum fz_code code =
        store_report_get(call->store, wait->project_id, wait->id, call->arena, &columns, err);
    if (code != FZ_OK || columns.status == STORE_REPORT_QUEUED)
        return code;
    /* A token without the scope read must not see names. */
    if (wait->kind == API_WAIT_STATUS)
        api_answer_status(wait->request, 200, wait->id, store_report_status_name(columns.status),
                          wait->report_format);
    else
        code = api_answer_stored(call, &columns, wait->format, 200, err);
    *ret_done = code == FZ_OK;
    return code;
}

static enum fz_code
check_transient(struct api_call *call, const struct api_wait *wait, bool *ret_done,
                struct fz_error *err)
{
    struct store_report columns;
    struct fz_span result = {0};
    if (wait->format == API_FORMAT_CRASH || wait->format == API_FORMAT_IPS) {
        /* The body is deleted with the report, so it is read first. */
        enum fz_code found =
            store_report_get(call->store, wait->project_id, wait->id, call->arena, &columns, err);
        if (found == FZ_OK && columns.status == STORE_REPORT_QUEUED)
            return FZ_OK;
        if (found == FZ_OK)
            found = store_report_body(call->store, wait->project_id, wait->id, call->arena,
                                      &call->report_body, err);
        if (found != FZ_OK)
            call->report_body = (struct fz_span){0};
    }
    enum fz_code code = store_report_take_transient(call->store, wait->project_id, wait->id,
                                                    call->arena, &columns, &result, err);
    if (code == FZ_E_UNAVAILABLE) /* the job is not done, or the database is away: ask again */
        return FZ_OK;
    /* Done without a result: the report could not be read. */
    if (code == FZ_OK && result.len == 0)
        code = fz_fail(err, FZ_E_MALFORMED, "%s",
                       columns.error ? api_stored_error(columns.error)
                                     : "the report could not be read");
    if (code == FZ_OK && wait->finished)
        code = wait->finished(call, result, err);
    else if (code == FZ_OK)
        code = api_answer_report(call, &columns, result, wait->format, 200, err);
    *ret_done = code == FZ_OK;
    return code;
}

static enum fz_code
check_upload(struct api_call *call, const struct api_wait *wait, bool *ret_done,
             struct fz_error *err)
{
    struct store_upload upload;
    enum fz_code code =
        store_upload_get(call->store, wait->project_id, wait->id, call->arena, &upload, err);
    if (code != FZ_OK || upload.state == STORE_UPLOAD_QUEUED)
        return code;
    if (upload.state == STORE_UPLOAD_FAILED) {
        /* The number comes from the database, where another version may have written it. */
        enum fz_code cause = upload.error_code > FZ_OK && upload.error_code <= FZ_E_INTERNAL
                                 ? (enum fz_code)upload.error_code
                                 : FZ_E_INTERNAL;
        struct fz_error why;
        fz_ignore(fz_fail(&why, cause, "%s",
                          upload.error ? api_stored_error(upload.error) : "the upload failed"));
        /* The text was written for the client; api_stored_error() has removed what was not. */
        http_respond_public(wait->request, fz_code_http_status(cause), &why, NULL);
        *ret_done = true;
        return FZ_OK;
    }
    struct upload_result result;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    /* Read and written again: a result of an older version gets the members of today. */
    code = upload_result_read(upload.result, call->arena, &result, err);
    if (code != FZ_OK)
        return code;
    upload_result_write(&w, NULL, &result);
    code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    *ret_done = true;
    http_respond_json(wait->request, 201, fz_buffer_span(&out));
    return FZ_OK;
}

/* True if the request was answered. */
static bool
check_wait(struct api_watcher *watcher, const struct api_wait *wait, bool is_late)
{
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(watcher->api->config.limits->report_memory);
    struct api_call call = {
        .api = watcher->api,
        .request = wait->request,
        .store = watcher->asker,
        .arena = &arena,
        .out = fz_buffer_make(0),
        .project_id = wait->project_id,
        /* The one thread of all waiters: a wait here would delay every other answer. */
        .must_not_wait = true,
    };
    store_see_project(watcher->asker, wait->project_id);
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    enum fz_code code = FZ_OK;
    bool is_done = false;
    switch (wait->kind) {
    case API_WAIT_REPORT:
    case API_WAIT_STATUS:
        code = check_report(&call, wait, &is_done, &err);
        break;
    case API_WAIT_TRANSIENT:
        code = check_transient(&call, wait, &is_done, &err);
        break;
    case API_WAIT_UPLOAD:
        code = check_upload(&call, wait, &is_done, &err);
        break;
    case API_WAIT_CHECK:
        code = wait->check(&call, wait->user, is_late, &is_done, &err);
        break;
    }
    api_gate_leave(&call);
    fz_buffer_deinit(&call.out);
    if (is_done)
        return true;
    /* The database may be back before the deadline, and the report is stored, so UNAVAILABLE is not
     * final. A failed job's UNAVAILABLE cannot come here, since such jobs are tried again. */
    if (code != FZ_OK && code != FZ_E_UNAVAILABLE) {
        http_respond_error(wait->request, &err);
        return true;
    }
    /* Also UNAVAILABLE comes to an end at the deadline. */
    if (is_late)
        answer_deadline(&call, wait);
    return is_late;
}

/* ---- the thread -------------------------------------------------------------------------- */

/* Take over what was added; false at the end. Sleeps as long as no request waits. */
static bool
collect(struct api_watcher *watcher, bool *ret_hurried)
{
    pthread_mutex_lock(&watcher->lock);
    while (!watcher->added && !watcher->waits && !watcher->is_stopped &&
           !api_events_is_watched(watcher->api->events))
        pthread_cond_wait(&watcher->changed, &watcher->lock);
    /* The order does not matter: all of them are checked each time. */
    while (watcher->added) {
        struct api_wait *wait = watcher->added;
        watcher->added = wait->next;
        wait->next = watcher->waits;
        /* The thread's own list needs no lock while the database is asked. */
        watcher->waits = wait;
    }
    /* Also when stopped, those who still wait get their answers first. */
    bool go_on = watcher->waits || !watcher->is_stopped;
    /* At the end every request is answered as at its deadline. */
    *ret_hurried = watcher->is_hurried || watcher->is_stopped;
    pthread_mutex_unlock(&watcher->lock);
    return go_on;
}

static bool
is_for_report(const struct api_wait *wait)
{
    return wait->kind == API_WAIT_REPORT || wait->kind == API_WAIT_STATUS ||
           wait->kind == API_WAIT_TRANSIENT;
}

/* Ask for up to STORE_QUEUED_MAX reports of one project that were not looked at yet. False: there is none left. */
static bool
look_at_some(struct api_watcher *watcher)
{
    struct api_wait *some[STORE_QUEUED_MAX];
    const char *ids[STORE_QUEUED_MAX];
    bool are_queued[STORE_QUEUED_MAX];
    size_t n = 0;
    for (struct api_wait *at = watcher->waits; at && n < STORE_QUEUED_MAX; at = at->next) {
        if (at->is_looked || !is_for_report(at) || (n > 0 && at->project_id != some[0]->project_id))
            continue;
        at->is_looked = true;
        ids[n] = at->id;
        some[n++] = at;
    }
    /* What cannot be asked is asked for each by itself, which has the answer for its client. */
    if (n == 0)
        return false;
    store_see_project(watcher->asker, some[0]->project_id);
    if (store_reports_queued(watcher->asker, some[0]->project_id, ids, n, are_queued, NULL) !=
        FZ_OK)
        return true;
    for (size_t i = 0; i < n; i++)
        some[i]->is_queued = are_queued[i];
    return true;
}

/* The same commit wakes all waiters, and nearly all of them wait on. With a query for each of 64 clients the watcher took more
 * than half of the CPU time of `serve`. */
static void
look_at_reports(struct api_watcher *watcher)
{
    for (struct api_wait *at = watcher->waits; at; at = at->next)
        at->is_looked = at->is_queued = false;
    while (look_at_some(watcher))
        continue;
}

/* Row security was turned on or off. */
static void
renew_asker(struct api_watcher *watcher)
{
    struct store *store = NULL;
    struct api *api = watcher->api;
    if (api_store_is_right(api, watcher->asker) ||
        api_store_open(api, api->config.database_url, true, &store, NULL) != FZ_OK)
        return; /* the next look tries again */
    store_close(watcher->asker);
    watcher->asker = store;
}

static void
check_all(struct api_watcher *watcher, bool is_hurried)
{
    renew_asker(watcher);
    look_at_reports(watcher);
    int64_t now_ms = fz_time_monotonic_ms();
    for (struct api_wait **at = &watcher->waits; *at;) {
        struct api_wait *wait = *at;
        bool is_late = is_hurried || now_ms >= wait->deadline_ms;
        if ((!wait->is_queued || is_late) && check_wait(watcher, wait, is_late)) {
            *at = wait->next;
            free(wait->user);
            free(wait);
        } else {
            at = &wait->next;
        }
    }
}

static void *
watch(void *user)
{
    struct api_watcher *watcher = user;
    struct api_events *events = watcher->api->events;
    bool is_hurried = false, has_changed = true;
    while (collect(watcher, &is_hurried)) {
        check_all(watcher, is_hurried);
        api_events_look(events, watcher->store, has_changed);
        /* Without waiters, collect() sleeps until one is added, and what is committed then goes unnoticed. */
        has_changed = true;
        if (watcher->waits || api_events_is_watched(events))
            has_changed = store_wait_change(watcher->store, NAP_MS);
    }
    return NULL;
}

/* There is a new stream of events. */
static void
poke(void *user)
{
    struct api_watcher *watcher = user;
    pthread_mutex_lock(&watcher->lock);
    pthread_cond_signal(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
}

enum fz_code
api_watcher_start(struct api *api, struct api_watcher **ret, struct fz_error *err)
{
    struct api_watcher *watcher = calloc(1, sizeof(*watcher));
    if (!watcher)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    watcher->api = api;
    enum fz_code code = store_open(api->config.database_url, &watcher->store, err);
    if (code == FZ_OK)
        code = store_serve_requests(watcher->store, err);
    if (code == FZ_OK) {
        api_store_renew(api, watcher->store);
        code = api_store_open(api, api->config.database_url, true, &watcher->asker, err);
    }
    if (code != FZ_OK) {
        store_close(watcher->store);
        free(watcher);
        return code;
    }
    pthread_mutex_init(&watcher->lock, NULL);
    pthread_cond_init(&watcher->changed, NULL);
    api_events_on_join(api->events, poke, watcher);
    /* Last, since the thread uses all of the above. */
    if (pthread_create(&watcher->thread, NULL, watch, watcher) != 0) {
        store_close(watcher->store);
        store_close(watcher->asker);
        free(watcher);
        return fz_fail(err, FZ_E_NO_MEMORY, "cannot start a thread");
    }
    *ret = watcher;
    return FZ_OK;
}

enum fz_code
api_wait_create(const struct api_wait *like, int64_t within_ms, struct api_wait **ret,
                struct fz_error *err)
{
    struct api_wait *wait = malloc(sizeof(*wait));
    if (!wait)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *wait = *like;
    wait->deadline_ms = fz_time_monotonic_ms() + within_ms;
    *ret = wait;
    return FZ_OK;
}

void
api_wait_begin(struct api_wait *wait)
{
    struct api_watcher *watcher = wait->watcher;
    pthread_mutex_lock(&watcher->lock);
    wait->next = watcher->added;
    watcher->added = wait;
    /* It sleeps without a timeout while no request waits. */
    pthread_cond_signal(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
}

enum fz_code
api_wait(struct api_call *call, api_check_fn check, void *user, int64_t wait_ms,
         struct fz_error *err)
{
    const struct api_wait like = {.watcher = call->api->watcher,
                                  .kind = API_WAIT_CHECK,
                                  .request = call->request,
                                  .project_id = call->project_id,
                                  .check = check,
                                  .user = user};
    struct api_wait *wait = NULL;
    /* The time that the operator chose for POST /symbols. */
    if (wait_ms < 0)
        wait_ms = (int64_t)call->api->config.upload_wait_s * 1000;
    enum fz_code code = api_wait_create(&like, wait_ms, &wait, err);
    if (code != FZ_OK)
        free(user);
    else
        api_wait_begin(wait);
    return code;
}

void
api_watcher_hurry(struct api_watcher *watcher)
{
    pthread_mutex_lock(&watcher->lock);
    watcher->is_hurried = true;
    pthread_cond_signal(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
}

void
api_watcher_stop(struct api_watcher *watcher)
{
    if (!watcher)
        return;
    pthread_mutex_lock(&watcher->lock);
    watcher->is_stopped = true;
    pthread_cond_signal(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
    pthread_join(watcher->thread, NULL);
    store_close(watcher->store);
    store_close(watcher->asker);
    pthread_mutex_destroy(&watcher->lock);
    pthread_cond_destroy(&watcher->changed);
    free(watcher);
}
