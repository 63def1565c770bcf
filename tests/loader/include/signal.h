/* Declarations with the names, values and layouts of Apple's signal.h: just what client/ and the test programs use. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGFPE 8
#define SIGBUS 10
#define SIGSEGV 11
#define SIGSYS 12
#define SA_ONSTACK 1
#define SA_NODEFER 0x10
#define SA_SIGINFO 0x40
#define SS_DISABLE 4
#define SIG_BLOCK 1
#define SIG_DFL ((void (*)(int))0)

typedef uint32_t sigset_t;
typedef struct {
    int si_signo, si_errno, si_code, si_pid;
    unsigned si_uid;
    int si_status;
    void *si_addr;
    void *si_value;
    long si_band;
    unsigned long pad[7];
} siginfo_t;
typedef struct {
    void *ss_sp;
    size_t ss_size;
    int ss_flags;
} stack_t;
struct sigaction {
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    };
    sigset_t sa_mask;
    int sa_flags;
};
struct __darwin_mcontext64 {
    uint8_t __es[16];
#if defined(__x86_64__)
    uint8_t __ss[168];
    uint8_t __fs[524];
#else
    uint8_t __ss[272];
    uint8_t __ns[528] __attribute__((aligned(16)));
#endif
};
typedef struct {
    int uc_onstack;
    sigset_t uc_sigmask;
    stack_t uc_stack;
    void *uc_link;
    size_t uc_mcsize;
    struct __darwin_mcontext64 *uc_mcontext;
} ucontext_t;

int sigaction(int, const struct sigaction *, struct sigaction *);
int sigaltstack(const stack_t *, stack_t *);
int raise(int);
int pthread_sigmask(int, const sigset_t *, sigset_t *);
#define sigemptyset(set) (*(set) = 0, 0)
#define sigaddset(set, number) (*(set) |= 1u << ((number)-1), 0)
