/*
 * The query of a list: ?query= in the query language, and the parameters that are conditions.
 */
#ifndef API_SEARCH_H
#define API_SEARCH_H

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "storage/store_query.h"

/* All that the request asks for, in call->arena. `others` are the parameters that it may have besides ("sort, limit, cursor"); all
 * else is refused. A name among them is not a filter. MALFORMED: a parameter or the query. */
FZ_MUST_CHECK enum fz_code api_search_read(struct api_call *call, const char *others,
                                           struct store_query *ret, struct fz_error *err);

/* Add to the query that the reports are of this issue. */
FZ_MUST_CHECK enum fz_code api_search_of_issue(struct api_call *call, int64_t number,
                                               struct store_query *query, struct fz_error *err);

/* "notes", for an answer without results: where q= has what looks like conditions, how they are written. */
void api_search_write_notes(struct api_call *call, struct json_write *w);

/* Answer with a page of the reports that meet the query; reads sort, count, limit and cursor. */
FZ_MUST_CHECK enum fz_code api_report_page(struct api_call *call, const struct store_query *query,
                                           struct fz_error *err);
/* What a list shows of a report. */
void api_append_summary(struct json_write *w, const struct store_report *report);

#endif
