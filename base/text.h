/*
 * Text: numbers as clients write them, hex, base64, UTF-8.
 */
#ifndef FZ_TEXT_H
#define FZ_TEXT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

/* 0 to 15, or -1. */
int fz_text_hex_digit(char c);

/* Lower-case hex of the bytes; ret has room for 2 * len + 1. */
void fz_text_hex(struct fz_span bytes, char *ret);

/* Hex digits (an even number, either case) to bytes; ret has room for len / 2. False if it is
 * anything else.
 */
bool fz_text_unhex(struct fz_span text, uint8_t *ret);

/* Exactly `len` lower-case hex digits, as hashes and ids are written? False for NULL. */
bool fz_text_is_hex(const char *text, size_t len);

/* The whole text as an unsigned number: decimal, or hex with 0x. False on anything else or above
 * 2^64 - 1. */
bool fz_text_u64(struct fz_span text, uint64_t *ret);
/* The same for bare hex digits, with or without 0x. */
bool fz_text_hex_u64(struct fz_span text, uint64_t *ret);
/* A decimal number with an optional sign. */
bool fz_text_i64(struct fz_span text, int64_t *ret);

/* RFC 4648 base64 with or without padding, the URL alphabet too, white space skipped. The bytes are
 * in the arena. FZ_E_MALFORMED names the byte that is not base64. */
FZ_MUST_CHECK enum fz_code fz_text_base64_decode(struct fz_span text, struct fz_arena *arena,
                                                 struct fz_span *ret, struct fz_error *err);
void fz_text_base64_append(struct fz_buffer *out, struct fz_span bytes);
/* With the URL alphabet, without padding. */
void fz_text_base64url_append(struct fz_buffer *out, struct fz_span bytes);

/* The length of the well-formed UTF-8 sequence at the start of the bytes (1 to 4), 0 if they
 * begin with anything else. */
size_t fz_text_utf8_len(struct fz_span bytes);
bool fz_text_is_utf8(struct fz_span bytes);

/* A NUL-terminated copy in which each byte that is not UTF-8, and each NUL, became U+FFFD. */
char *fz_text_clean_utf8(struct fz_arena *arena, struct fz_span bytes);

/* How many bytes at the start are ASCII and the same in a JSON string; for a text with others, it may be up to seven too few. */
size_t fz_text_json_plain(struct fz_span text);
/* The text as a JSON string with quotes; bytes that are not UTF-8 become U+FFFD. */
void fz_text_json_append(struct fz_buffer *out, struct fz_span text);

/*
 * The text as it can be shown on a terminal, in `room` bytes with a NUL; returns the length. Control characters and those that
 * turn the direction of writing, are not seen or end a line become "\u001b", bytes that are not UTF-8 "\ufffd". What does not
 * fit is cut between characters.
 */
size_t fz_text_visible(struct fz_span text, char *ret, size_t room);
/* The same in full; NULL: no memory. */
const char *fz_text_visible_copy(struct fz_arena *arena, const char *text);

/* White space within a line: space, tab, CR, VT, FF. */
bool fz_text_is_blank(uint8_t c);
/* The text without blanks and line feeds at both ends; an empty result has NULL data. */
struct fz_span fz_text_trim(struct fz_span text);
/* Where `word` begins in the text, SIZE_MAX if it is not there. */
size_t fz_text_find(struct fz_span text, const char *word);
/* The same for the last place. */
size_t fz_text_find_last(struct fz_span text, const char *word);
bool fz_text_contains(struct fz_span text, const char *word);

bool fz_text_has_prefix(const char *text, const char *prefix);
bool fz_text_has_suffix(const char *text, const char *suffix);
/* What follows the last slash; the text itself without one. */
const char *fz_text_base_name(const char *path);

#endif
