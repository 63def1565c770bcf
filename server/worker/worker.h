/*
 * The worker: claims jobs, has untrusted bytes parsed in a child process, stores what comes back.
 *
 * The worker is the trusted side (database, blobs); the child gets descriptors and bytes and has
 * nothing else. server/protocol has the messages between them.
 */
#ifndef WORKER_H
#define WORKER_H

#include "base/error.h"
#include "server/outbox/outbox.h"
#include "server/process/limits.h"
#include "server/process/metrics.h"
#include "storage/blob/blob.h"
#include <stdbool.h>

/* The name of this process for leases and logs: "HOST-PID.START.BOOT.SPACE", where START is the
 * time at which the process was started, BOOT the run of the system, and SPACE the PID namespace
 * (a container has its own). Together they belong to one process for ever. */
enum { WORKER_NAME = 160 };
void worker_name(char ret[WORKER_NAME]);

/* Whether the process of that name has ended (store_worker_gone_fn). Only those of this run of the
 * system and of this PID namespace can be checked; false for others: they may be alive, and if not,
 * their leases run out. */
bool worker_is_gone(void *user, const char *name);

/* Whether the names that a report brings for the system's functions serve others. */
enum worker_learned {
    WORKER_LEARNED_OFF,
    WORKER_LEARNED_PROJECT, /* those of the same project */
    WORKER_LEARNED_SHARED,  /* all; what was learned for a single project is not looked at */
};

struct worker_config {
    const char *database_url;
    struct blob_config blobs; /* its tick is set here */
    const char *name;         /* worker_name() */
    const struct limits *limits;
    int group_fd; /* a file that workers started together share (worker.c); -1 = none */
    enum worker_learned learned;
    struct metrics *metrics;           /* may be NULL */
    const struct outbox_setup *outbox; /* how alerts are sent; NULL = not by this worker */
    void (*ready)(void);               /* called once, when the first claim is next; may be NULL */
};

/* Work until `stop` returns true (checked between jobs and while waiting); running jobs are
 * finished first, what is left of a lease is given back. CONFLICT: the schema of the database is not
 * this program's, also when it is changed while the worker runs. */
typedef bool (*worker_stop_fn)(void *user);
FZ_MUST_CHECK enum fz_code worker_run(const struct worker_config *config, worker_stop_fn stop,
                                      void *user, struct fz_error *err);

#endif
