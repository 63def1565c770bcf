/*
 * What a sub-command says to the person at the terminal: messages on standard error with the
 * command's name, and colour where it is seen.
 *
 * Colour is used on a terminal only, and not with NO_COLOR set (no-color.org) or TERM=dumb.
 */
#ifndef CONFIG_TERM_H
#define CONFIG_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/error.h"

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_ERROR, TERM_WARNING };

/* True if what is written to the descriptor may have colour. */
bool term_has_colour(int fd);
/* The escape sequence that begins the style, or "" without colour. TERM_PLAIN ends it. */
const char *term_style(bool has_colour, enum term_style style);

/* "framezero COMMAND: TEXT" on standard error, and as a warning. `command` "" = only "framezero".
 */
void term_error(const char *command, const char *fmt, ...) FZ_PRINTF(2, 3);
void term_warn(const char *command, const char *fmt, ...) FZ_PRINTF(2, 3);

/* The message of a usage error with where to read on. Returns the exit code 2. */
int term_wrong_usage(const char *command, const struct fz_error *err);
/* The message of a failure. Returns the exit code 1. */
int term_failed(const char *command, const struct fz_error *err);

/* Write to standard output at once, after what is buffered there. False if that failed, which is
 * reported unless the reader has closed it. */
bool term_write(const char *command, const char *text, size_t len);

/* True if standard output is flushed and whole. A failure is reported, unless the reader has closed
 * it. */
bool term_finish_output(const char *command);

#endif
