/* One line program while it is read: what its header says, for line_header.c and line.c. */
#ifndef DWARF_LINE_H
#define DWARF_LINE_H

#include "base/reader.h"
#include "symbolicator/dwarf/scanner.h"

struct dwarf_line_program {
    const struct sym_dwarf *dwarf;
    const struct sym_dwarf_unit *unit;
    struct fz_budget *budget;
    struct sym_dwarf_lines *lines;
    unsigned offset_size, min_inst_length, max_ops, line_range, opcode_base;
    uint32_t line_range_inverse; /* 65536 / line_range + 1: exact for what a byte holds */
    int line_base;
    uint8_t opcode_args[256]; /* operands of each standard opcode */
};

/* Read the header at r, cut r to the program and leave it at the first opcode. */
FZ_MUST_CHECK enum fz_code dwarf_line_header_read(struct dwarf_line_program *program,
                                                  struct fz_reader *r, struct fz_error *err);
bool dwarf_line_add_file(struct dwarf_line_program *program, struct fz_span name,
                         uint64_t directory);

#endif
