/*
 * What a project masks in texts of reports, as members of GET and PUT /project: "scrub", "scrub_rules".
 */
#ifndef API_SCRUB_H
#define API_SCRUB_H

#include <jansson.h>

#include "base/json/write.h"
#include "server/api/api_client.h"

void api_scrub_write(struct json_write *w, const struct store_scrub *scrub);
/* Members that are absent leave *ret as it is; *ret_any is set if there is one. Texts are in the
 * call's arena. MALFORMED, LIMIT: a member is something else, or a rule is wrong; call->detail names it. */
FZ_MUST_CHECK enum fz_code api_scrub_read(struct api_call *call, const json_t *root,
                                          struct store_scrub *ret, bool *ret_any,
                                          struct fz_error *err);

#endif
