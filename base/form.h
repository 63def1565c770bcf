/*
 * multipart/form-data (RFC 7578, RFC 2046 5.1): where the parts of a body are.
 *
 * Nothing is copied but names: a part is an offset and a length in the body, whether that is in
 * memory or a file of gigabytes. Bounded and fuzzed; no state, any thread.
 */
#ifndef FZ_FORM_H
#define FZ_FORM_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum { FZ_FORM_PARTS_MAX = 128, FZ_FORM_BOUNDARY = 71 }; /* RFC 2046: 70 characters at most */

struct fz_form_part {
    const char *name;         /* "" without one; valid UTF-8, as are the next two; arena */
    const char *filename;     /* NULL without one */
    const char *content_type; /* NULL without one */
    uint64_t offset, len;     /* of the content within the body */
};

/* The boundary named by a Content-Type value. UNSUPPORTED: it is not multipart/form-data;
 * MALFORMED: it has no usable boundary. */
FZ_MUST_CHECK enum fz_code fz_form_boundary(const char *content_type, char ret[FZ_FORM_BOUNDARY],
                                            struct fz_error *err);

/* The same from the first line of a body. False: it is not a delimiter, or no part's header
 * follows. */
bool fz_form_find_boundary(struct fz_span body, char ret[FZ_FORM_BOUNDARY]);

/* All parts, in order; the array and texts are in the arena. MALFORMED with the offset; LIMIT: more
 * than FZ_FORM_PARTS_MAX parts, or 8 KiB of header in one. */
FZ_MUST_CHECK enum fz_code fz_form_parse(struct fz_span body, const char *boundary,
                                         struct fz_arena *arena, struct fz_form_part **ret,
                                         size_t *ret_n, struct fz_error *err);

/* The same over a file, looked at through a moving window. The descriptor stays the caller's; its
 * position does not matter. */
FZ_MUST_CHECK enum fz_code fz_form_parse_fd(int fd, const char *boundary, struct fz_arena *arena,
                                            struct fz_form_part **ret, size_t *ret_n,
                                            struct fz_error *err);

/* The bytes of a part of `body`. */
struct fz_span fz_form_content(struct fz_span body, const struct fz_form_part *part);

#endif
