/*
 * Exports: one report for other forms than its own, and an issue as Markdown.
 */
#ifndef API_EXPORT_H
#define API_EXPORT_H

#include "server/api/api_client.h"

/* The stored result of a report with its issue, in the call's arena: without values unless `with_values` and the token may see
 * them. Empty: it has none. NOT_FOUND: it is deleted. */
FZ_MUST_CHECK enum fz_code api_export_report(struct api_call *call,
                                             const struct store_report *report, bool with_values,
                                             struct fz_span *ret, struct fz_error *err);

struct store_issue_details;
/* Answer with the issue as Markdown (?format=md): for a ticket, or for a coding agent. */
FZ_MUST_CHECK enum fz_code api_issue_markdown(struct api_call *call,
                                              const struct store_issue_details *details,
                                              struct fz_error *err);

#endif
