/*
 * The parts of an x86 instruction: prefixes, opcode, operands, length.
 *
 * Covers the general, x87, SSE, VEX and EVEX encodings. Source: "Intel 64 and IA-32 Architectures
 * Software Developer's Manual", volume 2, chapter 2 and appendix A.
 */
#ifndef UNWIND_X86_INSN_H
#define UNWIND_X86_INSN_H

#include "base/reader.h"

enum unwind_x86_map { UNWIND_X86_ONE, UNWIND_X86_0F, UNWIND_X86_0F38, UNWIND_X86_0F3A };

struct unwind_x86_insn {
    unsigned len;
    enum unwind_x86_map map;
    uint8_t opcode;
    bool is_vex;                                      /* VEX or EVEX */
    bool has_operand_16, has_address_prefix, is_wide; /* 66, 67, REX.W */
    uint8_t rex;
    bool has_modrm;
    uint8_t mod, reg, rm; /* reg and rm with their REX bits */
    bool has_sib;
    uint8_t base, index; /* of the SIB, with their REX bits */
    int64_t displacement;
    int64_t immediate; /* sign-extended; also the distance of a jump */
    unsigned immediate_size;
};

/* Decode the instruction at `at`; false if the bytes are not one or end too early. */
bool unwind_x86_decode(struct fz_span code, uint64_t at, bool is_64, struct unwind_x86_insn *ret);

#endif
