/*
 * The end of a child: killing it, and whether its input is to blame.
 */
#ifndef CHILDREN_DEATH_H
#define CHILDREN_DEATH_H

#include "server/children/process.h"
#include <sys/resource.h>

/* Kill the child, and whatever it could start if the kernel lacks the locks against that. */
void child_process_kill(const struct child_process *child);

/* Has it ended? Its connection may be open for longer, if a process that it has started holds it. */
bool child_process_has_ended(const struct child_process *child);

/* Wait for the end of a child whose connection is closed. It gets a moment, since the kernel closes the socket before the
 * process can be waited for. False: it still runs. */
bool child_process_reap(struct child_process *child, int *ret_status, struct rusage *ret_used);

/* What it took, into child->used. */
void child_process_note(struct child_process *child, const struct rusage *used);

/*
 * Why a child that ended by a signal did so, in the words of the log and of the report's or the upload's error.
 *
 * MALFORMED: it did so itself, by a fault or a limit (child->died). UNAVAILABLE: the signal came from outside
 * (child->was_killed).
 */
FZ_MUST_CHECK enum fz_code child_process_signalled(struct child_process *child, int number,
                                                   const struct rusage *used, struct fz_error *err);

#endif
