/*
 * `framezero serve`: the process that serves HTTP and keeps the workers, and the one that restarts
 * it.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <signal.h>

#include "server/config/config.h"

/* Serve HTTP in this process until one of `signals` (blocked, see supervise_signals()) arrives.
 * Once per process. Returns the exit code. */
int serve_run(const struct config *config, const sigset_t *signals);

/* Start this program again with the same arguments, to do the above, and restart it when it dies.
 * This process opens nothing and has one thread. Returns the exit code. */
int serve_supervise(int argc, char **argv, const sigset_t *signals);

#endif
