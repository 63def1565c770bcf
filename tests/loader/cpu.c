#include "cpu.h"

#include <string.h>

#ifdef __aarch64__
const char *const cpu_names[CPU_GENERAL] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp",  "lr",  "sp",  "pc"};

enum { FPSIMD_MAGIC = 0x46508001 };

/* Linux's struct fpsimd_context in a list of records (asm/sigcontext.h). */
static uint8_t *
find_vectors(const ucontext_t *context)
{
    uint8_t *at = (uint8_t *)(uintptr_t)context->uc_mcontext.__reserved;
    uint8_t *end = at + sizeof(context->uc_mcontext.__reserved);
    while (at + 8 <= end) {
        uint32_t magic, size;
        memcpy(&magic, at, 4);
        memcpy(&size, at + 4, 4);
        if (magic == FPSIMD_MAGIC)
            return at + 8;
        if (size < 8)
            return NULL;
        at += size;
    }
    return NULL;
}

void
cpu_from_linux(const ucontext_t *context, uint64_t fault_addr, struct cpu_all *ret)
{
    const mcontext_t *m = &context->uc_mcontext;
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < 31; i++)
        ret->state.r[i] = m->regs[i];
    ret->state.r[CPU_SP] = m->sp;
    ret->state.r[CPU_PC] = m->pc;
    ret->state.cpsr = (uint32_t)m->pstate;
    ret->exception.far = fault_addr;
    ret->exception.esr = 0x92000046; /* a data abort that writes; Linux does not always report it */
    const uint8_t *vectors = find_vectors(context);
    if (vectors) {
        memcpy(&ret->vectors.fpsr, vectors, 8);
        memcpy(ret->vectors.v, vectors + 8, sizeof(ret->vectors.v));
    }
}

void
cpu_to_linux(const struct cpu_state *state, ucontext_t *context)
{
    mcontext_t *m = &context->uc_mcontext;
    for (int i = 0; i < 31; i++)
        m->regs[i] = state->r[i];
    m->sp = state->r[CPU_SP];
    m->pc = state->r[CPU_PC];
    m->pstate = state->cpsr;
}

__asm__(".globl cpu_call_on_stack\n"
        ".type cpu_call_on_stack, %function\n"
        "cpu_call_on_stack:\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    str x19, [sp, #16]\n"
        "    mov x19, sp\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    mov sp, x2\n"
        "    mov x29, xzr\n"
        "    blr x9\n"
        "    mov sp, x19\n"
        "    ldr x19, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    ret\n"
        ".globl cpu_raise\n"
        ".type cpu_raise, %function\n"
        "cpu_raise:\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    mov x29, sp\n"
        "    mov x8, #131\n" /* tgkill */
        "    svc #0\n"
        "    ldp x29, x30, [sp], #16\n"
        "    ret\n");
#else
const char *const cpu_names[CPU_GENERAL] = {"rax", "rbx", "rcx", "rdx", "rdi", "rsi",
                                            "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                            "r12", "r13", "r14", "r15", "rip"};

/* Darwin's order of registers as indexes of Linux's gregs (sys/ucontext.h). */
static const int linux_order[CPU_GENERAL] = {13, 11, 14, 12, 8, 9, 10, 15, 0,
                                             1,  2,  3,  4,  5, 6, 7,  16};

void
cpu_from_linux(const ucontext_t *context, uint64_t fault_addr, struct cpu_all *ret)
{
    const greg_t *gregs = context->uc_mcontext.gregs;
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < CPU_GENERAL; i++)
        ret->state.r[i] = (uint64_t)gregs[linux_order[i]];
    ret->state.rflags = (uint64_t)gregs[17];
    ret->state.cs = (uint64_t)gregs[18] & 0xffff;
    ret->exception.far = fault_addr;
    ret->exception.err = (uint32_t)gregs[19];
    ret->exception.trapno = (uint16_t)gregs[20];
    if (context->uc_mcontext.fpregs)
        memcpy(ret->vectors.v, context->uc_mcontext.fpregs->_xmm, sizeof(ret->vectors.v));
}

void
cpu_to_linux(const struct cpu_state *state, ucontext_t *context)
{
    for (int i = 0; i < CPU_GENERAL; i++)
        context->uc_mcontext.gregs[linux_order[i]] = (greg_t)state->r[i];
    context->uc_mcontext.gregs[17] = (greg_t)state->rflags;
}

__asm__(".globl cpu_call_on_stack\n"
        ".type cpu_call_on_stack, @function\n"
        "cpu_call_on_stack:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    movq %rsp, %rbx\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsp\n"
        "    xorl %ebp, %ebp\n"
        "    callq *%rax\n"
        "    movq %rbx, %rsp\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    retq\n"
        ".globl cpu_raise\n"
        ".type cpu_raise, @function\n"
        "cpu_raise:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    movl $234, %eax\n" /* tgkill */
        "    syscall\n"
        "    popq %rbp\n"
        "    retq\n");
#endif
