/*
 * libmicrohttpd's callbacks for requests, and the body threads' part of them.
 */
#ifndef HTTP_CALLBACKS_H
#define HTTP_CALLBACKS_H

#include <microhttpd.h>

#include "server/http/pool.h"

void *http_request_on_line(void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_request_on_data(void *server, struct MHD_Connection *mhd, const char *url,
                                     const char *method, const char *version, const char *data,
                                     size_t *data_len, void **context);
void http_request_on_completed(void *server, struct MHD_Connection *mhd, void **context,
                               enum MHD_RequestTerminationCode code);
/* On a body thread. */
void http_request_run_body(struct http_job *job);
/* http_filter_notify(). A request that libmicrohttpd has not completed ends with its connection. */
void http_request_on_connection(void *server, struct MHD_Connection *mhd, void **socket_context,
                                enum MHD_ConnectionNotificationCode what);

#endif
