/*
 * A report in text while its lines are read: what the dialects (apple_crash.c, stack.c) share.
 * Private to this folder.
 */
#ifndef INGEST_TEXT_TEXT_H
#define INGEST_TEXT_TEXT_H

#include "server/ingest/common/json_member.h"
#include "server/ingest/text/frame.h"

/* What the model has no member for: a text by the report's own key. It grows by doubling. */
struct ingest_text_extra {
    const char *key;
    char *text;
    size_t len, room;
    bool taken; /* it found its place in the model after all */
};

struct ingest_text {
    struct ingest_builder *b;
    struct ingest_text_extra *extras;
    size_t n_extras, room_extras;
    json_t *extra_numbers; /* key to place in `extras` */

    struct report_thread *thread; /* whose lines are read; NULL if there is none or it is cut */
    struct ingest_stack stack;    /* of that thread */
    struct ingest_stack exception, backtrace;
    struct ingest_text_hints hints;

    /* A text that goes on over lines: its key and what was read of it. */
    struct fz_span key;
    struct fz_buffer text;
    size_t n_blank;  /* lines before the next one of it */
    bool is_heading; /* it stands alone on its line, after a blank one */

    struct fz_span version, code_type;
};

struct ingest_text ingest_text_start(struct ingest_builder *b);
void ingest_text_end(struct ingest_text *c);
/* Add a text to those that are kept as they are; a second one of that key joins the first. */
void ingest_text_add_extra(struct ingest_text *c, struct fz_span key, struct fz_span value);
void ingest_text_settle_extras(struct ingest_text *c);

/* "Key: value" or "Key:"; keys are words that begin with a capital. */
bool ingest_text_split_key(struct fz_span line, struct fz_span *ret_key, struct fz_span *ret_value);
/* The same with any first letter. */
bool ingest_text_split_words(struct fz_span line, struct fz_span *ret_key,
                             struct fz_span *ret_value);

/* header.c: a "Key: value" line whose value the model has a member for. False if it is
 * none of those. */
bool ingest_text_take_key(struct ingest_text *c, struct fz_span key, struct fz_span value);
/* Is there a member for this key? */
bool ingest_text_is_key(struct fz_span key);
/* Once all lines are read: everything into the report, extras too. */
void ingest_text_settle(struct ingest_text *c);
/* "KERN_INVALID_ADDRESS at 0x10" */
void ingest_text_take_codes(struct ingest_text *c, struct fz_span value);

/* sections.c: is this the heading of a text that may hold lines that look like keys? */
bool ingest_text_is_section(struct fz_span key); /* in capitals or small letters */
/* The text of a section is complete: to its place in the report, or among the extras. */
void ingest_text_end_section(struct ingest_text *c);
/* Once the threads are there: their stacks and what was found on them, out of the extras. */
void ingest_text_settle_memory(struct ingest_text *c);
/* threads.c: "Thread 0 Crashed:: name  Dispatch queue: q" and its like; *ret_registers:
 * the lines behind it are registers. */
bool ingest_text_take_thread(struct ingest_text *c, struct fz_span line, bool *ret_registers);
/* A further thread, whose lines follow; NULL if it is cut. Beyond the limit only the crashed one gets
 * in: in the place of the last. */
struct report_thread *ingest_text_add_thread(struct ingest_text *c, int64_t index, bool crashed);
/* The number of threads so far, with those that are cut. */
int64_t ingest_text_thread_count(const struct ingest_text *c);
/* A frame of the thread whose lines are read. */
void ingest_text_add_frame(struct ingest_text *c, const struct ingest_text_frame *frame);
/* A line of "x0: 0x... x1: 0x..."; false if there is none in it. */
bool ingest_text_take_registers(struct ingest_text *c, struct fz_span line);
/* Threads and exception backtrace into the report. */
void ingest_text_settle_threads(struct ingest_text *c);

/* images.c: a line of Apple's list; of others: a UUID, an address and a name in any order. False if
 * it is not such a line. */
bool ingest_text_take_image(struct ingest_text *c, struct fz_span line);
bool ingest_text_take_free_image(struct ingest_text *c, struct fz_span line);
/* The images into the report, and those that only frames name. */
void ingest_text_settle_images(struct ingest_text *c);

#endif
