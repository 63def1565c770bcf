/*
 * The worker processes of `serve` and of `framezero worker`: what they are started with.
 * supervise.h restarts them when they die.
 */
#ifndef SERVE_WORKERS_H
#define SERVE_WORKERS_H

#include "server/config/config.h"
#include "server/process/supervise.h"

struct serve_workers; /* opaque */

/* config->workers processes with the settings of `config`; nothing is started yet. They inherit
 * metrics_fd. may_give_up: see supervise_tend(). */
FZ_MUST_CHECK enum fz_code serve_workers_create(const struct config *config, int metrics_fd,
                                                bool may_give_up, struct serve_workers **ret,
                                                struct fz_error *err);
/* As the functions of supervise.h with these names. */
int64_t serve_workers_tend(struct serve_workers *workers);
int serve_workers_running(struct serve_workers *workers);
void serve_workers_ask_stop(struct serve_workers *workers);
/* As supervise_run(); serve_workers_destroy() has nothing to wait for after that. */
int serve_workers_run(struct serve_workers *workers, const sigset_t *signals, int64_t grace_ms);
void serve_workers_destroy(struct serve_workers *workers, int64_t grace_ms);

#endif
