/*
 * Text that is made once and found again by the places in a mapped index that it was made from: the
 * readable forms of names, joined paths.
 *
 * All threads that print share one, and none ever waits for another: where two come at once with
 * the same text, or while the table grows, a text may be kept twice or be forgotten, and is made
 * again. The index has to outlive it; pieces lie where they are until the end.
 */
#ifndef CLI_LOOKUP_PIECES_H
#define CLI_LOOKUP_PIECES_H

#include "base/span.h"

struct piece {
    const char *key[2];
    size_t len;
    char text[];
};

struct pieces;

/* Where one thread's next pieces lie; {0} at first, nothing to be ended. */
struct pieces_room {
    char *at;
    size_t left;
};

/* The caller owns it; NULL: out of memory. */
struct pieces *pieces_create(void);
void pieces_destroy(struct pieces *pieces);

/* NULL: there is none. */
const struct piece *pieces_find(struct pieces *pieces, const char *first, const char *second);
/* Fetch from memory what pieces_find() will read first. */
void pieces_prefetch(struct pieces *pieces, const char *first, const char *second);

/* A copy of the text that pieces_find() will give. NULL: no room is left. */
const struct piece *pieces_add(struct pieces *pieces, struct pieces_room *room, const char *first,
                               const char *second, struct fz_span text);

#endif
