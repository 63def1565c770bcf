/*
 * Places in a group of workers: of several, the one in the first place leaves uploads to the others.
 *
 * The workers that one process started share a file (that of the metrics). Each keeps a lock on one
 * byte of it, the first that is free; the lock ends with the process, whatever ends it. So nobody
 * has to count who is alive.
 */
#ifndef WORKER_SLOT_H
#define WORKER_SLOT_H

#include <stdbool.h>

enum { WORKER_SLOTS = 64 };

/* Take the first free place; -1: there is none, or the file cannot be locked. `fd` stays open as
 * long as the place is kept; -1 for a worker that was started alone. */
int worker_slot_take(int fd);
/* Whether `slot` is the place that leaves uploads to others, and there are others now. */
bool worker_slot_is_reserved(int fd, int slot);

#endif
