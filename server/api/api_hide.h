/*
 * Reports for tokens without the scope variables: values and memory are left out.
 *
 * The stored JSON is copied member by member, without a tree. A report from which something was left
 * out says so once, as its last member: "variables":"hidden".
 */
#ifndef API_HIDE_H
#define API_HIDE_H

#include "server/api/api_client.h"

/* A report's result as this call's token may see it: unchanged with the scope, or if there is nothing to leave out;
 * else a copy in the call's arena. An empty result stays. LIMIT, NO_MEMORY. */
FZ_MUST_CHECK enum fz_code api_hide_values(struct api_call *call,
                                           const struct store_report *columns,
                                           struct fz_span *result, struct fz_error *err);

/* The same for any JSON of a report, without a call. *ret_hidden: something was left out. */
void api_hide_copy(struct fz_span json, bool keeps_notable, struct fz_buffer *out,
                   bool *ret_hidden);

/* The body of a report as this call's token may see it: with memory, where it is kept, or without.
 * DENIED: it may have memory, and the token may not see it. */
FZ_MUST_CHECK enum fz_code api_fetch_body(struct api_call *call, const struct store_report *columns,
                                          unsigned weight, struct fz_span *ret,
                                          struct fz_error *err);

/* Does the body show what was masked in the report, and the request may not see that? */
bool api_hides_body(const struct api_call *call, const struct store_report *columns);

#endif
