#include "server/api/api_replica.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "storage/store_request.h"
#include "storage/store_row_security.h"

enum {
    LOOK_MS = 100,
    MARKS = 128, /* twelve seconds of looks */
    SLOTS = 256
};

/* The primary had written so much when it was asked. */
struct mark {
    int64_t at_ms, bytes;
};

struct api_replica {
    struct api *api;
    int64_t limit_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped; /* on the monotonic clock */
    bool is_stopped;        /* guarded by lock */
    struct store *pool[API_POOL_MAX];
    size_t n_pool;                   /* the same */
    struct store *primary, *standby; /* the thread's; NULL: not open */
    struct mark marks[MARKS];        /* the thread's; a ring */
    size_t n_marks;
    const char *word;       /* the thread's: as it was last logged */
    _Atomic int64_t has_ms; /* the standby has what was committed before; 0: it is not to be used */
    _Atomic int64_t had_ms; /* the same, kept while it is away */
    _Atomic bool is_away;
    _Atomic int64_t senders[SLOTS],
        projects[SLOTS]; /* when one of the slot's has changed something; monotonic */
    _Atomic uint64_t n_reads, n_passed;
};

/* ---- looking ------------------------------------------------------------------------------ */

/* Opened when it is first needed, and closed after a failure. */
static enum fz_code
ask(struct api *api, const char *url, struct store **store, struct store_position *ret,
    struct fz_error *err)
{
    enum fz_code code = *store ? FZ_OK : api_store_open(api, url, false, store, err);
    if (code == FZ_OK)
        code = store_position(*store, ret, err);
    if (code != FZ_OK) {
        store_close(*store);
        *store = NULL;
    }
    return code;
}

/* The last moment whose commits the standby has; 0: older than all that is known. */
static int64_t
moment_of(const struct api_replica *replica, int64_t bytes)
{
    size_t n = replica->n_marks < MARKS ? replica->n_marks : MARKS;
    for (size_t i = 1; i <= n; i++) {
        const struct mark *mark = &replica->marks[(replica->n_marks - i) % MARKS];
        if (mark->bytes <= bytes)
            return mark->at_ms;
    }
    return 0;
}

static enum fz_code
look(struct api_replica *replica, struct fz_error *err)
{
    struct store_position primary, standby;
    struct api *api = replica->api;
    /* Before the question: what is committed during it may be missing in the answer. */
    int64_t at_ms = fz_time_monotonic_ms();
    enum fz_code code = ask(api, api->config.database_url, &replica->primary, &primary, err);
    if (code != FZ_OK)
        return FZ_OK; /* others say so; meanwhile the replica gets old */
    if (primary.is_standby) {
        /* After a fail-over: the next look connects again. */
        store_close(replica->primary);
        replica->primary = NULL;
        return FZ_OK;
    }
    code = ask(api, api->config.replica_url, &replica->standby, &standby, err);
    if (code != FZ_OK)
        return code;
    if (!standby.is_standby || standby.system != primary.system) {
        store_close(replica->standby);
        replica->standby = NULL;
        replica->n_marks = 0;
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s",
                       standby.is_standby ? "it is a standby of another database"
                                          : "it is not a standby");
    }
    replica->marks[replica->n_marks++ % MARKS] = (struct mark){at_ms, primary.bytes};
    int64_t has_ms = moment_of(replica, standby.bytes);
    if (has_ms) {
        atomic_store(&replica->had_ms, has_ms);
        atomic_store(&replica->has_ms, has_ms);
    }
    return FZ_OK;
}

static bool
is_recent(const struct api_replica *replica, int64_t has_ms)
{
    return has_ms && fz_time_monotonic_ms() - has_ms <= replica->limit_ms;
}

static void
say(struct api_replica *replica, enum fz_code code, const struct fz_error *err)
{
    atomic_store(&replica->is_away, code != FZ_OK);
    if (code != FZ_OK)
        atomic_store(&replica->has_ms, 0);
    const struct api_replica_state state = api_replica_state(replica);
    if (replica->word && strcmp(replica->word, state.word) == 0)
        return;
    replica->word = state.word;
    fz_log(state.is_used ? FZ_LOG_INFO : FZ_LOG_WARN, "replica", "state=%s lag_ms=%lld why=\"%s\"",
           state.word, (long long)state.lag_ms, code == FZ_OK ? "" : err->text);
}

/* False at the end. */
static bool
nap(struct api_replica *replica)
{
    int64_t until_ms = fz_time_monotonic_ms() + LOOK_MS;
    struct timespec at = {.tv_sec = (time_t)(until_ms / 1000),
                          .tv_nsec = (long)(until_ms % 1000) * 1000000};
    pthread_mutex_lock(&replica->lock);
    while (!replica->is_stopped && fz_time_monotonic_ms() < until_ms)
        pthread_cond_timedwait(&replica->stopped, &replica->lock, &at);
    bool goes_on = !replica->is_stopped;
    pthread_mutex_unlock(&replica->lock);
    return goes_on;
}

static void *
run(void *user)
{
    struct api_replica *replica = user;
    do {
        struct fz_error err = {.code = FZ_OK, .offset = -1};
        enum fz_code code = look(replica, &err);
        say(replica, code, &err);
    } while (nap(replica));
    return NULL;
}

/* ---- life --------------------------------------------------------------------------------- */

static void
end(struct api_replica *replica)
{
    pthread_cond_destroy(&replica->stopped);
    pthread_mutex_destroy(&replica->lock);
    store_close(replica->primary);
    store_close(replica->standby);
    for (size_t i = 0; i < replica->n_pool; i++)
        store_close(replica->pool[i]);
    free(replica);
}

enum fz_code
api_replica_start(struct api *api, struct api_replica **ret, struct fz_error *err)
{
    struct api_replica *replica = calloc(1, sizeof(*replica));
    if (!replica)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    replica->api = api;
    replica->limit_ms = (int64_t)api->config.limits->replica_lag_s * 1000;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&replica->stopped, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&replica->lock, NULL);
    if (pthread_create(&replica->thread, NULL, run, replica) != 0) {
        end(replica);
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    }
    *ret = replica;
    return FZ_OK;
}

void
api_replica_stop(struct api_replica *replica)
{
    if (!replica)
        return;
    pthread_mutex_lock(&replica->lock);
    replica->is_stopped = true;
    pthread_cond_signal(&replica->stopped);
    pthread_mutex_unlock(&replica->lock);
    pthread_join(replica->thread, NULL);
    end(replica);
}

/* ---- requests ----------------------------------------------------------------------------- */

static _Atomic int64_t *
slot_of(_Atomic int64_t slots[SLOTS], int64_t id)
{
    return &slots[(uint64_t)id % SLOTS];
}

void
api_replica_changed_by(struct api_replica *replica, int64_t sender)
{
    if (replica && sender)
        atomic_store(slot_of(replica->senders, sender), fz_time_monotonic_ms());
}

void
api_replica_changed_in(struct api_replica *replica, int64_t project_id)
{
    if (replica)
        atomic_store(slot_of(replica->projects, project_id), fz_time_monotonic_ms());
}

/* Has it all that this request must see? */
static bool
may_answer(struct api_replica *replica, const struct http_request *request)
{
    int64_t has_ms = atomic_load(&replica->has_ms);
    /* In the same millisecond as the change it may be without it. */
    return is_recent(replica, has_ms) &&
           has_ms > atomic_load(slot_of(replica->senders, http_token_id(request))) &&
           has_ms > atomic_load(slot_of(replica->projects, http_project_id(request)));
}

struct store *
api_replica_get(struct api_replica *replica, const struct http_request *request)
{
    struct store *store = NULL;
    if (!may_answer(replica, request)) {
        atomic_fetch_add(&replica->n_passed, 1);
        return NULL;
    }
    pthread_mutex_lock(&replica->lock);
    if (replica->n_pool > 0)
        store = replica->pool[--replica->n_pool];
    pthread_mutex_unlock(&replica->lock);
    if (store && api_store_is_right(replica->api, store))
        return store;
    store_close(store);
    if (api_store_open(replica->api, replica->api->config.replica_url, true, &store, NULL) == FZ_OK)
        return store;
    atomic_store(&replica->has_ms, 0);
    atomic_fetch_add(&replica->n_passed, 1);
    return NULL;
}

void
api_replica_put(struct api_replica *replica, struct store *store, bool failed)
{
    store_limit_time(store, 0);
    store_see_project(store, 0);
    atomic_fetch_add(failed ? &replica->n_passed : &replica->n_reads, 1);
    if (failed)
        atomic_store(&replica->has_ms, 0);
    pthread_mutex_lock(&replica->lock);
    bool kept = !failed && replica->n_pool < API_POOL_MAX;
    if (kept)
        replica->pool[replica->n_pool++] = store;
    pthread_mutex_unlock(&replica->lock);
    if (!kept)
        store_close(store);
}

struct api_replica_state
api_replica_state(struct api_replica *replica)
{
    struct api_replica_state state = {.word = "away", .lag_ms = -1};
    if (!replica)
        return state;
    int64_t had_ms = atomic_load(&replica->had_ms);
    state.is_used = is_recent(replica, atomic_load(&replica->has_ms));
    state.word = state.is_used ? "ok" : atomic_load(&replica->is_away) ? "away" : "late";
    state.lag_ms = had_ms ? fz_time_monotonic_ms() - had_ms : -1;
    state.n_reads = atomic_load(&replica->n_reads);
    state.n_passed = atomic_load(&replica->n_passed);
    return state;
}
