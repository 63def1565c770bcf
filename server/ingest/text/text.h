/*
 * A report in text while its lines are read: what the dialects (apple_crash.c, stack.c) share.
 * Private to this folder.
 */
#ifndef INGEST_TEXT_TEXT_H
#define INGEST_TEXT_TEXT_H

#include "server/ingest/common/json_member.h"
#include "server/ingest/text/frame.h"

/* A text that the model has no member for, under the report's own key. */
struct ingest_text_extra {
    const char *key;
    char *text;
    size_t len, room;
    bool taken; /* it is in the model, so it is not an extra */
};

struct ingest_text {
    struct ingest_builder *b;
    struct ingest_text_extra *extras;
    size_t n_extras, room_extras;
    json_t *extra_numbers; /* key to index in `extras` */

    struct report_thread *thread; /* the current one; NULL before the first and beyond the limit */
    struct ingest_stack stack;    /* of the current thread */
    struct ingest_stack exception, backtrace;
    struct ingest_text_hints hints;

    /* The section that is read: its heading, and its lines so far. */
    struct fz_span key;
    struct fz_buffer text;
    size_t n_blank;  /* empty lines since its last line */
    bool is_heading; /* the key is alone on its line, after an empty one */

    struct fz_span version, code_type;
};

struct ingest_text ingest_text_start(struct ingest_builder *b);
void ingest_text_end(struct ingest_text *c);
/* Keep a text as an extra; a second one with that key is appended to the first. */
void ingest_text_add_extra(struct ingest_text *c, struct fz_span key, struct fz_span value);
void ingest_text_settle_extras(struct ingest_text *c);

/* "Key: value" or "Key:"; keys are words that begin with a capital. */
bool ingest_text_split_key(struct fz_span line, struct fz_span *ret_key, struct fz_span *ret_value);
/* The same with any first letter. */
bool ingest_text_split_words(struct fz_span line, struct fz_span *ret_key,
                             struct fz_span *ret_value);

/* header.c: take a "Key: value" line whose value the model has a member for; false for other
 * keys. */
bool ingest_text_read_key(struct ingest_text *c, struct fz_span key, struct fz_span value);
/* Does the model have a member for this key? */
bool ingest_text_is_key(struct fz_span key);
/* Once all lines are read: everything into the report, extras too. */
void ingest_text_settle(struct ingest_text *c);

/* sections.c: is this the heading of a section, whose lines may look like keys? */
bool ingest_text_is_section(struct fz_span key); /* in capitals or small letters */
/* The section is complete: put its text into the model, or among the extras. */
void ingest_text_end_section(struct ingest_text *c);
/* Once the threads are in the report: move captured memory from the extras to them. */
void ingest_text_settle_memory(struct ingest_text *c);
/* threads.c: a heading like "Thread 0 Crashed:: name  Dispatch queue: q"; *ret_registers says that
 * registers follow it, else frames. */
bool ingest_text_read_thread(struct ingest_text *c, struct fz_span line, bool *ret_registers);
/* One more thread, whose lines follow; NULL beyond the limit. Only the crashed thread still gets
 * in: it takes the place of the last one. */
struct report_thread *ingest_text_add_thread(struct ingest_text *c, int64_t index, bool crashed);
/* The number of threads so far, with those beyond the limit. */
int64_t ingest_text_thread_count(const struct ingest_text *c);
/* Add a frame to the current thread. */
void ingest_text_add_frame(struct ingest_text *c, const struct ingest_text_frame *frame);
/* A line "x0: 0x... x1: 0x..."; false if it has no register. */
bool ingest_text_read_registers(struct ingest_text *c, struct fz_span line);
/* Threads and exception backtrace into the report. */
void ingest_text_settle_threads(struct ingest_text *c);

/* images.c: a line of Apple's list; of others: a UUID, an address and a name in any order. False if
 * it is not such a line. */
bool ingest_text_read_image(struct ingest_text *c, struct fz_span line);
bool ingest_text_read_free_image(struct ingest_text *c, struct fz_span line);
/* The images into the report, and those that only frames name. */
void ingest_text_settle_images(struct ingest_text *c);

#endif
