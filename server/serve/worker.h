/*
 * `framezero worker`: one worker in this process, and the process that keeps several.
 */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include <signal.h>

#include "server/config/config.h"

/* Do jobs in this process until one of `signals` (blocked, see supervise_signals()) arrives; the
 * current job is finished. Once per process. Returns the exit code: 2 if a restart would not help. */
int serve_worker_run(const struct config *config, bool has_supervisor, const sigset_t *signals);

/* Run config->workers processes of one worker each and restart those that die. Returns the exit
 * code. */
int serve_worker_supervise(const struct config *config, const sigset_t *signals);

#endif
