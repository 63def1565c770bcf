/* What a worker does besides the work of a job: it renews and returns its leases, and deletes what
 * is no longer needed. */
#include "server/worker/job.h"

#include <string.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/time.h"
#include "storage/store_blobs.h"
#include "storage/store_chunks.h"
#include "storage/store_learned.h"
#include "storage/store_person.h"

enum {
    EVERY_MS = 60 * 1000,
    EVERY_ERASE_MS = 5 * 1000,
    ERASE_STEPS = 5,
    EVERY_GARBAGE_MS = 1000,
    GARBAGE_AT_ONCE = 16,
    EVERY_LEARNED_MS = 10 * 60 * 1000,
    AT_ONCE = 100,
    ARENA_BYTES = 1024 * 1024
};

/* ---- leases ---- */

void
job_drop_held(struct worker *w, size_t i)
{
    memmove(&w->held[i], &w->held[i + 1], (w->n_held - i - 1) * sizeof(w->held[0]));
    w->n_held--;
}

enum fz_code
job_beat(struct worker *w, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    if (now - w->beat_ms < JOB_BEAT_MS)
        return FZ_OK;
    w->beat_ms = now;
    /* From the end, since a lost one is removed. */
    for (size_t i = w->n_held; i-- > 0;) {
        enum fz_code code = store_job_heartbeat(w->store, &w->held[i], JOB_LEASE_MS, err);
        /* [0] is the job that runs; of the others only the lease is lost. */
        if (code == FZ_E_CONFLICT && i == 0)
            return code;
        if (code == FZ_E_CONFLICT)
            job_drop_held(w, i);
        /* Any other failure: the database is away for a moment, and a lease lasts three beats. */
    }
    return FZ_OK;
}

void
job_release_held(struct worker *w, size_t first)
{
    while (w->n_held > first) {
        enum fz_code code = store_job_release(w->store, &w->held[w->n_held - 1], NULL);
        /* CONFLICT: it is another's already. */
        w->may_forget = w->may_forget || (code != FZ_OK && code != FZ_E_CONFLICT);
        w->n_held--;
    }
}

/* ---- what is no longer needed ---- */

/* The blob is deleted first: the next pass deletes a row without a blob, but would never find a
 * blob without a row. */
static enum fz_code
drop(struct worker *w, const struct store_chunk *chunk, struct fz_error *err)
{
    enum fz_code code = blob_delete(w->blobs, chunk->blob_sha256, err);
    if (code == FZ_OK || code == FZ_E_NOT_FOUND)
        code = store_chunk_drop(w->store, chunk, err);
    return code;
}

void
job_warn(const char *what, const struct fz_error *err)
{
    char quoted[sizeof(err->text) * 2];
    fz_log(FZ_LOG_WARN, what, "error=%s", fz_log_quote(err->text, quoted, sizeof(quoted)));
}

/* Names over the limit are deleted in portions, one per pass. */
static void
sweep_learned(struct worker *w, int64_t now)
{
    struct fz_error err;
    uint64_t n = 0;
    /* 0 means that the last pass stopped at its limit: the next one is due at once. */
    if (w->trimmed_ms != 0 && now - w->trimmed_ms < EVERY_LEARNED_MS)
        return;
    w->trimmed_ms = now;
    if (store_learned_trim(w->store, STORE_LEARNED_ROWS, &n, &err) != FZ_OK) {
        job_warn("learned names cannot be deleted", &err);
    } else if (n > 0) {
        fz_log(FZ_LOG_INFO, "learned names deleted", "n=%llu", (unsigned long long)n);
        w->trimmed_ms = 0; /* there may be more: go on after the next job */
    }
}

/* Blobs that lost their last reference; then, one folder at a time, those that never had one. */
static void
sweep_blobs(struct worker *w, int64_t now)
{
    const struct limits *limits = w->config->limits;
    struct fz_error err;
    size_t n = 0, n_noted = 0;
    bool more = false;
    if (w->collected_ms != 0 && now - w->collected_ms < EVERY_GARBAGE_MS)
        return;
    w->collected_ms = now;
    /* A few at once: between jobs, and a job waits for it. */
    if (store_blob_sweep(w->store, w->blobs, GARBAGE_AT_ONCE, &n, &more, &err) != FZ_OK)
        job_warn("blobs cannot be deleted", &err);
    else if (n > 0)
        fz_log(FZ_LOG_INFO, "blobs deleted", "n=%zu", n);
    if (more)
        w->collected_ms = 0; /* go on after the next job */
    if (w->scanned_ms != 0 && now - w->scanned_ms < (int64_t)limits->sweep_s * 1000)
        return;
    w->scanned_ms = now;
    /* Blobs of a process that was killed between writing the blob and its row. */
    if (store_blob_scan(w->store, w->blobs, (int64_t)limits->orphan_s * 1000, &n_noted, &err) !=
        FZ_OK)
        job_warn("blob folders cannot be read", &err);
    else if (n_noted > 0)
        fz_log(FZ_LOG_INFO, "blobs without a reference found", "n=%zu", n_noted);
    uint64_t n_rows = 0;
    if (store_sweep_rows(w->store, &n_rows, &err) != FZ_OK)
        job_warn("old rows cannot be deleted", &err);
    else if (n_rows > 0)
        fz_log(FZ_LOG_INFO, "old rows deleted", "n=%llu", (unsigned long long)n_rows);
}

/* What a request to erase a person has left, or a process that was killed. */
static void
erase(struct worker *w, int64_t now)
{
    struct fz_error err;
    bool more = true;
    if (w->erased_ms != 0 && now - w->erased_ms < EVERY_ERASE_MS)
        return;
    w->erased_ms = now;
    for (int n = 0; more && n < ERASE_STEPS; n++) {
        if (store_erasure_step(w->store, &more, &err) != FZ_OK) {
            job_warn("a person cannot be erased", &err);
            return;
        }
    }
    if (more)
        w->erased_ms = 0; /* go on after the next job */
}

void
worker_clean_up(struct worker *w)
{
    int64_t now = fz_time_monotonic_ms();
    erase(w, now);
    sweep_learned(w, now);
    sweep_blobs(w, now);
    if (w->swept_ms != 0 && now - w->swept_ms < EVERY_MS)
        return;
    w->swept_ms = now;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA_BYTES);
    struct store_chunk *chunks = NULL;
    struct fz_error err;
    size_t n = 0, i = 0;
    /* Chunks of uploads that a client began and never completed. */
    enum fz_code code = store_chunk_expire(w->store, AT_ONCE, &arena, &chunks, &n, &err);
    while (code == FZ_OK && i < n)
        code = drop(w, &chunks[i++], &err);
    if (code != FZ_OK) { /* the next pass goes on where this one stopped */
        job_warn("old chunks cannot be deleted", &err);
    } else if (n > 0) {
        fz_log(FZ_LOG_INFO, "old chunks deleted", "n=%zu", n);
    }
    if (code == FZ_OK && n == AT_ONCE)
        w->swept_ms = 0; /* there are more: go on after the next job */
}
