/*
 * The settings of a project about how long it keeps what was sent, as members of GET and PUT /project: "keep_reports_days",
 * "keep_reports", "keep_samples", "keep_bodies_days", "keep_symbols_days", "keep_bytes".
 */
#ifndef API_RETENTION_H
#define API_RETENTION_H

#include <jansson.h>

#include "base/json/write.h"
#include "server/api/api_client.h"
#include "storage/store_retention.h"

void api_retention_write(struct json_write *w, const struct store_retention *retention);
/* As api_privacy_read(). */
FZ_MUST_CHECK enum fz_code api_retention_read(struct api_call *call, const json_t *root,
                                              struct store_retention *ret, bool *ret_any,
                                              struct fz_error *err);

#endif
