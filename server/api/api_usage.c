#include "server/api/api_usage.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "base/time.h"
#include "server/api/api_object.h"

enum { READ_EVERY_MS = 1000, ARENA_BYTES = 8 * 1024 * 1024 };

struct api_usage {
    struct api *api;
    pthread_t thread;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t stopped;
    bool is_stopped;
    struct store_usage *rows;
    size_t n, room;
    struct store_quota *quotas; /* of projects that have their own, by project */
    size_t n_quotas, quotas_room;
    int64_t day, ends_ms; /* monotonic: when the day is over */
};

/* Under the lock. */
static struct store_usage *
find(const struct api_usage *usage, int64_t project_id, enum store_usage_kind kind)
{
    if (fz_time_monotonic_ms() >= usage->ends_ms)
        return NULL; /* a new day, which was not read yet */
    for (size_t i = 0; i < usage->n; i++) {
        /* A linear search: a project has two rows, and the list is one of those that sent today. */
        if (usage->rows[i].project_id == project_id && usage->rows[i].kind == kind)
            return &usage->rows[i];
    }
    return NULL;
}

/* Under the lock; NULL: no memory. */
static struct store_usage *
append(struct api_usage *usage, const struct store_usage *row)
{
    struct store_usage *rows =
        fz_list_grow(NULL, usage->rows, &usage->room, usage->n + 1, sizeof(*rows));
    /* Then this report is not counted here until the next reading. */
    if (!rows)
        return NULL;
    usage->rows = rows;
    usage->rows[usage->n] = *row;
    return &usage->rows[usage->n++];
}

static enum fz_code
read_rows(struct api_usage *usage, struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_usage *rows = NULL;
    size_t n = 0;
    int64_t day = 0, left_ms = 0;
    enum fz_code code = store_usage_today(store, &arena, &rows, &n, &day, &left_ms, err);
    if (code != FZ_OK)
        return code;
    bool is_new_day = false;
    pthread_mutex_lock(&usage->lock);
    /* Rows of past days are of no use; to delete them once a day is often enough. */
    is_new_day = usage->day != day;
    usage->day = day;
    /* By the database's clock, so that all servers agree on the day. */
    usage->ends_ms = fz_time_monotonic_ms() + left_ms;
    usage->n = 0;
    for (size_t i = 0; i < n; i++)
        (void)append(usage, &rows[i]); /* the next reading, in a second, has it */
    pthread_mutex_unlock(&usage->lock);
    return is_new_day ? store_usage_forget(store, err) : FZ_OK;
}

static enum fz_code
read_quotas(struct api_usage *usage, struct store *store, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_quota *quotas = NULL;
    size_t n = 0;
    enum fz_code code = store_quota_list(store, &arena, &quotas, &n, err);
    if (code != FZ_OK)
        return code;
    pthread_mutex_lock(&usage->lock);
    struct store_quota *room =
        fz_list_grow(NULL, usage->quotas, &usage->quotas_room, n ? n : 1, sizeof(*room));
    if (room) {
        usage->quotas = room;
        usage->n_quotas = n;
        if (n)
            memcpy(room, quotas, n * sizeof(*room));
    }
    pthread_mutex_unlock(&usage->lock);
    return room ? FZ_OK : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}

static enum fz_code
refresh(struct api_usage *usage, struct fz_error *err)
{
    struct store *store = NULL;
    enum fz_code code = api_store_get_all(usage->api, &store, err);
    if (code == FZ_OK)
        code = read_rows(usage, store, err);
    if (code == FZ_OK)
        code = read_quotas(usage, store, err);
    if (code == FZ_OK)
        api_store_renew(usage->api, store);
    api_store_put(usage->api, store);
    return code;
}

/* False at the end. */
static bool
nap(struct api_usage *usage)
{
    int64_t until_ms = fz_time_monotonic_ms() + READ_EVERY_MS;
    struct timespec at = {.tv_sec = (time_t)(until_ms / 1000),
                          .tv_nsec = (long)(until_ms % 1000) * 1000000};
    pthread_mutex_lock(&usage->lock);
    while (!usage->is_stopped && fz_time_monotonic_ms() < until_ms)
        pthread_cond_timedwait(&usage->stopped, &usage->lock, &at);
    bool goes_on = !usage->is_stopped;
    pthread_mutex_unlock(&usage->lock);
    return goes_on;
}

static void *
run(void *user)
{
    struct api_usage *usage = user;
    struct fz_error err;
    while (nap(usage)) {
        /* Only for debugging: other threads report a database that is away. */
        if (refresh(usage, &err) != FZ_OK)
            fz_log(FZ_LOG_DEBUG, "usage", "not read: %s", err.text);
    }
    return NULL;
}

enum fz_code
api_usage_start(struct api *api, struct api_usage **ret, struct fz_error *err)
{
    struct api_usage *usage = calloc(1, sizeof(*usage));
    if (!usage)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    usage->api = api;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&usage->stopped, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&usage->lock, NULL);
    /* Here and not in the thread: the first request must find the numbers. */
    enum fz_code code = refresh(usage, err);
    if (code == FZ_OK && pthread_create(&usage->thread, NULL, run, usage) != 0)
        code = fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread");
    if (code == FZ_OK) {
        *ret = usage;
        return FZ_OK;
    }
    pthread_cond_destroy(&usage->stopped);
    pthread_mutex_destroy(&usage->lock);
    free(usage->rows);
    free(usage->quotas);
    free(usage);
    return code;
}

void
api_usage_stop(struct api_usage *usage)
{
    if (!usage)
        return;
    pthread_mutex_lock(&usage->lock);
    usage->is_stopped = true;
    /* It sleeps for a second at most, but a stop should not take even that. */
    pthread_cond_signal(&usage->stopped);
    pthread_mutex_unlock(&usage->lock);
    pthread_join(usage->thread, NULL);
    pthread_cond_destroy(&usage->stopped);
    pthread_mutex_destroy(&usage->lock);
    free(usage->rows);
    free(usage->quotas);
    free(usage);
}

enum fz_code
api_count_upload(struct api_call *call, uint64_t bytes, struct fz_error *err)
{
    enum fz_code code =
        store_usage_add(call->store, call->project_id, STORE_USAGE_SYMBOLS, bytes, err);
    if (code == FZ_OK)
        api_usage_add(call->api->usage, call->project_id, STORE_USAGE_SYMBOLS, bytes);
    return code;
}

void
api_usage_add(struct api_usage *usage, int64_t project_id, enum store_usage_kind kind,
              uint64_t bytes)
{
    pthread_mutex_lock(&usage->lock);
    struct store_usage *row = find(usage, project_id, kind);
    const struct store_usage empty = {.project_id = project_id, .kind = kind};
    /* Not into the rows of yesterday: the next reading has the new day from the database. */
    if (!row && fz_time_monotonic_ms() < usage->ends_ms)
        row = append(usage, &empty);
    if (row) {
        row->bytes += bytes;
        row->n++;
    }
    pthread_mutex_unlock(&usage->lock);
}

struct store_usage
api_usage_get(struct api_usage *usage, int64_t project_id, enum store_usage_kind kind,
              int64_t *ret_left_ms)
{
    struct store_usage found = {.project_id = project_id, .kind = kind};
    pthread_mutex_lock(&usage->lock);
    const struct store_usage *row = find(usage, project_id, kind);
    if (row)
        found = *row;
    int64_t left_ms = usage->ends_ms - fz_time_monotonic_ms();
    pthread_mutex_unlock(&usage->lock);
    if (ret_left_ms)
        *ret_left_ms = left_ms > 0 ? left_ms : 0;
    return found;
}

void
api_usage_fill_quota(const struct limits *limits, struct store_quota *quota)
{
    quota->reports = quota->reports ? quota->reports : limits->reports_per_day;
    quota->report_bytes = quota->report_bytes ? quota->report_bytes : limits->report_bytes_per_day;
    quota->symbol_bytes = quota->symbol_bytes ? quota->symbol_bytes : limits->symbol_bytes_per_day;
}

struct store_quota
api_usage_quota(struct api_usage *usage, int64_t project_id)
{
    struct store_quota found = {.project_id = project_id};
    size_t from = 0;
    pthread_mutex_lock(&usage->lock);
    size_t to = usage->n_quotas;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (usage->quotas[middle].project_id < project_id)
            from = middle + 1;
        else
            to = middle;
    }
    if (from < usage->n_quotas && usage->quotas[from].project_id == project_id)
        found = usage->quotas[from];
    pthread_mutex_unlock(&usage->lock);
    api_usage_fill_quota(usage->api->config.limits, &found);
    return found;
}

size_t
api_usage_list(struct api_usage *usage, struct store_usage *ret, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&usage->lock);
    bool is_today = fz_time_monotonic_ms() < usage->ends_ms;
    /* Copied, since the thread replaces the rows. */
    for (; is_today && n < usage->n && n < max; n++)
        ret[n] = usage->rows[n];
    pthread_mutex_unlock(&usage->lock);
    return n;
}
