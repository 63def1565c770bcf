/*
 * Unwinding: from the registers and the stack of a thread to its chain of calls, with the registers
 * of each frame.
 *
 * Sources of a frame at a call, in this order: __debug_frame of the dSYM (an FDE counts only if it
 * starts where its function does), __unwind_info of the binary, its __eh_frame, __eh_frame of the
 * dSYM, the code of the function, the frame pointer chain. The first frame, and one that a signal
 * interrupted, may be in a prologue or epilogue: there the code comes first, and without it the
 * tables are checked against lr, DW_AT_frame_base and the frame record. The first source that
 * leads to a caller counts. The stack is never scanned for addresses that look like code.
 */
#ifndef SYM_UNWIND_UNWIND_H
#define SYM_UNWIND_UNWIND_H

#include "symbolicator/process/process.h"

enum { SYM_UNWIND_FRAMES_MAX = 512 };

/* How a frame was found. */
enum sym_trust {
    SYM_TRUST_CONTEXT,       /* the thread's registers, or those that a signal interrupted */
    SYM_TRUST_CFI,           /* __debug_frame, __eh_frame */
    SYM_TRUST_COMPACT,       /* __unwind_info, or the code of the binary */
    SYM_TRUST_FRAME_POINTER, /* a frame record */
    SYM_TRUST_LINK_REGISTER, /* lr of a function that saved nothing yet */
};

/* Why the chain ends. */
enum sym_unwind_end {
    SYM_UNWIND_END_BASE,       /* the thread's first function */
    SYM_UNWIND_END_NO_MEMORY,  /* the next record was not captured */
    SYM_UNWIND_END_NO_CODE,    /* the return address is in no image */
    SYM_UNWIND_END_BAD_RECORD, /* sp does not grow, fp is not aligned, a frame repeats */
    SYM_UNWIND_END_LIMIT,
};

struct sym_unwind_frame {
    uint64_t pc;    /* without signature and Thumb bit */
    bool is_return; /* pc is a return address: look up pc - 1 */
    enum sym_trust trust;
    int image; /* of the process, -1 = none */
    bool has_cfa;
    uint64_t cfa; /* canonical frame address: sp before the call; without has_cfa, where the record
                     that led to the caller ends, 0 = there was none */
    /* At pc. Of a caller: what the callee saved, and what it must not change and had not yet. */
    struct sym_registers registers;
};

struct sym_unwind_chain {
    struct sym_unwind_frame *frames; /* newest first, at least one */
    size_t n;
    enum sym_unwind_end end;
};

/* Unwind one thread. Memory is the arena's: about 1.2 KB for a frame. MALFORMED: the registers have no
 * pc. LIMIT, NO_MEMORY: the arena. Everything else ends the chain. `max`: frames at most. */
FZ_MUST_CHECK enum fz_code sym_unwind(struct sym_process *process,
                                      const struct sym_registers *registers, size_t max,
                                      struct fz_arena *arena, struct sym_unwind_chain *ret,
                                      struct fz_error *err);

#endif
