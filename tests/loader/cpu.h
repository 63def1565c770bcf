/*
 * The registers of a thread in Darwin's layouts (mach/arm/_structs.h, mach/i386/_structs.h), from and to Linux's.
 */
#ifndef LOADER_CPU_H
#define LOADER_CPU_H

#include <stdint.h>
#include <ucontext.h>

#ifdef __aarch64__
#define CPU_ARCH "arm64"
enum { CPU_FP = 29, CPU_LR = 30, CPU_SP = 31, CPU_PC = 32, CPU_GENERAL = 33, CPU_VECTORS = 32 };
/* Flavours of thread_get_state() and their counts of 32-bit words. */
enum { CPU_FLAVOUR = 6, CPU_FLAVOUR_EXCEPTION = 7, CPU_FLAVOUR_VECTORS = 17 };
struct cpu_state {
    uint64_t r[33]; /* x0 to x28, fp, lr, sp, pc */
    uint32_t cpsr, flags;
};
struct cpu_exception {
    uint64_t far;
    uint32_t esr, exception;
};
struct cpu_vectors {
    uint8_t v[32][16];
    uint32_t fpsr, fpcr;
    uint64_t pad;
};
#else
#define CPU_ARCH "x86_64"
enum { CPU_FP = 6, CPU_SP = 7, CPU_PC = 16, CPU_GENERAL = 17, CPU_VECTORS = 16 };
enum { CPU_FLAVOUR = 4, CPU_FLAVOUR_EXCEPTION = 6, CPU_FLAVOUR_VECTORS = 5 };
struct cpu_state {
    uint64_t r[17]; /* rax rbx rcx rdx rdi rsi rbp rsp r8 to r15 rip */
    uint64_t rflags, cs, fs, gs;
};
struct cpu_exception {
    uint16_t trapno, cpu;
    uint32_t err;
    uint64_t far;
};
struct cpu_vectors {
    uint8_t head[168];
    uint8_t v[16][16];
    uint8_t rest[524 - 168 - 256];
};
#endif

/* Everything of one thread. */
struct cpu_all {
    struct cpu_state state;
    struct cpu_exception exception;
    struct cpu_vectors vectors;
};

extern const char *const cpu_names[CPU_GENERAL];

void cpu_from_linux(const ucontext_t *context, uint64_t fault_addr, struct cpu_all *ret);
void cpu_to_linux(const struct cpu_state *state, ucontext_t *context);

/* Call fn(argument) on the stack that ends at `top`, with no frame before it. */
void cpu_call_on_stack(void *(*fn)(void *), void *argument, uint64_t top);

/* Raise a signal in this thread from a function that has a frame record, as libsystem_kernel's __pthread_kill
 * has. */
void cpu_raise(int tgid, int tid, int linux_signal);

#endif
