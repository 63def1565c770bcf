#include "symbolicator/unwind/unwind.h"

#include "base/list.h"
#include "symbolicator/unwind/signal.h"
#include "symbolicator/unwind/step.h"

enum { FRAMES_FIRST = 32, SIGNALS_MAX = 8 };

static bool
ask_record(struct unwind_step *step, struct unwind_row *ret)
{
    unwind_row_init_record(ret, step->cpu);
    return step->cpu != FZ_CPU_UNKNOWN;
}

/* At any instruction: what the code itself does is exact, the tables are so only after a prologue. */
static const unwind_source_fn exact_sources[] = {
    unwind_nowhere,    unwind_code,     unwind_cfi_debug,  unwind_compact,
    unwind_cfi_binary, unwind_cfi_dsym, unwind_frame_base, ask_record,
};

/* At a call the tables are right. The code is read if they lead nowhere: it also finds the CFA from
 * sp, which a damaged frame record cannot spoil. */
static const unwind_source_fn call_sources[] = {
    unwind_cfi_debug, unwind_compact, unwind_cfi_binary, unwind_cfi_dsym, unwind_code, ask_record,
};

/* The caller by the sources; NO_ROW: no source knows. */
static enum unwind_result
ask_sources(struct unwind_step *step, struct sym_unwind_frame *ret)
{
    const unwind_source_fn *sources = step->is_exact ? exact_sources : call_sources;
    size_t n = step->is_exact ? FZ_ARRAY_LEN(exact_sources) : FZ_ARRAY_LEN(call_sources);
    enum unwind_result first = UNWIND_NO_ROW;
    for (size_t i = 0; i < n; i++) {
        struct unwind_row row;
        if (!sources[i](step, &row))
            continue;
        if (sources[i] != unwind_code && sources[i] != unwind_frame_base &&
            !unwind_check_row(step, &row))
            continue;
        enum unwind_result result =
            unwind_row_apply(step->process, &row, step->lowest, step->frame, ret);
        if (result == UNWIND_OK)
            return result;
        /* At an address without code the 0 may be any word of the stack, so it ends nothing. */
        if (result == UNWIND_BASE && first == UNWIND_NO_ROW && sources[i] != unwind_nowhere)
            return result;
        if (first == UNWIND_NO_ROW)
            first = result;
    }
    /* The first function of a thread is called with a frame pointer of 0. */
    uint64_t fp;
    bool has_end = !step->is_exact &&
                   sym_registers_get(&step->frame->registers,
                                     fz_arch_register_of_role(step->cpu, FZ_REGISTER_FP), &fp) &&
                   fp == 0;
    return has_end ? UNWIND_BASE : first;
}

static enum sym_unwind_end
end_of(enum unwind_result result)
{
    switch (result) {
    case UNWIND_BASE:
        return SYM_UNWIND_END_BASE;
    case UNWIND_NO_CODE:
        return SYM_UNWIND_END_NO_CODE;
    case UNWIND_BAD:
        return SYM_UNWIND_END_BAD_RECORD;
    case UNWIND_OK:
    case UNWIND_NO_ROW:
    case UNWIND_NO_MEMORY:
        break;
    }
    return SYM_UNWIND_END_NO_MEMORY;
}

/* The stack pointer must rise from frame to frame; where nothing is pushed yet it may not have. */
static uint64_t
find_lowest(enum fz_arch_cpu cpu, const struct sym_unwind_chain *chain)
{
    int number = fz_arch_register_of_role(cpu, FZ_REGISTER_SP);
    uint64_t sp;
    for (size_t i = chain->n; i-- > 0;) {
        const struct sym_unwind_frame *frame = &chain->frames[i];
        uint64_t past = frame->is_return && i + 1 == chain->n;
        /* The stack of a signal handler may be above the one that was interrupted. */
        if (sym_registers_get(&frame->registers, number, &sp))
            return sp + past;
        if (!frame->is_return)
            break;
        if (i > 0 && chain->frames[i - 1].cfa)
            return chain->frames[i - 1].cfa + past;
    }
    return 0;
}

static void
begin_step(struct unwind_step *step, struct sym_process *process, struct sym_unwind_frame *frame)
{
    uint64_t addr = frame->is_return ? frame->pc - 1 : frame->pc;
    *step = (struct unwind_step){.process = process,
                                 .cpu = sym_process_cpu(process),
                                 .frame = frame,
                                 .is_exact = !frame->is_return};
    step->image = frame->image < 0 ? NULL : unwind_image_get(process, frame->image);
    if (step->image && !sym_process_to_file(process, frame->image, addr, &step->addr))
        step->image = NULL;
    step->has_function =
        step->image && unwind_image_function(step->image, step->addr, &step->function);
}

/* A frame that is there already: the chain is a cycle. Only the first frames can repeat an sp. */
static bool
is_repeated(const struct sym_unwind_chain *chain, const struct sym_unwind_frame *frame, int sp)
{
    uint64_t own, other;
    if (!sym_registers_get(&frame->registers, sp, &own))
        return false;
    for (size_t i = chain->n; i-- > 0;) {
        if (!sym_registers_get(&chain->frames[i].registers, sp, &other) || other != own)
            return false;
        if (chain->frames[i].pc == frame->pc)
            return true;
    }
    return false;
}

static enum fz_code
first_frame(struct sym_process *process, const struct sym_registers *registers,
            struct sym_unwind_frame *ret, struct fz_error *err)
{
    int number = fz_arch_register_of_role(sym_process_cpu(process), FZ_REGISTER_PC);
    uint64_t pc;
    if (!sym_registers_get(registers, number, &pc))
        return fz_fail(err, FZ_E_MALFORMED, "the registers have no pc");
    *ret = (struct sym_unwind_frame){.registers = *registers, .trust = SYM_TRUST_CONTEXT};
    fz_ignore(sym_process_code(process, pc, &ret->pc)); /* outside of all images is a frame too */
    ret->image = sym_process_image_at(process, ret->pc);
    return FZ_OK;
}

/* The frame after `frame`: one that a signal interrupted, or the caller. */
static enum unwind_result
next_frame(struct sym_process *process, const struct sym_unwind_chain *chain,
           struct sym_unwind_frame *ret)
{
    struct unwind_step step;
    begin_step(&step, process, &chain->frames[chain->n - 1]);
    step.lowest = find_lowest(step.cpu, chain);
    size_t n_signals = 0;
    for (size_t i = 1; i < chain->n; i++)
        n_signals += !chain->frames[i].is_return;
    if (n_signals < SIGNALS_MAX && unwind_signal(&step, ret))
        return UNWIND_OK;
    return ask_sources(&step, ret);
}

enum fz_code
sym_unwind(struct sym_process *process, const struct sym_registers *registers, size_t max,
           struct fz_arena *arena, struct sym_unwind_chain *ret, struct fz_error *err)
{
    struct sym_unwind_chain chain = {.end = SYM_UNWIND_END_LIMIT};
    size_t room = FRAMES_FIRST;
    int sp = fz_arch_register_of_role(sym_process_cpu(process), FZ_REGISTER_SP);
    if (max > SYM_UNWIND_FRAMES_MAX)
        max = SYM_UNWIND_FRAMES_MAX;
    chain.frames = fz_arena_array(arena, room, sizeof(*chain.frames));
    if (!chain.frames)
        return fz_arena_fail(arena, err);
    enum fz_code code = first_frame(process, registers, &chain.frames[0], err);
    if (code != FZ_OK)
        return code;
    for (chain.n = 1; chain.n < max; chain.n++) {
        struct sym_unwind_frame *frames =
            fz_list_grow_in(arena, chain.frames, &room, chain.n + 1, sizeof(*frames));
        if (!frames)
            return fz_arena_fail(arena, err);
        chain.frames = frames;
        enum unwind_result result = next_frame(process, &chain, &frames[chain.n]);
        if (result == UNWIND_OK && is_repeated(&chain, &frames[chain.n], sp))
            result = UNWIND_BAD;
        if (result != UNWIND_OK) {
            chain.end = end_of(result);
            break;
        }
    }
    *ret = chain;
    return FZ_OK;
}
