/*
 * Call frame information as libdwarf reads it: the rules of one pc from __debug_frame or
 * __eh_frame.
 *
 * The list of a section is read once, when it is opened. Source: DWARF 5, 6.4; for __eh_frame the
 * Linux Standard Base.
 */
#ifndef DWARF_LIBDWARF_FRAME_H
#define DWARF_LIBDWARF_FRAME_H

#include "base/error.h"
#include "base/span.h"
#include "symbolicator/macho/macho.h"

enum libdwarf_rule_kind {
    LIBDWARF_RULE_SAME, /* also of registers that no instruction names */
    LIBDWARF_RULE_UNDEFINED,
    LIBDWARF_RULE_OFFSET,     /* in memory at CFA + offset */
    LIBDWARF_RULE_VAL_OFFSET, /* CFA + offset; of the CFA: register + offset */
    LIBDWARF_RULE_REGISTER,
    LIBDWARF_RULE_EXPRESSION, /* in memory at what it gives */
    LIBDWARF_RULE_VAL_EXPRESSION,
};

struct libdwarf_rule {
    enum libdwarf_rule_kind kind;
    uint16_t reg;
    int64_t offset;
    struct fz_span expression; /* in the section */
};

enum { LIBDWARF_COLUMNS = 288 }; /* armv7 has d31 at 287 */

struct libdwarf_frame_row {
    uint64_t start, end; /* code of the FDE */
    unsigned return_column;
    struct libdwarf_rule cfa;
    struct libdwarf_rule rules[LIBDWARF_COLUMNS];
};

struct libdwarf_frames; /* opaque */

/* Read the list of `macho`'s __eh_frame or __debug_frame; the slice must outlive it. The caller owns
 * *ret. NOT_FOUND: there is no such section, or it is empty. MALFORMED: libdwarf refuses it. */
FZ_MUST_CHECK enum fz_code libdwarf_frames_open(const struct sym_macho *macho, bool is_eh,
                                                struct libdwarf_frames **ret, struct fz_error *err);
void libdwarf_frames_close(struct libdwarf_frames *frames);
void libdwarf_frames_closep(struct libdwarf_frames **frames);

/* The rules at `pc`, an address of the file; false if no FDE covers it or its instructions are
 * broken. *ret is borrowed until the next call. */
bool libdwarf_frames_find(struct libdwarf_frames *frames, uint64_t pc,
                          const struct libdwarf_frame_row **ret);

#endif
