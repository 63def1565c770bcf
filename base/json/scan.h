/*
 * The JSON scanner that runs before jansson: validates, bounds and repairs, so that one odd number
 * or character does not cost a whole report.
 *
 * jansson refuses integers above 2^63 - 1, numbers beyond a double, NaN, lone surrogates, \u0000
 * and bad UTF-8; all of them occur in real reports. The scanner copies the document and rewrites
 * just these: such a number becomes a string with the same digits; a lone surrogate, \u0000 and
 * each bad byte become U+FFFD. Everything else is copied unchanged.
 */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include <jansson.h>

enum { JSON_SCAN_DEPTH_MAX = 2048 }; /* jansson's own bound */

struct json_scan_limits {
    size_t depth; /* nested arrays and objects; more than JSON_SCAN_DEPTH_MAX counts as that */
    size_t output_bytes; /* of the rewritten text */
    size_t tree_bytes;   /* only json_scan_load(): of the jansson tree, an upper estimate;
                            0 = no limit */
};

struct json_scan_notes { /* what was repaired, for the report's `notes` */
    uint64_t n_big_numbers, n_bad_utf8, n_bad_escapes;
    size_t first_offset; /* in bytes, of the first repaired place; only valid if a count is not 0 */
    /* What the document holds; n_values counts arrays and objects too, but no keys. */
    uint64_t n_values, n_keys, n_arrays, n_objects;
};

/*
 * Scan exactly one JSON value (RFC 8259), with optional white space around it and a byte order mark
 * before it.
 *
 * On success the repaired text is appended to `out`, without the mark and the space after the
 * value; a NULL `out` only validates. On failure `out` is as it was. MALFORMED: not JSON, with the
 * byte offset in err->offset and in the text ("json: expected ',' or '}' at byte 17"); LIMIT: depth
 * or output_bytes. `notes` may be NULL.
 */
FZ_MUST_CHECK enum fz_code json_scan(struct fz_span in, const struct json_scan_limits *limits,
                                     struct fz_buffer *out, struct json_scan_notes *notes,
                                     struct fz_error *err);

/* Where arrays are that hold no array, in the order of the text: from their bracket to after the other one. */
enum { JSON_SCAN_LISTS = 512 };
struct json_scan_lists {
    size_t n;
    struct json_scan_list {
        size_t at, end, n_items;
    } list[JSON_SCAN_LISTS];
};

/* As json_scan(); `lists` has the first arrays of the output, none if something was repaired. */
FZ_MUST_CHECK enum fz_code
json_scan_with_lists(struct fz_span in, const struct json_scan_limits *limits,
                     struct fz_buffer *out, struct json_scan_notes *notes,
                     struct json_scan_lists *lists, struct fz_error *err);

/* The same for the first value only: *ret_used is the number of bytes up to its end (for .ips: two
 * values in one file). */
FZ_MUST_CHECK enum fz_code json_scan_first(struct fz_span in, const struct json_scan_limits *limits,
                                           struct fz_buffer *out, struct json_scan_notes *notes,
                                           size_t *ret_used, struct fz_error *err);

/*
 * Scan and parse into a jansson value, a new reference owned by the caller (json_decref). Duplicate
 * keys: the last wins.
 *
 * jansson takes 6 times the text on average and 50 times at worst ("[[],[],..."). Its allocator is
 * one for the whole process, so the tree's size is bounded here before it is built: LIMIT if the
 * estimate is above limits->tree_bytes. jansson opens /dev/urandom for its first object: a process
 * that is about to lose its files calls json_seed() before.
 */
FZ_MUST_CHECK enum fz_code json_scan_load(struct fz_span in, const struct json_scan_limits *limits,
                                          struct json_scan_notes *notes, json_t **ret,
                                          struct fz_error *err);

/* The same; the repaired text is appended to `text` for callers that need parts of it verbatim. */
FZ_MUST_CHECK enum fz_code json_scan_load_text(struct fz_span in,
                                               const struct json_scan_limits *limits,
                                               struct fz_buffer *text,
                                               struct json_scan_notes *notes, json_t **ret,
                                               struct fz_error *err);

/*
 * The same; arrays at the path `leave` stay texts, which json_rows_of() knows and reads: a value of a thousand frames costs more to
 * make than all else that is done with it. The path is names of members from the outermost object on, "" for an item of an array,
 * and a NULL: {"threads", "", "frames", NULL}. Anything else at that place is made as always. NULL: no path.
 */
FZ_MUST_CHECK enum fz_code json_scan_load_leaving(struct fz_span in,
                                                  const struct json_scan_limits *limits,
                                                  const char *const *leave,
                                                  struct json_scan_notes *notes, json_t **ret,
                                                  struct fz_error *err);

/* Append a value on one line; a failure is the buffer's. json_dumps() would give memory of jansson's allocator, which may not be
 * that of free() (pool.h). */
void json_scan_dump(const json_t *value, struct fz_buffer *out);

/* Have jansson read its random bytes now: they keep keys that someone chose from making its tables slow. */
void json_seed(void);

/* An address or register out of a JSON value: an integer (negative ones wrap to 64 bits), or a
 * string "0x...", decimal digits (as the scanner writes big numbers). False for anything else.
 */
bool json_scan_u64(const json_t *value, uint64_t *ret);

#endif
