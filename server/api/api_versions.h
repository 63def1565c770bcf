/*
 * The list of versions that a request asks for, for its JSON and for its export.
 */
#ifndef API_VERSIONS_H
#define API_VERSIONS_H

#include "server/api/api_client.h"
#include "storage/store_versions.h"

/* ?since=&until=&environment=&limit=&parts= of the request, and the list. */
FZ_MUST_CHECK enum fz_code api_versions_read(struct api_call *call, size_t fallback, size_t max,
                                             struct store_version_range *range,
                                             struct store_version_list *ret, struct fz_error *err);

/* A share as text, "0.987654". */
enum { API_SHARE_TEXT = 32 };
void api_share_text(uint64_t part, uint64_t all, char ret[API_SHARE_TEXT]);

#endif
