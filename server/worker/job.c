/* What both kinds of jobs share: the leases that the worker holds, and failures of a child. */
#include "server/worker/job.h"

#include <string.h>

#include "base/attr.h"
#include "base/time.h"

void
job_drop_held(struct worker *w, size_t i)
{
    memmove(&w->held[i], &w->held[i + 1], (w->n_held - i - 1) * sizeof(w->held[0]));
    w->n_held--;
}

enum fz_code
job_beat(void *worker, struct fz_error *err)
{
    struct worker *w = worker;
    int64_t now = fz_time_monotonic_ms();
    if (now - w->beat_ms < JOB_BEAT_MS)
        return FZ_OK;
    w->beat_ms = now;
    for (size_t i = w->n_held; i-- > 0;) {
        enum fz_code code = store_job_heartbeat(w->store, &w->held[i], JOB_LEASE_MS, err);
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
        /* If this fails, the lease runs out. */
        fz_ignore(store_job_release(w->store, &w->held[w->n_held - 1], NULL) != FZ_OK);
        w->n_held--;
    }
}
