#include "base/log.h"
#include "base/time.h"
#include "server/worker/job.h"
#include "storage/store_chunks.h"

enum { EVERY_MS = 60 * 1000, AT_ONCE = 100, ARENA_BYTES = 1024 * 1024 };

/* The blob goes first: a row without one is deleted by the next sweep, a blob without a row by
 * nobody. */
static enum fz_code
drop(struct worker *w, const struct store_chunk *chunk, struct fz_error *err)
{
    enum fz_code code = blob_delete(w->blobs, chunk->blob_sha256, err);
    if (code == FZ_OK || code == FZ_E_NOT_FOUND)
        code = store_chunk_drop(w->store, chunk, err);
    return code;
}

void
job_sweep(struct worker *w)
{
    int64_t now = fz_time_monotonic_ms();
    if (w->swept_ms != 0 && now - w->swept_ms < EVERY_MS)
        return;
    w->swept_ms = now;
    struct fz_arena arena FZ_CLEANUP(fz_arena_deinit);
    fz_arena_init(&arena, ARENA_BYTES);
    struct store_chunk *chunks = NULL;
    struct fz_error err;
    size_t n = 0, i = 0;
    enum fz_code code = store_chunk_expire(w->store, AT_ONCE, &arena, &chunks, &n, &err);
    while (code == FZ_OK && i < n)
        code = drop(w, &chunks[i++], &err);
    if (code != FZ_OK) { /* the next sweep begins where this one ended */
        char quoted[sizeof(err.text) * 2];
        fz_log(FZ_LOG_WARN, "old chunks cannot be deleted", "error=%s",
               fz_log_quote(err.text, quoted, sizeof(quoted)));
    } else if (n > 0) {
        fz_log(FZ_LOG_INFO, "old chunks deleted", "n=%zu", n);
    }
    if (code == FZ_OK && n == AT_ONCE)
        w->swept_ms = 0; /* there are more; between two jobs */
}
