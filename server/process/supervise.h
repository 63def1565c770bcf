/*
 * Supervision: processes of this program that are started again when they die.
 *
 * The parent (of `serve`: a small process that does nothing else) calls supervise_create() and then
 * either supervise_run(), or supervise_tend() in a loop of its own. Each child calls supervise_join()
 * before anything else and supervise_ready() when it is up. All calls come from the main thread, with
 * SIGCHLD blocked; the kernel ends the children when that thread ends. supervise_running() and
 * supervise_stopped() may be called from any thread.
 */
#ifndef PROCESS_SUPERVISE_H
#define PROCESS_SUPERVISE_H

#include "base/error.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct supervise; /* opaque */

struct supervise_plan {
    const char *name;  /* "serve", "worker": for the log */
    char *const *argv; /* of each process; borrowed */
    char *const *envp; /* the same */
    size_t n;          /* how many processes */
    bool own_group;    /* Ctrl-C in the terminal reaches the parent only */
    bool may_give_up;  /* see supervise_tend() */
};

/* The signals that end a supervised tree, and SIGCHLD, blocked for this thread. SIGHUP is not among
 * them if it is ignored (nohup). SIGPIPE and SIGXFSZ are ignored: a write fails instead. */
void supervise_signals(sigset_t *ret);

/* Nothing is started yet. */
FZ_MUST_CHECK enum fz_code supervise_create(const struct supervise_plan *plan,
                                            struct supervise **ret, struct fz_error *err);
/*
 * Collect the processes that ended and start those that are due. Returns the milliseconds after
 * which to call again at the latest; call at once on SIGCHLD.
 *
 * One that died is logged and started again after 0.1 s, and after twice the time at each further
 * death, up to 10 s; one that lived for a minute begins with 0.1 s. If the plan says may_give_up,
 * the whole ends when starting again would not help: when a process ends with 2 (wrong
 * configuration), with another code before any process has been ready, or, if there is only one,
 * with 0 or by a signal that asks for the end.
 */
int64_t supervise_tend(struct supervise *supervise);
/* How many are running. */
int supervise_running(struct supervise *supervise);
/* How many of them did nothing when supervise_tend() looked last, since somebody stopped them (SIGSTOP, a debugger). */
int supervise_stopped(struct supervise *supervise);
/* Send the signal to all; from now on nothing is started. */
void supervise_ask_stop(struct supervise *supervise, int number);
/* Wait for all for up to grace_ms, then SIGKILL. Ends the object; NULL is fine. Returns 1 if a process
 * failed while it was ending, else 0. */
int supervise_destroy(struct supervise *supervise, int64_t grace_ms);

/* Tend until one of `signals` comes, which is passed on, or the whole has ended; then as
 * supervise_destroy(). Returns the exit code for this process. */
int supervise_run(struct supervise *supervise, const sigset_t *signals, int64_t grace_ms);

/* ---- the child's side --------------------------------------------------------------------- */

/* False if this process was not started by supervise_tend(). Else it gets `death_signal` when its
 * parent dies; it ends here if that has happened already. */
bool supervise_join(int death_signal);
/* Whether the parent that supervise_join() met is still there. */
bool supervise_has_parent(void);
/* This process is up: if it ends with an error from now on, it is started again. */
void supervise_ready(void);

#endif
