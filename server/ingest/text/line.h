/*
 * Lines, words and numbers of reports that are written as text. Private to this folder.
 *
 * Texts arrive by mail and from consoles: quoted ("> "), indented, with LF, CRLF or CR, with
 * no-break spaces, in other encodings than UTF-8. Callers see lines without all that.
 */
#ifndef INGEST_TEXT_LINE_H
#define INGEST_TEXT_LINE_H

#include "base/text.h"
#include "server/ingest/common/builder.h"

/* How much of a body is read to detect its format. */
enum { TEXT_HEAD_MAX = 1 << 20 };

struct ingest_text_lines {
    struct fz_span rest;
    size_t number;       /* of the current line, from 1 */
    size_t indent;       /* of that line, after the quote marks */
    const uint8_t *line; /* the start of that line in the bytes, with its quote marks */
};

/* A copy in the arena that is valid UTF-8: other bytes are read in a single-byte encoding
 * (encoding.h), no-break spaces become spaces, a byte order mark is dropped. NULL data and `failed`
 * when memory is out. */
struct fz_span ingest_text_clean(struct ingest_builder *b, struct fz_span body);

struct ingest_text_lines ingest_text_lines_start(struct fz_span text);
/* The next line without its end, quote marks, indent and trailing white space; false at the end. */
bool ingest_text_lines_next(struct ingest_text_lines *lines, struct fz_span *ret);

/* Cut the first word (without white space) off *text, and the white space after it. */
struct fz_span ingest_text_word(struct fz_span *text);
/* Cut "0x1f" off the start of *text; false if a letter or a digit follows it. */
bool ingest_text_cut_hex(struct fz_span *text, uint64_t *ret);
/* Cut decimal digits off the start of *text. */
bool ingest_text_cut_decimal(struct fz_span *text, uint64_t *ret);

/* What follows the first `key`, up to `end` (NULL: to the end of the text); empty without the
 * key. */
struct fz_span ingest_text_after(struct fz_span text, const char *key, const char *end);
/* The start of the "(...)" that ends the text; SIZE_MAX without one. */
size_t ingest_text_last_group(struct fz_span text);

#endif
