/*
 * The child: the process that parses foreign bytes for a worker.
 */
#ifndef CHILD_H
#define CHILD_H

/* Speak the protocol on descriptor 3 until the worker closes it. Returns the exit code. */
int child_main(void);

#endif
