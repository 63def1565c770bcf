/*
 * The members of a JSON object as spans of its text, without building a tree.
 *
 * For detecting formats by their keys and for keeping parts of a report verbatim. The text need not
 * be valid: the walk never leaves it and ends at the first thing it cannot read.
 */
#ifndef BASE_JSON_WALK_H
#define BASE_JSON_WALK_H

#include "base/buffer.h"
#include "base/span.h"

struct json_walk {
    struct fz_span text;
    size_t pos;
};

struct json_member {
    struct fz_span key;   /* between the quotes, escapes as in the text */
    struct fz_span value; /* from its first to its last byte */
    bool complete;        /* false: the text ends inside the value */
};

/* Begin at the first member of the object that `text` starts with (white space and a byte order
 * mark before it are skipped); no members if it starts with anything else. */
struct json_walk json_walk_start(struct fz_span text);

/* The next member; false at the end, or where the text stops being an object. */
bool json_walk_next(struct json_walk *walk, struct json_member *ret);
/* The key that json_walk_next() will find, without a look at its value, which may be most of the text. */
bool json_walk_key(const struct json_walk *walk, struct fz_span *ret);

/* The same for an array: begin at its first item; ret->key is empty. Stray commas are passed over.
 */
struct json_walk json_walk_items(struct fz_span text);
bool json_walk_next_item(struct json_walk *walk, struct json_member *ret);

/* Append valid JSON without the white space between its tokens. */
void json_walk_compact(struct fz_span json, struct fz_buffer *out);

#endif
