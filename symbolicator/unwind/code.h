/*
 * Following the instructions of a function: where the frame is at each of them.
 *
 * All paths are followed from the function's start, with a state that says how far the CFA is from
 * the stack pointer and the frame pointer and where registers were saved. So prologues, epilogues
 * in the middle, shrink-wrapped code and tail calls need no pattern. follow.c has the paths, one file
 * for each processor the instructions, code.c makes rows of states.
 */
#ifndef UNWIND_CODE_H
#define UNWIND_CODE_H

#include "symbolicator/unwind/step.h"

/* Of a saved register: still in place, lost, or how far below the CFA it is (above 0). */
enum { UNWIND_IN_PLACE = 0, UNWIND_LOST = -1 };

struct unwind_state {
    bool has_sp, has_fp;
    int64_t sp, fp;            /* CFA = sp + .sp and fp + .fp */
    int32_t saved[32];         /* by the number of the register */
    int32_t saved_vectors[32]; /* their low 8 bytes */
    /* Registers that hold a copy of sp, which gives the room of an array on the stack back: CFA =
     * register + copies[register]. */
    int32_t copies[32];
    uint32_t has_copy; /* bit by register */
};

/* What is known of numbers in registers, for frames whose size is loaded first; only within a run
 * of instructions without a branch. */
struct unwind_numbers {
    uint64_t value[32];
    uint32_t known; /* bit by register */
};

enum unwind_flow {
    UNWIND_FLOW_NEXT,
    UNWIND_FLOW_CALL,     /* continues after it, if the callee returns */
    UNWIND_FLOW_BRANCH,   /* to target, or continues */
    UNWIND_FLOW_JUMP,     /* to target */
    UNWIND_FLOW_INDIRECT, /* a tail call, or a table of jumps */
    UNWIND_FLOW_END,      /* returns, or traps */
    UNWIND_FLOW_BAD,      /* not an instruction */
};

struct unwind_insn {
    enum unwind_flow flow;
    unsigned len;
    uint64_t target; /* offset from the function's start, may be far outside */
};

/* Decode the instruction at `at` and apply it to `state` and `numbers` (both NULL: only decode). */
typedef void (*unwind_decode_fn)(struct fz_span code, uint64_t at, struct unwind_state *state,
                                 struct unwind_numbers *numbers, struct unwind_insn *ret);

void unwind_decode_arm64(struct fz_span code, uint64_t at, struct unwind_state *state,
                         struct unwind_numbers *numbers, struct unwind_insn *ret);
void unwind_decode_x86_64(struct fz_span code, uint64_t at, struct unwind_state *state,
                          struct unwind_numbers *numbers, struct unwind_insn *ret);
void unwind_decode_x86(struct fz_span code, uint64_t at, struct unwind_state *state,
                       struct unwind_numbers *numbers, struct unwind_insn *ret);

/* The state before the instruction at `at`, an offset into the code of a function. False if no path
 * leads there or the code is too large. */
bool unwind_code_follow(struct fz_span code, unwind_decode_fn decode, unsigned unit,
                        const struct unwind_state *entry, uint64_t at, struct unwind_state *ret);

/* A store of `size` bytes of register `number` (-1: of another value) `below` the CFA, and a load
 * from there. */
void unwind_state_store(int32_t saved[32], int number, int64_t below);
void unwind_state_overwrite(struct unwind_state *state, int64_t below, unsigned size);
void unwind_state_load(int32_t saved[32], int number, int64_t below);
/* Register `number` (as instructions number it, below 32) now points `below` the CFA; not known:
 * something else. */
void unwind_state_copy(struct unwind_state *state, unsigned number, bool known, int64_t below);

#endif
