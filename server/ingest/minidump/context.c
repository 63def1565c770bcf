/*
 * Thread contexts: the processors' records of registers, as in Breakpad's minidump_cpu_*.h.
 *
 *   ARM     4 + 4 * number: r0 to r15, cpsr
 *   ARM64   8 + 8 * number: x0 to x28, fp, lr, sp, pc; cpsr depends on the writer
 *
 * The vector registers follow in a save area of their own. Breakpad's writer for macOS says that the
 * area is there, but leaves it zero: an area of zeros counts as not captured.
 */
#include "server/ingest/minidump/minidump.h"

struct place {
    uint16_t number, offset, size;
};

static const struct place amd64[] = {
    {FZ_X86_64_RAX, 120, 8},
    {FZ_X86_64_RBX, 144, 8},
    {FZ_X86_64_RCX, 128, 8},
    {FZ_X86_64_RDX, 136, 8},
    {FZ_X86_64_RDI, 176, 8},
    {FZ_X86_64_RSI, 168, 8},
    {FZ_X86_64_RBP, 160, 8},
    {FZ_X86_64_RSP, 152, 8},
    {8, 184, 8},
    {9, 192, 8},
    {10, 200, 8},
    {11, 208, 8},
    {12, 216, 8},
    {13, 224, 8},
    {14, 232, 8},
    {15, 240, 8},
    {FZ_X86_64_RIP, 248, 8},
    {FZ_X86_64_RFLAGS, 68, 4},
    {FZ_X86_64_CS, 56, 2},
    {FZ_X86_64_FS, 62, 2},
    {FZ_X86_64_GS, 64, 2},
};

static const struct place x86[] = {
    {FZ_X86_EAX, 176, 4}, {FZ_X86_EBX, 164, 4},    {FZ_X86_ECX, 172, 4}, {FZ_X86_EDX, 168, 4},
    {FZ_X86_EDI, 156, 4}, {FZ_X86_ESI, 160, 4},    {FZ_X86_EBP, 180, 4}, {FZ_X86_ESP, 196, 4},
    {FZ_X86_SS, 200, 4},  {FZ_X86_EFLAGS, 192, 4}, {FZ_X86_EIP, 184, 4}, {FZ_X86_CS, 188, 4},
    {FZ_X86_DS, 152, 4},  {FZ_X86_ES, 148, 4},     {FZ_X86_FS, 144, 4},  {FZ_X86_GS, 140, 4},
};

static const size_t n_places[] = {
    [FZ_CPU_ARM64] = FZ_ARM64_PC + 1,
    [FZ_CPU_ARM] = FZ_ARM_CPSR + 1,
    [FZ_CPU_X86_64] = FZ_ARRAY_LEN(amd64),
    [FZ_CPU_X86] = FZ_ARRAY_LEN(x86),
};

static struct place
place_of(enum fz_arch_cpu cpu, size_t i)
{
    if (cpu == FZ_CPU_ARM64)
        return (struct place){(uint16_t)i, (uint16_t)(8 + 8 * i), 8};
    if (cpu == FZ_CPU_ARM)
        return (struct place){(uint16_t)i, (uint16_t)(4 + 4 * i), 4};
    return cpu == FZ_CPU_X86_64 ? amd64[i] : x86[i];
}

static uint64_t
read_at(struct fz_reader *r, size_t offset, unsigned size)
{
    fz_read_seek(r, offset);
    return fz_read_uint(r, size);
}

uint64_t
minidump_register(const struct minidump *m, const struct minidump_thread *thread,
                  enum fz_arch_register_role role)
{
    const struct report_register *reg = report_find_register(m->b.report, thread->report, role);
    return reg ? reg->value : 0;
}

/* Where the vectors are, by the processor: those of x86 are in the form of its FXSAVE instruction. */
struct vectors_place {
    uint16_t flag;        /* of the context's flags: the area is there */
    uint16_t flags;       /* offset of those flags */
    uint16_t area, size;  /* the save area, with the control registers */
    uint16_t first, each; /* offset and size of a vector */
};

static struct vectors_place
vectors_of(enum fz_arch_cpu cpu, bool is_old)
{
    static const struct vectors_place places[] = {
        [FZ_CPU_UNKNOWN] = {0},
        [FZ_CPU_ARM64] = {4, 0, 272, 520, 272, 16},
        [FZ_CPU_ARM] = {4, 0, 72, 264, 80, 8},
        [FZ_CPU_X86_64] = {8, 48, 256, 512, 256 + 160, 16},
        [FZ_CPU_X86] = {0x20, 0, 204, 512, 204 + 160, 16},
    };
    static const struct vectors_place old_arm64 = {4, 0, 276, 520, 284, 16};
    return is_old ? old_arm64 : places[cpu];
}

static bool
is_zero(struct fz_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.data[i])
            return false;
    }
    return true;
}

/* Without them, as where the context ends before, the thread has its general registers alone. */
static void
read_vectors(struct minidump *m, struct fz_reader r, bool is_old, struct report_thread *thread)
{
    struct vectors_place place = vectors_of(m->cpu, is_old);
    unsigned n = fz_arch_vectors(m->cpu);
    bool is_there = (read_at(&r, place.flags, 4) & place.flag) != 0;
    fz_read_seek(&r, place.area);
    struct fz_span area = fz_read_bytes(&r, place.size);
    if (!is_there || r.failed || is_zero(area))
        return;
    struct report_vector *vectors = ingest_alloc(&m->b, n, sizeof(*vectors));
    for (unsigned i = 0; vectors && i < n; i++) {
        fz_read_seek(&r, place.first + (size_t)place.each * i);
        struct fz_span bytes = fz_read_bytes(&r, place.each);
        vectors[i] = (struct report_vector){.index = (uint8_t)i, .size = (uint8_t)bytes.len};
        if (bytes.len)
            memcpy(vectors[i].bytes, bytes.data, bytes.len);
    }
    thread->vectors = vectors;
    thread->n_vectors = vectors ? n : 0;
}

bool
minidump_context(struct minidump *m, struct minidump_place place, struct minidump_thread *ret)
{
    /* Breakpad's first arm64 context has 64 bits of flags, and cpsr after pc; Microsoft's, which
     * Breakpad and Crashpad write since 2019, has cpsr in the upper half of those. */
    static const uint64_t ARM64_OLD = 0x80000000;
    enum { CPSR_OLD = 272, CPSR_NEW = 4 };
    if (m->cpu == FZ_CPU_UNKNOWN || place.size == 0)
        return false;
    struct fz_reader r = minidump_reader(m, place);
    size_t n = n_places[m->cpu];
    struct report_register *registers =
        ingest_alloc(&m->b, n + (m->cpu == FZ_CPU_ARM64), sizeof(*registers));
    if (!registers)
        return false;
    for (size_t i = 0; i < n; i++) {
        /* In the order in which Apple lists registers, not in that of the record. */
        struct place p = place_of(m->cpu, i);
        registers[i] =
            (struct report_register){.value = read_at(&r, p.offset, p.size), .number = p.number};
    }
    bool old = false;
    if (m->cpu == FZ_CPU_ARM64) {
        /* The flag is in another place of the word, so it says which of both records this is. */
        old = (read_at(&r, 0, 4) & ARM64_OLD) != 0;
        registers[n++] = (struct report_register){
            .value = read_at(&r, old ? CPSR_OLD : CPSR_NEW, 4), .number = FZ_ARM64_CPSR};
    }
    /* A part of the registers would lead to a wrong stack. */
    if (r.failed)
        return false;
    ret->report->registers = registers;
    ret->report->n_registers = n;
    read_vectors(m, minidump_reader(m, place), old, ret->report);
    ret->has_context = true;
    return true;
}
