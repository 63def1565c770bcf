/*
 * Everybody who may send requests, as one reading of the database found them: tokens, sessions,
 * users with their roles, and the projects.
 *
 * Immutable after api_set_read(), so readers need no lock among each other. Secrets are known by
 * their SHA-256 only.
 */
#ifndef API_SET_H
#define API_SET_H

#include "server/api/api_client.h"
#include "storage/store_web_sessions.h"

/* What a request shows of who it is from. */
enum api_proof_kind {
    API_PROOF_TOKEN,   /* a token or a key */
    API_PROOF_SESSION, /* the cookie of a session */
    API_PROOF_USER,    /* the address of a user, by a trusted proxy */
};
struct api_proof {
    enum api_proof_kind kind;
    const char *text;
};

/* Where a session is in the set; 0: it is not. */
struct api_set_session {
    int64_t id, used_ms;
};

struct api_set; /* opaque */

FZ_MUST_CHECK enum fz_code api_set_read(struct store *store, const struct store_web_limits *limits,
                                        struct api_set **ret, struct fz_error *err);
void api_set_destroy(struct api_set *set);

/*
 * What this proof allows in the project named (by name or number; NULL: the token's own, or
 * "default", or the first one of a user). DENIED: not in the set. NOT_FOUND: it is, but has no such
 * project.
 */
FZ_MUST_CHECK enum fz_code api_set_find(const struct api_set *set, const struct api_proof *proof,
                                        const char *project, struct api_grant *ret,
                                        struct fz_error *err);
struct api_set_session api_set_session(const struct api_set *set, const char *cookie);

/* The scopes that a sender (http_token_id()) has in a project; in project 0, those that it has in
 * all of them. 0: it is not in the set, or has no role there. */
unsigned api_set_scopes(const struct api_set *set, int64_t sender, int64_t project_id);

#endif
