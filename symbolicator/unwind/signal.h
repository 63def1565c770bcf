/*
 * Frames that a signal interrupted: _sigtramp calls the handler, and the kernel left the registers
 * of the interrupted code above it on the stack.
 *
 * The frame pointer chain skips that code, and no file describes _sigtramp, which is part of the
 * system. Source: xnu, bsd/dev/arm/unix_signal.c and bsd/dev/i386/unix_signal.c.
 */
#ifndef UNWIND_SIGNAL_H
#define UNWIND_SIGNAL_H

#include "symbolicator/unwind/step.h"

/* If the frame is _sigtramp's, what it interrupted; not a return address. */
bool unwind_signal(struct unwind_step *step, struct sym_unwind_frame *ret);

#endif
