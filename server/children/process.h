/*
 * A child process as its parent sees it: start it, exchange messages until a deadline, end it.
 *
 * The child is framezero-child with an empty environment, no descriptors but
 * the socket, and its own process group. One thread uses one child.
 */
#ifndef CHILDREN_PROCESS_H
#define CHILDREN_PROCESS_H

#include "server/process/limits.h"
#include "server/process/metrics.h"
#include "server/protocol/level.h"
#include "server/protocol/protocol.h"
#include <sys/types.h>

/* Called about every CHILD_TICK_MS while the child works, to renew leases and store what is finished. Anything but FZ_OK ends
 * the wait, and the child, with that code; it must not be NOT_FOUND or UNAVAILABLE. */
typedef enum fz_code (*child_tick_fn)(void *user, struct fz_error *err);
enum { CHILD_TICK_MS = 250 };

/* When the next child may be started, after some that ended before they were ready. Zeroed at first; any thread. */
struct child_process_backoff {
    _Atomic int64_t due_ms, wait_ms;
};
/* The milliseconds until then; 0 = now. */
int64_t child_process_wait_ms(struct child_process_backoff *backoff);

/* What a child is for. */
struct child_process_plan {
    enum proto_role role;
    int64_t
        project_id; /* a child that input takes over has nothing of another project in its memory */
    unsigned requests_max; /* then it is replaced */
    const struct limits *limits;
    struct metrics *metrics;               /* may be NULL */
    struct child_process_backoff *backoff; /* of all children of this parent */
};

/* What a child took in its life. The kernel counts the peak of its parent as memory of the child, too. */
struct child_process_used {
    uint64_t cpu_ms, memory_kb;
};

struct child_process {
    pid_t pid; /* 0 = none runs */
    int sock;
    struct proto_inbox inbox;
    int64_t deadline_ms; /* monotonic, of the job that runs */
    int64_t next_tick_ms;
    unsigned wall_s;          /* the same as it was given, for messages */
    double begin_cpu_s;       /* CPU seconds used before the job */
    bool is_ready;            /* it has said so; before that it has read nothing from outside */
    struct proto_level level; /* what it has locked itself in with, once it is ready */
    bool died;                /* ended by itself or by a limit, in the middle of a job */
    bool was_killed;          /* ended by a signal from outside: its input is not to blame */
    int end_signal;           /* that ended the last one that died of a signal */
    unsigned cpu_s;           /* CPU seconds of a job; 0: not known */
    child_tick_fn tick;       /* NULL = none */
    void *tick_user;
    int64_t project_id; /* of the plan */
    unsigned n_requests;
    struct child_process_backoff *backoff; /* NULL = none */
    struct child_process_used used;        /* of the last one that ended */
};

/* UNAVAILABLE, NO_MEMORY: the system is short of something; INTERNAL: cannot start at all. */
FZ_MUST_CHECK enum fz_code child_process_start(struct child_process *child, enum proto_role role,
                                               const struct limits *limits, struct fz_error *err);
/*
 * Have a child for one more request: the one that runs if it fits the plan, else a new one.
 *
 * UNAVAILABLE as above, and if the last ones ended before they were ready: after the first 0.1 s must pass, after each
 * further one twice the time, up to 5 s. Else a queue of jobs would start children as fast as the system can.
 */
FZ_MUST_CHECK enum fz_code child_process_ensure(struct child_process *child,
                                                const struct child_process_plan *plan,
                                                struct fz_error *err);
bool child_process_runs(const struct child_process *child);

/* Kill and reap; a child that never ran is fine. */
void child_process_stop(struct child_process *child);

/* From now on the child has wall_s seconds. */
void child_process_begin(struct child_process *child, unsigned wall_s);

/* Also fails if `body` has. */
FZ_MUST_CHECK enum fz_code child_process_send(struct child_process *child, enum proto_kind kind,
                                              const struct fz_buffer *body, const int *fds,
                                              size_t n_fds, struct fz_error *err);

/*
 * The next message of the child, in child->inbox.
 *
 * UNAVAILABLE: the program does not start, or is of another version; the job is not to blame.
 * MALFORMED: the child died (child->died; the text says of what: signal, CPU time, wall time,
 * output) or broke the protocol; it has been stopped. UNAVAILABLE: its time is over, but it got hardly any CPU time;
 * stopped too. What tick returned is passed on, and the child is
 * stopped as well.
 */
FZ_MUST_CHECK enum fz_code child_process_next(struct child_process *child, struct fz_error *err);

/* Wait until the child has said that it is ready; fails as above. It may be ready already. */
FZ_MUST_CHECK enum fz_code child_process_ready(struct child_process *child, struct fz_error *err);

/* What a message of the child is answered with. Any failure ends the child, which waits for the answer. */
typedef enum fz_code (*child_process_answer_fn)(void *user, struct child_process *child,
                                                struct fz_error *err);
struct child_process_answer {
    enum proto_kind kind; /* 0 ends a list */
    child_process_answer_fn answer;
};
/* Answer messages until the child is done; DONE is in child->inbox then. FAILED gives its code and text; what is not in
 * the list breaks the protocol. Else as child_process_next(). */
FZ_MUST_CHECK enum fz_code child_process_converse(struct child_process *child,
                                                  const struct child_process_answer *answers,
                                                  void *user, struct fz_error *err);
/* A FAILED message in child->inbox as its code and text. Never FZ_OK. */
enum fz_code child_process_failure(const struct child_process *child, struct fz_error *err);
/* The child broke the protocol: it is stopped and counts as dead. */
FZ_MUST_CHECK enum fz_code child_process_violation(struct child_process *child,
                                                   struct fz_error *err);

/* A file in memory for a child: with `content`, sealed, so that nothing can change it or shrink it under a mapping; or
 * an empty one to write to. */
FZ_MUST_CHECK enum fz_code children_file_make(struct fz_span content, int *ret_fd,
                                              struct fz_error *err);
/* What a child has written, copied to the arena: a mapping could change while it is checked, and shrink (SIGBUS).
 * MALFORMED: the file is shorter. */
FZ_MUST_CHECK enum fz_code children_file_read(int fd, uint64_t offset, uint64_t len,
                                              struct fz_arena *arena, struct fz_span *ret,
                                              struct fz_error *err);

#endif
