/*
 * What the files of the login share: reading requests, jobs with passwords, beginning a session.
 */
#ifndef WEB_LOGIN_H
#define WEB_LOGIN_H

#include <jansson.h>

#include "server/api/api_session.h"
#include "server/oidc/oidc.h"
#include "server/web/passwords.h"
#include "server/web/web.h"

/* Of routes that find out who somebody is (struct api_route). */
extern const char web_sees_all[];

struct web_passwords *web_passwords_of(const struct web *web);

struct web_oidc_parts {
    struct oidc *oidc;       /* NULL: no provider is configured */
    struct web_queue *queue; /* what waits for it */
};
const struct web_oidc_parts *web_oidc_of(const struct web *web);

/* The request's body, an object; owned. MALFORMED: not JSON, not an object, or with bytes that are
 * not UTF-8, which must not be repaired here: two passwords would become one. */
FZ_MUST_CHECK enum fz_code web_read(struct api_call *call, json_t **ret, struct fz_error *err);
/* A member that is a text of 1 to `max` bytes; borrowed. MALFORMED names it. */
FZ_MUST_CHECK enum fz_code web_read_text(struct api_call *call, const json_t *root, const char *key,
                                         size_t max, const char **ret, struct fz_error *err);
/* As call->detail: which member is wrong. */
void web_blame(struct api_call *call, const char *path);

/* A request that waits for its password. */
struct web_wait {
    struct web_job job; /* the first member */
    struct api *api;
    struct http_request *request;
    /* Answers, on a thread of the passwords; call->user is this struct. */
    api_work_fn finish;
    int64_t user_id, number;
    char *text[3]; /* of the request, for `finish`; owned */
};
struct web_wait *web_wait_create(struct api_call *call, api_work_fn finish);
void web_wait_destroy(struct web_wait *wait);
/* The request is answered later, or fails now. `wait` is taken. */
FZ_MUST_CHECK enum fz_code web_wait_push(struct api_call *call, struct web_wait *wait,
                                         struct fz_error *err);

/* The session that the request is from: of its cookie, or made up (id 0) for a user that a trusted
 * proxy names, who is added if the configuration says so. DENIED with call->status 401 or 403. */
FZ_MUST_CHECK enum fz_code web_find_session(struct api_call *call, struct store_web_session *ret,
                                            struct fz_error *err);
/* The same for what only users can do. */
FZ_MUST_CHECK enum fz_code web_need_user(struct api_call *call, struct store_web_session *ret,
                                         struct fz_error *err);
/* Begin a session for session->user_id or token_id, give it to the browser and answer with it. */
FZ_MUST_CHECK enum fz_code web_begin_session(struct api_call *call,
                                             struct store_web_session *session, int status,
                                             struct fz_error *err);
/* The same without the answer. */
FZ_MUST_CHECK enum fz_code
web_open_session(struct api_call *call, struct store_web_session *session, struct fz_error *err);
/* GET /api/v1/session. */
FZ_MUST_CHECK enum fz_code web_session_get(struct api_call *call, struct fz_error *err);
/* Have the browser keep a cookie for max_s seconds, or forget it (0). */
void web_set_cookie(struct api_call *call, const char *name, const char *value, int64_t max_s);
/* Have the browser forget its session. */
void web_clear_cookie(struct api_call *call);

#endif
