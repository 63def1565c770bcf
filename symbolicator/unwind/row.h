/*
 * A row: where the caller's registers are while one instruction runs, as all sources give it.
 *
 * The canonical frame address (CFA) is the stack pointer before the call. Every other rule counts
 * from it, as in DWARF 5, 6.4.1.
 */
#ifndef UNWIND_ROW_H
#define UNWIND_ROW_H

#include "symbolicator/unwind/unwind.h"

enum unwind_where {
    UNWIND_UNKNOWN,
    UNWIND_SAME,     /* still in the register */
    UNWIND_AT,       /* in memory at CFA + offset */
    UNWIND_IS,       /* the value is CFA + offset; of the CFA: register + offset */
    UNWIND_REGISTER, /* in another register */
    UNWIND_AT_EXPR,  /* in memory at the address that the expression gives */
    UNWIND_IS_EXPR,  /* the value is what the expression gives; also of the CFA */
};

struct unwind_rule {
    enum unwind_where where;
    int reg;
    int64_t offset;
    struct fz_span expr; /* DWARF operations */
};

struct unwind_row {
    struct unwind_rule cfa; /* unknown: then no rule may count from it */
    struct unwind_rule pc;  /* the return address */
    struct unwind_rule registers[FZ_REGISTER_NUMBERS];
    struct unwind_rule vectors[FZ_VECTORS]; /* the low 8 bytes are what a callee saves */
    enum sym_trust trust;
};

/* What became of a row. */
enum unwind_result {
    UNWIND_OK,
    UNWIND_NO_ROW, /* the source does not know this pc */
    UNWIND_NO_MEMORY,
    UNWIND_NO_CODE, /* the return address is in no image */
    UNWIND_BAD,     /* the CFA does not grow or is not aligned */
    UNWIND_BASE,    /* the return address is 0: the thread's first function */
};

/* Bytes of a saved register: 8 for 64-bit registers, also where pointers are shorter. */
unsigned unwind_slot_size(enum fz_arch_cpu cpu);

/* The rule of a register that a function must give back as it was. */
bool unwind_is_callee_saved(enum fz_arch_cpu cpu, int number);
bool unwind_is_callee_saved_vector(enum fz_arch_cpu cpu, unsigned index);

/* A row in which all callee-saved registers are still in place. */
void unwind_row_init(struct unwind_row *row, enum fz_arch_cpu cpu, enum sym_trust trust);
/* A row of which only the CFA will be known. */
void unwind_row_init_unknown(struct unwind_row *row, enum sym_trust trust);

/* The row of a function that keeps a record of two words at the frame pointer. */
void unwind_row_init_record(struct unwind_row *row, enum fz_arch_cpu cpu);

/* The caller's frame of `frame` by the row; also sets the CFA of `frame`, if the row has one. The CFA
 * must be at least `lowest`. */
enum unwind_result unwind_row_apply(struct sym_process *process, const struct unwind_row *row,
                                    uint64_t lowest, struct sym_unwind_frame *frame,
                                    struct sym_unwind_frame *ret);

#endif
