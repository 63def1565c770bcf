#include "symbolicator/unwind/signal.h"

/* struct sigframe: siginfo, ucontext, mcontext in a row. */
enum {
    SIGINFO = 104,
    UCONTEXT = 56,
    UC_MCSIZE = 40,
    UC_MCONTEXT = 48,
    STATE = 16, /* in the mcontext, after the exception state */
    MCSIZE_MIN = 16 + 168,
    MCSIZE_MAX = 8192,
    X86_SEARCH = 256, /* bytes from the frame record up to the siginfo */
};

/* The order of the thread states (mach/arm/_structs.h, mach/i386/_structs.h) as DWARF numbers. */
static const int8_t order_x86_64[] = {FZ_X86_64_RAX,
                                      FZ_X86_64_RBX,
                                      FZ_X86_64_RCX,
                                      FZ_X86_64_RDX,
                                      FZ_X86_64_RDI,
                                      FZ_X86_64_RSI,
                                      FZ_X86_64_RBP,
                                      FZ_X86_64_RSP,
                                      8,
                                      9,
                                      10,
                                      11,
                                      12,
                                      13,
                                      14,
                                      15,
                                      FZ_X86_64_RIP,
                                      FZ_X86_64_RFLAGS};
enum { ARM64_REGISTERS = 33, ARM64_NEON = 16 + 272, X86_64_XMM = 16 + 168 + 168 };

static bool
read(struct unwind_step *step, uint64_t addr, uint64_t *ret)
{
    return sym_process_read_uint(step->process, addr, 8, ret);
}

static bool
is_ucontext(struct unwind_step *step, uint64_t ucontext)
{
    uint64_t mcontext, size;
    return read(step, ucontext + UC_MCONTEXT, &mcontext) && mcontext == ucontext + UCONTEXT &&
           read(step, ucontext + UC_MCSIZE, &size) && size >= MCSIZE_MIN && size <= MCSIZE_MAX;
}

static void
read_vectors(struct unwind_step *step, uint64_t addr, struct sym_registers *to)
{
    for (unsigned i = 0; i < fz_arch_vectors(step->cpu); i++) {
        if (sym_process_read(step->process, addr + 16 * (uint64_t)i, to->vectors[i].bytes, 16))
            to->vectors[i].size = 16;
    }
}

static bool
read_context(struct unwind_step *step, uint64_t mcontext, struct sym_unwind_frame *ret)
{
    bool is_arm = step->cpu == FZ_CPU_ARM64;
    struct sym_unwind_frame frame = {.trust = SYM_TRUST_CONTEXT};
    size_t n = is_arm ? ARM64_REGISTERS : FZ_ARRAY_LEN(order_x86_64);
    uint64_t value, pc;
    for (size_t i = 0; i < n; i++) {
        if (!read(step, mcontext + STATE + 8 * i, &value))
            return false;
        sym_registers_set(&frame.registers, is_arm ? (int)i : order_x86_64[i], value);
    }
    read_vectors(step, mcontext + (is_arm ? ARM64_NEON : X86_64_XMM), &frame.registers);
    if (!sym_registers_get(&frame.registers, fz_arch_register_of_role(step->cpu, FZ_REGISTER_PC),
                           &pc))
        return false;
    /* A jump to nowhere is interrupted outside of all images. */
    fz_ignore(sym_process_code(step->process, pc, &frame.pc));
    frame.image = sym_process_image_at(step->process, frame.pc);
    *ret = frame;
    return true;
}

/* The name is known if the image has a file; a system image mostly has none. */
static bool
may_be_sigtramp(struct unwind_step *step)
{
    const char *name = step->image ? unwind_image_name(step->image, step->addr) : NULL;
    return !name || strcmp(name, "_sigtramp") == 0 || strcmp(name, "__sigtramp") == 0;
}

bool
unwind_signal(struct unwind_step *step, struct sym_unwind_frame *ret)
{
    uint64_t fp, sigframe = 0;
    if ((step->cpu != FZ_CPU_ARM64 && step->cpu != FZ_CPU_X86_64) ||
        !sym_registers_get(&step->frame->registers,
                           fz_arch_register_of_role(step->cpu, FZ_REGISTER_FP), &fp) ||
        fp > UINT64_MAX - X86_SEARCH - 2 * UCONTEXT - SIGINFO)
        return false;
    uint64_t cfa = fp + 16;
    size_t search = step->cpu == FZ_CPU_ARM64 ? 8 : X86_SEARCH;
    for (size_t at = 0; at < search && sigframe == 0; at += 8) {
        if (is_ucontext(step, cfa + at + SIGINFO))
            sigframe = cfa + at;
    }
    if (sigframe == 0 || !may_be_sigtramp(step) ||
        !read_context(step, sigframe + SIGINFO + UCONTEXT, ret))
        return false;
    step->frame->has_cfa = true;
    step->frame->cfa = cfa;
    return true;
}
