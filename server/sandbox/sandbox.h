/*
 * Everything that a child process locks itself in with before it reads the first untrusted byte.
 *
 * The locks are independent of each other: what one of them misses, or a kernel lacks, others stop. docs/security.md says
 * what each is for; tests/sandbox tries to get out, with each of them alone and with all of them. One file for each:
 * files.c (landlock), filter.c (seccomp), namespaces.c, limits.c.
 *
 * A build with a sanitizer or for valgrind has the limits alone: their run time opens files, starts threads and
 * programs, and maps terabytes.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "base/error.h"
#include "server/process/limits.h"
#include "server/protocol/level.h"
#include "server/protocol/protocol.h"

struct sandbox_plan {
    enum proto_role role;
    const struct limits *limits;
    uint32_t without; /* locks to leave out: tests only */
};

/*
 * No way back. Libraries must be loaded, and what they read of the system (locale, time zone) must have been read.
 * Afterwards PROTO_FD is the only way out; descriptors 0 to 3 stay open, all others are closed.
 *
 * Locks that the kernel does not allow are not in *ret. INTERNAL: one of those that every kernel allows failed: limits,
 * no new privileges, death with the parent.
 */
FZ_MUST_CHECK enum fz_code sandbox_enter(const struct sandbox_plan *plan, struct proto_level *ret,
                                         struct fz_error *err);

/* CPU seconds for the job that begins now, beyond what the child has used so far; a signal ends it there. */
void sandbox_begin_job(enum proto_role role, const struct limits *limits);

#endif
