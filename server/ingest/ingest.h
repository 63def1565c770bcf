/*
 * Reports in: tell a format by its content and convert it to the report model.
 *
 * Each format is one file with one row in the table of ingest.c. Foreign bytes: runs only in a
 * child process (or in a command-line tool on the user's own file).
 */
#ifndef INGEST_H
#define INGEST_H

#include "base/arena.h"
#include "base/error.h"
#include "server/limits.h"
#include "server/report/report.h"

/* The name of the format that the bytes look like ("framezero", ...), NULL if they look like none.
 * Cheap: looks at the first kilobytes and does not validate; the HTTP side calls it too. Static
 * string. */
const char *ingest_detect(struct fz_span body);

/*
 * The outer form, cheap enough for the HTTP side: empty, not JSON at all, JSON that is no report...
 * UNSUPPORTED: no known format, the message says what was looked for; MALFORMED: broken at
 * err->offset. On success *ret_format is the format's name and ret_id (may be "") the report's own
 * id as 32 hex digits.
 */
FZ_MUST_CHECK enum fz_code ingest_check(struct fz_span body, const struct limits *limits,
                                        const char **ret_format, char ret_id[FZ_UUID_TEXT],
                                        struct fz_error *err);

/*
 * Convert. What is readable is kept; what is not is told in report->notes.
 * MALFORMED, UNSUPPORTED: nothing of it is a report; LIMIT: the arena's cap.
 */
FZ_MUST_CHECK enum fz_code ingest_parse(struct fz_span body, const struct limits *limits,
                                        struct fz_arena *arena, struct report *ret,
                                        struct fz_error *err);

#endif
