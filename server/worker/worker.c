#include "server/worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "server/report/columns.h"
#include "server/worker/damage.h"
#include "server/worker/job.h"
#include "storage/store_blobs.h"

enum {
    IDLE_WAIT_MS = 1000,
    TROUBLE_WAIT_MS = 1000,
    BACKOFF_STEP_MS = 100, /* the longest that a stop waits */
    SCHEMA_EVERY_MS = 10 * 1000,
    SLOTS = 64
};

/* Work on held[0] and let go of it. */
static void
run_first(struct worker *w)
{
    struct store_job *job = &w->held[0];
    struct job_end end = {.job = *job, .began_ms = fz_time_monotonic_ms()};
    struct fz_error err = {.code = FZ_OK, .offset = -1};
    bool is_upload = job->kind == STORE_JOB_UPLOAD;
    /* An upload may take minutes: results do not wait for it, and other workers may be idle. */
    if (is_upload) {
        job_store_made(w);
        job_release_held(w, 1);
    }
    enum fz_code code =
        is_upload ? job_upload(w, &end.job, &end.made, &end.died, &err) : job_report(w, &end, &err);
    /* For the log line; a function may return a code without filling the struct. */
    err.code = code;
    /* A report that was read waits for the next ones; storing it is its end. */
    if (is_upload || code != FZ_OK)
        job_end(w, &end, code, &err);
    job_drop_held(w, 0);
}

/* A child serves one project: of what is held, its project's jobs first. */
static void
choose_first(struct worker *w)
{
    for (size_t i = 0; i < w->n_held; i++) {
        /* An upload has a child of its own. */
        if (w->held[i].kind != STORE_JOB_REPORT || w->held[i].project_id != w->child.project_id)
            continue;
        struct store_job job = w->held[i];
        /* The others keep their order, which is that of the queue. */
        memmove(&w->held[1], &w->held[0], i * sizeof(w->held[0]));
        w->held[0] = job;
        return;
    }
}

/* After an upgrade, rows of an old program would not fit the schema: it must end. */
static enum fz_code
check_schema(struct worker *w, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    if (now - w->checked_ms < SCHEMA_EVERY_MS)
        return FZ_OK;
    w->checked_ms = now;
    /* Any other failure shows again at the next claim, which waits for the database. */
    return store_check(w->store, err) == FZ_E_CONFLICT ? FZ_E_CONFLICT : FZ_OK;
}

/*
 * The workers that one process started share a file (that of the metrics). Each locks the first free
 * byte of it, its slot; the kernel ends the lock with the process, so there is no count of
 * live workers to keep. -1: there is no free byte, or the worker was started alone.
 */
static int
lock_slot(int fd)
{
    for (int slot = 0; fd >= 0 && slot < SLOTS; slot++) {
        /* Of fcntl(): such locks end with the process, however it ends. */
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
        if (fcntl(fd, F_SETLK, &lock) == 0)
            return slot;
    }
    return -1;
}

/* True if this worker leaves uploads to others: it has the first slot, and there are others now. So
 * reports go on while large uploads keep the other workers busy. */
static bool
slot_is_reserved(int fd, int slot)
{
    struct flock others = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = SLOTS - 1};
    /* Asked each time: workers come and go. */
    return slot == 0 && fcntl(fd, F_GETLK, &others) == 0 && others.l_type != F_UNLCK;
}

/* What is left of a full disk is for deletes: results would take it. */
static bool
has_room(struct worker *w, bool *is_full)
{
    uint64_t left = UINT64_MAX, all;
    /* Unknown is not full. */
    bool was_full = *is_full;
    fz_ignore(blob_space(w->blobs, &left, &all, NULL));
    *is_full = left < w->config->limits->disk_reserve;
    if (*is_full != was_full)
        fz_log(*is_full ? FZ_LOG_WARN : FZ_LOG_INFO,
               *is_full ? "jobs wait: the disk is almost full" : "jobs go on: the disk has room",
               "free=%llu", (unsigned long long)left);
    return !*is_full;
}

/* A change of the database ends it; the time is for jobs that become due. */
static void
wait_for_jobs(struct worker *w)
{
    trim_tend(&w->trim);
    store_wait_change(w->store, IDLE_WAIT_MS);
}

static bool
is_own(void *name, const char *worker)
{
    return strcmp(name, worker) == 0;
}

/* A claim, a release or an end whose answer was lost may have been committed or not: jobs that this
 * worker does not have would wait for the end of a lease. Called while it has none. */
static void
give_back_forgotten(struct worker *w)
{
    uint64_t n = 0;
    char name[WORKER_NAME];
    if (!w->may_forget)
        return;
    snprintf(name, sizeof(name), "%s", w->config->name);
    /* If it fails, the claim fails as well, and this is tried before the next one. */
    if (store_job_reclaim(w->store, is_own, name, &n, NULL) != FZ_OK)
        return;
    w->may_forget = false;
    if (n)
        fz_log(FZ_LOG_INFO, "jobs of lost answers are due again", "jobs=%llu",
               (unsigned long long)n);
}

/* Claim and work until `stop`. */
static enum fz_code
work(struct worker *w, worker_stop_fn stop, void *user, struct fz_error *ret_err)
{
    bool in_trouble = false, is_full = false;
    int slot = lock_slot(w->config->group_fd);
    w->checked_ms = fz_time_monotonic_ms(); /* store_open() has just done it */
    while (!stop(user)) {
        /* Before the claim: a job of a newer schema must not be taken. */
        if (check_schema(w, ret_err) != FZ_OK)
            return FZ_E_CONFLICT;
        worker_clean_up(w);
        if (slot <= 0)
            worker_verify(w, fz_time_monotonic_ms());
        if (child_process_wait_ms(&w->backoff) > 0) { /* what is claimed now would only fail */
            fz_time_sleep_ms(BACKOFF_STEP_MS);
            continue;
        }
        if (!has_room(w, &is_full)) {
            fz_time_sleep_ms(TROUBLE_WAIT_MS);
            continue;
        }
        give_back_forgotten(w);
        store_job_no_uploads(w->store, slot_is_reserved(w->config->group_fd, slot));
        struct fz_error err;
        enum fz_code code = store_job_claim(w->store, w->config->name, JOB_BATCH, JOB_LEASE_MS,
                                            w->held, &w->n_held, &err);
        if (code != FZ_OK) {
            w->n_held = 0;
            if (!in_trouble) /* once, not each second of an outage */
                job_warn("cannot claim jobs", &err);
            in_trouble = w->may_forget = true;
            fz_time_sleep_ms(TROUBLE_WAIT_MS);
            continue;
        }
        if (in_trouble)
            fz_log(FZ_LOG_INFO, "jobs can be claimed again", "worker=%s", w->config->name);
        in_trouble = false;
        w->n_claims++;
        job_project_drop(w);
        /* Half as much again as was expected. */
        const int64_t hold_ms = store_job_hold_ms(w->store) * 3 / 2;
        int64_t claimed_ms = w->beat_ms = fz_time_monotonic_ms();
        /* One worker of a server is enough for what no one waits for. */
        bool goes_on = slot <= 0 && worker_seal(w, w->n_held > 0);
        goes_on = (slot <= 0 && worker_retention(w, w->n_held > 0)) || goes_on;
        if (slot <= 0)
            worker_dictionary(w, w->n_held > 0);
        if (w->n_held == 0 && (slot > 0 || !worker_regroup(w)) && !goes_on)
            wait_for_jobs(w);
        while (w->n_held > 0 && !stop(user)) {
            choose_first(w);
            run_first(w);
            if (w->n_held == 0 || job_made_is_due(w, &w->held[0]))
                job_store_made(w);
            /* The lease of the next job ended while the last one ran. */
            if (w->n_held > 0 && job_beat(w, NULL) == FZ_E_CONFLICT)
                job_drop_held(w, 0);
            /* The jobs take longer than expected, and more urgent ones may have come meanwhile. */
            if (fz_time_monotonic_ms() - claimed_ms > hold_ms ||
                child_process_wait_ms(&w->backoff) > 0)
                job_release_held(w, 0);
        }
        job_store_made(w);
    }
    job_release_held(w, 0);
    return FZ_OK;
}

/* This worker may replace one that died: its jobs are due again at once, and not only when their
 * leases run out. */
static void
reclaim_jobs(struct worker *w)
{
    uint64_t n = 0;
    struct fz_error err;
    if (store_job_reclaim(w->store, worker_is_gone, NULL, &n, &err) != FZ_OK)
        job_warn("jobs of ended workers are not looked for", &err);
    else if (n)
        fz_log(FZ_LOG_INFO, "jobs of ended workers are due again", "jobs=%llu",
               (unsigned long long)n);
}

/* Unlike its children the worker keeps its ordinary priority: it does little, and a process that
 * waits for the CPU while it holds the database's write lock would delay the server's commits. */
enum fz_code
worker_run(const struct worker_config *config, worker_stop_fn stop, void *user,
           struct fz_error *err)
{
    /* An upload keeps two descriptors for each of its slices. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        fz_ignore(setrlimit(RLIMIT_NOFILE, &files) !=
                  0); /* large archives then fail with a message */
    }
    struct worker w = {.config = config,
                       .report = {.fd = -1},
                       .result = {.fd = -1},
                       .child = {.sock = -1, .tick = job_tick, .tick_user = &w}};
    struct blob_config blobs = config->blobs;
    blobs.tick = job_tick; /* files of gigabytes outlast a lease */
    blobs.tick_user = &w;
    enum fz_code code = store_open(config->database_url, &w.store, err);
    if (code == FZ_OK)
        code = store_set_columns(w.store, &report_columns, err);
    if (code == FZ_OK)
        code = blob_open(&blobs, &w.blobs, err);
    if (code == FZ_OK)
        store_set_blobs(w.store, w.blobs);
    /* Before the first claim, which then finds these jobs. */
    struct outbox *outbox = NULL;
    const struct outbox_config alerts = {
        .database_url = config->database_url, .setup = config->outbox, .limits = config->limits};
    if (code == FZ_OK && config->outbox)
        code = outbox_start(&alerts, &outbox, err);
    if (code == FZ_OK) {
        reclaim_jobs(&w);
        if (config->ready)
            config->ready();
        code = work(&w, stop, user, err);
    }
    worker_dictionary_stop(&w);
    outbox_stop(outbox);
    child_process_stop(&w.child);
    job_files_drop(&w);
    job_project_drop(&w);
    worker_retention_stop(&w);
    blob_close(w.blobs);
    store_close(w.store);
    free(w.verify.names);
    return code;
}
