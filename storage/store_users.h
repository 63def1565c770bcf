/*
 * Users of the page: who they are, what they may do, and links that let somebody in once.
 *
 * Passwords come and go as their argon2id text; links are known by their SHA-256 only. Conventions
 * as in store.h.
 */
#ifndef STORE_USERS_H
#define STORE_USERS_H

#include "storage/store.h"

/* Numbers are stored: never change one. Each includes those before it. */
enum store_role {
    STORE_ROLE_NONE,
    STORE_ROLE_VIEWER, /* reads */
    STORE_ROLE_MEMBER, /* also sees values of variables, changes issues, uploads symbol files */
    STORE_ROLE_ADMIN,  /* everything in the project */
    STORE_ROLES
};
/* What a role allows, of enum store_scope. */
unsigned store_role_scopes(enum store_role role);
/* "viewer", "member", "admin"; false for another text. */
bool store_role_parse(const char *text, enum store_role *ret);
const char *store_role_name(enum store_role role);

enum { STORE_EMAIL_MAX = 254, STORE_USER_NAME_MAX = 128, STORE_USERS_MAX = 10000 };

struct store_user {
    int64_t id;
    const char *email; /* in lower case */
    const char *name;
    const char *password; /* argon2id; NULL = none */
    bool is_disabled;
    int64_t created_ms, login_ms; /* login_ms 0 = never */
};

struct store_user_role {
    int64_t user_id, project_id; /* project_id 0 = all projects */
    enum store_role role;
};

/* With letters A to Z in lower case, as addresses are stored. MALFORMED: empty, too long, with
 * spaces or control characters, or not UTF-8; with `needs_at`, also without an "@". */
FZ_MUST_CHECK enum fz_code store_email_fold(const char *email, bool needs_at,
                                            char ret[STORE_EMAIL_MAX + 1], struct fz_error *err);
/* MALFORMED: empty, too long, with control characters, or not UTF-8. */
FZ_MUST_CHECK enum fz_code store_user_name_check(const char *name, struct fz_error *err);

/* email, name and password count; `role` without a user_id. CONFLICT: the address is known. LIMIT:
 * there are STORE_USERS_MAX. */
FZ_MUST_CHECK enum fz_code store_user_add(struct store *store, const struct store_user *user,
                                          const struct store_user_role *role, int64_t *ret_id,
                                          struct fz_error *err);
/* By the address as it is stored. NOT_FOUND. */
FZ_MUST_CHECK enum fz_code store_user_find(struct store *store, const char *email,
                                           struct fz_arena *arena, struct store_user *ret,
                                           struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_user_by_id(struct store *store, int64_t id, struct fz_arena *arena,
                                            struct store_user *ret, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_user_list(struct store *store, struct fz_arena *arena,
                                           struct store_user **ret, size_t *ret_n,
                                           struct fz_error *err);
/* Of one user, or of all (user_id 0), ordered by user and project. */
FZ_MUST_CHECK enum fz_code store_user_roles(struct store *store, int64_t user_id,
                                            struct fz_arena *arena, struct store_user_role **ret,
                                            size_t *ret_n, struct fz_error *err);
FZ_MUST_CHECK enum fz_code store_users_exist(struct store *store, bool *ret, struct fz_error *err);

/* What changes of a user, all in one transaction. CONFLICT: no user who may log in would be admin
 * of all projects any more. */
struct store_user_change {
    const char *name;                    /* NULL = as it is */
    const bool *disabled;                /* NULL = as it is; true also ends the user's sessions */
    const struct store_user_role *roles; /* user_id is not used; STORE_ROLE_NONE removes */
    size_t n_roles;
};
FZ_MUST_CHECK enum fz_code store_user_change(struct store *store, int64_t id,
                                             const struct store_user_change *change,
                                             struct fz_error *err);
/* Also ends the sessions of the user, except one (0 = all), and the links for a reset. */
FZ_MUST_CHECK enum fz_code store_user_set_password(struct store *store, int64_t id,
                                                   const char *password, int64_t except_session,
                                                   struct fz_error *err);
/* With roles, sessions and links. CONFLICT as above. */
FZ_MUST_CHECK enum fz_code store_user_delete(struct store *store, int64_t id, struct fz_error *err);

/* ---- who a user is at an OpenID provider ---- */

struct store_identity {
    const char *issuer, *subject;
};
/* NOT_FOUND: no user has this identity. */
FZ_MUST_CHECK enum fz_code store_identity_find(struct store *store,
                                               const struct store_identity *identity,
                                               struct fz_arena *arena, struct store_user *ret,
                                               struct fz_error *err);
/* From now on it is this user's. CONFLICT: it is another user's, or the user has another identity of
 * the same issuer: an address that was given to somebody else must not give away the account. */
FZ_MUST_CHECK enum fz_code store_identity_link(struct store *store,
                                               const struct store_identity *identity,
                                               int64_t user_id, struct fz_error *err);
/* store_user_add() of a user who has the identity. */
FZ_MUST_CHECK enum fz_code store_identity_add_user(struct store *store,
                                                   const struct store_identity *identity,
                                                   const struct store_user *user,
                                                   const struct store_user_role *role,
                                                   int64_t *ret_id, struct fz_error *err);

/* Of one user, or of all (user_id 0), ordered by user and issuer. */
struct store_user_identity {
    int64_t user_id;
    const char *issuer, *subject;
    int64_t created_ms;
};
FZ_MUST_CHECK enum fz_code store_identity_list(struct store *store, int64_t user_id,
                                               struct fz_arena *arena,
                                               struct store_user_identity **ret, size_t *ret_n,
                                               struct fz_error *err);
/* The user has none any more, and the sessions that began with one end. The next login finds the
 * user by the address again. NOT_FOUND: the user has none, or there is no such user. */
FZ_MUST_CHECK enum fz_code store_identity_unlink(struct store *store, int64_t user_id,
                                                 struct fz_error *err);

/* ---- links ---- */

/* Numbers are stored: never change one. */
enum store_link_kind {
    STORE_LINK_SETUP = 1,  /* of the first user, while there is none */
    STORE_LINK_INVITATION, /* of a further user */
    STORE_LINK_RESET,      /* of a new password */
};

static const int64_t STORE_LINK_SETUP_MS = INT64_C(30) * 60 * 1000,
                     STORE_LINK_INVITATION_MS = INT64_C(7) * 24 * 3600 * 1000,
                     STORE_LINK_RESET_MS = INT64_C(24) * 3600 * 1000;

enum { STORE_SECRET_TEXT = 44 };
/* 256 random bits as 43 characters of base64url. */
void store_secret_make(char ret[STORE_SECRET_TEXT]);

struct store_link {
    enum store_link_kind kind;
    int64_t user_id;    /* of a reset */
    const char *email;  /* of an invitation; given for a reset */
    int64_t project_id; /* of an invitation; 0 = all projects */
    enum store_role role;
    int64_t expires_ms;
};

/* A new link with this secret; ret_expires_ms is by the database's clock. Earlier links of the same
 * kind for the same user or address count no more. */
FZ_MUST_CHECK enum fz_code store_link_add(struct store *store, const struct store_link *link,
                                          const char *secret, int64_t *ret_expires_ms,
                                          struct fz_error *err);
/* DENIED: unknown, used, expired, of another kind, or a setup link although there are users; one
 * message for all. */
FZ_MUST_CHECK enum fz_code store_link_check(struct store *store, enum store_link_kind kind,
                                            const char *secret, struct fz_arena *arena,
                                            struct store_link *ret, struct fz_error *err);
/* What the link is for, once: makes the user (the first one is admin of all projects), or sets the
 * password and ends the user's sessions. `user`: email (of a setup), name (not of a reset),
 * password. DENIED as above; CONFLICT: the address is known by now. */
FZ_MUST_CHECK enum fz_code store_link_use(struct store *store, enum store_link_kind kind,
                                          const char *secret, const struct store_user *user,
                                          int64_t *ret_user_id, struct fz_error *err);

#endif
