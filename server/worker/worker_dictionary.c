/*
 * Dictionaries of projects are trained (storage/store_dictionary.h), one at a time between jobs.
 *
 * One worker of all does it, which keeps the duty from the first project to the last.
 */
#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"
#include "storage/store_dictionary.h"
#include "storage/store_outbox.h"

enum {
    CHECK_MS = 60 * 1000, /* how often to look, once all projects were looked at */
    BUSY_MS = 2 * 1000,   /* between two projects while jobs wait */
    TROUBLE_MS = 10 * 60 * 1000,
    DUTY_MS = 10 * 60 * 1000,
    ARENA = 32 * 1024 * 1024
};

static const char duty[] = "dictionaries";

static enum fz_code
step(struct worker *w, bool *ret_is_done, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    struct store_dictionary_step made = {.after = w->dictionary.after};
    bool is_ours = false;
    int64_t began = fz_time_monotonic_ms();
    *ret_is_done = true;
    enum fz_code code = store_duty_take(w->store, duty, DUTY_MS, &is_ours, err);
    if (code != FZ_OK || !is_ours)
        return code;
    code = store_dictionary_train(w->store, &arena, &made, err);
    fz_ignore(store_duty_give_back(w->store, duty, NULL)); /* also after a failure */
    if (code != FZ_OK)
        return code;
    w->dictionary.after = made.is_done ? 0 : made.after;
    *ret_is_done = made.is_done;
    if (made.is_made)
        fz_log(FZ_LOG_INFO, "a dictionary was trained",
               "project_id=%lld format=%s of=%s version=%lld samples=%zu bytes=%zu ms=%lld",
               (long long)made.key.project_id, made.key.format,
               made.key.what == STORE_DICTIONARY_BODY ? "bodies" : "results",
               (long long)made.version, made.n_samples, made.len,
               (long long)(fz_time_monotonic_ms() - began));
    return FZ_OK;
}

bool
worker_dictionary(struct worker *w, bool is_busy)
{
    struct fz_error err;
    bool is_done = true;
    if (w->dictionary.due_ms > fz_time_monotonic_ms())
        return false;
    enum fz_code code = step(w, &is_done, &err);
    if (code != FZ_OK)
        job_warn("dictionaries cannot be trained", &err);
    w->dictionary.due_ms = fz_time_monotonic_ms() + (code != FZ_OK ? TROUBLE_MS
                                                     : is_done     ? CHECK_MS
                                                     : is_busy     ? BUSY_MS
                                                                   : 0);
    return code == FZ_OK && !is_done;
}
