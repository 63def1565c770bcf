/*
 * The handlers of the API's own routes, by file; the table is in api.c.
 */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "server/api/api_client.h"

void api_report_post(void *app, struct http_request *request); /* api_submit.c */
void api_symbolicate(void *app, struct http_request *request);
void api_report_list(void *app, struct http_request *request); /* api_reports.c */
void api_report_get(void *app, struct http_request *request);
void api_report_reprocess(void *app, struct http_request *request);
void api_report_delete(void *app, struct http_request *request);
void api_attachment_get(void *app, struct http_request *request); /* api_attachments.c */
void api_session_list(void *app, struct http_request *request);   /* api_sessions.c */
void api_symbol_post(void *app, struct http_request *request);    /* api_upload.c */
void api_upload_get(void *app, struct http_request *request);
void api_symbol_list(void *app, struct http_request *request); /* api_symbols.c */
void api_symbol_get(void *app, struct http_request *request);
void api_symbol_delete(void *app, struct http_request *request);
void api_symbol_known(void *app, struct http_request *request);
void api_symbol_missing(void *app, struct http_request *request);
void api_project_get(void *app, struct http_request *request); /* api_project.c */
void api_project_put(void *app, struct http_request *request);
void api_healthz(void *app, struct http_request *request); /* api_status.c */
void api_readyz(void *app, struct http_request *request);
void api_openapi(void *app, struct http_request *request);
void api_metrics(void *app, struct http_request *request);   /* api_metrics.c */
void api_page(void *app, struct http_request *request);      /* api_status.c */
void api_preflight(void *app, struct http_request *request); /* api_preflight.c */

/* For every path that pages of other origins may use: a route for its OPTIONS requests. */
void api_add_preflights(struct api *api);

#endif
