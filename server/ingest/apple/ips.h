/*
 * The parts of an .ips report, one file each. Private to this folder.
 *
 * Each takes its part of `body`, the second JSON value of an .ips, into b->report; what the model
 * has no member for goes to report->extra_json.
 */
#ifndef INGEST_APPLE_IPS_H
#define INGEST_APPLE_IPS_H

#include "server/ingest/common/json_member.h"

/* usedImages as they are numbered there: the report leaves placeholders out. */
struct ingest_ips_images {
    int *numbers; /* in report->images, -1 for a placeholder and for items that are not images */
    size_t n;
};

/* ips_threads.c: usedImages, then threads, lastExceptionBacktrace and asiBacktraces. */
void ingest_ips_read_images(struct ingest_builder *b, const json_t *body,
                            struct ingest_ips_images *ret);
void ingest_ips_read_threads(struct ingest_builder *b, const json_t *body,
                             const struct ingest_ips_images *images);

/* ips_frames.c: a list of frames; inlined calls become client names of the frame they belong to. */
struct ingest_stack ingest_ips_read_frames(struct ingest_builder *b, const json_t *list,
                                           const char *where,
                                           const struct ingest_ips_images *images);
/* The frames of a text as in asiBacktraces: "0   Demo   0x0000000104004068 main + 12" a line. */
struct ingest_stack ingest_ips_read_backtrace(struct ingest_builder *b, const char *text);

/* ips_registers.c: a threadState; what it says of registers beside their values becomes
 * thread->notable_json. */
void ingest_ips_read_registers(struct ingest_builder *b, const json_t *state, const char *where,
                               struct report_thread *thread);

/* ips_crash.c: exception, termination, asi. */
void ingest_ips_read_crash(struct ingest_builder *b, const json_t *body);

/* ips_system.c: the bug types about several processes. A stackshot (288): the threads of all
 * of them. A jetsam event (298): no stacks, which process used how much memory. */
void ingest_ips_read_stackshot(struct ingest_builder *b, const json_t *body);
void ingest_ips_read_jetsam(struct ingest_builder *b, const json_t *body);

#endif
