/*
 * A report's stack and values as Markdown, from its stored JSON.
 */
#ifndef API_MARKDOWN_H
#define API_MARKDOWN_H

#include <jansson.h>

#include "base/buffer.h"

/* What happened, and the stack that describes the crash, innermost first: own frames are marked, inlined calls have lines of
 * their own. Nothing if the report has no frames. */
void api_markdown_stack(struct fz_buffer *out, const json_t *report);
/* The values of own frames that are there; redacted ones and those without a value are left out. */
void api_markdown_values(struct fz_buffer *out, const json_t *report);

/* | name | text |, and nothing if there is no text. */
void api_markdown_row(struct fz_buffer *out, const char *name, const char *text);

#endif
