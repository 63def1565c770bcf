/*
 * Architectures: Mach-O cpu types, their names, and the other spellings that reports and tools use.
 *
 * Source: Mach-O machine.h. The high byte of a subtype holds capability bits (arm64e pointer
 * authentication ABI, LIB64) and never takes part in a comparison. All names are static strings.
 */
#ifndef BASE_ARCH_ARCH_H
#define BASE_ARCH_ARCH_H

#include "base/span.h"

enum {
    FZ_ARCH_I386 = 7,
    FZ_ARCH_X86_64 = 0x01000007,
    FZ_ARCH_ARM = 12,
    FZ_ARCH_ARM64 = 0x0100000c,
    FZ_ARCH_ARM64_32 = 0x0200000c,
    FZ_ARCH_PPC = 18,
    FZ_ARCH_PPC64 = 0x01000012,
};

/* "arm64", "arm64e", "arm64_32", "armv6", "armv7", "armv7s", "armv7k", "i386", "x86_64", "x86_64h",
 * "ppc"...; "unknown" otherwise. */
const char *fz_arch_name(uint32_t cputype, uint32_t cpusubtype);
/* The same, NULL if the type has no name. */
const char *fz_arch_known_name(uint32_t cputype, uint32_t cpusubtype);

/* Is the word such a name, exactly? */
bool fz_arch_is_name(struct fz_span word);

/* The cpu type of a name as above, in capitals or not, or of another spelling ("ARM-64", "X86-64",
 * "aarch64", "amd64", "i686"). False and outputs untouched if it is unknown. */
bool fz_arch_parse(const char *name, uint32_t *ret_cputype, uint32_t *ret_cpusubtype);
/* The name above for another spelling of it; NULL if it is unknown. */
const char *fz_arch_canonical(const char *name);
/* What Apple's reports call "Code Type": "arm64" for "ARM-64 (Native)"; NULL for other words. */
const char *fz_arch_of_code_type(struct fz_span code_type);
/* Is it a name of any ARM processor? False for NULL. */
bool fz_arch_is_arm(const char *name);

/* The number of address bytes, 4 or 8. */
unsigned fz_arch_pointer_size(uint32_t cputype);

/* True for 32-bit ARM, where bit 0 of a code address means Thumb and is not part of it. */
bool fz_arch_has_thumb(uint32_t cputype);

#endif
