/*
 * Days of facts that are over become columns (storage/store_seal.h), a day at a time between jobs.
 *
 * The duty keeps two workers from making the same columns. It is taken for longer than a day of many facts takes; if it
 * is lost, nothing is wrong but that work is done twice.
 */
#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"
#include "storage/store_outbox.h"
#include "storage/store_seal.h"

enum {
    SEAL_CHECK_MS = 60 * 1000,   /* how often to look, once there was nothing to do */
    SEAL_BUSY_MS = 2 * 1000,     /* between two days while jobs wait */
    SEAL_TROUBLE_MS = 60 * 1000, /* after a failure */
    SEAL_DUTY_MS = 10 * 60 * 1000,
    SEAL_LOG_MS = 10 * 1000
};

static void
log_progress(struct worker *w, int64_t now, bool is_end)
{
    if (w->sealed.n_days == 0 || (!is_end && now - w->sealed.logged_ms < SEAL_LOG_MS))
        return;
    fz_log(FZ_LOG_INFO, "days were stored as columns", "days=%llu facts=%llu ms=%llu",
           (unsigned long long)w->sealed.n_days, (unsigned long long)w->sealed.n_facts,
           (unsigned long long)w->sealed.took_ms);
    w->sealed = (struct worker_sealed){.due_ms = w->sealed.due_ms, .logged_ms = now};
}

static enum fz_code
seal_day(struct worker *w, bool *ret_is_done, struct fz_error *err)
{
    struct store_sealed sealed = {.is_done = true};
    bool is_ours = false;
    enum fz_code code = store_duty_take(w->store, "seal", SEAL_DUTY_MS, &is_ours, err);
    if (code != FZ_OK || !is_ours) {
        *ret_is_done = true;
        return code;
    }
    code = store_seal_day(w->store, &store_seal_rules, &sealed, err);
    /* Also after a failure. */
    fz_ignore(store_duty_give_back(w->store, "seal", NULL));
    *ret_is_done = sealed.is_done;
    if (code == FZ_OK && sealed.was_damaged)
        fz_log(FZ_LOG_WARN, "columns of a day could not be read and are made again", "facts=%llu",
               (unsigned long long)sealed.n);
    w->sealed.n_days += sealed.n > 0;
    w->sealed.n_facts += sealed.n;
    return code;
}

bool
worker_seal(struct worker *w, bool is_busy)
{
    struct fz_error err;
    int64_t began = fz_time_monotonic_ms();
    bool is_done = true;
    if (w->sealed.due_ms > began)
        return false;
    enum fz_code code = seal_day(w, &is_done, &err);
    int64_t now = fz_time_monotonic_ms();
    if (!is_done)
        w->sealed.took_ms += (uint64_t)(now - began);
    if (code != FZ_OK)
        job_warn("days cannot be stored as columns", &err);
    w->sealed.due_ms = now + (code != FZ_OK ? SEAL_TROUBLE_MS
                              : is_done     ? SEAL_CHECK_MS
                              : is_busy     ? SEAL_BUSY_MS
                                            : 0);
    log_progress(w, now, is_done || code != FZ_OK);
    return code == FZ_OK && !is_done;
}
