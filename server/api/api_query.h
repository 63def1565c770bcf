/*
 * The parameters of a request, in its query and its path.
 */
#ifndef API_QUERY_H
#define API_QUERY_H

#include "base/uuid.h"
#include "server/http/http.h"

/* Is `value` one of "crash, hang, cpu"? */
bool api_is_choice(const char *choices, const char *value);

/* Refuse query parameters that are not among `known` ("limit, cursor"; project and key are always
 * known): MALFORMED with the name and the list. */
FZ_MUST_CHECK enum fz_code api_check_query(const struct http_request *request, const char *known,
                                           struct fz_error *err);
/* ?limit=: `fallback` without one; MALFORMED unless 1 to `max`. */
FZ_MUST_CHECK enum fz_code api_query_limit(const struct http_request *request, size_t fallback,
                                           size_t max, size_t *ret, struct fz_error *err);
/* The same for a parameter of another name. */
FZ_MUST_CHECK enum fz_code api_query_count(const struct http_request *request, const char *name,
                                           size_t fallback, size_t max, size_t *ret,
                                           struct fz_error *err);
/* ?since= and its like: RFC 3339, or Unix seconds or milliseconds; *ret stays without one. */
FZ_MUST_CHECK enum fz_code api_query_time(const struct http_request *request, const char *name,
                                          int64_t *ret, struct fz_error *err);
/* A pattern parameter that is a UUID in any spelling, as 32 hex digits; NOT_FOUND if it is not
 * (nothing can have that id). `what` is for the message. */
FZ_MUST_CHECK enum fz_code api_param_uuid(const struct http_request *request, const char *name,
                                          const char *what, char ret[FZ_UUID_TEXT],
                                          struct fz_error *err);
/* The formats a report is given in (?format=). */
enum api_format { API_FORMAT_JSON, API_FORMAT_CRASH, API_FORMAT_IPS, API_FORMAT_RAW };
FZ_MUST_CHECK enum fz_code api_query_format(const struct http_request *request,
                                            enum api_format *ret, struct fz_error *err);

/* A parameter that is 1 or true; 0, false or absent. */
FZ_MUST_CHECK enum fz_code api_query_flag(const struct http_request *request, const char *name,
                                          bool *ret, struct fz_error *err);

#endif
