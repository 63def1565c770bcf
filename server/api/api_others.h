/*
 * Other reports that a report has to do with: those that came with its id, and those of the same
 * crash.
 *
 * Either may become known after a report was symbolicated, so they are not stored in the result: they
 * are added when the report is read.
 */
#ifndef API_OTHERS_H
#define API_OTHERS_H

#include "server/api/api_client.h"

struct api_others {
    const char **notes; /* one for each report that came with its id */
    size_t n_notes;
    const char *const *same_crash; /* ids */
    size_t n_same_crash;
};

/* Those of a stored report, in the call's arena; none for nearly all reports. */
FZ_MUST_CHECK enum fz_code api_others_find(struct api_call *call, const struct store_report *report,
                                           struct api_others *ret, struct fz_error *err);
/* Add them to a stored result (JSON), which is then in the call's arena; an empty one stays. */
FZ_MUST_CHECK enum fz_code api_others_apply(struct api_call *call, const struct api_others *others,
                                            struct fz_span *result, struct fz_error *err);

#endif
