#include "server/outbox/outbox.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/time.h"
#include "server/outbox/parts.h"

enum {
    IDLE_MS = 500,
    TROUBLE_MS = 2000,
    WATCH_MS = 5 * 1000, /* how late a look may be */
    DUTY_MS = 60 * 1000,
    DELIVERIES_AT_ONCE = 8
};

/* ---- the thread -------------------------------------------------------------------------------- */

static void
pause_for(struct outbox *outbox, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&outbox->lock);
    if (!atomic_load(&outbox->is_stopping))
        pthread_cond_timedwait(&outbox->wake, &outbox->lock, &until);
    pthread_mutex_unlock(&outbox->lock);
}

/* Events and digests: if no other worker is at it. */
static enum fz_code
dispatch(struct outbox *outbox, const struct store_outbox_work *work, struct fz_error *err)
{
    static const char duty[] = "dispatch";
    bool is_ours = false;
    enum fz_code code = store_duty_take(outbox->store, duty, DUTY_MS, &is_ours, err);
    if (code != FZ_OK || !is_ours)
        return code;
    if (work->has_events)
        code = outbox_dispatch(outbox, err);
    if (code == FZ_OK && work->has_held)
        code = outbox_digest(outbox, err);
    /* Also after a failure: another worker may do better. */
    enum fz_code given = store_duty_give_back(outbox->store, duty, code == FZ_OK ? err : NULL);
    return code == FZ_OK ? given : code;
}

static enum fz_code
watch(struct outbox *outbox, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    if (outbox->watched_ms && now - outbox->watched_ms < WATCH_MS)
        return FZ_OK;
    outbox->watched_ms = now;
    return outbox_watch(outbox, err);
}

/* What is due now; *ret_any: there may be more. */
static enum fz_code
pass(struct outbox *outbox, bool *ret_any, struct fz_error *err)
{
    struct store_outbox_work work = {0};
    enum fz_code code = store_outbox_look(outbox->store, &work, err);
    if (code == FZ_OK && (work.has_events || work.has_held))
        code = dispatch(outbox, &work, err);
    bool any = code == FZ_OK && (work.has_deliveries || work.has_events);
    for (int i = 0; code == FZ_OK && any && i < DELIVERIES_AT_ONCE; i++) {
        if (atomic_load(&outbox->is_stopping))
            break;
        code = outbox_deliver(outbox, &any, err);
    }
    if (code == FZ_OK && work.has_channels)
        code = watch(outbox, err);
    *ret_any = any;
    return code;
}

static void *
run(void *user)
{
    struct outbox *outbox = user;
    while (!atomic_load(&outbox->is_stopping)) {
        struct fz_error err;
        bool any = false;
        enum fz_code code = FZ_OK;
        if (!outbox->store)
            code = store_open(outbox->config.database_url, &outbox->store, &err);
        if (code == FZ_OK)
            code = pass(outbox, &any, &err);
        if (code != FZ_OK && !outbox->in_trouble) { /* once, not each second of an outage */
            char quoted[sizeof(err.text) * 2];
            fz_log(FZ_LOG_WARN, "alerts are delayed", "error=%s",
                   fz_log_quote(err.text, quoted, sizeof(quoted)));
        }
        outbox->in_trouble = code != FZ_OK;
        if (code != FZ_OK)
            pause_for(outbox, TROUBLE_MS);
        else if (!any)
            pause_for(outbox, IDLE_MS);
    }
    return NULL;
}

/* ---- its life ---------------------------------------------------------------------------------- */

static void
destroy(struct outbox *outbox)
{
    store_close(outbox->store);
    pthread_cond_destroy(&outbox->wake);
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

enum fz_code
outbox_start(const struct outbox_config *config, struct outbox **ret, struct fz_error *err)
{
    sigset_t all, before;
    pthread_condattr_t attributes;
    struct outbox *outbox = calloc(1, sizeof(*outbox));
    if (!outbox)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    outbox->config = *config;
    outbox->setup = *config->setup;
    outbox->setup.rules.is_cancelled = &outbox->is_stopping;
    pthread_mutex_init(&outbox->lock, NULL);
    /* A calendar that is set neither prolongs nor ends a pause. */
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&outbox->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Signals are for the worker's own thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&outbox->thread, NULL, run, outbox);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        destroy(outbox);
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a thread: %s", strerror(failed));
    }
    *ret = outbox;
    return FZ_OK;
}

void
outbox_stop(struct outbox *outbox)
{
    if (!outbox)
        return;
    pthread_mutex_lock(&outbox->lock);
    atomic_store(&outbox->is_stopping, true);
    pthread_cond_signal(&outbox->wake);
    pthread_mutex_unlock(&outbox->lock);
    pthread_join(outbox->thread, NULL);
    destroy(outbox);
}
