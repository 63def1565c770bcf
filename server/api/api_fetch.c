#include "server/api/api_fetch.h"

#include <time.h>

#include "base/time.h"
#include "server/api/api_object.h"
#include "storage/store_request.h"

/* What large reports may take at once (a single one always may), from which size on one is large,
 * and how long a thread waits for its turn. */
static const uint64_t GATE_BYTES = 128 * 1024 * 1024, LARGE_BYTES = 1024 * 1024;
enum { GATE_WAIT_MS = 1000 };

void
api_gate_init(struct api_gate *gate)
{
    pthread_condattr_t clock;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_condattr_init(&clock);
    /* The calendar may be set while a thread waits. */
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->changed, &clock);
    pthread_condattr_destroy(&clock);
    gate->used = 0;
}

void
api_gate_deinit(struct api_gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

static enum fz_code
enter(struct api_call *call, uint64_t bytes, struct fz_error *err)
{
    struct api_gate *gate = &call->api->gate;
    int64_t until = fz_time_monotonic_ms() + (call->must_not_wait ? 0 : GATE_WAIT_MS);
    const struct timespec at = {.tv_sec = (time_t)(until / 1000),
                                .tv_nsec = (long)(until % 1000) * 1000000};
    bool in_time = true;
    pthread_mutex_lock(&gate->lock);
    /* What this call holds already must not block it. */
    while (gate->used > call->gated && gate->used + bytes > GATE_BYTES && in_time)
        in_time = pthread_cond_timedwait(&gate->changed, &gate->lock, &at) == 0;
    if (in_time) {
        gate->used += bytes;
        call->gated += bytes;
    }
    pthread_mutex_unlock(&gate->lock);
    return in_time ? FZ_OK
                   : fz_fail(err, FZ_E_UNAVAILABLE,
                             "too many large reports are being read at once; try again");
}

void
api_gate_leave(struct api_call *call)
{
    if (!call->gated)
        return;
    struct api_gate *gate = &call->api->gate;
    pthread_mutex_lock(&gate->lock);
    gate->used -= call->gated;
    call->gated = 0;
    /* All of them, since what is free now may serve several small ones. */
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

enum fz_code
api_fetch(struct api_call *call, const char *id, enum store_report_part part, unsigned weight,
          struct fz_span *ret, struct fz_error *err)
{
    uint64_t size = 0;
    /* Asked first: a large part must not be in memory before its turn. */
    enum fz_code code = store_report_size(call->store, call->project_id, id, part, &size, err);
    if (code == FZ_OK && size > LARGE_BYTES)
        code = enter(call, size * weight, err);
    if (code != FZ_OK)
        return code;
    if (part == STORE_REPORT_FULL_BODY) {
        struct store_full_body full;
        code = store_report_full_body(call->store, call->project_id, id, call->arena, &full, err);
        if (code == FZ_OK)
            *ret = full.bytes;
        return code;
    }
    return part == STORE_REPORT_RESULT
               ? store_report_result(call->store, call->project_id, id, call->arena, ret, err)
               : store_report_body(call->store, call->project_id, id, call->arena, ret, err);
}
