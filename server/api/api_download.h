/*
 * Content-Disposition: the file name of what a browser downloads.
 */
#ifndef API_DOWNLOAD_H
#define API_DOWNLOAD_H

#include "server/http/http.h"
#include "storage/store.h"

/* `name` (the sender's text, any bytes) and then `more` (ours, plain). */
void api_download_name(struct http_request *request, bool is_attachment, const char *name,
                       const char *more);

/* "Shop-2026-11-20-8c1f2a90.crash": app, day of the crash, first digits of the id. */
void api_download_report(struct http_request *request, bool is_attachment,
                         const struct store_report *columns, const char *extension);

/* The extension for a body of this format as it was sent. */
const char *api_download_extension(const char *report_format);

#endif
