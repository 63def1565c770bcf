/*
 * Issues: what is wrong with an app, each with the reports that belong to it.
 *
 * An issue is known by its number within its project. One that was merged into another keeps its
 * number for ever, as a redirect: merged_into says where its reports are. Counts are those of all
 * time and stay when reports are deleted. Conventions as in store.h.
 */
#ifndef STORE_ISSUES_H
#define STORE_ISSUES_H

#include "storage/store.h"

enum store_issue_state { STORE_ISSUE_OPEN, STORE_ISSUE_RESOLVED, STORE_ISSUE_IGNORED };

struct store_issue {
    int64_t number;
    const char *title, *kind; /* kind: of its reports, "crash" */
    enum store_issue_state state;
    bool is_regressed;   /* it was resolved, and came back */
    bool is_placeholder; /* its reports have no names yet */
    int64_t merged_into; /* number of the issue that has its reports now; 0 = it has them */
    int64_t first_ms, last_ms;
    /* The lowest and the highest version with a report; NULL = none is known. */
    const char *first_version, *first_build, *last_version, *last_build;
    uint64_t n_reports, n_users;
    const char *assignee; /* NULL = no one */
    /* Of its newest report; NULL = none, or it was deleted. A key that another report has now is known
     * by its time. */
    const char *exception, *signal, *reason;
};

/* NOT_FOUND: the project has no issue of this number. */
FZ_MUST_CHECK enum fz_code store_issue_get(struct store *store, int64_t project_id, int64_t number,
                                           struct fz_arena *arena, struct store_issue *ret,
                                           struct fz_error *err);

/* Where a report belongs. */
struct store_report_issue {
    int64_t number;               /* of the issue that has it now */
    char variant[FZ_SHA256_TEXT]; /* hex */
    const char *title, *label;    /* of the issue; of the variant */
    struct fz_span stack;         /* as struct store_grouping had it; arena */
};
/* NOT_FOUND: it belongs to no issue, or is not there. */
FZ_MUST_CHECK enum fz_code store_report_find_issue(struct store *store, int64_t project_id,
                                                   const char *id, struct fz_arena *arena,
                                                   struct store_report_issue *ret,
                                                   struct fz_error *err);

#endif
