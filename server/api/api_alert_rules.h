/*
 * The settings of a project for alerts: when an issue is urgent, and a release unhealthy.
 */
#ifndef API_ALERT_RULES_H
#define API_ALERT_RULES_H

#include <jansson.h>

#include "server/api/api_client.h"
#include "storage/store_watch.h"

/* Write the member "alerts". */
void api_alert_rules_write(struct json_write *w, const struct store_watch_rules *rules);

/* Change what the member "alerts" of `root` has, if there is one, and set *ret_any. */
FZ_MUST_CHECK enum fz_code api_alert_rules_read(struct api_call *call, const json_t *root,
                                                struct store_watch_rules *ret, bool *ret_any,
                                                struct fz_error *err);

#endif
