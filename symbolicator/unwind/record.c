#include "symbolicator/unwind/step.h"

bool
unwind_record(struct unwind_step *step, struct unwind_row *ret)
{
    int fp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_FP);
    int64_t word = unwind_slot_size(step->cpu);
    if (fp < 0)
        return false;
    /* Which registers the function saved is not known, so none is still the caller's. */
    unwind_row_init_unknown(ret, SYM_TRUST_FRAME_POINTER);
    ret->cfa = (struct unwind_rule){.where = UNWIND_IS, .reg = fp, .offset = 2 * word};
    ret->pc = (struct unwind_rule){.where = UNWIND_AT, .offset = -word};
    ret->registers[fp] = (struct unwind_rule){.where = UNWIND_AT, .offset = -2 * word};
    return true;
}

bool
unwind_nowhere(struct unwind_step *step, struct unwind_row *ret)
{
    int sp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_SP);
    int64_t word = unwind_slot_size(step->cpu);
    bool is_x86 = step->cpu == FZ_CPU_X86_64 || step->cpu == FZ_CPU_X86;
    if (!step->is_exact || step->frame->image >= 0 || sp < 0)
        return false;
    unwind_row_init(ret, step->cpu, SYM_TRUST_LINK_REGISTER);
    ret->cfa = (struct unwind_rule){.where = UNWIND_IS, .reg = sp, .offset = is_x86 ? word : 0};
    ret->pc = (struct unwind_rule){.where = is_x86 ? UNWIND_AT : UNWIND_SAME, .offset = -word};
    return true;
}
