/*
 * A recorded run of a small program, instruction by instruction: registers, stack, calls.
 *
 * trace.c writes it with an emulator; replay.c reads it where there is none. All numbers are
 * little-endian. Header: "FZTRACE1", u32 processor, u32 reserved, u64 lowest and highest address of
 * the stack, u64 steps. A step: u8 event (0 none, 1 call, 2 return); of a call u64 return address;
 * u8 n and n registers (u8 number, u64 value) that changed; u16 n and n words of the stack (u32
 * offset in words of 8 bytes, u64 value) that changed. Number 64 + i is the low half of vector i.
 */
#ifndef UNWIND_TRACE_H
#define UNWIND_TRACE_H

#include "base/arch/vectors.h"

enum { TRACE_NONE, TRACE_CALL, TRACE_RETURN };
enum { TRACE_NUMBERS = 96, TRACE_VECTOR = 64, TRACE_HEADER = 40 };

#endif
