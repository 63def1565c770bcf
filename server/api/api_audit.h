/*
 * The audit log: what is written of requests that change something, and of logins.
 *
 * What a request is and who sends it is read before it is answered; the entry is stored once it has succeeded.
 */
#ifndef API_AUDIT_H
#define API_AUDIT_H

#include "server/api/api_client.h"
#include "storage/store_audit.h"

/* Is the request's route of those that are recorded? */
bool api_audit_wants(const struct api_route *route);
/* The entry of a request, in the call's arena, before its work. */
FZ_MUST_CHECK enum fz_code api_audit_read(struct api_call *call, const struct api_route *route,
                                          struct store_audit *ret, struct fz_error *err);
/* A login that succeeded or failed: "login", "login_failed". A failure to store it is logged. */
void api_audit_login(struct api_call *call, const char *action, int64_t user_id, int64_t token_id);
void api_audit_store(struct api_call *call, const struct store_audit *entry);

#endif
