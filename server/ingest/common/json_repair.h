/*
 * Broken JSON: what precedes the fault, as valid JSON.
 *
 * Crash reporters write with what is left of a dying process: files end in the middle, carry a
 * superfluous comma before a bracket, or end with the tail of an older and longer file.
 */
#ifndef INGEST_COMMON_JSON_REPAIR_H
#define INGEST_COMMON_JSON_REPAIR_H

#include "base/buffer.h"
#include "server/ingest/common/json_member.h"

struct ingest_repair {
    size_t n_commas;       /* commas before a closing bracket, taken out */
    size_t first_comma;    /* offset of the first bracket after one */
    bool cut;              /* everything from `fault` on is lost */
    struct fz_error fault; /* as json_scan() reports it */
};

/*
 * `body` was refused by json_scan() as MALFORMED. Its readable start goes to `out` with open
 * arrays and objects closed; a member or item that is not complete is left out.
 *
 * Only an object is repaired. MALFORMED: nothing of it is readable; the error is json_scan()'s.
 */
FZ_MUST_CHECK enum fz_code ingest_json_repair(struct fz_span body, const struct limits *limits,
                                              struct fz_buffer *out, struct ingest_repair *ret,
                                              struct fz_error *err);

/* Is this valid JSON a report of the format? If not, the error says what is missing. */
typedef enum fz_code (*ingest_json_need_fn)(struct fz_span text, struct fz_error *err);

/* The body if it is valid, else what can be repaired of it, in `buffer`; MALFORMED with the first
 * fault if that is not a report. For a format's check. */
FZ_MUST_CHECK enum fz_code ingest_json_check(struct fz_span body, const struct limits *limits,
                                             ingest_json_need_fn need, struct fz_buffer *buffer,
                                             struct fz_span *ret, struct ingest_repair *repair,
                                             struct fz_error *err);

/* The same loaded, as ingest_json_load(); what was repaired is noted, and `what` names the body
 * there. For a format's parse. */
FZ_MUST_CHECK enum fz_code ingest_json_load_repaired(struct ingest_builder *b, struct fz_span body,
                                                     const char *what, ingest_json_need_fn need,
                                                     json_t **ret, struct fz_error *err);

#endif
