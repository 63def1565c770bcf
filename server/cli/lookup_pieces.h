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

struct lookup_piece {
    const char *key[2];
    size_t len;
    char text[];
};

struct lookup_pieces;

/* Where one thread's next pieces lie; {0} at first, nothing to be ended. */
struct lookup_pieces_room {
    char *at;
    size_t left;
};

/* The caller owns it; NULL: out of memory. */
struct lookup_pieces *lookup_pieces_create(void);
void lookup_pieces_destroy(struct lookup_pieces *pieces);

/* NULL: there is none. */
const struct lookup_piece *lookup_pieces_find(struct lookup_pieces *pieces, const char *first,
                                              const char *second);
/* Fetch from memory what lookup_pieces_find() will read first. */
void lookup_pieces_prefetch(struct lookup_pieces *pieces, const char *first, const char *second);

/* A copy of the text that lookup_pieces_find() will give. NULL: no room is left. */
const struct lookup_piece *lookup_pieces_add(struct lookup_pieces *pieces,
                                             struct lookup_pieces_room *room, const char *first,
                                             const char *second, struct fz_span text);

#endif
