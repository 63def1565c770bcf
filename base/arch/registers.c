#include "base/arch/registers.h"

#include <string.h>

#include "base/attr.h"

struct row {
    uint8_t number;
    const char *name, *other; /* other: as some reporters spell it */
};

/* clang-format off */
static const struct row arm64[] = {
    {0, "x0", NULL}, {1, "x1", NULL}, {2, "x2", NULL}, {3, "x3", NULL}, {4, "x4", NULL},
    {5, "x5", NULL}, {6, "x6", NULL}, {7, "x7", NULL}, {8, "x8", NULL}, {9, "x9", NULL},
    {10, "x10", NULL}, {11, "x11", NULL}, {12, "x12", NULL}, {13, "x13", NULL}, {14, "x14", NULL},
    {15, "x15", NULL}, {16, "x16", NULL}, {17, "x17", NULL}, {18, "x18", NULL}, {19, "x19", NULL},
    {20, "x20", NULL}, {21, "x21", NULL}, {22, "x22", NULL}, {23, "x23", NULL}, {24, "x24", NULL},
    {25, "x25", NULL}, {26, "x26", NULL}, {27, "x27", NULL}, {28, "x28", NULL},
    {FZ_ARM64_FP, "fp", "x29"}, {FZ_ARM64_LR, "lr", "x30"}, {FZ_ARM64_SP, "sp", NULL},
    {FZ_ARM64_PC, "pc", NULL}, {FZ_ARM64_CPSR, "cpsr", NULL}, {FZ_ARM64_FAR, "far", NULL},
    {FZ_ARM64_ESR, "esr", NULL},
};
static const struct row arm[] = {
    {0, "r0", NULL}, {1, "r1", NULL}, {2, "r2", NULL}, {3, "r3", NULL}, {4, "r4", NULL},
    {5, "r5", NULL}, {6, "r6", NULL}, {7, "r7", NULL}, {8, "r8", NULL}, {9, "r9", NULL},
    {10, "r10", NULL}, {11, "r11", NULL}, {FZ_ARM_IP, "ip", "r12"}, {FZ_ARM_SP, "sp", "r13"},
    {FZ_ARM_LR, "lr", "r14"}, {FZ_ARM_PC, "pc", "r15"}, {FZ_ARM_CPSR, "cpsr", NULL},
};
static const struct row x86_64[] = {
    {FZ_X86_64_RAX, "rax", NULL}, {FZ_X86_64_RDX, "rdx", NULL}, {FZ_X86_64_RCX, "rcx", NULL},
    {FZ_X86_64_RBX, "rbx", NULL}, {FZ_X86_64_RSI, "rsi", NULL}, {FZ_X86_64_RDI, "rdi", NULL},
    {FZ_X86_64_RBP, "rbp", NULL}, {FZ_X86_64_RSP, "rsp", NULL}, {8, "r8", NULL}, {9, "r9", NULL},
    {10, "r10", NULL}, {11, "r11", NULL}, {12, "r12", NULL}, {13, "r13", NULL}, {14, "r14", NULL},
    {15, "r15", NULL}, {FZ_X86_64_RIP, "rip", NULL}, {FZ_X86_64_RFLAGS, "rflags", "rfl"},
    {FZ_X86_64_ES, "es", NULL}, {FZ_X86_64_CS, "cs", NULL}, {FZ_X86_64_SS, "ss", NULL},
    {FZ_X86_64_DS, "ds", NULL}, {FZ_X86_64_FS, "fs", NULL}, {FZ_X86_64_GS, "gs", NULL},
    {FZ_X86_64_CR2, "cr2", NULL},
};
static const struct row x86[] = {
    {FZ_X86_EAX, "eax", NULL}, {FZ_X86_ECX, "ecx", NULL}, {FZ_X86_EDX, "edx", NULL},
    {FZ_X86_EBX, "ebx", NULL}, {FZ_X86_ESP, "esp", NULL}, {FZ_X86_EBP, "ebp", NULL},
    {FZ_X86_ESI, "esi", NULL}, {FZ_X86_EDI, "edi", NULL}, {FZ_X86_EIP, "eip", NULL},
    {FZ_X86_EFLAGS, "eflags", "efl"}, {FZ_X86_ES, "es", NULL}, {FZ_X86_CS, "cs", NULL},
    {FZ_X86_SS, "ss", NULL}, {FZ_X86_DS, "ds", NULL}, {FZ_X86_FS, "fs", NULL},
    {FZ_X86_GS, "gs", NULL}, {FZ_X86_CR2, "cr2", NULL},
};
/* clang-format on */

static const struct {
    const char *arch; /* that the names of its architectures begin with */
    const struct row *rows;
    size_t n;
    unsigned pointer_bits;
    int roles[4]; /* by enum fz_arch_register_role */
} cpus[] = {
    /* arm64 before arm, x86_64 before x86: the first prefix that fits counts. */
    [FZ_CPU_UNKNOWN] = {NULL, NULL, 0, 64, {-1, -1, -1, -1}},
    [FZ_CPU_ARM64] = {"arm64",
                      arm64,
                      FZ_ARRAY_LEN(arm64),
                      64,
                      {FZ_ARM64_PC, FZ_ARM64_SP, FZ_ARM64_FP, FZ_ARM64_LR}},
    [FZ_CPU_ARM] =
        {"arm", arm, FZ_ARRAY_LEN(arm), 32, {FZ_ARM_PC, FZ_ARM_SP, FZ_ARM_R7, FZ_ARM_LR}},
    [FZ_CPU_X86_64] = {"x86_64",
                       x86_64,
                       FZ_ARRAY_LEN(x86_64),
                       64,
                       {FZ_X86_64_RIP, FZ_X86_64_RSP, FZ_X86_64_RBP, FZ_NO_REGISTER}},
    [FZ_CPU_X86] =
        {"i386", x86, FZ_ARRAY_LEN(x86), 32, {FZ_X86_EIP, FZ_X86_ESP, FZ_X86_EBP, FZ_NO_REGISTER}},
};

enum fz_arch_cpu
fz_arch_cpu(const char *arch)
{
    for (size_t i = FZ_CPU_ARM64; arch && i < FZ_ARRAY_LEN(cpus); i++) {
        if (strncmp(arch, cpus[i].arch, strlen(cpus[i].arch)) == 0)
            return (enum fz_arch_cpu)i;
    }
    return FZ_CPU_UNKNOWN;
}

enum fz_arch_cpu
fz_arch_cpu_of_register(const char *name)
{
    enum fz_arch_cpu found = FZ_CPU_UNKNOWN;
    for (size_t i = FZ_CPU_ARM64; i < FZ_ARRAY_LEN(cpus); i++) {
        if (fz_arch_register_number((enum fz_arch_cpu)i, name) == FZ_NO_REGISTER)
            continue;
        /* Several processors have a register of this name. */
        if (found != FZ_CPU_UNKNOWN)
            return FZ_CPU_UNKNOWN;
        found = (enum fz_arch_cpu)i;
    }
    return found;
}

unsigned
fz_arch_pointer_bits(enum fz_arch_cpu cpu)
{
    return cpus[cpu].pointer_bits;
}

const char *
fz_arch_register_name(enum fz_arch_cpu cpu, unsigned number)
{
    for (size_t i = 0; i < cpus[cpu].n; i++) {
        if (cpus[cpu].rows[i].number == number)
            return cpus[cpu].rows[i].name;
    }
    return NULL;
}

int
fz_arch_register_number(enum fz_arch_cpu cpu, const char *name)
{
    for (size_t i = 0; i < cpus[cpu].n; i++) {
        const struct row *row = &cpus[cpu].rows[i];
        if (strcmp(name, row->name) == 0 || (row->other && strcmp(name, row->other) == 0))
            return row->number;
    }
    return FZ_NO_REGISTER;
}

int
fz_arch_register_of_role(enum fz_arch_cpu cpu, enum fz_arch_register_role role)
{
    return cpus[cpu].roles[role];
}

bool
fz_arch_register_has_role(const char *name, enum fz_arch_register_role role)
{
    for (size_t i = FZ_CPU_ARM64; i < FZ_ARRAY_LEN(cpus); i++) {
        int number = cpus[i].roles[role];
        const char *own =
            number < 0 ? NULL : fz_arch_register_name((enum fz_arch_cpu)i, (unsigned)number);
        /* pc, sp and lr are named alike on several processors. */
        if (own && strcmp(own, name) == 0)
            return true;
    }
    return false;
}
