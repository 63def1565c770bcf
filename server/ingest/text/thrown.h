/*
 * What a process logged when an uncaught exception ended it. Private to this folder.
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

/* Set the exception's name and reason in report->crash unless they are known; false if the text is
 * not about an exception. A fatal error without an exception has a reason only. */
bool ingest_text_read_thrown(struct ingest_builder *b, struct fz_span text);

/* Does the stack begin where an exception is thrown? Then even its first address is a return
 * address. `images` are the names of the first two frames' images, empty if they are not known. */
bool ingest_text_is_throw_stack(const struct report_frame *frames, size_t n,
                                const struct fz_span images[2]);

#endif
