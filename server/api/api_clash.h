/*
 * Reports that came with an id that another report has: the notes that name the others.
 *
 * A clash may become known after a report was symbolicated, so its notes are not stored in the
 * result: they are added when the report is read.
 */
#ifndef API_CLASH_H
#define API_CLASH_H

#include "server/api/api_client.h"

/* The notes of report `id`, in the call's arena; none for nearly all reports. */
FZ_MUST_CHECK enum fz_code api_clash_notes(struct api_call *call, const char *id, const char ***ret,
                                           size_t *ret_n, struct fz_error *err);
/* Add them to a stored result (JSON), which is then in the call's arena; an empty one stays. */
FZ_MUST_CHECK enum fz_code api_clash_apply(struct api_call *call, const char *const *notes,
                                           size_t n, struct fz_span *result, struct fz_error *err);

#endif
