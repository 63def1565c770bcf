#include "symbolicator/unwind/row.h"

#include "symbolicator/unwind/expression.h"

static const uint64_t ASYNC_MASK = UINT64_C(0xf) << 60, ASYNC_MARK = UINT64_C(1) << 60;

unsigned
unwind_slot_size(enum fz_arch_cpu cpu)
{
    return cpu == FZ_CPU_ARM || cpu == FZ_CPU_X86 ? 4 : 8;
}

bool
unwind_is_callee_saved(enum fz_arch_cpu cpu, int number)
{
    switch (cpu) {
    case FZ_CPU_ARM64:
        return number >= 19 && number <= FZ_ARM64_FP;
    case FZ_CPU_ARM: /* r9 is free to use since iOS 3 */
        return (number >= 4 && number <= 8) || number == 10 || number == 11;
    case FZ_CPU_X86_64:
        return number == FZ_X86_64_RBX || number == FZ_X86_64_RBP || (number >= 12 && number <= 15);
    case FZ_CPU_X86:
        return number == FZ_X86_EBX || number == FZ_X86_EBP || number == FZ_X86_ESI ||
               number == FZ_X86_EDI;
    case FZ_CPU_UNKNOWN:
        break;
    }
    return false;
}

bool
unwind_is_callee_saved_vector(enum fz_arch_cpu cpu, unsigned index)
{
    return (cpu == FZ_CPU_ARM64 || cpu == FZ_CPU_ARM) && index >= 8 && index <= 15;
}

void
unwind_row_init_unknown(struct unwind_row *row, enum sym_trust trust)
{
    *row = (struct unwind_row){.trust = trust};
}

void
unwind_row_init(struct unwind_row *row, enum fz_arch_cpu cpu, enum sym_trust trust)
{
    unwind_row_init_unknown(row, trust);
    for (int i = 0; i < FZ_REGISTER_NUMBERS; i++) {
        if (unwind_is_callee_saved(cpu, i))
            row->registers[i].where = UNWIND_SAME;
    }
    for (unsigned i = 0; i < FZ_VECTORS; i++) {
        if (unwind_is_callee_saved_vector(cpu, i))
            row->vectors[i].where = UNWIND_SAME;
    }
}

void
unwind_row_init_record(struct unwind_row *row, enum fz_arch_cpu cpu)
{
    int fp = fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    int64_t word = unwind_slot_size(cpu);
    /* Which registers the function saved is not known, so none is still the caller's. */
    unwind_row_init_unknown(row, SYM_TRUST_FRAME_POINTER);
    row->cfa = (struct unwind_rule){.where = UNWIND_IS, .reg = fp, .offset = 2 * word};
    row->pc = (struct unwind_rule){.where = UNWIND_AT, .offset = -word};
    if (fp >= 0)
        row->registers[fp] = (struct unwind_rule){.where = UNWIND_AT, .offset = -2 * word};
}

struct apply {
    struct sym_process *process;
    const struct sym_registers *from;
    unsigned slot;
    uint64_t cfa;
};

/* The value that a rule gives for register `number`. */
static bool
evaluate(const struct apply *a, const struct unwind_rule *rule, int number, uint64_t *ret)
{
    uint64_t addr = a->cfa + (uint64_t)rule->offset;
    switch (rule->where) {
    case UNWIND_UNKNOWN:
        return false;
    case UNWIND_SAME:
        return sym_registers_get(a->from, number, ret);
    case UNWIND_REGISTER:
        return sym_registers_get(a->from, rule->reg, ret);
    case UNWIND_IS:
        *ret = a->slot == 4 ? (uint32_t)addr : addr;
        return true;
    case UNWIND_AT:
        return sym_process_read_uint(a->process, addr, a->slot, ret);
    case UNWIND_AT_EXPR:
        return unwind_evaluate(a->process, a->from, rule->expr, &a->cfa, &addr) &&
               sym_process_read_uint(a->process, addr, a->slot, ret);
    case UNWIND_IS_EXPR:
        return unwind_evaluate(a->process, a->from, rule->expr, &a->cfa, ret);
    }
    return false;
}

static void
restore_vectors(const struct apply *a, const struct unwind_row *row, struct sym_registers *to)
{
    for (unsigned i = 0; i < FZ_VECTORS; i++) {
        const struct sym_vector *from = &a->from->vectors[i];
        const struct unwind_rule *rule = &row->vectors[i];
        if (rule->where == UNWIND_SAME) {
            to->vectors[i] = *from;
            if (to->vectors[i].size > 8)
                to->vectors[i].size = 8; /* the upper half is not saved for the caller */
        } else if (rule->where == UNWIND_AT &&
                   sym_process_read(a->process, a->cfa + (uint64_t)rule->offset,
                                    to->vectors[i].bytes, 8)) {
            to->vectors[i].size = 8;
        }
    }
}

static bool
find_cfa(const struct apply *a, const struct unwind_row *row, uint64_t *ret)
{
    uint64_t base;
    if (row->cfa.where == UNWIND_IS_EXPR)
        return unwind_evaluate(a->process, a->from, row->cfa.expr, NULL, ret);
    if (row->cfa.where != UNWIND_IS || !sym_registers_get(a->from, row->cfa.reg, &base))
        return false;
    *ret = base + (uint64_t)row->cfa.offset;
    return true;
}

/* What a caller has besides its pc. */
static void
restore(const struct apply *a, const struct unwind_row *row, enum fz_arch_cpu cpu,
        struct sym_unwind_frame *ret)
{
    int fp = fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    uint64_t value;
    for (int i = 0; i < FZ_REGISTER_NUMBERS; i++) {
        if (row->registers[i].where != UNWIND_UNKNOWN && evaluate(a, &row->registers[i], i, &value))
            sym_registers_set(&ret->registers, i, value);
    }
    restore_vectors(a, row, &ret->registers);
    /* Swift marks the frame record of an asynchronous function in the saved frame pointer. */
    if (sym_registers_get(&ret->registers, fp, &value) && a->slot == 8 &&
        (value & ASYNC_MASK) == ASYNC_MARK)
        sym_registers_set(&ret->registers, fp, value & ~ASYNC_MASK);
    sym_registers_set(&ret->registers, fz_arch_register_of_role(cpu, FZ_REGISTER_PC), ret->pc);
}

/* Where sp may point to before a call. */
static unsigned
sp_unit(enum fz_arch_cpu cpu)
{
    return cpu == FZ_CPU_ARM64 ? 16 : unwind_slot_size(cpu);
}

/* A record is followed wherever it is: on arm64 Go keeps its own 8 bytes below sp. Then the address
 * above it is not the caller's sp, which has another alignment. */
static bool
is_aligned(const struct unwind_row *row, enum fz_arch_cpu cpu, uint64_t cfa)
{
    bool is_record = row->trust == SYM_TRUST_FRAME_POINTER;
    return cfa % (is_record ? unwind_slot_size(cpu) : sp_unit(cpu)) == 0;
}

enum unwind_result
unwind_row_apply(struct sym_process *process, const struct unwind_row *row, uint64_t lowest,
                 struct sym_unwind_frame *frame, struct sym_unwind_frame *ret)
{
    enum fz_arch_cpu cpu = sym_process_cpu(process);
    struct apply a = {.process = process, .from = &frame->registers, .slot = unwind_slot_size(cpu)};
    bool has_cfa = row->cfa.where != UNWIND_UNKNOWN;
    uint64_t pc;
    if (has_cfa) {
        if (!find_cfa(&a, row, &a.cfa))
            return UNWIND_NO_MEMORY;
        if (a.slot == 4)
            a.cfa = (uint32_t)a.cfa;
        if (!is_aligned(row, cpu, a.cfa) || a.cfa < lowest)
            return UNWIND_BAD;
        /* Tables are right about it even where the chain ends; a record may be a guess. */
        if (!frame->has_cfa && (row->trust == SYM_TRUST_CFI || row->trust == SYM_TRUST_COMPACT)) {
            frame->has_cfa = true;
            frame->cfa = a.cfa;
        }
    }
    if (!evaluate(&a, &row->pc, fz_arch_register_of_role(cpu, FZ_REGISTER_LR), &pc))
        return UNWIND_NO_MEMORY;
    if (pc == 0)
        return UNWIND_BASE;
    if (!sym_process_code(process, pc, &pc))
        return UNWIND_NO_CODE;
    *ret = (struct sym_unwind_frame){.pc = pc,
                                     .is_return = true,
                                     .trust = row->trust,
                                     .image = sym_process_image_at(process, pc)};
    restore(&a, row, cpu, ret);
    frame->has_cfa = has_cfa && a.cfa % sp_unit(cpu) == 0;
    frame->cfa = a.cfa;
    if (frame->has_cfa)
        sym_registers_set(&ret->registers, fz_arch_register_of_role(cpu, FZ_REGISTER_SP), a.cfa);
    return UNWIND_OK;
}
