/*
 * What a process said as it ended on an uncaught exception. Private to this folder.
 *
 *   *** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 7 ...'
 *   *** First throw call stack:
 *   (0x1845f8a10 0x1845f8b00)
 *   libc++abi: terminating with uncaught exception of type std::runtime_error: no such file
 *   Demo/Shop.swift:12: Fatal error: Index out of range
 */
#ifndef INGEST_TEXT_THROWN_H
#define INGEST_TEXT_THROWN_H

#include "server/ingest/text/frame.h"

/* The exception's name and reason into report->crash, unless known already; false if the text says
 * nothing of an exception. A fatal error without one gives a reason only. */
bool ingest_text_take_thrown(struct ingest_builder *b, struct fz_span text);

/* Does the stack begin where an exception was thrown? Then no frame of it is an exact pc.
 * `images` are the names of the first two frames' images, empty if not known. */
bool ingest_text_is_throw_stack(const struct report_frame *frames, size_t n,
                                const struct fz_span images[2]);

#endif
