/*
 * The activity log of issues, within the transactions that change them. Private to storage.
 *
 * store_issue_happened() is the one place for what happens to an issue by itself and people want to
 * hear of: it writes the event for alerts, too.
 */
#ifndef STORE_ACTIVITY_H
#define STORE_ACTIVITY_H

#include "storage/store_private.h"

extern const char store_actor[]; /* of what happens by itself: "framezero" */

struct store_activity_new {
    int64_t project_id, issue_id;
    const char *actor, *kind;
    const char *detail; /* JSON or NULL */
};
FZ_MUST_CHECK enum fz_code
store_activity_add(struct sql *tx, const struct store_activity_new *entry, struct fz_error *err);

enum store_issue_event { STORE_ISSUE_CREATED, STORE_ISSUE_REGRESSED, STORE_ISSUE_UNMUTED };
struct store_happened {
    int64_t project_id, issue_id;
    enum store_issue_event event;
    const char *report, *version, *build; /* that caused it; NULL = unknown */
    const char *because;                  /* of an unmuted one: "reports", "time"; NULL */
    const char *fixed_in; /* of a regressed one: the version of the fix; NULL = unknown */
    bool waits_for_names; /* of a new one */
};
FZ_MUST_CHECK enum fz_code store_issue_happened(struct sql *tx, const struct store_happened *what,
                                                struct fz_error *err);

#endif
