/*
 * The workers that `serve` starts: separate processes of the same binary, started again when they
 * die.
 *
 * All calls come from the main thread, which also waits for SIGCHLD (a worker asks the kernel to
 * end it when the thread that started it ends). serve_workers_running() may be called from any
 * thread.
 */
#ifndef SERVE_WORKERS_H
#define SERVE_WORKERS_H

#include "server/config.h"

struct serve_workers; /* opaque */

/* Nothing is started yet. `argv` are the arguments of serve, of which --config and --limit are
 * handed on; metrics_fd is inherited. All are borrowed. */
FZ_MUST_CHECK enum fz_code serve_workers_create(const struct config *config, int argc, char **argv,
                                                int metrics_fd, struct serve_workers **ret,
                                                struct fz_error *err);
/* Collect those that ended and start those that are due. Returns the milliseconds after which to
 * call again at the latest; call at once on SIGCHLD. */
int64_t serve_workers_tend(struct serve_workers *workers);
/* How many are running. */
int serve_workers_running(struct serve_workers *workers);
/* SIGTERM to all; they finish the job in hand. */
void serve_workers_ask_stop(struct serve_workers *workers);
/* Wait for them for up to grace_ms, then SIGKILL. Ends the object; NULL is fine. */
void serve_workers_destroy(struct serve_workers *workers, int64_t grace_ms);

#endif
