/*
 * Mach-O cpu types and their names.
 *
 * Source: Mach-O machine.h. The high byte of a subtype holds capability bits (arm64e pointer
 * authentication ABI, LIB64) and never takes part in a comparison.
 */
#ifndef BASE_ARCH_H
#define BASE_ARCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SYM_CPU_I386 = 7,
    SYM_CPU_X86_64 = 0x01000007,
    SYM_CPU_ARM = 12,
    SYM_CPU_ARM64 = 0x0100000c,
    SYM_CPU_ARM64_32 = 0x0200000c,
    SYM_CPU_PPC = 18,
    SYM_CPU_PPC64 = 0x01000012,
};

/* "arm64", "arm64e", "arm64_32", "armv6", "armv7", "armv7s", "armv7k", "i386", "x86_64", "x86_64h",
 * "ppc"...; "unknown" otherwise. Static string. */
const char *sym_arch_name(uint32_t cputype, uint32_t cpusubtype);

/* The cpu type of a name as above (also "ARM-64", "X86-64", "aarch64"). False and outputs untouched
 * if unknown. */
bool sym_arch_parse(const char *name, uint32_t *ret_cputype, uint32_t *ret_cpusubtype);

/* The number of address bytes, 4 or 8. */
unsigned sym_arch_pointer_size(uint32_t cputype);

/* True for 32-bit ARM, where bit 0 of a code address means Thumb and is no part of it. */
bool sym_arch_has_thumb(uint32_t cputype);

#endif
