/*
 * Logins through an OpenID provider: which user it is, and what the browser is given.
 *
 * A login that fails leads to a page that shows the login, with a cookie that names the reason; the
 * words for it come with the next GET /api/v1/session.
 */
#ifndef WEB_LOGIN_OIDC_H
#define WEB_LOGIN_OIDC_H

#include "server/web/login.h"

enum { WEB_OIDC_NEXT_MAX = 512 };

/* Why one failed; the words for the user are in login_oidc_reason.c. */
enum web_oidc_reason {
    WEB_OIDC_FINE,
    WEB_OIDC_BUSY,
    WEB_OIDC_DOWN,
    WEB_OIDC_STATE,
    WEB_OIDC_REFUSED,
    WEB_OIDC_INVALID,
    WEB_OIDC_MANY,
    WEB_OIDC_SETUP,
    WEB_OIDC_UNKNOWN,
    WEB_OIDC_UNVERIFIED,
    WEB_OIDC_OTHER,
    WEB_OIDC_DISABLED,
    WEB_OIDC_REASONS
};

/* The user who has the identity, or gets it now, or is added with it. With FZ_OK and another reason
 * than FINE: no one may log in with it. */
FZ_MUST_CHECK enum fz_code web_oidc_find_user(struct api_call *call,
                                              const struct oidc_identity *identity,
                                              int64_t *ret_user_id, enum web_oidc_reason *ret,
                                              struct fz_error *err);
/* Is the address in one of the domains of the setting? "*": in any. Pure. */
bool web_oidc_domain_allows(const char *domains, const char *email);

/* A path of the page, which no browser takes for another server. Pure. */
bool web_oidc_next_is_good(const char *next);

/* "oidc" of the ways to log in, with the reason why the last login failed, once. */
void web_oidc_tell(struct api_call *call, struct json_write *w);

/* ---- what the browser is given ---- */

/* The login that was begun; why one has failed. */
enum web_oidc_cookie { WEB_OIDC_COOKIE_LOGIN, WEB_OIDC_COOKIE_REASON };
const char *web_oidc_cookie_name(const struct api_call *call, enum web_oidc_cookie which);
/* False: it is not there, or does not fit. */
bool web_oidc_cookie(const struct api_call *call, enum web_oidc_cookie which, char *ret,
                     size_t room);

extern const char web_oidc_login_page[];
/* Answer with 303. */
void web_oidc_redirect(struct api_call *call, const char *to);
/* The same after a login has failed, which ends it; `why` is for the log, NULL = the reason says it. */
FZ_MUST_CHECK enum fz_code web_oidc_refuse(struct api_call *call, enum web_oidc_reason reason,
                                           const char *why, const char *next);

#endif
