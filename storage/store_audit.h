/*
 * The audit log: what admins changed and who logged in, from where.
 *
 * Entries are only added; those older than STORE_AUDIT_DAYS are deleted when the next one comes. No entry has a
 * secret or a value of a setting: it names what was changed. What people do with issues is in their activity.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "storage/store.h"

enum { STORE_AUDIT_DAYS = 365, STORE_AUDIT_TEXT = 200 };

struct store_audit {
    int64_t id, at_ms;
    int64_t project_id; /* 0 = of none */
    int64_t sender_id;  /* of a token; of a user negative; 0 = neither */
    const char *actor;  /* what it is called */
    const char *address;
    const char *action; /* "token_post", "login" */
    const char *object; /* what of, NULL = the action says it */
    const char *detail; /* the names of the settings, NULL = none */
};

/* Texts are cut after STORE_AUDIT_TEXT bytes; id and at_ms are not used. */
FZ_MUST_CHECK enum fz_code store_audit_add(struct store *store, const struct store_audit *entry,
                                           struct fz_error *err);

struct store_audit_filter {
    int64_t project_id;
    bool with_global;           /* those of no project, too */
    const char *action, *actor; /* NULL = all */
    int64_t since_ms, until_ms; /* at or after, before; 0 = no limit */
};
/* The newest first. MALFORMED: the cursor. */
FZ_MUST_CHECK enum fz_code store_audit_list(struct store *store,
                                            const struct store_audit_filter *filter,
                                            struct store_page *page, struct fz_arena *arena,
                                            struct store_audit **ret, struct fz_error *err);

#endif
