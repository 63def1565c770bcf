/*
 * Answers that several routes give.
 */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "server/api/api_query.h"

/* {"id","status","format"}: all that a sender without the scope read learns. */
void api_answer_status(struct http_request *request, int http_status, const char *id,
                       const char *status, const char *report_format);
/* The answer to a report or upload that was taken in and is not done: 202. */
void api_answer_queued(struct http_request *request, const char *id, const char *report_format);
void api_answer_upload_queued(struct http_request *request, const char *id);
/* {"upload":…,"status":…} of an upload, with its result or its error. */
FZ_MUST_CHECK enum fz_code api_upload_json(const struct store_upload *upload,
                                           struct fz_arena *arena, struct json_write *w,
                                           struct fz_error *err);
/* Its members alone, within an object. */
void api_write_status(struct json_write *w, const char *id, const char *status,
                      const char *report_format);

/* For call->detail: {"path"} in a body, and in a text there the byte, unless offset is negative.
 * NULL: no memory. */
const char *api_path_detail(struct api_call *call, const char *path, int64_t offset);

/* Answer with a report that was found: its columns, and its result as the worker stored it (empty
 * while it is queued for the first time or has failed). CONFLICT: `format` needs a result. */
FZ_MUST_CHECK enum fz_code api_answer_report(struct api_call *call,
                                             const struct store_report *columns,
                                             struct fz_span result, enum api_format format,
                                             int status, struct fz_error *err);
/* The same with the result fetched from the database. */
FZ_MUST_CHECK enum fz_code api_answer_stored(struct api_call *call,
                                             const struct store_report *columns,
                                             enum api_format format, int status,
                                             struct fz_error *err);

#endif
