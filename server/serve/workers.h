/*
 * The worker processes of `serve` and of `framezero worker`: what they are started with.
 * supervise.h restarts them when they die.
 */
#ifndef SERVE_WORKERS_H
#define SERVE_WORKERS_H

#include "base/buffer.h"
#include "server/config/config.h"
#include "server/process/supervise.h"

struct serve_workers {
    struct supervise *supervise; /* NULL: not created, or taken by supervise_run() */
    char **envp;                 /* of a worker */
    struct fz_buffer variables;  /* what envp points into */
};

/* config->workers processes with the settings of `config`; nothing is started yet. They inherit
 * metrics_fd. may_give_up: see supervise_tend(). `ret` is zeroed; after a failure too the caller
 * ends it with serve_workers_deinit(). */
FZ_MUST_CHECK enum fz_code serve_workers_init(const struct config *config, int metrics_fd,
                                              bool may_give_up, struct serve_workers *ret,
                                              struct fz_error *err);
void serve_workers_deinit(struct serve_workers *workers, int64_t grace_ms);

#endif
