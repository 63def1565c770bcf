/*
 * The settings of a project about values and memory, as members of GET and PUT /project:
 * "values", "memory", "memory_days", "redact_allow", "redact_deny".
 */
#ifndef API_PRIVACY_H
#define API_PRIVACY_H

#include <jansson.h>

#include "base/json/write.h"
#include "server/api/api_client.h"

void api_privacy_write(struct json_write *w, const struct store_privacy *privacy);
/* Members that are absent leave *ret as it is; *ret_any is set if there is one. Texts are in the
 * call's arena. MALFORMED, LIMIT: a member is something else; call->detail names it. */
FZ_MUST_CHECK enum fz_code api_privacy_read(struct api_call *call, const json_t *root,
                                            struct store_privacy *ret, bool *ret_any,
                                            struct fz_error *err);

/* The lines of a text as an array of strings; for a setting that storage keeps one a line. */
void api_privacy_write_lines(struct json_write *w, const char *key, const char *lines, size_t max);

struct api_lines {
    const char *key;
    size_t n_max, bytes_max;
    const char *detail, *example;
};
/* An array of texts joined by line breaks. */
FZ_MUST_CHECK enum fz_code api_privacy_join_lines(struct api_call *call, const json_t *list,
                                                  const struct api_lines *lines,
                                                  struct fz_buffer *ret, struct fz_error *err);

#endif
