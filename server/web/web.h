/*
 * The web page and who may use it: login, sessions, users, and the files of the page.
 *
 * Tables of routes, as server/api/api_client.h describes them; `serve` gives them to the API after
 * its own and those of the clients. The page uses the public API and nothing else. Passwords are
 * checked by threads of their own, as are logins through an OpenID provider; both end with web_destroy(): after the HTTP server has stopped
 * and before the API is destroyed.
 */
#ifndef WEB_H
#define WEB_H

#include <stddef.h>

#include "base/error.h"
#include "server/process/limits.h"
#include "server/process/metrics.h"

struct api_login;
struct api_routes;
struct web; /* opaque */

/* All tables, for api_config.clients; static. */
const struct api_routes *const *web_all(size_t *ret_n);

/* For api_config.web. All are borrowed until web_destroy(); metrics may be NULL. MALFORMED: settings
 * of the OpenID provider. */
FZ_MUST_CHECK enum fz_code web_create(const struct limits *limits, const struct api_login *login,
                                      struct metrics *metrics, struct web **ret,
                                      struct fz_error *err);
/* No request waits for an OpenID provider any more. */
void web_stop_waiting(struct web *web);
void web_destroy(struct web *web);

/* Those of the files of this folder. */
extern const struct api_routes web_files;   /* files.c */
extern const struct api_routes web_login;   /* login.c */
extern const struct api_routes web_links;   /* login_links.c */
extern const struct api_routes web_account; /* login_account.c */
extern const struct api_routes web_users;   /* login_users.c */
extern const struct api_routes web_oidc;    /* login_oidc.c */

#endif
