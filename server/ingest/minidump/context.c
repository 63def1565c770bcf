/* Thread contexts: the processors' records of registers, as Breakpad's minidump_cpu_*.h has them.
 */
#include "server/ingest/minidump/minidump.h"

struct place {
    const char *name;
    uint16_t offset, size;
};

static const struct place amd64[] = {
    {"rax", 120, 8}, {"rbx", 144, 8}, {"rcx", 128, 8},   {"rdx", 136, 8}, {"rdi", 176, 8},
    {"rsi", 168, 8}, {"rbp", 160, 8}, {"rsp", 152, 8},   {"r8", 184, 8},  {"r9", 192, 8},
    {"r10", 200, 8}, {"r11", 208, 8}, {"r12", 216, 8},   {"r13", 224, 8}, {"r14", 232, 8},
    {"r15", 240, 8}, {"rip", 248, 8}, {"rflags", 68, 4}, {"cs", 56, 2},   {"fs", 62, 2},
    {"gs", 64, 2},
};

static const struct place x86[] = {
    {"eax", 176, 4}, {"ebx", 164, 4},    {"ecx", 172, 4}, {"edx", 168, 4},
    {"edi", 156, 4}, {"esi", 160, 4},    {"ebp", 180, 4}, {"esp", 196, 4},
    {"ss", 200, 4},  {"eflags", 192, 4}, {"eip", 184, 4}, {"cs", 188, 4},
    {"ds", 152, 4},  {"es", 148, 4},     {"fs", 144, 4},  {"gs", 140, 4},
};

static const struct place arm[] = {
    {"r0", 4, 4},  {"r1", 8, 4},  {"r2", 12, 4}, {"r3", 16, 4}, {"r4", 20, 4},   {"r5", 24, 4},
    {"r6", 28, 4}, {"r7", 32, 4}, {"r8", 36, 4}, {"r9", 40, 4}, {"r10", 44, 4},  {"r11", 48, 4},
    {"ip", 52, 4}, {"sp", 56, 4}, {"lr", 60, 4}, {"pc", 64, 4}, {"cpsr", 68, 4},
};

/* Without cpsr, the only register here whose place differs between the two layouts. */
static const struct place arm64[] = {
    {"x0", 8, 8},    {"x1", 16, 8},   {"x2", 24, 8},   {"x3", 32, 8},   {"x4", 40, 8},
    {"x5", 48, 8},   {"x6", 56, 8},   {"x7", 64, 8},   {"x8", 72, 8},   {"x9", 80, 8},
    {"x10", 88, 8},  {"x11", 96, 8},  {"x12", 104, 8}, {"x13", 112, 8}, {"x14", 120, 8},
    {"x15", 128, 8}, {"x16", 136, 8}, {"x17", 144, 8}, {"x18", 152, 8}, {"x19", 160, 8},
    {"x20", 168, 8}, {"x21", 176, 8}, {"x22", 184, 8}, {"x23", 192, 8}, {"x24", 200, 8},
    {"x25", 208, 8}, {"x26", 216, 8}, {"x27", 224, 8}, {"x28", 232, 8}, {"fp", 240, 8},
    {"lr", 248, 8},  {"sp", 256, 8},  {"pc", 264, 8},
};

static const struct {
    const struct place *places;
    size_t n;
    const char *pc, *sp, *fp, *lr;
} layouts[] = {
    [MINIDUMP_X86] = {x86, FZ_ARRAY_LEN(x86), "eip", "esp", "ebp", NULL},
    [MINIDUMP_ARM] = {arm, FZ_ARRAY_LEN(arm), "pc", "sp", "r7", "lr"},
    [MINIDUMP_AMD64] = {amd64, FZ_ARRAY_LEN(amd64), "rip", "rsp", "rbp", NULL},
    [MINIDUMP_ARM64] = {arm64, FZ_ARRAY_LEN(arm64), "pc", "sp", "fp", "lr"},
};

static uint64_t
read_at(struct fz_reader *r, size_t offset, unsigned size)
{
    fz_read_seek(r, offset);
    return fz_read_uint(r, size);
}

static uint64_t
value_of(const struct report_register *registers, size_t n, const char *name)
{
    for (size_t i = 0; name && i < n; i++) {
        if (strcmp(registers[i].name, name) == 0)
            return registers[i].value;
    }
    return 0;
}

bool
minidump_context(struct minidump *m, struct minidump_place place, struct minidump_thread *ret)
{
    /* Breakpad's first arm64 context has 64 bits of flags, and cpsr after pc; Microsoft's, which
     * Breakpad and Crashpad write since 2019, has cpsr in the upper half of those. */
    static const uint64_t ARM64_OLD = 0x80000000;
    enum { CPSR_OLD = 272, CPSR_NEW = 4 };
    if (m->cpu == MINIDUMP_NO_CPU || place.size == 0)
        return false;
    struct fz_reader r = minidump_reader(m, place);
    size_t n = layouts[m->cpu].n;
    struct report_register *registers =
        ingest_alloc(&m->b, n + (m->cpu == MINIDUMP_ARM64), sizeof(*registers));
    if (!registers)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct place *p = &layouts[m->cpu].places[i];
        registers[i] = (struct report_register){p->name, read_at(&r, p->offset, p->size)};
    }
    if (m->cpu == MINIDUMP_ARM64) {
        bool old = (read_at(&r, 0, 4) & ARM64_OLD) != 0;
        registers[n++] =
            (struct report_register){"cpsr", read_at(&r, old ? CPSR_OLD : CPSR_NEW, 4)};
    }
    if (r.failed)
        return false;
    ret->report->registers = registers;
    ret->report->n_registers = n;
    ret->pc = value_of(registers, n, layouts[m->cpu].pc);
    ret->sp = value_of(registers, n, layouts[m->cpu].sp);
    ret->fp = value_of(registers, n, layouts[m->cpu].fp);
    ret->lr = value_of(registers, n, layouts[m->cpu].lr);
    ret->has_context = true;
    return true;
}
