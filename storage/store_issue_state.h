/*
 * What people do with an issue: resolve, ignore, assign, name, comment, merge and split it.
 *
 * Each change is one transaction together with its entry in the activity log. `actor` is the label
 * of the token that asked for it. An issue that was merged cannot be changed: CONFLICT, and the
 * message has the number of the issue that has its reports. NOT_FOUND: no such issue.
 */
#ifndef STORE_ISSUE_STATE_H
#define STORE_ISSUE_STATE_H

#include "storage/store_issues.h"

enum {
    STORE_ISSUE_FIXES = 16,         /* of one issue */
    STORE_COMMENT_BYTES = 16 * 1024 /* of a comment */
};

/* ---- state ---- */

/* A version that has the fix. */
struct store_fix {
    const char *version, *build; /* build NULL = all builds. For is_next: out only */
    bool is_next;                /* the first version above the highest known when it was entered */
};

/* Until when an issue is ignored: the first that is met. All 0: for ever. */
struct store_ignore {
    int64_t until_ms;
    uint64_t n_reports, n_users; /* so many more */
    bool next_version;           /* a report of a version above all that are known */
};

/* What is to be changed; members that are false stay as they are. */
struct store_issue_change {
    const char *actor;
    bool set_state, set_assignee, set_title;
    enum store_issue_state state;
    /* RESOLVED: one for each branch. Without any it is fixed in the highest version that is known. */
    const struct store_fix *fixes;
    size_t n_fixes;
    struct store_ignore ignore; /* IGNORED */
    const char *assignee;       /* NULL or "" = no one */
    const char *title;          /* NULL or "" = the one that we give it */
};
/* MALFORMED: a fix in a version that has no order ("main"); a time that has passed. LIMIT: too many
 * fixes. */
FZ_MUST_CHECK enum fz_code store_issue_change(struct store *store, int64_t project_id,
                                              int64_t number,
                                              const struct store_issue_change *change,
                                              struct fz_error *err);

/* What is known of the state besides struct store_issue. */
struct store_issue_terms {
    bool title_is_ours;
    const struct store_fix *fixes; /* resolved; arena */
    size_t n_fixes;
    /* ignored: absolute, as they are stored; 0, NULL = not a condition */
    int64_t until_ms;
    uint64_t n_reports, n_users;
    const char *above_version, *above_build;
};
FZ_MUST_CHECK enum fz_code store_issue_terms(struct store *store, int64_t project_id,
                                             int64_t number, struct fz_arena *arena,
                                             struct store_issue_terms *ret, struct fz_error *err);
/* Ignored issues whose time is over are open again; a few at a time. */
FZ_MUST_CHECK enum fz_code store_issue_sweep(struct store *store, uint64_t *ret_n,
                                             struct fz_error *err);

/* MALFORMED: an empty text. LIMIT: a longer one than STORE_COMMENT_BYTES. */
FZ_MUST_CHECK enum fz_code store_issue_comment(struct store *store, int64_t project_id,
                                               int64_t number, const char *actor, const char *text,
                                               struct fz_error *err);

/* ---- activity ---- */

struct store_activity {
    int64_t number; /* of the issue it was done to: this one, or one that became part of it */
    int64_t at_ms;
    const char *actor, *kind;
    const char *detail; /* JSON; NULL = none */
};
/* Newest first. MALFORMED: the cursor. */
FZ_MUST_CHECK enum fz_code store_activity_list(struct store *store, int64_t project_id,
                                               int64_t number, struct store_page *page,
                                               struct fz_arena *arena, struct store_activity **ret,
                                               struct fz_error *err);

/* ---- merging and splitting ---- */

/* All reports of issue `from`, now and later, belong to issue `into`; `from` redirects there. Its
 * own state and title stay with it. CONFLICT: they are the same. */
FZ_MUST_CHECK enum fz_code store_issue_merge(struct store *store, int64_t project_id, int64_t from,
                                             int64_t into, const char *actor, struct fz_error *err);
/* A new issue gets the variant and its later reports. `variant`: its hash in hex, of which 16 digits
 * are enough, or its label.
 * NOT_FOUND: the issue has no such variant. CONFLICT: it has no other one. */
FZ_MUST_CHECK enum fz_code store_issue_split(struct store *store, int64_t project_id,
                                             int64_t number, const char *variant, const char *actor,
                                             int64_t *ret_number, struct fz_error *err);

#endif
