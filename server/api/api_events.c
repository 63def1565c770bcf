/*
 * Streams of events. A message has everything that was counted since the one before, by kind:
 *
 *   id: 41-37-30-5-2-12-6
 *   data: {"report.received":{"n":1,"ids":["8a…"]},"issue.changed":{"n":1,"ids":[7]}}
 *
 * The id is what was counted ever, of each kind of enum store_change: who comes back with it (Last-Event-ID) gets what was
 * counted since, also from another server, which reads the same sums.
 */
#include "server/api/api_events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_replica.h"
#include "server/http/stream.h"
#include "storage/store_changes.h"

enum {
    BETWEEN_MS = 1000,      /* from one message to the next, at least */
    READ_ANYWAY_MS = 10000, /* should a change go unnoticed */
    CHECK_MS = 1000,        /* whether streams may go on */
    HEARTBEAT_MS = 15000,   /* proxies end connections that are silent for a minute */
    LIFE_S = 60 * 60,       /* then a client that has stopped reading frees its place */
    RETRY_MS = 1000,        /* and up to as long again: not all come back at once */
};

struct project {
    LIST_ENTRY(project) link;
    LIST_HEAD(streams, stream) streams;
    int64_t id;
    size_t n_streams;
    bool is_changed; /* since it was read */
    bool has_new;    /* a stream that has heard nothing yet */
    int64_t read_ms;
    struct store_changes counts; /* the watcher's */
};

struct stream {
    LIST_ENTRY(stream) link;
    struct api_events *events;
    struct project *project;
    struct http_request *request;
    struct http_stream *http; /* NULL until its first piece is made */
    int64_t end_ms;
    bool is_over;
    bool is_new;                    /* has heard nothing yet */
    bool has_since;                 /* `since` is what the client knows */
    int64_t since[STORE_CHANGES_N]; /* the id of its next message, once it is not new */
    bool is_due;                    /* there is something to send: */
    struct store_news news[STORE_CHANGES_N];
};

/* `lock` guards the streams, and is held while one is woken. A project is made by any thread, and ends on the watcher's, which
 * may so use it without the lock. */
struct api_events {
    struct api *api;
    pthread_mutex_t lock;
    LIST_HEAD(projects, project) projects;
    _Atomic size_t n_streams;
    int64_t checked_ms; /* the watcher's */
    void (*on_join)(void *watcher);
    void *watcher;
};

/* ---- a message --------------------------------------------------------------------------- */

static void
write_ids(struct json_write *w, const struct store_news *news, bool are_numbers)
{
    if (news->n_ids == 0)
        return;
    json_write_open(w, "ids", '[');
    for (size_t i = 0; i < news->n_ids; i++) {
        if (are_numbers)
            json_write_i64(w, NULL, strtoll(news->ids[i], NULL, 10));
        else
            json_write_text(w, NULL, news->ids[i]);
    }
    json_write_close(w, ']');
}

static void
write_data(const struct store_news news[STORE_CHANGES_N], struct fz_buffer *out)
{
    static const char *const names[STORE_CHANGES_N] = {
        [STORE_CHANGE_RECEIVED] = "report.received", [STORE_CHANGE_REPORT] = "report.changed",
        [STORE_CHANGE_ISSUE] = "issue.changed",      [STORE_CHANGE_NEW_ISSUE] = "issue.created",
        [STORE_CHANGE_UPLOAD] = "upload.finished",   [STORE_CHANGE_SYMBOLS] = "symbols.changed",
    };
    struct json_write w = json_write_start(out);
    fz_buffer_text(out, "data: ");
    json_write_open(&w, NULL, '{');
    for (int i = 0; i < STORE_CHANGES_N; i++) {
        if (!names[i] || !news[i].n)
            continue;
        json_write_open(&w, names[i], '{');
        json_write_u64(&w, "n", news[i].n);
        write_ids(&w, &news[i], i == STORE_CHANGE_ISSUE || i == STORE_CHANGE_NEW_ISSUE);
        if (i == STORE_CHANGE_UPLOAD)
            json_write_u64(&w, "unblocked", news[STORE_CHANGE_UNBLOCKED].n);
        json_write_close(&w, '}');
    }
    json_write_close(&w, '}');
    fz_buffer_text(out, "\n");
}

static void
write_message(struct stream *stream, struct fz_buffer *out)
{
    bool has_news = false;
    fz_buffer_text(out, "id: ");
    for (int i = 0; i < STORE_CHANGES_N; i++) {
        fz_buffer_printf(out, "%s%lld", i ? "-" : "", (long long)stream->since[i]);
        has_news = has_news || stream->news[i].n;
    }
    fz_buffer_text(out, "\n");
    /* Without data a client only notes the id. */
    if (has_news)
        write_data(stream->news, out);
    fz_buffer_text(out, "\n");
    memset(stream->news, 0, sizeof(stream->news));
    stream->is_due = false;
}

/* "41-37-30-5-2-12-6". */
static bool
parse_id(const char *text, int64_t ret[STORE_CHANGES_N])
{
    for (int i = 0; text && i < STORE_CHANGES_N; i++) {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        ret[i] = strtoll(text, &end, 10);
        if (*end != (i + 1 < STORE_CHANGES_N ? '-' : '\0'))
            return false;
        text = end + 1;
    }
    return text != NULL;
}

static enum fz_code
produce(void *user, struct http_stream *http, struct fz_buffer *out,
        enum http_stream_step *ret_step, struct fz_error *err FZ_UNUSED)
{
    struct stream *stream = user;
    uint16_t random;
    pthread_mutex_lock(&stream->events->lock);
    bool is_first = !stream->http;
    stream->http = http;
    if (is_first) {
        fz_random(&random, sizeof(random));
        fz_buffer_printf(out, "retry: %d\n", RETRY_MS + random % RETRY_MS);
    }
    if (stream->is_due)
        write_message(stream, out);
    else if (!stream->is_over)
        fz_buffer_text(out, ":\n\n");
    *ret_step = stream->is_over ? HTTP_STREAM_END : HTTP_STREAM_WAIT;
    pthread_mutex_unlock(&stream->events->lock);
    return FZ_OK;
}

/* ---- what the watcher does --------------------------------------------------------------- */

bool
api_events_is_watched(const struct api_events *events)
{
    return atomic_load(&events->n_streams) > 0;
}

/* It has something to send, or to end. Under the lock. */
static void
wake(struct stream *stream)
{
    if (stream->http)
        http_stream_wake(stream->http);
}

/* The first message: what was counted since the client was here last. */
static void
catch_up(struct stream *stream, const int64_t sums[STORE_CHANGES_N])
{
    for (int i = 0; stream->has_since && i < STORE_CHANGES_N; i++) {
        int64_t n = sums[i] - stream->since[i];
        /* Of another database: nothing is known, so all may have changed. */
        stream->news[i] = (struct store_news){.n = n < 0 ? 1 : (uint64_t)n};
    }
    stream->is_new = false;
}

static void
add_news(struct store_news *to, const struct store_news *from)
{
    to->n += from->n;
    /* Those that came last are of most interest; a stream that lags names fewer than were counted. */
    if (from->n) {
        to->n_ids = from->n_ids;
        memcpy(to->ids, from->ids, sizeof(to->ids));
    }
}

/* What was read of the project, to its streams. Under the lock. */
static void
tell(struct project *project, const struct store_news news[STORE_CHANGES_N])
{
    bool any = false;
    for (int i = 0; news && i < STORE_CHANGES_N; i++)
        any = any || news[i].n;
    struct stream *stream;
    LIST_FOREACH(stream, &project->streams, link)
    {
        if (!any && !stream->is_new)
            continue;
        if (stream->is_new)
            catch_up(stream, project->counts.sums);
        else
            for (int i = 0; i < STORE_CHANGES_N; i++)
                add_news(&stream->news[i], &news[i]);
        memcpy(stream->since, project->counts.sums, sizeof(stream->since));
        stream->is_due = true;
        wake(stream);
    }
    project->has_new = false;
}

static void
look_at(struct api_events *events, struct store *store, struct project *project, int64_t now)
{
    struct store_news news[STORE_CHANGES_N];
    bool is_due = project->is_changed || !project->counts.is_read;
    bool reads = now >= project->read_ms + (is_due ? (int64_t)BETWEEN_MS : (int64_t)READ_ANYWAY_MS);
    if (reads) {
        project->read_ms = now;
        /* Before the reading: what is committed during it may be missing. */
        project->is_changed = false;
        if (store_changes_read(store, project->id, &project->counts, news, NULL) != FZ_OK) {
            project->is_changed = true; /* the database is away: once more in a second */
            return;
        }
    }
    /* Whoever hears of a change asks for it next. */
    api_replica_changed_in(events->api->replica, project->id);
    pthread_mutex_lock(&events->lock);
    if (reads || project->has_new)
        tell(project, reads ? news : NULL);
    pthread_mutex_unlock(&events->lock);
}

/* A login that has ended, and a stream that is old, end; so does a project without streams. */
static void
check_all(struct api_events *events, int64_t now)
{
    struct project *project, *next;
    struct stream *stream;
    pthread_mutex_lock(&events->lock);
    for (project = LIST_FIRST(&events->projects); project; project = next) {
        next = LIST_NEXT(project, link);
        LIST_FOREACH(stream, &project->streams, link)
        {
            bool may = api_still_may(events->api, stream->request, STORE_SCOPE_READ);
            if (stream->is_over || (may && now < stream->end_ms))
                continue;
            stream->is_over = true;
            wake(stream);
        }
        if (project->n_streams == 0) {
            LIST_REMOVE(project, link);
            free(project);
        }
    }
    pthread_mutex_unlock(&events->lock);
}

void
api_events_look(struct api_events *events, struct store *store, bool has_changed)
{
    int64_t now = fz_time_monotonic_ms();
    if (now >= events->checked_ms + CHECK_MS) {
        events->checked_ms = now;
        check_all(events, now);
    }
    pthread_mutex_lock(&events->lock);
    struct project *project = LIST_FIRST(&events->projects);
    pthread_mutex_unlock(&events->lock);
    while (project) {
        project->is_changed = project->is_changed || has_changed;
        look_at(events, store, project, now);
        pthread_mutex_lock(&events->lock);
        project = LIST_NEXT(project, link);
        pthread_mutex_unlock(&events->lock);
    }
}

/* ---- the request ------------------------------------------------------------------------- */

/* Under the lock. NULL: no memory. */
static struct project *
find_project(struct api_events *events, int64_t id)
{
    struct project *project;
    LIST_FOREACH(project, &events->projects, link)
    {
        if (project->id == id)
            return project;
    }
    project = calloc(1, sizeof(*project));
    if (!project)
        return NULL;
    project->id = id;
    LIST_INIT(&project->streams);
    LIST_INSERT_HEAD(&events->projects, project, link);
    return project;
}

static enum fz_code
join(struct api_events *events, struct stream *stream, struct fz_error *err)
{
    const struct limits *limits = events->api->config.limits;
    int64_t id = http_project_id(stream->request);
    size_t n = 0, n_project = 0;
    pthread_mutex_lock(&events->lock);
    struct project *project = find_project(events, id);
    if (project) {
        n = atomic_load(&events->n_streams);
        n_project = project->n_streams;
        if (n < limits->event_streams && n_project < limits->event_streams_project) {
            stream->project = project;
            project->n_streams++;
            project->has_new = true;
            LIST_INSERT_HEAD(&project->streams, stream, link);
            atomic_fetch_add(&events->n_streams, 1);
        }
    }
    pthread_mutex_unlock(&events->lock);
    if (!project)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (stream->project)
        return FZ_OK;
    bool is_project = n_project >= limits->event_streams_project;
    return fz_fail(err, FZ_E_UNAVAILABLE,
                   "%zu streams of events are open%s, which is limit %s; ask again from time to "
                   "time instead",
                   is_project ? n_project : n, is_project ? " for this project" : "",
                   is_project ? "event_streams_project" : "event_streams");
}

static void
leave(void *user)
{
    struct stream *stream = user;
    struct api_events *events = stream->events;
    pthread_mutex_lock(&events->lock);
    LIST_REMOVE(stream, link);
    stream->project->n_streams--;
    atomic_fetch_sub(&events->n_streams, 1);
    pthread_mutex_unlock(&events->lock);
    free(stream);
}

enum fz_code
api_events_get(struct api_call *call, struct fz_error *err)
{
    struct api_events *events = call->api->events;
    const char *seconds = http_query(call->request, "seconds");
    uint64_t life_s = LIFE_S;
    if (seconds && (!fz_text_u64(fz_span_cstr(seconds), &life_s) || life_s < 1 || life_s > LIFE_S))
        return fz_fail(err, FZ_E_MALFORMED, "seconds: '%.40s' is not a number from 1 to %d",
                       seconds, LIFE_S);
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *stream = (struct stream){.events = events,
                              .request = call->request,
                              .end_ms = fz_time_monotonic_ms() + (int64_t)life_s * 1000,
                              .is_new = true};
    stream->has_since = parse_id(http_header(call->request, "Last-Event-ID"), stream->since);
    enum fz_code code = join(events, stream, err);
    if (code != FZ_OK) {
        free(stream);
        if (code == FZ_E_UNAVAILABLE) {
            http_respond_public(call->request, 503, err, NULL); /* its text is for clients */
            return FZ_OK;
        }
        return code;
    }
    const struct http_source source = {.produce = produce,
                                       .destroy = leave,
                                       .user = stream,
                                       .idle_ms = HEARTBEAT_MS,
                                       .is_plain = true,
                                       .has_own_limit = true};
    http_add_header(call->request, "X-Accel-Buffering",
                    "no"); /* nginx passes messages on at once */
    http_respond_stream(call->request, "text/event-stream", &source);
    events->on_join(events->watcher);
    return FZ_OK;
}

enum fz_code
api_events_create(struct api *api, struct api_events **ret, struct fz_error *err)
{
    struct api_events *events = calloc(1, sizeof(*events));
    if (!events)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    events->api = api;
    pthread_mutex_init(&events->lock, NULL);
    LIST_INIT(&events->projects);
    *ret = events;
    return FZ_OK;
}

void
api_events_on_join(struct api_events *events, void (*call)(void *watcher), void *watcher)
{
    events->on_join = call;
    events->watcher = watcher;
}

void
api_events_destroy(struct api_events *events)
{
    if (!events)
        return;
    for (struct project *project; (project = LIST_FIRST(&events->projects));) {
        LIST_REMOVE(project, link);
        free(project);
    }
    pthread_mutex_destroy(&events->lock);
    free(events);
}
