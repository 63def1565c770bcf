/*
 * Sessions of the page: what a browser's cookie stands for, a user or a token.
 *
 * Only the SHA-256 of the cookie is stored. Conventions as in store.h.
 */
#ifndef STORE_WEB_SESSIONS_H
#define STORE_WEB_SESSIONS_H

#include "storage/store_users.h"

/* How somebody logged in. Numbers are stored: never change one. */
enum store_via { STORE_VIA_PASSWORD, STORE_VIA_TOKEN, STORE_VIA_PROXY, STORE_VIA_OIDC };
const char *store_via_name(enum store_via via);

enum { STORE_WEB_SESSIONS_MAX = 50, STORE_AGENT_MAX = 160 };

/* A session ends when it was not used for idle_ms, and max_ms after its beginning. */
struct store_web_limits {
    int64_t idle_ms, max_ms;
};

struct store_web_session {
    int64_t id;
    int64_t user_id, token_id; /* one of them is 0 */
    enum store_via via;
    int64_t created_ms, used_ms;
    const char *address, *agent; /* of the login */
};

/* user_id or token_id, via, address and agent count. Sets the user's login_ms. Sessions that have
 * ended are cleared away, and of one user or token all but STORE_WEB_SESSIONS_MAX. */
FZ_MUST_CHECK enum fz_code store_web_session_add(struct store *store,
                                                 const struct store_web_session *session,
                                                 const struct store_web_limits *limits,
                                                 const char *secret, int64_t *ret_id,
                                                 struct fz_error *err);
/* DENIED: unknown or ended; of a disabled user or a revoked token. */
FZ_MUST_CHECK enum fz_code store_web_session_find(struct store *store,
                                                  const struct store_web_limits *limits,
                                                  const char *secret, struct fz_arena *arena,
                                                  struct store_web_session *ret,
                                                  struct fz_error *err);
/* Those of one user that have not ended, the newest first. */
FZ_MUST_CHECK enum fz_code store_web_session_list(struct store *store,
                                                  const struct store_web_limits *limits,
                                                  int64_t user_id, struct fz_arena *arena,
                                                  struct store_web_session **ret, size_t *ret_n,
                                                  struct fz_error *err);
/* NOT_FOUND: the user (0 = any) has no such session. */
FZ_MUST_CHECK enum fz_code store_web_session_end(struct store *store, int64_t user_id, int64_t id,
                                                 struct fz_error *err);

/* It is in use. Writes only if that was noted more than STORE_WEB_TOUCH_MS ago. */
enum { STORE_WEB_TOUCH_MS = 60 * 1000 };
FZ_MUST_CHECK enum fz_code store_web_session_touch(struct store *store, int64_t id,
                                                   struct fz_error *err);

/* Every session that counts, of users and tokens that do. */
struct store_web_known {
    char sha256[FZ_SHA256_TEXT];
    int64_t id, user_id, token_id, used_ms;
};
FZ_MUST_CHECK enum fz_code store_web_known(struct store *store,
                                           const struct store_web_limits *limits,
                                           struct fz_arena *arena, struct store_web_known **ret,
                                           size_t *ret_n, struct fz_error *err);

#endif
