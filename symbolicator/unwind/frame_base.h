/*
 * DW_AT_frame_base of functions: whether a function keeps a frame pointer.
 *
 * Compilers for Apple's systems write the register itself: DW_OP_reg29 for a function with a frame
 * record, DW_OP_reg31 for one without, which is a leaf. Source: DWARF 5, 3.3.5.
 */
#ifndef UNWIND_FRAME_BASE_H
#define UNWIND_FRAME_BASE_H

#include "base/arch/registers.h"
#include "symbolicator/unwind/image.h"

enum unwind_base_kind { UNWIND_BASE_NONE, UNWIND_BASE_SP, UNWIND_BASE_FP };

struct unwind_base {
    enum unwind_base_kind kind;
    uint64_t low, high; /* the range of the function that holds the address */
};

/* Of the function at an address, by the DWARF of the dSYM or of the binary. NONE: not known. */
struct unwind_base unwind_base_find(struct unwind_image *image, enum fz_arch_cpu cpu,
                                    uint64_t addr);

/* Where the function that begins at `low` has made its frame: at the second row of its line table.
 * False: not known. */
bool unwind_base_prologue_end(struct unwind_image *image, uint64_t low, uint64_t *ret);

#endif
