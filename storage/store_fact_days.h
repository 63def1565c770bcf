/*
 * Days of facts, of which some are stored as columns, too: their states, their columns, and what a change does to them.
 *
 * A day that is over is sealed: its facts are stored once more, a block for each column. So are the hours of today that are
 * over: today is sealed until a time, and sealed again with more. Rows of facts remain what counts; a transaction that changes a
 * row that is sealed says so with store_facts_changed(), and lists read the rows again until the day is sealed anew. Both the
 * change and the sealing hold the project's lock, so no change is missed (store_seal.c). Private to storage.
 */
#ifndef STORE_FACT_DAYS_H
#define STORE_FACT_DAYS_H

#include "storage/store_private.h"

static const int64_t STORE_DAY_MS = INT64_C(24) * 3600 * 1000;

/* Numbers are stored: never change one. The index fact_days_changed has CHANGED, SEALING and DAMAGED. */
enum store_day_state {
    STORE_DAY_CHANGED, /* has no valid columns, and is looked at again */
    STORE_DAY_SEALED,  /* until a time, which is the end of the day if it is over */
    STORE_DAY_SEALING,
    STORE_DAY_SMALL,  /* has too few facts */
    STORE_DAY_DAMAGED /* its columns cannot be read */
};

/* Numbers are stored: never change one. Facts are in the order of received_ms and report_key. */
enum store_fact_column {
    STORE_FACT_VARIANT = 1,
    STORE_FACT_USER,
    STORE_FACT_VERSION,
    STORE_FACT_OS,
    STORE_FACT_DEVICE,
    STORE_FACT_ARCH,
    STORE_FACT_ENVIRONMENT,
    STORE_FACT_KIND,
    STORE_FACT_APP,
    STORE_FACT_EXCEPTION,
    STORE_FACT_SIGNAL,
    STORE_FACT_REASON,
    STORE_FACT_STACK,
    STORE_FACT_STATUS,
    STORE_FACT_COUNTED,
    STORE_FACT_RECEIVED, /* since the start of the day */
    STORE_FACT_REPORT,   /* 0: it was deleted */
    STORE_FACT_TAG_COUNT,
    STORE_FACT_TAG_IDS, /* so many numbers of terms for each fact */
    /* Of the reports' rows (store_fact_texts.h). Days that an earlier version sealed do not have them. */
    STORE_FACT_RELEASE,
    STORE_FACT_OS_BUILD,
    STORE_FACT_MACH,
    STORE_FACT_CODE,
    STORE_FACT_FORMAT,
    /* Likewise; of the rows themselves, and of a later version. */
    STORE_FACT_CRASHED, /* timestamp_ms; 0 = unknown */
    STORE_FACT_IMAGES,  /* the key of its set of images; 0 = none */
    STORE_FACT_RUN,     /* 1: the report names its run */
    STORE_FACT_COLUMNS
};
/* Of the table facts, and from STORE_FACT_RELEASE on of reports; NULL at [0] and for tags. */
extern const char *const store_fact_column_names[STORE_FACT_COLUMNS];

struct store_sealed_day {
    int64_t day, until_ms, sealing;
    uint64_t n; /* facts */
};
/* SQL: the end of what is sealed of the day "d". */
#define STORE_SEALED_UNTIL \
    "CASE WHEN d.until_sealing = d.sealing THEN d.until_ms ELSE (d.day + 1) * 86400000 END"
struct store_day_range {
    int64_t project_id, from, to; /* days, without `to` */
    bool is_falling;              /* the newest comes first */
};
/* The sealed days of the range; *ret is malloc'd, and NULL after a failure. */
FZ_MUST_CHECK enum fz_code store_sealed_days_read(struct sql *sql,
                                                  const struct store_day_range *range,
                                                  struct store_sealed_day **ret, size_t *ret_n,
                                                  struct fz_error *err);

/*
 * In a transaction that holds the project's lock and changed facts of this day: its columns are not valid any more. Only for
 * facts that were received before projects.sealed_ms; for others there is nothing to do.
 */
FZ_MUST_CHECK enum fz_code store_facts_changed(struct sql *tx, int64_t project_id, int64_t day,
                                               struct fz_error *err);
/* The same for the days of all facts of this variant. */
FZ_MUST_CHECK enum fz_code store_variant_facts_changed(struct sql *tx, int64_t project_id,
                                                       int64_t variant_id, struct fz_error *err);
/* The same for one fact, when projects.sealed_ms is not known. */
FZ_MUST_CHECK enum fz_code store_fact_changed(struct sql *tx, int64_t project_id,
                                              int64_t received_ms, struct fz_error *err);
/* What was read of this day is not what its columns must be: they are made again. */
void store_facts_damaged(struct sql *sql, int64_t project_id, int64_t day);

#endif
