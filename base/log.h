/*
 * One line per event on standard error: "ts=... level=info msg=\"...\" key=value ...".
 *
 * Only server/http, server/worker and the sub-commands log; libraries return texts. Thread-safe:
 * one write per line, in the order of the calls.
 *
 * No thread waits for the reader of the log. While a pipe, a terminal or a socket is full, lines
 * are dropped, and the first line after that is level=warn msg="log lines dropped" n=COUNT.
 */
#ifndef FZ_LOG_H
#define FZ_LOG_H

#include "base/attr.h"

enum fz_log_level { FZ_LOG_DEBUG, FZ_LOG_INFO, FZ_LOG_WARN, FZ_LOG_ERROR };

void fz_log_set_level(enum fz_log_level level); /* default FZ_LOG_INFO */

/* Write one line; `msg` is a fixed short text, the format gives "key=value key=value" (may be ""
 * for none). What fz_text_visible() escapes is escaped, so foreign text cannot forge a line. A
 * line is cut at 1,000 bytes. */
void fz_log(enum fz_log_level level, const char *msg, const char *fmt, ...) FZ_PRINTF(3, 4);

/* `text` as a quoted value for a key, in `ret`; returns ret. Cut to fit. */
const char *fz_log_quote(const char *text, char *ret, unsigned size);

#endif
