/*
 * How the page links a place in the source, as members of GET and PUT /project: "source_template",
 * "source_paths".
 *
 * An admin sets it for everybody in the project, and paths come from reports, so the template decides
 * alone where a link leads: to a host that is written out in it, or to a command without anything
 * that a shell would run.
 */
#ifndef API_SOURCE_H
#define API_SOURCE_H

#include <jansson.h>

#include "base/json/write.h"
#include "server/api/api_client.h"

/* Pure: why a template cannot be used, in words; NULL if it can. An empty text can. */
const char *api_source_problem(const char *link);

void api_source_write(struct json_write *w, const struct store_source *source);
/* Members that are absent leave *ret as it is; *ret_any is set if there is one. Texts are in the
 * call's arena. MALFORMED, LIMIT: a member is something else; call->detail names it. */
FZ_MUST_CHECK enum fz_code api_source_read(struct api_call *call, const json_t *root,
                                           struct store_source *ret, bool *ret_any,
                                           struct fz_error *err);

#endif
