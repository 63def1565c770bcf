/*
 * What the routes of issues share: finding the issue of a path, and what an issue looks like.
 */
#ifndef API_ISSUE_H
#define API_ISSUE_H

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "storage/store_issue_list.h"
#include "storage/store_issue_state.h"

/* Digits of a variant's hash that the API shows everywhere, as a report that is not stored does. */
enum { API_VARIANT_DIGITS = 16 };

/*
 * The issue of {number} in the path; `rest` is what follows it there ("/reports"). One that was merged: the request is answered
 * with a redirect to the issue that has its reports, *ret_redirected is true and the handler returns. NOT_FOUND.
 */
FZ_MUST_CHECK enum fz_code api_issue_find(struct api_call *call, const char *rest,
                                          struct store_issue *ret, bool *ret_redirected,
                                          struct fz_error *err);
/* The members of an issue, within an object. */
void api_issue_write(struct json_write *w, const struct store_issue *issue);
/* "trend": how many reports in each part of the range. */
void api_issue_write_trend(struct json_write *w, const uint32_t *trend);
/* "resolved_in" or "ignore_until", by its state. */
void api_issue_write_terms(struct json_write *w, const struct store_issue *issue,
                           const struct store_issue_terms *terms);
const char *api_issue_state_name(enum store_issue_state state);

#endif
