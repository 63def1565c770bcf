/*
 * libmicrohttpd's callbacks for requests, and the body threads' part of them.
 */
#ifndef HTTP_CALLBACKS_H
#define HTTP_CALLBACKS_H

#include <microhttpd.h>

#include "server/http/pool.h"

struct http_conn;

void *http_request_on_line(void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_request_on_data(void *server, struct MHD_Connection *mhd, const char *url,
                                     const char *method, const char *version, const char *data,
                                     size_t *data_len, void **context);
void http_request_on_completed(void *server, struct MHD_Connection *mhd, void **context,
                               enum MHD_RequestTerminationCode code);
/* On a body thread. */
void http_request_run_body(struct http_job *job);
/* The connection is closed, or has another request, and libmicrohttpd has not completed the one before: it is now. */
void http_request_on_closed(struct http_conn *conn);

#endif
