/*
 * Addresses from one descriptor, their frames to another, in the same order.
 *
 * Input is taken in batches of lines, whatever is there: who writes an address and waits gets the
 * answer at once. Where much is waiting several threads take batches, and their answers are written
 * in the order of the input.
 */
#ifndef CLI_LOOKUP_STREAM_H
#define CLI_LOOKUP_STREAM_H

#include "base/error.h"
#include "base/span.h"
#include "symbolicator/symbolicator.h"

enum lookup_line { LOOKUP_LINE_END, LOOKUP_LINE_ADDRESS, LOOKUP_LINE_BAD };

/* Take the first line off the text: *ret_addr if it is a hex address, and the line without the
 * white space around it. END: the text is empty, outputs untouched. */
enum lookup_line lookup_line_take(struct fz_span *text, uint64_t *ret_addr,
                                  struct fz_span *ret_line);

struct lookup_stream_options {
    bool is_json;
    unsigned n_threads; /* at most this many; 0 = 1 */
};

/*
 * Look up what `in_fd` holds, one hex address a line, until its end. A line that is not an address
 * is reported on standard error, gets no answer and is counted. Every error ends it.
 */
FZ_MUST_CHECK enum fz_code lookup_stream(const struct sym_index *index,
                                         const struct lookup_stream_options *options, int in_fd,
                                         int out_fd, size_t *ret_n_bad, struct fz_error *err);

#endif
