/*
 * Call frame information of DWARF as rows.
 *
 * An FDE counts only if it begins where its function does, since tools have written wrong
 * addresses: dsymutil-14 keeps the low 32 bits in __debug_frame, lld-14 is off by a constant in
 * __eh_frame. In 32-bit files libdwarf adds the distance of a start to 64 bits, so that starts may be
 * 2^32 too high.
 */
#include "symbolicator/dwarf/libdwarf_frame.h"

#include "symbolicator/unwind/step.h"

static struct unwind_rule
rule_of(const struct libdwarf_rule *from)
{
    static const enum unwind_where wheres[] = {
        [LIBDWARF_RULE_SAME] = UNWIND_SAME,
        [LIBDWARF_RULE_UNDEFINED] = UNWIND_UNKNOWN,
        [LIBDWARF_RULE_OFFSET] = UNWIND_AT,
        [LIBDWARF_RULE_VAL_OFFSET] = UNWIND_IS,
        [LIBDWARF_RULE_REGISTER] = UNWIND_REGISTER,
        [LIBDWARF_RULE_EXPRESSION] = UNWIND_AT_EXPR,
        [LIBDWARF_RULE_VAL_EXPRESSION] = UNWIND_IS_EXPR,
    };
    return (struct unwind_rule){.where = wheres[from->kind],
                                .reg = from->reg,
                                .offset = from->offset,
                                .expr = from->expression};
}

/* __eh_frame of i386 has the numbers of esp and ebp exchanged on Apple's systems, __debug_frame has
 * not. */
static int
number_of(enum fz_arch_cpu cpu, bool is_eh, unsigned column)
{
    if (cpu != FZ_CPU_X86 || !is_eh || (column != FZ_X86_ESP && column != FZ_X86_EBP))
        return (int)column;
    return column == FZ_X86_ESP ? FZ_X86_EBP : FZ_X86_ESP;
}

static void
convert(const struct libdwarf_frame_row *from, enum fz_arch_cpu cpu, bool is_eh,
        struct unwind_row *ret)
{
    unwind_row_init(ret, cpu, SYM_TRUST_CFI);
    ret->cfa = rule_of(&from->cfa);
    ret->cfa.reg = number_of(cpu, is_eh, from->cfa.reg);
    for (unsigned i = 0; i < LIBDWARF_COLUMNS; i++) {
        const struct libdwarf_rule *rule = &from->rules[i];
        int number = number_of(cpu, is_eh, i);
        struct fz_arch_vector vector;
        /* What no instruction names is as the calling convention says. */
        if (rule->kind == LIBDWARF_RULE_SAME)
            continue;
        if (i < FZ_REGISTER_NUMBERS && fz_arch_register_name(cpu, i)) {
            ret->registers[number] = rule_of(rule);
            ret->registers[number].reg = number_of(cpu, is_eh, rule->reg);
        } else if (fz_arch_vector_of_number(cpu, i, &vector) && vector.size >= 8) {
            ret->vectors[vector.index] = rule_of(rule);
        }
    }
    unsigned column = from->return_column;
    ret->pc = rule_of(&from->rules[column]);
    ret->pc.reg = ret->pc.where == UNWIND_REGISTER ? ret->pc.reg : (int)column;
    if (column < FZ_REGISTER_NUMBERS)
        ret->registers[column].where = UNWIND_UNKNOWN;
}

/* The row at an address, or at one with other high bits; its function must start alike. */
static bool
find_row(const struct unwind_step *step, struct libdwarf_frames *frames,
         const struct libdwarf_frame_row **ret)
{
    const uint64_t addrs[] = {step->addr, step->addr & UINT32_MAX,
                              step->addr + (UINT64_C(1) << 32)};
    size_t n = unwind_slot_size(step->cpu) == 4 ? 3 : 2;
    for (size_t i = 0; i < n; i++) {
        uint64_t mask = i == 0 ? UINT64_MAX : UINT32_MAX;
        if (libdwarf_frames_find(frames, addrs[i], ret) &&
            (!step->has_function || ((*ret)->start & mask) == (step->function.start & mask)))
            return true;
    }
    return false;
}

static bool
find(struct unwind_step *step, enum unwind_cfi kind, struct unwind_row *ret)
{
    const struct libdwarf_frame_row *row;
    struct libdwarf_frames *frames = step->image ? unwind_image_cfi(step->image, kind) : NULL;
    /* A table without any rule for the CFA describes nothing. */
    if (!frames || !find_row(step, frames, &row) ||
        (row->cfa.kind != LIBDWARF_RULE_VAL_OFFSET &&
         row->cfa.kind != LIBDWARF_RULE_VAL_EXPRESSION))
        return false;
    convert(row, step->cpu, kind != UNWIND_CFI_DEBUG, ret);
    return true;
}

bool
unwind_cfi_debug(struct unwind_step *step, struct unwind_row *ret)
{
    return find(step, UNWIND_CFI_DEBUG, ret);
}

bool
unwind_cfi_binary(struct unwind_step *step, struct unwind_row *ret)
{
    return find(step, UNWIND_CFI_BINARY_EH, ret);
}

bool
unwind_cfi_dsym(struct unwind_step *step, struct unwind_row *ret)
{
    return find(step, UNWIND_CFI_DSYM_EH, ret);
}
