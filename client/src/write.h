/*
 * Writes JSON to a descriptor from a handler of a crash: no allocation, a small buffer, an error that stays.
 *
 * Commas are added where they are due. Numbers that may exceed 2^53 are written as "0x…". Texts are checked: what is
 * not UTF-8 becomes '?', so that the result is always valid JSON. After an error everything is a no-op.
 */
#ifndef FRAMEZERO_WRITE_H
#define FRAMEZERO_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAMEZERO_WRITE_BUFFER = 4096, FRAMEZERO_WRITE_MAX = 16 * 1024 * 1024 };

struct framezero_writer {
    int fd;
    bool failed;
    bool needs_comma;
    uint8_t base64_left[3]; /* bytes that do not make four digits yet */
    uint8_t n_base64_left;
    size_t used, total;
    char buffer[FRAMEZERO_WRITE_BUFFER];
};

void framezero_write_start(struct framezero_writer *w, int fd);
/* Flush; false if anything failed since the start: the file is not a report then. */
bool framezero_write_finish(struct framezero_writer *w);

/* `key` is NULL for the elements of an array and for the outermost object; it is a plain ASCII word. */
void framezero_write_open(struct framezero_writer *w, const char *key, char bracket);
void framezero_write_close(struct framezero_writer *w, char bracket);
/* `text` of at most `n` bytes, up to its zero. NULL or empty: the key is left out. */
void framezero_write_text(struct framezero_writer *w, const char *key, const char *text, size_t n);
void framezero_write_number(struct framezero_writer *w, const char *key, int64_t value);
void framezero_write_hex(struct framezero_writer *w, const char *key, uint64_t value);
void framezero_write_bool(struct framezero_writer *w, const char *key, bool value);
/* A number of 16 little-endian bytes. */
void framezero_write_vector(struct framezero_writer *w, const char *key, const uint8_t bytes[16]);
void framezero_write_uuid(struct framezero_writer *w, const char *key, const uint8_t uuid[16]);
void framezero_write_date(struct framezero_writer *w, const char *key, uint64_t unix_ms);

/* Base64 in pieces of any size between begin and end. */
void framezero_write_bytes_begin(struct framezero_writer *w, const char *key);
void framezero_write_bytes(struct framezero_writer *w, const uint8_t *bytes, size_t n);
void framezero_write_bytes_end(struct framezero_writer *w);

/* 36 characters and a zero. */
void framezero_uuid_text(const uint8_t uuid[16], char text[37]);

#endif
