/*
 * Lines, words and numbers of reports that are written as text. Private to this folder.
 *
 * Texts come by mail and out of consoles: quoted ("> "), indented, with CRLF or without, with
 * no-break spaces, in other encodings. A line here is what is left of one without all that.
 */
#ifndef INGEST_TEXT_LINE_H
#define INGEST_TEXT_LINE_H

#include "base/text.h"
#include "server/ingest/common/builder.h"

/* How much of a body is looked at to tell its format. */
enum { TEXT_HEAD_MAX = 1 << 20 };

struct ingest_text_lines {
    struct fz_span rest;
    size_t number;       /* of the line that was given last, from 1 */
    size_t indent;       /* of that line, behind the quote marks */
    const uint8_t *line; /* where that line begins in the bytes, with its quote marks */
};

/* A copy in the arena that is valid UTF-8: bytes that are not are read in an encoding of one byte a
 * character (encoding.h), no-break spaces become spaces, a byte order mark is left out. NULL data with `failed` set when memory is out. */
struct fz_span ingest_text_clean(struct ingest_builder *b, struct fz_span body);

struct ingest_text_lines ingest_text_lines_start(struct fz_span text);
/* The next line without its end, quote marks, indent and trailing white space; false at the end. */
bool ingest_text_lines_next(struct ingest_text_lines *lines, struct fz_span *ret);

/* Cut the first word (no white space in it) off *text, which is left trimmed at its start. */
struct fz_span ingest_text_word(struct fz_span *text);
/* Takes "0x1f" off the start of *text, which must be followed by no letter or digit. */
bool ingest_text_take_hex(struct fz_span *text, uint64_t *ret);
/* Takes decimal digits off the start of *text. */
bool ingest_text_take_decimal(struct fz_span *text, uint64_t *ret);

#endif
