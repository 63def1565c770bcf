/*
 * DWARF sections for tests, written as text.
 *
 * Tokens, separated by spaces: "4b" a byte; "'abc'" a string and its NUL; "4:1f" a number of 4
 * bytes (hex); "u300" ULEB128 and "s-3" SLEB128 (decimal); "{ ... }" a 4-byte length and what it
 * counts, nested at will; "[ ... ]" the same as 64-bit DWARF begins a unit (ffffffff, 8 bytes), "(
 * ...
 * )" with a length of 8 bytes alone. A mistake in a test is an assert.
 */
#ifndef DWARF_TEXT_H
#define DWARF_TEXT_H

#include "base/buffer.h"
#include "symbolicator/macho/macho.h"

enum { DWARF_TEXT_SECTIONS = 12 };

/* NULL = no such section. */
struct dwarf_text {
    const char *info, *abbrev, *line, *ranges, *rnglists, *str, *line_str, *str_offsets, *addr,
        *types, *loc, *loclists;
    bool big_endian;
};

void dwarf_text_write(const char *text, bool big_endian, struct fz_buffer *out);

/* A slice in memory with these sections and code at 0x1000 to 0x100000; ended with _deinit. */
struct dwarf_sample {
    struct fz_buffer bytes[DWARF_TEXT_SECTIONS];
    struct sym_section sections[DWARF_TEXT_SECTIONS + 1];
    struct sym_macho macho;
};
void dwarf_sample_init(struct dwarf_sample *sample, const struct dwarf_text *text);
void dwarf_sample_deinit(struct dwarf_sample *sample);

#endif
