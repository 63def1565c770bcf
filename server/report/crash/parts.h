/*
 * The parts of Apple's crash text, one file each. Private to this folder.
 */
#ifndef REPORT_CRASH_PARTS_H
#define REPORT_CRASH_PARTS_H

#include "server/report/apple.h"
#include "server/report/extra.h"

/* A text that is being written. */
struct report_crash_out {
    struct fz_buffer *out;
    const struct report *r;
    const struct report_envelope *envelope;
    json_t *extra;       /* NULL = none; headings that were written are taken out of it */
    bool is_ips;         /* the report came as an .ips: its extras have the names of .ips */
    bool is_mac;         /* the layout of macOS, else that of iOS */
    bool is_mac26;       /* with that: the head and labels that it has since macOS 26 */
    bool mac_stacks;     /* threads and images as macOS writes them: also apps of the simulator */
    bool with_variables; /* under each frame */
    bool is_crash; /* not a hang, a handled error, or another event of a process that lived on */
};

/* out.c: a text from outside on one line: what could forge a line or steer a terminal becomes
 * '?'. */
void report_crash_span(struct fz_buffer *out, struct fz_span text);
void report_crash_text(struct fz_buffer *out, const char *text);
/* A text of several lines; those that could be taken for a part of the report are indented. With
 * `frames`, lines that begin with a number are not. */
void report_crash_block(struct fz_buffer *out, struct fz_span text, bool frames);
/* "<heading>: <first line>", then the others. */
void report_crash_inline(struct fz_buffer *out, const char *heading, struct fz_span text);

/* The member of an .ips at `path`, else what Apple's text has under `heading` (either may be NULL),
 * which is taken out of the extras. False if there is neither. */
bool report_crash_take(struct report_crash_out *c, const char *path, const char *heading,
                       struct fz_buffer *ret);
/* "<key>: <value>" with the value in the head's column; nothing without a value. */
void report_crash_field(struct report_crash_out *c, const char *key, const char *value);
/* The same with what report_crash_take() finds under the key's name. */
void report_crash_extra(struct report_crash_out *c, const char *key, const char *path);

/* A part with a heading on a line of its own, if report_crash_take() finds its text. */
void report_crash_section(struct report_crash_out *c, const char *heading, const char *path);

/* head.c: from the first line to the exception. */
void report_crash_head(struct report_crash_out *c);

/* event.c: exception, termination, messages of the process and of the kernel. */
void report_crash_event(struct report_crash_out *c);

/* stacks.c: the backtrace of the exception; the threads; "main + 8 (work.c:5)". */
void report_crash_exception_stack(struct report_crash_out *c);
void report_crash_stacks(struct report_crash_out *c);
void report_crash_symbol(struct fz_buffer *out, const struct report_symbol *symbol);

/* variables.c: those of one symbol, a line or more for each. */
void report_crash_variables(struct fz_buffer *out, const struct report_symbol *symbol);

/* registers.c: the registers of the crashed thread as Apple lays them out, and the
 * bytes at its pc. */
void report_crash_registers(struct report_crash_out *c);

/* instructions.c: the bytes at the pc, in hex, as an .ips has them. */
void report_crash_instructions(struct report_crash_out *c, const struct report_thread *thread);

/* images.c: "Binary Images:". NO_MEMORY. */
FZ_MUST_CHECK enum fz_code report_crash_images(struct report_crash_out *c, struct fz_error *err);

/* tail.c: what follows the images. */
void report_crash_tail(struct report_crash_out *c);

#endif
