/*
 * Dictionaries of projects are trained (storage/store_dictionary.h), in a thread beside the jobs, which yields to them.
 *
 * One worker of all does it: it keeps the duty from the first project to the last, and its thread lives and has a connection to
 * the database only that long.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"
#include "storage/store_dictionary.h"
#include "storage/store_outbox.h"

enum {
    CHECK_MS = 60 * 1000,     /* how often to look, once all projects were looked at */
    BUSY_MS = 60 * 60 * 1000, /* how much later at most, as training takes from jobs that wait */
    TROUBLE_MS = 10 * 60 * 1000,
    DUTY_MS = 10 * 60 * 1000,
    ARENA = 32 * 1024 * 1024,
    NICE = 5 /* a third of the time of a thread with 0: the end of the worker waits for it */
};

static const char duty[] = "dictionaries";

/* ---- in the thread ---- */

static enum fz_code
step(struct store *store, struct store_dictionary_step *made, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    int64_t began = fz_time_monotonic_ms();
    enum fz_code code = store_duty_keep(store, duty, DUTY_MS, err);
    if (code == FZ_OK)
        code = store_dictionary_train(store, &arena, made, err);
    if (code == FZ_OK && made->is_made)
        fz_log(FZ_LOG_INFO, "a dictionary was trained",
               "project_id=%lld format=%s of=%s version=%lld samples=%zu bytes=%zu ms=%lld",
               (long long)made->key.project_id, made->key.format,
               made->key.what == STORE_DICTIONARY_BODY ? "bodies" : "results",
               (long long)made->version, made->n_samples, made->len,
               (long long)(fz_time_monotonic_ms() - began));
    return code;
}

static enum fz_code
look(struct worker_dictionary *d, struct fz_error *err)
{
    FZ_CLEANUP(store_closep) struct store *store = NULL;
    struct store_dictionary_step made = {0};
    bool is_ours = false;
    enum fz_code code = store_open(d->database_url, &store, err);
    if (code == FZ_OK)
        code = store_duty_take(store, duty, DUTY_MS, &is_ours, err);
    if (code != FZ_OK || !is_ours)
        return code;
    do
        code = step(store, &made, err);
    while (code == FZ_OK && !made.is_done && !atomic_load(&d->is_stopping));
    fz_ignore(store_duty_give_back(store, duty, NULL)); /* also after a failure */
    return code;
}

static void *
run(void *arg)
{
    struct worker_dictionary *d = arg;
    struct fz_error err;
    /* In Linux this sets the thread alone. */
    fz_ignore(setpriority(PRIO_PROCESS, 0, NICE));
    d->code = look(d, &err);
    if (d->code != FZ_OK)
        job_warn("dictionaries cannot be trained", &err);
    atomic_store(&d->is_ended, true);
    return NULL;
}

/* ---- in the worker's own ---- */

static void
end(struct worker_dictionary *d)
{
    pthread_join(d->thread, NULL);
    d->is_started = false;
    d->due_ms = fz_time_monotonic_ms() + (d->code == FZ_OK ? CHECK_MS : TROUBLE_MS);
}

void
worker_dictionary(struct worker *w, bool is_busy)
{
    struct worker_dictionary *d = &w->dictionary;
    int64_t now = fz_time_monotonic_ms();
    sigset_t all, before;
    if (d->is_started && atomic_load(&d->is_ended))
        end(d);
    if (d->due_ms == 0)
        d->due_ms = now;
    if (d->is_started || now < (is_busy ? d->due_ms + BUSY_MS : d->due_ms))
        return;
    d->database_url = w->config->database_url;
    atomic_store(&d->is_ended, false);
    /* Signals are for the worker's own thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&d->thread, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    d->is_started = !failed;
    if (failed) {
        struct fz_error err;
        fz_ignore(fz_fail(&err, FZ_E_UNAVAILABLE, "cannot start a thread: %s", strerror(failed)));
        job_warn("dictionaries cannot be trained", &err);
        d->due_ms = fz_time_monotonic_ms() + TROUBLE_MS;
    }
}

void
worker_dictionary_stop(struct worker *w)
{
    atomic_store(&w->dictionary.is_stopping, true);
    if (w->dictionary.is_started)
        end(&w->dictionary);
}
