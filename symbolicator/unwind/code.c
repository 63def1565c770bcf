#include "symbolicator/unwind/code.h"

#include "symbolicator/macho/macho.h"

/* Bytes of a function; less for a caller, of which a chain may have hundreds. */
enum { CODE_MAX = 1 << 20, CALLER_CODE_MAX = 1 << 16 };
enum { SECTION_TYPE = 0xff, SYMBOL_STUBS = 8 };

static struct unwind_rule
rule_of(int32_t saved)
{
    if (saved == UNWIND_IN_PLACE)
        return (struct unwind_rule){.where = UNWIND_SAME};
    if (saved == UNWIND_LOST)
        return (struct unwind_rule){.where = UNWIND_UNKNOWN};
    return (struct unwind_rule){.where = UNWIND_AT, .offset = -(int64_t)saved};
}

static bool
row_of(const struct unwind_state *state, enum fz_arch_cpu cpu, struct unwind_row *ret)
{
    int sp = fz_arch_register_of_role(cpu, FZ_REGISTER_SP);
    int fp = fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    int lr = fz_arch_register_of_role(cpu, FZ_REGISTER_LR);
    unwind_row_init(ret, cpu, SYM_TRUST_COMPACT);
    /* A callee of i386 may pop its arguments, so sp is sure only where there is no record. */
    bool by_fp = state->has_fp && (!state->has_sp || cpu == FZ_CPU_X86);
    if (!by_fp && !state->has_sp)
        return false;
    ret->cfa = (struct unwind_rule){
        .where = UNWIND_IS, .reg = by_fp ? fp : sp, .offset = by_fp ? state->fp : state->sp};
    for (int i = 0; i < 32; i++) {
        if (unwind_is_callee_saved(cpu, i))
            ret->registers[i] = rule_of(state->saved[i]);
        if (unwind_is_callee_saved_vector(cpu, (unsigned)i))
            ret->vectors[i] = rule_of(state->saved_vectors[i]);
    }
    if (lr < 0) {
        ret->pc =
            (struct unwind_rule){.where = UNWIND_AT, .offset = -(int64_t)unwind_slot_size(cpu)};
        return true;
    }
    ret->pc = rule_of(state->saved[lr]);
    if (ret->pc.where == UNWIND_SAME)
        ret->trust = SYM_TRUST_LINK_REGISTER;
    return ret->pc.where != UNWIND_UNKNOWN;
}

bool
unwind_code(struct unwind_step *step, struct unwind_row *ret)
{
    static const struct {
        unwind_decode_fn decode;
        unsigned unit;
        int64_t entry_sp; /* a call of x86 pushes the return address */
    } cpus[] = {[FZ_CPU_UNKNOWN] = {NULL, 1, 0},
                [FZ_CPU_ARM64] = {unwind_decode_arm64, 4, 0},
                [FZ_CPU_ARM] = {NULL, 1, 0},
                [FZ_CPU_X86_64] = {unwind_decode_x86_64, 1, 8},
                [FZ_CPU_X86] = {unwind_decode_x86, 1, 4}};
    struct unwind_state state = {.has_sp = true, .sp = cpus[step->cpu].entry_sp};
    uint64_t start, size = step->function.end - step->function.start, at = step->addr;
    uint64_t max = step->is_exact ? CODE_MAX : CALLER_CODE_MAX;
    if (!cpus[step->cpu].decode || !step->has_function ||
        !sym_process_from_file(step->process, step->frame->image, step->function.start, &start))
        return false;
    struct fz_span code =
        sym_process_bytes(step->process, start, (size_t)(size < max ? size : max));
    at -= step->function.start;
    /* Of a call: the call itself, or where its length is not fixed the instruction after it, which
     * finds the same frame. */
    if (!step->is_exact)
        at = cpus[step->cpu].unit > 1 ? at - at % cpus[step->cpu].unit : at + 1;
    if (!unwind_code_follow(code, cpus[step->cpu].decode, cpus[step->cpu].unit, &state, at, &state))
        return false;
    /* At a call lr is overwritten. */
    return row_of(&state, step->cpu, ret) &&
           (step->is_exact || ret->trust != SYM_TRUST_LINK_REGISTER);
}

/* Code that jumps to a function of another image, through a pointer; it makes no frame. */
static bool
is_in_stubs(const struct sym_macho *macho, uint64_t addr)
{
    for (size_t i = 0; macho && i < macho->n_sections; i++) {
        const struct sym_section *section = &macho->sections[i];
        if (addr >= section->addr && addr - section->addr < section->size)
            return (section->flags & SECTION_TYPE) == SYMBOL_STUBS;
    }
    return false;
}

bool
unwind_nowhere(struct unwind_step *step, struct unwind_row *ret)
{
    int sp = fz_arch_register_of_role(step->cpu, FZ_REGISTER_SP);
    int64_t word = unwind_slot_size(step->cpu);
    bool is_x86 = step->cpu == FZ_CPU_X86_64 || step->cpu == FZ_CPU_X86;
    bool is_stub = step->image && (is_in_stubs(step->image->files->binary, step->addr) ||
                                   is_in_stubs(step->image->files->dsym, step->addr));
    if (!step->is_exact || (step->frame->image >= 0 && !is_stub) || sp < 0)
        return false;
    unwind_row_init(ret, step->cpu, SYM_TRUST_LINK_REGISTER);
    ret->cfa = (struct unwind_rule){.where = UNWIND_IS, .reg = sp, .offset = is_x86 ? word : 0};
    ret->pc = (struct unwind_rule){.where = is_x86 ? UNWIND_AT : UNWIND_SAME, .offset = -word};
    return true;
}
