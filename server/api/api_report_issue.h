/*
 * The issue of a report, as its JSON shows it: the number, and in words why it belongs there.
 */
#ifndef API_REPORT_ISSUE_H
#define API_REPORT_ISSUE_H

#include "server/api/api_client.h"

/* Put the member "issue" into a report's stored JSON, in place of what was known when it was
 * processed; the copy is in the call's arena. A report without an issue stays as it is. The words are
 * those of the project's rules now. */
FZ_MUST_CHECK enum fz_code api_report_issue(struct api_call *call,
                                            const struct store_report *report,
                                            struct fz_span *result, struct fz_error *err);

#endif
