/*
 * The project's one JSON writer: appends members and items to a buffer in the order of the calls,
 * with commas and escapes.
 *
 * `key` is the member's name; NULL inside an array and for the outermost value. A value that is not
 * known is left out: a NULL text writes nothing. Failures are the buffer's: fz_buffer_done().
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "base/buffer.h"
#include "base/span.h"

struct json_write {
    struct fz_buffer *out;
    bool comma; /* the next item is preceded by one */
};

struct json_write json_write_start(struct fz_buffer *out);

/* `bracket` is '{' or '[', and '}' or ']'. */
void json_write_open(struct json_write *w, const char *key, char bracket);
void json_write_close(struct json_write *w, char bracket);

/* NULL is left out. Bytes that are not UTF-8 become U+FFFD. */
void json_write_text(struct json_write *w, const char *key, const char *text);
void json_write_span(struct json_write *w, const char *key, struct fz_span text);
/* "0x1045f8a10": addresses do not fit the numbers of JavaScript. */
void json_write_hex(struct json_write *w, const char *key, uint64_t value);
void json_write_u64(struct json_write *w, const char *key, uint64_t value);
void json_write_i64(struct json_write *w, const char *key, int64_t value);
void json_write_bool(struct json_write *w, const char *key, bool value);
void json_write_null(struct json_write *w, const char *key);
/* Unix milliseconds as an RFC 3339 text; 0 is left out. */
void json_write_time(struct json_write *w, const char *key, int64_t unix_ms);
/* A text that is JSON already; NULL and "" are left out. */
void json_write_raw(struct json_write *w, const char *key, const char *json);

/*
 * Members of rows that are written a thousand times: the key is made once, and is not looked at again. It must need no escape and be
 * shorter than JSON_KEY_MAX - 4. Before such a member there is another one, or an opening bracket.
 */
enum { JSON_KEY_MAX = 32 };
struct json_key {
    char lead[JSON_KEY_MAX]; /* ,"name": */
    size_t len;
};
struct json_key json_key_make(const char *name);
void json_write_key_hex(struct json_write *w, const struct json_key *key, uint64_t value);
void json_write_key_u64(struct json_write *w, const struct json_key *key, uint64_t value);
/* A list without items. */
void json_write_key_empty(struct json_write *w, const struct json_key *key);

/*
 * Members that come again and again in the same form: what was written since `start`, an earlier length of the buffer, as one
 * piece, and the piece once more. Before a piece and after it there are other members.
 *
 *     size_t start = w->out->len;
 *     json_write_text(w, "status", status);
 *     piece = json_write_piece(w, start);
 */
struct json_piece {
    size_t at, len;
};
struct json_piece json_write_piece(const struct json_write *w, size_t start);
void json_write_again(struct json_write *w, const struct json_piece *piece);

#endif
