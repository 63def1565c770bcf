/*
 * Texts in other encodings than UTF-8.
 *
 * Windows' editors and some exports write UTF-16; single-byte encodings (Mac Roman, Windows' Latin)
 * come from old mail and old systems.
 */
#ifndef FZ_ENCODING_H
#define FZ_ENCODING_H

#include "base/buffer.h"
#include "base/reader.h"

/* Is it text in UTF-16: by its byte order mark, or because every other byte is 0? `head` may end
 * anywhere. */
bool fz_encoding_is_utf16(struct fz_span head, bool *ret_big_endian);

/* UTF-16 to UTF-8, to the end of `r` or to a NUL; a lone surrogate becomes U+FFFD. */
void fz_encoding_append_utf16(struct fz_buffer *out, struct fz_reader *r);

/* A whole text, without its byte order mark; a NUL in it becomes U+FFFD. */
void fz_encoding_append_text(struct fz_buffer *out, struct fz_span text, bool big_endian);

/* The bytes that are not UTF-8 read as Mac Roman or Windows' Latin, whichever makes more sense;
 * bytes that have no meaning there become U+FFFD. */
void fz_encoding_append_single(struct fz_buffer *out, struct fz_span text);

#endif
