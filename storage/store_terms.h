/*
 * The dictionary: every text that reports are selected by has a number, once for each project and
 * field. Rows of facts consist of these numbers. Private to storage.
 *
 * What comes from outside could have a million distinct texts, so each field has a limit. A text
 * beyond it counts as "(other)", and how many there were is reported (store_usage_full()).
 */
#ifndef STORE_TERMS_H
#define STORE_TERMS_H

#include "storage/store_private.h"

/* Numbers are stored: never change one. */
enum store_term {
    STORE_TERM_VERSION = 1, /* of the app; detail: its build */
    STORE_TERM_OS,          /* its name; detail: its version */
    STORE_TERM_DEVICE,
    STORE_TERM_ARCH,
    STORE_TERM_ENVIRONMENT,
    STORE_TERM_KIND,
    STORE_TERM_APP, /* its bundle id; detail: its name */
    STORE_TERM_EXCEPTION,
    STORE_TERM_SIGNAL,
    STORE_TERM_REASON,
    STORE_TERM_USER,
    STORE_TERM_TAG, /* "name=value" */
    STORE_TERM_FUNCTION,
    STORE_TERM_FILE,
    STORE_TERM_RELEASE, /* these and what follows: of sealed days only (store_fact_texts.h) */
    STORE_TERM_OS_BUILD,
    STORE_TERM_MACH,
    STORE_TERM_CODE,
    STORE_TERM_FORMAT,
    STORE_TERMS
};

struct store_term_kind {
    const char *name;   /* as the table of columns names it (struct fz_column.term) */
    const char *column; /* of facts; NULL = not a column of it */
    uint32_t most;      /* distinct texts of a project */
    bool is_searched;   /* by any part of it */
    bool is_daily;      /* has a row in issue_days for each day */
    bool has_order;     /* terms.sort is set */
};
/* At [0] nothing; the others by enum store_term. */
extern const struct store_term_kind store_term_kinds[STORE_TERMS];
/* The bytes of a text that are kept; of a detail half as many. */
enum { STORE_TERM_BYTES = 512 };
#define STORE_TERM_OTHER "(other)"

/* One text to look up; `id` is the answer, 0 for an empty text. */
struct store_term_ref {
    enum store_term term;
    const char *text, *detail; /* NULL = unknown; any bytes */
    int64_t id;
    bool is_other; /* there are too many texts: it counts as "(other)" */
};

/*
 * Fill in the ids of all, and add to the dictionary what is not there yet.
 *
 * Outside of any transaction: it makes one of its own if a text is new. Terms that nothing uses
 * after all do no harm.
 */
FZ_MUST_CHECK enum fz_code store_terms_number(struct store *store, int64_t project_id,
                                              struct store_term_ref *refs, size_t n,
                                              struct fz_arena *arena, struct fz_error *err);

/* The ids that this connection has seen; NULL before the first. */
struct store_term_cache;
void store_term_cache_destroy(struct store_term_cache *cache);

#endif
