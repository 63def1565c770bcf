/*
 * What the API offers to server/web: sessions of browsers, who a request is from, and limits of
 * logins.
 */
#ifndef API_SESSION_H
#define API_SESSION_H

#include "server/api/api_client.h"
#include "storage/store_web_sessions.h"

/* ---- pure: what a browser says of a request ------------------------------------------------- */

enum { API_COOKIE_ROOM = 64 };

/* The value of a cookie in a Cookie header; false: it is not there, or does not fit. */
bool api_cookie_find(const char *header, const char *name, char *ret, size_t room);

/* Headers of a request; NULL = absent. */
struct api_origin {
    const char *method;
    const char *site;       /* Sec-Fetch-Site */
    const char *origin;     /* Origin */
    const char *host;       /* Host */
    const char *public_url; /* how clients reach the server; "" = not known */
    bool has_login;         /* the browser added who the user is by itself */
};

/*
 * May the request change something, as far as another site's page could have sent it? Safe methods
 * pass; then Sec-Fetch-Site counts, and without it Origin. A request with neither is not a
 * browser's: it passes unless it carries a login.
 */
bool api_origin_allows(const struct api_origin *origin);

/* The greatest role of the groups of a header ("ops, ios"), by a map ("ops=admin,ios=member"); NONE
 * without one. Names are compared with regard to case. */
enum store_role api_groups_role(const char *map, const char *header);

/* ---- a request ------------------------------------------------------------------------------ */

/* Do browsers reach the server by https, so that its cookie may be Secure? */
bool api_is_https(const struct api *api, const struct http_request *request);
/* "__Host-framezero" by https, else "framezero_session". */
const char *api_cookie_name(const struct api *api, const struct http_request *request);
/* The session's cookie of the request; false without one. */
bool api_cookie(const struct api *api, const struct http_request *request,
                char ret[API_COOKIE_ROOM]);
/* The user that a trusted proxy names (folded); false without one. */
bool api_proxy_user(const struct api *api, const struct http_request *request,
                    char ret[STORE_EMAIL_MAX + 1]);

/* The role in all projects of the user that a trusted proxy names; false: the proxy does not say it. */
bool api_proxy_role(const struct api *api, const struct http_request *request,
                    enum store_role *ret);

/* DENIED: api_origin_allows() does not; status 403. */
FZ_MUST_CHECK enum fz_code api_check_origin(const struct api *api,
                                            const struct http_request *request, bool has_login,
                                            struct fz_error *err);

/* The user that the request is from; 0: a token. After authorisation. */
int64_t api_user_id(const struct http_request *request);
/* Whether whoever sends the request is admin of all projects. */
bool api_is_admin_of_all(struct api *api, const struct http_request *request);
/* Whether it is admin of this project, or of all. */
bool api_is_admin_of(struct api *api, const struct http_request *request, int64_t project_id);
/* The first, as an error: DENIED, with status 403. */
FZ_MUST_CHECK enum fz_code api_need_admin_of_all(struct api_call *call, struct fz_error *err);
/* What to call whoever sends the request, in records: a user's name, a token's label. */
FZ_MUST_CHECK enum fz_code api_sender_name(struct api_call *call, const char **ret,
                                           struct fz_error *err);

/* Users, sessions, tokens or projects have changed: requests that come after this returns are
 * judged by what is in the database now. At most a second; on failure that takes as long as on
 * other servers. */
void api_senders_changed(struct api *api);

/* ---- logins --------------------------------------------------------------------------------- */

const struct api_login *api_login_of(const struct api *api);

/* Wrong passwords are limited as wrong tokens are, but counted apart from them, and beyond the
 * limit right ones do not count either. LIMIT: the status is 429, and Retry-After was added. */
FZ_MUST_CHECK enum fz_code api_login_may(struct api *api, struct http_request *request,
                                         struct fz_error *err);
void api_login_failed(struct api *api, struct http_request *request);

#endif
