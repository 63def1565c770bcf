#include "symbolicator/unwind/encoding.h"

enum { MODE = 0x0f000000 };

static struct unwind_rule
at(int64_t offset)
{
    return (struct unwind_rule){.where = UNWIND_AT, .offset = offset};
}

static struct unwind_rule
is(int reg, int64_t offset)
{
    return (struct unwind_rule){.where = UNWIND_IS, .reg = reg, .offset = offset};
}

/* Pairs of saved registers one below the other, the first below CFA + `offset`. */
static void
save_pairs_arm64(uint32_t encoding, int64_t offset, struct unwind_row *row)
{
    for (int i = 0; i < 5; i++) {
        if (!(encoding & 1u << i))
            continue;
        row->registers[19 + 2 * i] = at(offset -= 8);
        row->registers[20 + 2 * i] = at(offset -= 8);
    }
    for (unsigned i = 0; i < 4; i++) {
        if (!(encoding & 0x100u << i))
            continue;
        row->vectors[8 + 2 * i] = at(offset -= 8);
        row->vectors[9 + 2 * i] = at(offset -= 8);
    }
}

bool
unwind_encoding_arm64(uint32_t encoding, struct unwind_row *ret)
{
    enum { FRAMELESS = 0x02000000, FRAME = 0x04000000 };
    unwind_row_init(ret, FZ_CPU_ARM64, SYM_TRUST_COMPACT);
    switch (encoding & MODE) {
    case FRAME:
        ret->cfa = is(FZ_ARM64_FP, 16);
        ret->pc = at(-8);
        ret->registers[FZ_ARM64_FP] = at(-16);
        save_pairs_arm64(encoding, -16, ret);
        return true;
    case FRAMELESS:
        ret->cfa = is(FZ_ARM64_SP, (int64_t)(encoding >> 12 & 0xfff) * 16);
        ret->pc.where = UNWIND_SAME;
        save_pairs_arm64(encoding, 0, ret);
        return true;
    default:
        return false;
    }
}

bool
unwind_encoding_arm(uint32_t encoding, struct unwind_row *ret)
{
    enum { FRAME = 0x01000000, FRAME_D = 0x02000000 };
    /* Below the frame record: the first push, then the second. */
    static const struct {
        uint8_t bit, reg;
    } saved[] = {{0x04, 6},  {0x02, 5},  {0x01, 4}, {0x80, 12},
                 {0x40, 11}, {0x20, 10}, {0x10, 9}, {0x08, 8}};
    uint32_t mode = encoding & MODE;
    if (mode != FRAME && mode != FRAME_D)
        return false;
    unwind_row_init(ret, FZ_CPU_ARM, SYM_TRUST_COMPACT);
    int64_t adjust = (int64_t)(encoding >> 22 & 3) * 4; /* of variadic functions */
    ret->cfa = is(FZ_ARM_R7, 8 + adjust);
    ret->pc = at(-adjust - 4);
    ret->registers[FZ_ARM_R7] = at(-adjust - 8);
    int64_t offset = -adjust - 8;
    for (size_t i = 0; i < FZ_ARRAY_LEN(saved); i++) {
        if (encoding & saved[i].bit)
            ret->registers[saved[i].reg] = at(offset -= 4);
    }
    /* Where the double registers are depends on the frame's alignment. */
    for (unsigned i = 8; mode == FRAME_D && i <= 15; i++)
        ret->vectors[i].where = UNWIND_UNKNOWN;
    return true;
}

static int
register_x86(enum fz_arch_cpu cpu, unsigned number)
{
    static const int of_64[] = {-1, FZ_X86_64_RBX, 12, 13, 14, 15, FZ_X86_64_RBP};
    static const int of_32[] = {-1,         FZ_X86_EBX, FZ_X86_ECX, FZ_X86_EDX,
                                FZ_X86_EDI, FZ_X86_ESI, FZ_X86_EBP};
    return number > 6 ? -1 : cpu == FZ_CPU_X86_64 ? of_64[number] : of_32[number];
}

static void
frame_x86(enum fz_arch_cpu cpu, uint32_t encoding, struct unwind_row *row)
{
    int64_t word = unwind_slot_size(cpu), offset = (int64_t)(encoding >> 16 & 0xff);
    int fp = fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    row->cfa = is(fp, 2 * word);
    row->pc = at(-word);
    row->registers[fp] = at(-2 * word);
    for (int i = 0; i < 5; i++) {
        int number = register_x86(cpu, encoding >> (3 * i) & 7);
        if (number >= 0)
            row->registers[number] = at(-2 * word - word * offset + word * i);
    }
}

bool
unwind_encoding_permutation(uint32_t permutation, unsigned n, uint8_t ret[6])
{
    bool used[7] = {false};
    if (n > 6)
        return false;
    for (unsigned i = 0; i < n; i++) {
        uint32_t divisor = 1;
        for (unsigned k = i + 1; k < n; k++)
            divisor *= 6 - k;
        uint32_t left = permutation / divisor;
        permutation %= divisor;
        /* Of the registers that are still free, the one with this number. */
        unsigned number = 1;
        for (; number <= 6 && (used[number] || left-- > 0); number++)
            continue;
        if (number > 6)
            return false;
        used[number] = true;
        ret[i] = (uint8_t)number;
    }
    return true;
}

static bool
frameless_x86(struct unwind_step *step, uint32_t encoding, bool is_indirect, struct unwind_row *row)
{
    int64_t word = unwind_slot_size(step->cpu);
    int64_t size = (int64_t)(encoding >> 16 & 0xff) * word;
    unsigned n = encoding >> 10 & 7;
    uint8_t numbers[6];
    if (is_indirect) {
        uint64_t addr, immediate;
        if (!step->has_function ||
            !sym_process_from_file(step->process, step->frame->image,
                                   step->function.start + (encoding >> 16 & 0xff), &addr) ||
            !sym_process_read_uint(step->process, addr, 4, &immediate) || immediate > INT32_MAX)
            return false;
        size = (int64_t)immediate + (int64_t)(encoding >> 13 & 7) * word;
    }
    if (!unwind_encoding_permutation(encoding & 0x3ff, n, numbers))
        return false;
    row->cfa = is(fz_arch_register_of_role(step->cpu, FZ_REGISTER_SP), size);
    row->pc = at(-word);
    for (unsigned i = 0; i < n; i++)
        row->registers[register_x86(step->cpu, numbers[i])] = at(-word * (1 + (int64_t)(n - i)));
    return true;
}

bool
unwind_encoding_x86(struct unwind_step *step, uint32_t encoding, struct unwind_row *ret)
{
    enum { FRAME = 0x01000000, IMMEDIATE = 0x02000000, INDIRECT = 0x03000000 };
    uint32_t mode = encoding & MODE;
    unwind_row_init(ret, step->cpu, SYM_TRUST_COMPACT);
    if (mode == FRAME)
        frame_x86(step->cpu, encoding, ret);
    else
        return (mode == IMMEDIATE || mode == INDIRECT) &&
               frameless_x86(step, encoding, mode == INDIRECT, ret);
    return true;
}
