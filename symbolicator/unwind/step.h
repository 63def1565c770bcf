/*
 * One step from a frame to its caller: what all sources are asked with, and the sources.
 *
 * A source gives a row or does not know. unwind.c asks them in order and takes the first row that
 * leads to a caller.
 */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include "symbolicator/unwind/image.h"
#include "symbolicator/unwind/row.h"

struct unwind_step {
    struct sym_process *process;
    enum fz_arch_cpu cpu;
    struct sym_unwind_frame *frame;
    uint64_t lowest; /* that the CFA may be: stacks grow down, so a caller's sp is higher */
    bool is_exact;   /* the pc is not a return address: any instruction may be next */
    struct unwind_image *image;      /* NULL: no files */
    uint64_t addr;                   /* in the file: the pc, or the byte before a return address */
    struct unwind_function function; /* of addr, addresses in the file */
    bool has_function;
};

typedef bool (*unwind_source_fn)(struct unwind_step *step, struct unwind_row *ret);

/* cfi.c: the three sections, checked against the start of the function. */
bool unwind_cfi_debug(struct unwind_step *step, struct unwind_row *ret);
bool unwind_cfi_binary(struct unwind_step *step, struct unwind_row *ret);
bool unwind_cfi_dsym(struct unwind_step *step, struct unwind_row *ret);

/* compact.c: __unwind_info, as the code after the prologue has it. */
bool unwind_compact(struct unwind_step *step, struct unwind_row *ret);

/* code.c: by following the function's instructions from its start to the pc. */
bool unwind_code(struct unwind_step *step, struct unwind_row *ret);
/* A call that led nowhere, or to a stub of the linker: nothing has been saved since. */
bool unwind_nowhere(struct unwind_step *step, struct unwind_row *ret);

/* frame_base.c: what the function's DWARF says about its frame, and what that and the registers
 * say of a pc in a prologue or epilogue. */
bool unwind_frame_base(struct unwind_step *step, struct unwind_row *ret);

/* Correct a row of a table where the registers show that the epilogue has begun, or the prologue has
 * not ended. False: the row is wrong. */
bool unwind_check_row(struct unwind_step *step, struct unwind_row *row);

#endif
