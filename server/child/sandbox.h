/*
 * All restrictions that a child process puts on itself before it reads the first untrusted byte.
 */
#ifndef CHILD_SANDBOX_H
#define CHILD_SANDBOX_H

#include "base/error.h"
#include "server/process/limits.h"
#include "server/protocol/protocol.h"

/* No new privileges, no core file, no tracing by others, death with the worker, all descriptors
 * but 0 to 3 closed, limits on memory, output and open files, lowest priority. Not yet restricted:
 * the file system, the network and the number of processes. */
FZ_MUST_CHECK enum fz_code child_sandbox_enter(enum proto_role role, const struct limits *limits,
                                               struct fz_error *err);

/* CPU seconds for the job that begins now, beyond what the child has used so far. */
void child_sandbox_begin_job(enum proto_role role, const struct limits *limits);

#endif
