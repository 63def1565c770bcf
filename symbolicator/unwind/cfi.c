/*
 * Call frame information of DWARF as rows.
 *
 * An FDE counts only if it begins where its function does, since tools have written wrong
 * addresses: dsymutil-14 keeps the low 32 bits in __debug_frame, lld-14 is off by a constant in
 * __eh_frame.
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

static void
convert(const struct libdwarf_frame_row *from, enum fz_arch_cpu cpu, struct unwind_row *ret)
{
    unwind_row_init(ret, cpu, SYM_TRUST_CFI);
    ret->cfa = rule_of(&from->cfa);
    for (unsigned i = 0; i < LIBDWARF_COLUMNS; i++) {
        const struct libdwarf_rule *rule = &from->rules[i];
        struct fz_arch_vector vector;
        /* What no instruction names is as the calling convention says. */
        if (rule->kind == LIBDWARF_RULE_SAME)
            continue;
        if (i < FZ_REGISTER_NUMBERS && fz_arch_register_name(cpu, i))
            ret->registers[i] = rule_of(rule);
        else if (fz_arch_vector_of_number(cpu, i, &vector) && vector.size >= 8)
            ret->vectors[vector.index] = rule_of(rule);
    }
    unsigned column = from->return_column;
    ret->pc = rule_of(&from->rules[column]);
    ret->pc.reg = ret->pc.where == UNWIND_REGISTER ? ret->pc.reg : (int)column;
    if (column < FZ_REGISTER_NUMBERS)
        ret->registers[column].where = UNWIND_UNKNOWN;
}

static bool
find(struct unwind_step *step, enum unwind_cfi kind, struct unwind_row *ret)
{
    const struct libdwarf_frame_row *row;
    struct libdwarf_frames *frames = step->image ? unwind_image_cfi(step->image, kind) : NULL;
    if (!frames)
        return false;
    uint64_t mask = UINT64_MAX;
    bool found = libdwarf_frames_find(frames, step->addr, &row);
    if (step->has_function && (!found || row->start != step->function.start)) {
        mask = UINT32_MAX;
        found = step->addr > mask && libdwarf_frames_find(frames, step->addr & mask, &row) &&
                row->start == (step->function.start & mask);
    }
    /* A table without any rule for the CFA describes nothing. */
    if (!found || (row->cfa.kind != LIBDWARF_RULE_VAL_OFFSET &&
                   row->cfa.kind != LIBDWARF_RULE_VAL_EXPRESSION))
        return false;
    convert(row, step->cpu, ret);
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
