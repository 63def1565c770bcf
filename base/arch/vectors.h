/*
 * Vector and floating-point registers: their names and DWARF numbers.
 *
 * A processor has up to FZ_VECTORS of them: arm64 v0 to v31, armv7 d0 to d31, x86_64 xmm0 to xmm15,
 * i386 xmm0 to xmm7. Other names mean their low bytes (arm64 s, d, q, h, b), a half or a pair
 * (armv7 s and q). Numbers: "DWARF for the Arm 64-bit Architecture" (64 = v0), "DWARF for the Arm
 * Architecture" (64 = s0, 256 = d0), System V ABI of x86-64 (17 = xmm0) and i386 (21 = xmm0).
 */
#ifndef BASE_ARCH_VECTORS_H
#define BASE_ARCH_VECTORS_H

#include "base/arch/registers.h"

enum { FZ_VECTORS = 32 };

/* Bytes of a vector register; a pair goes on in the next one (q0 of armv7 is d0 and d1). */
struct fz_arch_vector {
    uint8_t index;  /* below FZ_VECTORS */
    uint8_t offset; /* of its first byte, from the lowest one */
    uint8_t size;
};

/* How many the processor has, and the bytes of each; 0 for an unknown one. */
unsigned fz_arch_vectors(enum fz_arch_cpu cpu);
unsigned fz_arch_vector_size(enum fz_arch_cpu cpu);

/* By the DWARF number; false if it is not of a vector register. */
bool fz_arch_vector_of_number(enum fz_arch_cpu cpu, unsigned number, struct fz_arch_vector *ret);
/* By any of its names ("v8", "d8", "xmm3"); false if the processor has no such register. */
bool fz_arch_vector_of_name(enum fz_arch_cpu cpu, const char *name, struct fz_arch_vector *ret);
/* "v8", "d8" (armv7), "xmm3"; NULL if there is none. Static string. */
const char *fz_arch_vector_name(enum fz_arch_cpu cpu, unsigned index);

#endif
