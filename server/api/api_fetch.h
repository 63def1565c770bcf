/*
 * Bodies and results of reports for answers, so that a few huge ones at a time do not take all
 * memory: a call that needs a large one waits until those before it are done.
 */
#ifndef API_FETCH_H
#define API_FETCH_H

#include "server/api/api_client.h"
#include "storage/store_request.h"
#include <pthread.h>

struct api_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t used; /* guarded by lock */
};
void api_gate_init(struct api_gate *gate);
void api_gate_deinit(struct api_gate *gate);
/* What the call took in the functions below; at its end. */
void api_gate_leave(struct api_call *call);

/* As store_report_result() or store_report_body(), into the call's arena. `weight`: how many times
 * its size making the answer takes. UNAVAILABLE: other calls held the memory for too long. */
FZ_MUST_CHECK enum fz_code api_fetch(struct api_call *call, const char *id,
                                     enum store_report_part part, unsigned weight,
                                     struct fz_span *ret, struct fz_error *err);

#endif
