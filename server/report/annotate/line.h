/*
 * One line of a text, split into parts so that names can be written into it. Private to this
 * folder.
 *
 *   4   Shop   0x0000000104004068 0x104000000 + 16488
 *
 * and in texts of stacks alone (`plain`) also
 *
 *   Shop   0x104004068 Shop + 16488                       BSBacktraceLogger
 *   "4   Shop   0x0000000104004068 Shop + 16488",         an array as it is printed
 *     frame #4: 0x0000000104004068 Shop`work_step + 8     lldb
 */
#ifndef REPORT_ANNOTATE_LINE_H
#define REPORT_ANNOTATE_LINE_H

#include "base/span.h"
#include "server/report/report.h"

/* What the report's own line or object contains about a frame. */
struct annotate_named {
    bool has_name, has_place; /* place: file and line */
};

/* Does the symbol file have a name or place that the report lacks? */
bool annotate_is_better(const struct report_frame *frame, struct annotate_named own);

/* All offsets are from the start of `all`. */
struct annotate_line {
    struct fz_span all; /* with its end; of an array on one line, one item and what follows it */
    size_t start, end;  /* of the content: without quote marks, white space, line break */
    size_t name;        /* of a frame: the start of its name, or of the blank before it */
    uint64_t addr;
    bool is_quoted; /* an item of an array */
    bool is_inner;  /* not the first on its line; the caller sets it */
    bool is_lldb;
};

/* The first line of a text that is not empty. It ends with LF, CRLF, or CR alone as on old Macs. */
struct annotate_line annotate_take_line(struct fz_span rest, bool plain);
/* Sets `name` and `addr`; false if the line is not a frame. */
bool annotate_read_frame(struct annotate_line *line, bool plain);
/* What a frame's line has after the address: "0x104000000 + 16488" and "Shop + 16488" are not
 * names. */
struct annotate_named annotate_read_names(const struct annotate_line *line);
/* The line break at its end; empty if it has none. */
struct fz_span annotate_line_end(const struct annotate_line *line);

/* A blank, or one of the two bytes of a no-break space, which mail programs write for blanks. */
bool annotate_is_blank(uint8_t c);
size_t annotate_skip_digits(struct fz_span text, size_t at, bool hex);
/* The end of the hexadecimal number at `at`; 0 without one. */
size_t annotate_take_address(struct fz_span text, size_t at, uint64_t *ret);

#endif
