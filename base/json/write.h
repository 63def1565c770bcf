/*
 * JSON out: members and items are appended to a buffer in the order of the calls, commas and
 * escapes are taken care of.
 *
 * `key` is the member's name, NULL inside an array and for the outermost value. What is unknown is
 * left out, so a NULL text writes nothing. Failures are the buffer's: fz_buffer_done().
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "base/buffer.h"

struct json_write {
    struct fz_buffer *out;
    bool comma; /* the next item is preceded by one */
};

struct json_write json_write_start(struct fz_buffer *out);

/* `bracket` is '{' or '[', and '}' or ']'. */
void json_write_open(struct json_write *w, const char *key, char bracket);
void json_write_close(struct json_write *w, char bracket);

void json_write_text(struct json_write *w, const char *key, const char *text);
/* "0x1045f8a10": addresses do not fit the numbers of JavaScript. */
void json_write_hex(struct json_write *w, const char *key, uint64_t value);
void json_write_u64(struct json_write *w, const char *key, uint64_t value);
void json_write_i64(struct json_write *w, const char *key, int64_t value);
void json_write_bool(struct json_write *w, const char *key, bool value);
/* A text that is JSON already. */
void json_write_raw(struct json_write *w, const char *key, const char *json);

#endif
