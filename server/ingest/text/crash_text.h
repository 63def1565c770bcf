/*
 * The parts of Apple's crash text between crash_text.c (lines, sections), crash_text_header.c,
 * crash_text_sections.c, crash_text_threads.c and crash_text_images.c. Private to this folder.
 */
#ifndef INGEST_TEXT_CRASH_TEXT_H
#define INGEST_TEXT_CRASH_TEXT_H

#include "server/ingest/text/text_frame.h"

/* What the model has no member for: a text by the report's own key. It grows by doubling. */
struct crash_extra {
    const char *key;
    char *text;
    size_t len, room;
    bool taken; /* it found its place in the model after all */
};

/* A thread while its lines are read. */
struct crash_thread {
    struct report_thread thread;
    struct text_stack stack;
    size_t room_registers;
};

struct crash_text {
    struct ingest_builder *b;
    struct crash_extra *extras;
    size_t n_extras, room_extras;
    json_t *extra_numbers; /* key to place in `extras` */

    struct crash_thread *threads;
    size_t n_threads, room_threads, n_threads_cut;
    struct crash_thread *thread; /* whose lines are read; NULL when it was cut */
    struct text_stack exception, backtrace;
    struct text_hints hints;

    struct report_image *images;
    size_t n_images, room_images, n_images_cut;

    /* A text that goes on over lines: its key and what was read of it. */
    struct fz_span key;
    struct fz_buffer text;
    size_t n_blank;  /* lines before the next one of it */
    bool is_heading; /* it stands alone on its line, after a blank one */

    struct fz_span version, code_type;
};

/* "Key: value" or "Key:"; keys are words that begin with a capital. */
bool crash_text_split_key(struct fz_span line, struct fz_span *ret_key, struct fz_span *ret_value);

/* crash_text_header.c: a "Key: value" line whose value the model has a member for. False if it is
 * none of those. */
bool crash_text_take_key(struct crash_text *c, struct fz_span key, struct fz_span value);
/* Is there a member for this key? */
bool crash_text_is_key(struct fz_span key);
/* Once all is read: version, build and architecture. */
void crash_text_settle_header(struct crash_text *c);
/* "KERN_INVALID_ADDRESS at 0x10" */
void crash_text_take_codes(struct crash_text *c, struct fz_span value);

/* crash_text_sections.c: is this the heading of a text that may hold lines that look like keys? */
bool crash_text_is_section(struct fz_span key); /* in capitals or small letters */
/* The text of a section is complete: to its place in the report, or among the extras. */
void crash_text_end_section(struct crash_text *c);
/* Add a text to those that are kept as they are; a second one of that key joins the first. */
void crash_text_keep(struct crash_text *c, struct fz_span key, struct fz_span value);

/* Once the threads are there: their stacks and what was found on them, out of the extras. */
void crash_text_settle_memory(struct crash_text *c);
/* The extras into the report. */
void crash_text_settle_extras(struct crash_text *c);

/* crash_text_threads.c: "Thread 0 Crashed:: name  Dispatch queue: q" and its like; *ret_registers:
 * the lines behind it are registers. */
bool crash_text_take_thread(struct crash_text *c, struct fz_span line, bool *ret_registers);
/* A further thread; NULL if it is cut. Beyond the limit only the crashed one gets in: in the place
 * of the last. */
struct crash_thread *crash_text_add_thread(struct crash_text *c, int64_t index, bool crashed);
/* A line of "x0: 0x... x1: 0x..."; false if there is none in it. */
bool crash_text_take_registers(struct crash_text *c, struct fz_span line);
/* Threads and exception backtrace into the report. */
void crash_text_settle_threads(struct crash_text *c);

/* Once all is read: everything into the report. */
void crash_text_settle(struct crash_text *c);
struct crash_text crash_text_start(struct ingest_builder *b);
void crash_text_end(struct crash_text *c);

/* crash_text_images.c */
void crash_text_add_image(struct crash_text *c, const struct report_image *image);
bool crash_text_take_image(struct crash_text *c, struct fz_span line);
void crash_text_settle_images(struct crash_text *c);

/* text_hints to images, shared with stack_text.c: images that no list names are added behind the
 * `n_images` of the report, and the frames' numbers of hints become those of images. */
void text_settle_hints(struct ingest_builder *b, const struct text_hints *hints);

#endif
