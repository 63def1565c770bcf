/*
 * Arrays of small objects, read from their text without a tree: the frames of a report are most of it.
 *
 * json_scan_load_leaving() leaves them in the tree. Their text was accepted by json_scan().
 */
#ifndef BASE_JSON_ROWS_H
#define BASE_JSON_ROWS_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/span.h"

enum { JSON_ROW_MEMBERS = 16 };

enum json_row_kind {
    JSON_ROW_NULL,
    JSON_ROW_OTHER, /* true, false, a number that is not an integer */
    JSON_ROW_INTEGER,
    JSON_ROW_TEXT,
};

struct json_row_member {
    struct fz_span key;  /* between the quotes */
    struct fz_span lead; /* from the value before it to its own: comma, key, colon, white space */
    struct fz_span value;
    enum json_row_kind kind;
    bool varies;     /* it was another one in an item of the same form */
    uint64_t number; /* of an integer; negative ones wrap */
};

/* One item. */
struct json_row {
    struct fz_span text;
    bool
        is_flat; /* an object of at most JSON_ROW_MEMBERS members without escapes, arrays, and objects */
    size_t n; /* members of a flat one */
    unsigned
        layout; /* changes when the members have other names or another order than in the item before */
    struct json_row_member members[JSON_ROW_MEMBERS];
};

struct json_rows {
    struct fz_span text;
    size_t pos;
    size_t n; /* items, if it was left in a tree */
    struct json_row row;
};

/* Is it an array that was left as its text? Begin at its first item. No text of a document begins with a NUL, as these do. */
bool json_rows_of(const json_t *value, struct json_rows *ret);
/* What json_rows_of() knows, for the array that `text` begins with, of n items and *len bytes; *len = 0: neither is known, and it becomes
 * known. NULL: out of memory. */
json_t *json_rows_leave(struct fz_span text, size_t n, size_t *len);

/* Read the next item into `row`; false at the end. */
bool json_rows_next(struct json_rows *rows);

/* The number of a flat item's member, of two of the same name the last; -1: it has none. It holds for all items of a layout. */
int json_row_find(const struct json_row *row, const char *key);
/* Is there a member that is not null? */
bool json_row_has(const struct json_row *row, int member);
/* As json_scan_u64(); false also for -1. */
bool json_row_u64(const struct json_row *row, int member, uint64_t *ret);
/* The text between the quotes. False: it is not a text, or -1. */
bool json_row_text(const struct json_row *row, int member, struct fz_span *ret);
/* The tree of any item, a new reference owned by the caller; NULL: out of memory. */
json_t *json_row_tree(const struct json_row *row);

/* What json_rows_pass() has found. */
struct json_rows_passed {
    size_t end;    /* of the last item and the comma after it, if there is one */
    size_t n;      /* items */
    size_t n_keys; /* of all of them */
    bool has_comma;
};

/*
 * For the scanner: pass over items of an array, the first of which may begin at `at`, that have the form of the one at `like`, which is
 * valid and needs no repair; then neither do they. Stops before an item that differs or needs a closer look.
 */
struct json_rows_passed json_rows_pass(struct fz_span text, size_t like, size_t at);

/* Where a string has its next byte from `at` on that is a quote, a backslash, a control character or not ASCII; its end without one. */
size_t json_plain_end(struct fz_span text, size_t at);
/* Where white space from `at` on ends, which is inside of the text or its end. */
size_t json_space_end(struct fz_span text, size_t at);
/* Where a text has its next quote or backslash from `at` on, which is inside of it or its end; its end without one. */
size_t json_find_special(struct fz_span text, size_t at);

#endif
