/*
 * The steps of storing a batch of reports (store_report_insert.c). Private to storage.
 *
 * An item that breaks a rule has its code; whatever fails otherwise fails the batch, and all of it is rolled back.
 */
#ifndef STORE_INSERT_H
#define STORE_INSERT_H

#include "storage/store_private.h"

/* The verdict on one item; the caller's item itself is only changed once all is committed. */
struct store_outcome {
    const struct store_packed *packed;
    bool is_duplicate, is_clash;
    bool is_stored; /* with its body and its job */
    enum fz_code code;
    char id[STORE_ID_TEXT]; /* under which it is stored */
};

/* Store those that conflict with no other report, by one statement for each table, on an engine that packs_rows. The outcomes
 * are sorted by project and body; of the others, is_stored remains false. */
FZ_MUST_CHECK enum fz_code store_insert_set(struct sql *tx, struct store_outcome *outcomes,
                                            size_t n, const struct store_job_time *time,
                                            struct fz_error *err);

#endif
