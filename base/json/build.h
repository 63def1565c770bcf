/*
 * The tree of a text that json_scan() has accepted.
 *
 * jansson's own parser reads byte by byte through a function pointer and checks again what is known: it takes five times
 * as long. The trees are equal, also the order of members; a fuzz target compares them.
 */
#ifndef BASE_JSON_BUILD_H
#define BASE_JSON_BUILD_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/json/scan.h"
#include "base/span.h"

/* A new reference, owned by the caller; NULL: out of memory. `text` must be followed by a NUL and is changed meanwhile: keys
 * get a NUL in place of their closing quote. `leave`: see json_scan_load_leaving(); `lists` (NULL: not known) are the arrays of `text`. */
json_t *json_build(char *text, size_t len, const char *const *leave,
                   const struct json_scan_lists *lists);

/* The text between the quotes of a string that json_scan() has accepted, without its escapes, in place of what `out` had. False: out
 * of memory. */
bool json_decode(const char *in, size_t len, struct fz_buffer *out);

#endif
