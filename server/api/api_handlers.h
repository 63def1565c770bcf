/*
 * The handlers of the API's own routes, by file; the table is in api.c.
 */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "server/api/api_client.h"

FZ_MUST_CHECK enum fz_code api_access_projects(struct api_call *call,
                                               struct fz_error *err); /* api_access.c */
FZ_MUST_CHECK enum fz_code api_access_project_add(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_access_tokens(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_access_token_add(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_access_token_revoke(struct api_call *call, struct fz_error *err);
void api_report_post(void *app, struct http_request *request); /* api_submit.c */
void api_symbolicate(void *app, struct http_request *request);
FZ_MUST_CHECK enum fz_code api_report_list(struct api_call *call,
                                           struct fz_error *err); /* api_report_list.c */
FZ_MUST_CHECK enum fz_code api_report_get(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_report_reprocess(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_report_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_attachment_get(struct api_call *call,
                                              struct fz_error *err); /* api_attachments.c */
FZ_MUST_CHECK enum fz_code api_issue_list(struct api_call *call,
                                          struct fz_error *err); /* api_issue_list.c */
FZ_MUST_CHECK enum fz_code api_value_list(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_query_complete(struct api_call *call,
                                              struct fz_error *err); /* api_complete.c */
FZ_MUST_CHECK enum fz_code api_issue_get(struct api_call *call,
                                         struct fz_error *err); /* api_issue_get.c */
FZ_MUST_CHECK enum fz_code api_issue_reports(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_variants(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_similar(struct api_call *call,
                                             struct fz_error *err); /* api_issue_similar.c */
FZ_MUST_CHECK enum fz_code api_session_list(struct api_call *call,
                                            struct fz_error *err); /* api_sessions.c */
FZ_MUST_CHECK enum fz_code api_export_reports(struct api_call *call,
                                              struct fz_error *err); /* api_export.c */
FZ_MUST_CHECK enum fz_code api_export_issues(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_export_versions(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_version_list(struct api_call *call,
                                            struct fz_error *err); /* api_versions.c */
FZ_MUST_CHECK enum fz_code api_symbol_post(struct api_call *call,
                                           struct fz_error *err); /* api_upload.c */
FZ_MUST_CHECK enum fz_code api_upload_get(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_upload_list(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_upload_reprocess(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_symbol_list(struct api_call *call,
                                           struct fz_error *err); /* api_symbols.c */
FZ_MUST_CHECK enum fz_code api_symbol_get(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_symbol_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_symbol_known(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_symbol_missing(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_patch(struct api_call *call,
                                           struct fz_error *err); /* api_issue_actions.c */
FZ_MUST_CHECK enum fz_code api_issue_activity(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_comment(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_merge(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_issue_split(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_grouping_get(struct api_call *call,
                                            struct fz_error *err); /* api_grouping.c */
FZ_MUST_CHECK enum fz_code api_grouping_put(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_grouping_try(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_grouping_undo(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_scrub_preview(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_audit_list(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_person_get(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_person_export(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_person_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_erasure_get(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_project_get(struct api_call *call,
                                           struct fz_error *err); /* api_project.c */
FZ_MUST_CHECK enum fz_code api_retention_get(struct api_call *call,
                                             struct fz_error *err); /* api_retention.c */
FZ_MUST_CHECK enum fz_code api_retention_confirm(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_project_put(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_filter_list(struct api_call *call,
                                           struct fz_error *err); /* api_filters.c */
FZ_MUST_CHECK enum fz_code api_filter_post(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_filter_patch(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_filter_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_channel_list(struct api_call *call,
                                            struct fz_error *err); /* api_channels.c */
FZ_MUST_CHECK enum fz_code api_channel_post(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_channel_patch(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_channel_delete(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_channel_rotate(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_channel_test(struct api_call *call,
                                            struct fz_error *err); /* api_deliveries.c */
FZ_MUST_CHECK enum fz_code api_delivery_list(struct api_call *call, struct fz_error *err);
FZ_MUST_CHECK enum fz_code api_delivery_resend(struct api_call *call, struct fz_error *err);
void api_healthz(void *app, struct http_request *request); /* api_status.c */
void api_readyz(void *app, struct http_request *request);
void api_openapi(void *app, struct http_request *request);
void api_metrics(void *app, struct http_request *request); /* api_metrics.c */

/* For every path that pages of other origins may use: a route for its OPTIONS requests. */
void api_add_preflights(struct api *api);

#endif
