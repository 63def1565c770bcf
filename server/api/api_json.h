/*
 * JSON out: objects and arrays appended to a buffer; a key whose value is unknown is left out.
 *
 * Commas are placed by looking at what the buffer ends with. `key` is NULL inside an array.
 */
#ifndef API_JSON_H
#define API_JSON_H

#include "base/buffer.h"

void api_json_open(struct fz_buffer *out, const char *key, char bracket); /* '{' or '[' */
void api_json_close(struct fz_buffer *out, char bracket);                 /* '}' or ']' */
/* NULL is left out. */
void api_json_text(struct fz_buffer *out, const char *key, const char *text);
void api_json_u64(struct fz_buffer *out, const char *key, uint64_t value);
/* Unix milliseconds as RFC 3339; 0 is left out. */
void api_json_time(struct fz_buffer *out, const char *key, int64_t unix_ms);
/* JSON that is ready; NULL and "" are left out. */
void api_json_raw(struct fz_buffer *out, const char *key, const char *json);

#endif
