/*
 * Sealing: days of facts that are over, and the hours of today that are, are stored as columns, which lists read much faster
 * than rows.
 *
 * What sealing stores is derived and may be missing; nothing but the speed of lists depends on it. One worker of all does it, a
 * day at a time. Conventions as in store.h.
 */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "storage/store.h"

enum { STORE_SEAL_DAY_MAX = 2 * 1000 * 1000 /* facts of a day; more stay rows */ };

struct store_seal_rules {
    uint64_t least; /* facts: a day with fewer is read faster as rows */
    uint64_t
        least_more; /* facts of today that are not sealed, for which all of it is sealed again; above 0 */
    int64_t part_ms;  /* today is sealed in such steps, of which a day is a multiple */
    int64_t after_ms; /* since the end of a part */
    int64_t quiet_ms; /* since the last change of a day that was sealed */
};
/* What workers use. */
extern const struct store_seal_rules store_seal_rules;

struct store_sealed {
    bool is_done;     /* there was no day left to look at */
    bool was_damaged; /* its columns could not be read, and are made again */
    uint64_t n;       /* facts of the day that was sealed; 0 = it was not */
};
/* Look at one day, and seal what is over of it if that has enough facts, which do not change meanwhile. */
FZ_MUST_CHECK enum fz_code store_seal_day(struct store *store, const struct store_seal_rules *rules,
                                          struct store_sealed *ret, struct fz_error *err);

#endif
