/*
 * The locks one by one, in the order in which sandbox_enter() closes them. All but limits are left out if the kernel
 * does not allow them.
 */
#ifndef SANDBOX_LOCKS_H
#define SANDBOX_LOCKS_H

#include "server/sandbox/sandbox.h"

/* The user and the namespaces that the kernel gives, as bits of locks that are not in `without`. Drops all capabilities. */
uint32_t sandbox_namespaces(uint32_t without);

/* The first to be killed if memory runs out. Needs /proc, so before the empty root. */
bool sandbox_oom_first(void);

/* Landlock with an empty set of rules. Returns the version of the kernel's interface, 0: it has none. */
unsigned sandbox_files(void);

/* Of memory, output, CPU time, descriptors; `processes`: and none may be started. False: errno says why. */
bool sandbox_limits(enum proto_role role, const struct limits *limits, bool processes);

/* The list of system calls. NULL: no memory. */
void *sandbox_filter_make(enum proto_role role);
/* The last lock, since those before need more; ends `filter`. False: the kernel has no such filter. */
bool sandbox_filter_load(void *filter);

#endif
