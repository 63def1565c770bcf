/*
 * Foreign text in CSV and in Markdown: so that it is shown, and means nothing to whoever reads it.
 *
 * Everything in a report comes from whoever holds an ingest key. All of these make one line of a text: line breaks and
 * other control characters become spaces, and characters that turn the direction of writing become "?".
 */
#ifndef API_ESCAPE_H
#define API_ESCAPE_H

#include "base/buffer.h"

/* A field of CSV (RFC 4180), always quoted. One that a spreadsheet would take for a formula (it begins
 * with = + - @, also in their wide forms, or with what looks like a space before them) gets an
 * apostrophe first. NULL: an empty field. */
void api_csv_text(struct fz_buffer *out, const char *text);

/* As text of Markdown: no emphasis, link, HTML, table, mention or reference. NULL: nothing. */
void api_md_text(struct fz_buffer *out, const char *text);
/* For a line within a fence, which api_md_fence() opens and closes. */
void api_md_code(struct fz_buffer *out, const char *text);
/* Put the lines between fences that are longer than any run of backticks in them. */
void api_md_fence(struct fz_buffer *out, struct fz_span lines);

#endif
