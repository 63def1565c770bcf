/*
 * What changes in a project: for those who watch it, so that they know when to look again.
 *
 * Every transaction that changes something counts it (store_changed.h), so a reading sees what was
 * committed, by whichever process, and misses nothing. Conventions as in store.h.
 */
#ifndef STORE_CHANGES_H
#define STORE_CHANGES_H

#include "storage/store.h"

enum store_change {
    STORE_CHANGE_RECEIVED,  /* a report came */
    STORE_CHANGE_REPORT,    /* one was finished, failed, was queued again or deleted */
    STORE_CHANGE_ISSUE,     /* an issue got a report, or people changed it */
    STORE_CHANGE_NEW_ISSUE, /* there is a new one */
    STORE_CHANGE_UPLOAD,    /* an upload was finished, or failed */
    STORE_CHANGE_UNBLOCKED, /* a report was queued again by an upload that was finished */
    STORE_CHANGE_SYMBOLS,   /* symbol files came or went */
    STORE_CHANGES_N,
};

enum { STORE_CHANGE_SLOTS = 64, STORE_CHANGE_IDS = 8 };

/* The state of somebody who watches; begins as zeros. */
struct store_changes {
    bool is_read;
    int64_t sums[STORE_CHANGES_N]; /* ever, of all slots: never less than before */
    int64_t slots[STORE_CHANGE_SLOTS][STORE_CHANGES_N];
};

/* How often since the reading before, and the last of those ids: of reports and uploads, numbers of issues. With n_ids == n
 * they are all. */
struct store_news {
    uint64_t n;
    size_t n_ids;
    char ids[STORE_CHANGE_IDS][STORE_ID_TEXT];
};

/* Read what was counted. The first reading has no news. */
FZ_MUST_CHECK enum fz_code store_changes_read(struct store *store, int64_t project_id,
                                              struct store_changes *state,
                                              struct store_news ret[STORE_CHANGES_N],
                                              struct fz_error *err);

#endif
