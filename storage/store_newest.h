/*
 * Which versions of an app are real, and which is the highest. Private to storage.
 *
 * A modified app may send 999.9.9. A version counts as invented if it is far above all lower real
 * ones (its first number is more than twice theirs plus STORE_FAR_NUMBERS), has reports from
 * fewer than STORE_FEW_SENDERS senders (users, or pairs of device and system where the user is not
 * known), and sessions of fewer than as many users. Once more people have it, it is real. Versions
 * without an order ("main") are not looked at.
 *
 *   versions with their senders           real
 *   4.1 (900)  4.2 (3)  5.0 (1)           all: 5 is near 4
 *   4.2 (900)  999.9.9 (2)  999.9.10 (1)  4.2
 *   4.2 (900)  2026.1 (40)  2026.2 (1)    all: 2026.1 has enough senders, 2026.2 is near it
 */
#ifndef STORE_NEWEST_H
#define STORE_NEWEST_H

#include "storage/store_private.h"

enum { STORE_FAR_NUMBERS = 10, STORE_FEW_SENDERS = 5 };

struct store_known_version {
    const char *version, *build; /* NULL = none is known; arena */
};
/* The highest real version that reports came from. */
FZ_MUST_CHECK enum fz_code store_newest_version(struct sql *sql, int64_t project_id,
                                                struct fz_arena *arena,
                                                struct store_known_version *ret,
                                                struct fz_error *err);
/* Is `version` invented, which is above the real version `known`? */
FZ_MUST_CHECK enum fz_code store_version_is_invented(struct sql *sql, int64_t project_id,
                                                     const char *version, const char *known,
                                                     bool *ret, struct fz_error *err);

#endif
