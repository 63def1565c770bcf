/*
 * Time in milliseconds: wall clock (Unix time, UTC) for records, monotonic for deadlines.
 */
#ifndef FZ_TIME_H
#define FZ_TIME_H

#include "base/span.h"

enum { FZ_TIME_TEXT = 32 };

int64_t fz_time_now_ms(void);
int64_t fz_time_monotonic_ms(void);
void fz_time_sleep_ms(int64_t ms);

/* "2026-11-20T10:11:12.345Z" (RFC 3339). A time outside the years 0 to 9999 is clamped. */
void fz_time_format(int64_t unix_ms, char ret[FZ_TIME_TEXT]);

/* RFC 3339 and its relatives: date, 'T' or space, time, optional fraction, optional zone ("Z",
 * "+01:00", " +0000"; none = UTC). False if it is not such a time. */
bool fz_time_parse(struct fz_span text, int64_t *ret_unix_ms);

#endif
