/*
 * Frames for the tests of variables: DWARF written as text, registers, memory, and a caller.
 *
 * The unit is of C (language 0xc) with code at 0x1000 to 0x2000 of the file; the process has it
 * 0x100000 higher. Types at fixed offsets of the unit: 19 int, 20 char, 28 float, 31 long, 39
 * double, 43 char *, 48 unsigned char, 59 unsigned, 65 bool; more follow at 6d. The function f is
 * at 0x1100 to 0x1200 with x29 as its frame base.
 */
#ifndef VARIABLES_CASE_H
#define VARIABLES_CASE_H

#include "base/buffer.h"
#include "symbolicator/variables/variables.h"
#include "tests/unit/dwarf_text.h"

enum { CASE_REGIONS = 8, CASE_REGISTERS = 8, CASE_SLIDE = 0x100000, CASE_STACK = 0x7000 };

struct variables_case {
    const char *types; /* DIEs after the types above; NULL = none */
    const char *body;  /* DIEs inside of f */
    const char *after; /* DIEs after f; NULL = none */
    const char *loc, *loclists, *addr, *str_offsets;
    bool is_v5;
    unsigned language;    /* DW_LANG_*; 0 = C99 */
    enum fz_arch_cpu cpu; /* 0 = arm64; of 32 bits, the types are 4 bytes earlier */
    bool is_exact;        /* the first frame has a CFA, CASE_STACK + 0x30 */
    uint64_t pc;          /* in the file; 0 = 0x1180 */
    bool is_return;
    uint64_t caller_pc; /* in the file, a return address; 0 = no caller */
    const char *stack;  /* bytes at CASE_STACK, as text */
    const char *memory; /* bytes at 0x9000, as text */
    struct sym_variables_limits limits;
};

/* What sym_variables_at() finds in the first frame, a line for each variable:
 * "name kind availability = value (fields)". x0 is 5, x19 is 7 + 2^32, x29 is CASE_STACK + 0x10,
 * v8 has the double 2.5, v0 all ones; x1 is not known. Of another processor, register 0 is 5, the
 * frame pointer and sp are the same, and so is vector 8. In the caller x19 is 99, x20 is 0x9000. */
void variables_case_run(const struct variables_case *one, struct fz_buffer *out);

#endif
