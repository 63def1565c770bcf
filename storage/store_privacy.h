/*
 * What a project shows of variables and keeps of captured memory.
 *
 * A report's body is stored as it was sent. The end of its first processing replaces it by one
 * without memory (store_job_finish_report()), in the same transaction; with keep_memory the body as
 * it was sent moves to a table of its own, from which the sweep deletes it after memory_days.
 */
#ifndef STORE_PRIVACY_H
#define STORE_PRIVACY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct store;

enum { STORE_MEMORY_DAYS = 14, STORE_MEMORY_DAYS_MAX = 366 };

/* What is known of captured memory in a report's body. */
enum store_memory {
    STORE_MEMORY_UNKNOWN, /* as it was sent; not processed yet, or by an older program */
    STORE_MEMORY_NONE,
    STORE_MEMORY_REMOVED,
};

struct store_privacy {
    bool values;      /* variables are shown */
    bool keep_memory; /* captured memory is kept after processing, for memory_days */
    int64_t memory_days;
    const char *redact_allow, *redact_deny; /* see server/resolve/redact.h; NULL = none */
};

/* NOT_FOUND: there is no such project; MALFORMED: memory_days is not 1 to STORE_MEMORY_DAYS_MAX.
 * Counts for reports that are processed from then on; memory that is kept already is dropped by the
 * new settings. */
FZ_MUST_CHECK enum fz_code store_project_set_privacy(struct store *store, int64_t id,
                                                     const struct store_privacy *privacy,
                                                     struct fz_error *err);

struct store_full_body {
    struct fz_span bytes;     /* arena */
    enum store_memory memory; /* what they are */
    int64_t received_ms;      /* when the report came */
};

/* The body with its memory, where the project keeps it; else as store_report_body(). For jobs and
 * for tokens that may see memory. */
FZ_MUST_CHECK enum fz_code store_report_full_body(struct store *store, int64_t project_id,
                                                  const char *id, struct fz_arena *arena,
                                                  struct store_full_body *ret,
                                                  struct fz_error *err);

#endif
