/*
 * Registers by number: their names, and which of them is the pc, the stack pointer and so on.
 *
 * The numbers are DWARF's ("DWARF for the Arm 64-bit Architecture", System V ABI of x86-64 and
 * i386), so that unwinding can use them; registers that DWARF does not number are above 63. All
 * names are static strings.
 */
#ifndef BASE_ARCH_REGISTERS_H
#define BASE_ARCH_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Processors that differ in their registers; an architecture of arch.h is one of them. */
enum fz_arch_cpu { FZ_CPU_UNKNOWN, FZ_CPU_ARM64, FZ_CPU_ARM, FZ_CPU_X86_64, FZ_CPU_X86 };

enum { FZ_NO_REGISTER = -1, FZ_REGISTER_NUMBERS = 66 }; /* all numbers are below the second */

/* x0 to x28 are 0 to 28. */
enum {
    FZ_ARM64_FP = 29,
    FZ_ARM64_LR,
    FZ_ARM64_SP,
    FZ_ARM64_PC,
    FZ_ARM64_CPSR,
    FZ_ARM64_FAR = 64,
    FZ_ARM64_ESR,
};

/* r0 to r11 are 0 to 11; r7 is the frame pointer on Apple's systems. */
enum { FZ_ARM_R7 = 7, FZ_ARM_IP = 12, FZ_ARM_SP, FZ_ARM_LR, FZ_ARM_PC, FZ_ARM_CPSR };

/* r8 to r15 are 8 to 15. */
enum {
    FZ_X86_64_RAX,
    FZ_X86_64_RDX,
    FZ_X86_64_RCX,
    FZ_X86_64_RBX,
    FZ_X86_64_RSI,
    FZ_X86_64_RDI,
    FZ_X86_64_RBP,
    FZ_X86_64_RSP,
    FZ_X86_64_RIP = 16,
    FZ_X86_64_RFLAGS = 49,
    FZ_X86_64_ES,
    FZ_X86_64_CS,
    FZ_X86_64_SS,
    FZ_X86_64_DS,
    FZ_X86_64_FS,
    FZ_X86_64_GS,
    FZ_X86_64_CR2 = 64,
};

enum {
    FZ_X86_EAX,
    FZ_X86_ECX,
    FZ_X86_EDX,
    FZ_X86_EBX,
    FZ_X86_ESP,
    FZ_X86_EBP,
    FZ_X86_ESI,
    FZ_X86_EDI,
    FZ_X86_EIP,
    FZ_X86_EFLAGS,
    FZ_X86_ES = 40,
    FZ_X86_CS,
    FZ_X86_SS,
    FZ_X86_DS,
    FZ_X86_FS,
    FZ_X86_GS,
    FZ_X86_CR2 = 64,
};

enum fz_arch_register_role { FZ_REGISTER_PC, FZ_REGISTER_SP, FZ_REGISTER_FP, FZ_REGISTER_LR };

/* By the name of an architecture ("arm64e"); NULL and others are unknown. */
enum fz_arch_cpu fz_arch_cpu(const char *arch);
/* The processor that alone has a register of this name; unknown if several or none have. */
enum fz_arch_cpu fz_arch_cpu_of_register(const char *name);
/* 32 or 64; 64 for an unknown one. */
unsigned fz_arch_pointer_bits(enum fz_arch_cpu cpu);

/* "x0", "fp", "rip"; NULL if the processor has no such register. */
const char *fz_arch_register_name(enum fz_arch_cpu cpu, unsigned number);
/* The number of a name as above, or of another spelling ("x29", "rfl"); FZ_NO_REGISTER if it is
 * not a register. */
int fz_arch_register_number(enum fz_arch_cpu cpu, const char *name);
/* Which register has the role; FZ_NO_REGISTER if none has (x86 has no link register). */
int fz_arch_register_of_role(enum fz_arch_cpu cpu, enum fz_arch_register_role role);
/* Does the name (as fz_arch_register_name() spells it) have the role on any processor? For reports
 * that do not say what they ran on. */
bool fz_arch_register_has_role(const char *name, enum fz_arch_register_role role);

#endif
