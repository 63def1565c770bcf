#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader.h"

/*
 * Every fault goes the way that it goes on Darwin: first as a Mach exception to the port that is registered for it, then
 * as a signal to the program's handler, then it ends the process. Where Darwin would end the process because the signal
 * is blocked or has no stack, so does this.
 */
enum {
    DARWIN_SIGNALS = 32,
    SA_DARWIN_ONSTACK = 1,
    SA_DARWIN_NODEFER = 0x10,
    SA_DARWIN_SIGINFO = 0x40
};
enum { KERN_INVALID_ADDRESS = 1, KERN_PROTECTION_FAILURE = 2, GENERAL_PROTECTION = 13 };

/* sys/signal.h, sys/_types/_ucontext.h of Darwin. */
struct darwin_sigaction {
    void *handler;
    uint32_t mask;
    int32_t flags;
};
struct darwin_siginfo {
    int32_t signo, error, code, pid, uid, status;
    uint64_t addr, value, band, pad[7];
};
struct darwin_mcontext {
    struct cpu_exception exception;
    struct cpu_state state;
    struct cpu_vectors vectors;
};
struct darwin_ucontext {
    int32_t on_stack;
    uint32_t mask;
    uint64_t stack, stack_size, stack_flags, link, mcontext_size;
    struct darwin_mcontext *mcontext;
};

static struct darwin_sigaction actions[DARWIN_SIGNALS];
static __thread uint32_t blocked, pending; /* bit masks of signals */
static __thread bool has_own_stack;

static const struct {
    int linux_signal, darwin, exception;
} signals[] = {
    {SIGSEGV, 11, 1}, {SIGBUS, 10, 1}, {SIGILL, 4, 2},  {SIGFPE, 8, 3},
    {SIGTRAP, 5, 6},  {SIGABRT, 6, 0}, {SIGSYS, 12, 0}, {SIGPIPE, 13, 0},
    {SIGTERM, 15, 0}, {SIGHUP, 1, 0},  {SIGQUIT, 3, 0}, {SIGUSR1, 30, 0},
};
enum { N_SIGNALS = sizeof(signals) / sizeof(*signals) };

int
loader_signal_to_linux(int darwin)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].darwin == darwin)
            return signals[i].linux_signal;
    return 0;
}

int
loader_signal_to_darwin(int linux_signal)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].linux_signal == linux_signal)
            return signals[i].darwin;
    return 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

struct fault {
    int signal, exception; /* Darwin's; exception 0 if it is none of the hardware's */
    uint64_t codes[2];
};

static void
die_of(struct loader_thread *thread, const struct fault *fault)
{
    loader_stop_others();
    loader_steps_close();
    if (loader_dump_path)
        loader_dump(thread, fault->signal, fault->codes[1]);
    loader_shared->crashed = (int)(thread - loader_shared->threads);
    loader_shared->signal = fault->signal;
    loader_shared->exception = fault->exception ? fault->exception : 10;
    /* sys/ux_exception.c: what EXC_CRASH carries. */
    loader_shared->codes[0] = (uint64_t)fault->signal << 24 | (uint64_t)fault->exception << 20 |
                              (fault->codes[0] & 0xfffff);
    loader_shared->codes[1] = fault->codes[1];
    __atomic_store_n(&loader_shared->dead, 1, __ATOMIC_SEQ_CST);
    /* A parent that reads the corpse ends it with SIGKILL. */
    if (loader_shared->pid == getpid())
        for (;;)
            pause();
    _exit(128 + fault->signal);
}

/* ---- the program's handler --------------------------------------------------------------------- */

static void
call_handler(struct loader_thread *thread, const struct fault *fault, int code, ucontext_t *context)
{
    const struct darwin_sigaction action = actions[fault->signal];
    struct darwin_mcontext m = {thread->cpu.exception, thread->cpu.state, thread->cpu.vectors};
    struct darwin_ucontext u = {.mask = blocked, .mcontext_size = sizeof(m), .mcontext = &m};
    struct darwin_siginfo info = {.signo = fault->signal,
                                  .code = fault->exception ? 1
                                          : code > 0       ? code
                                                           : 0,
                                  .pid = getpid(),
                                  .addr = fault->codes[1]};
    uint32_t before = blocked;
    blocked |= action.mask;
    if (!(action.flags & SA_DARWIN_NODEFER))
        blocked |= 1u << (fault->signal - 1);
    if (action.flags & SA_DARWIN_SIGINFO)
        ((void (*)(int, struct darwin_siginfo *, struct darwin_ucontext *))action.handler)(
            fault->signal, &info, &u);
    else
        ((void (*)(int))action.handler)(fault->signal);
    blocked = before;
    cpu_to_linux(&m.state, context);
}

static struct fault
describe(int linux_signal, const siginfo_t *info, uint64_t pc)
{
    struct fault fault = {.signal = loader_signal_to_darwin(linux_signal)};
    if (info->si_code <= 0)
        return fault;
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].linux_signal == linux_signal)
            fault.exception = signals[i].exception;
    if (fault.exception == 1) {
        bool general = info->si_code == SI_KERNEL;
        bool protection = info->si_code == SEGV_ACCERR;
        fault.codes[0] = general      ? GENERAL_PROTECTION
                         : protection ? KERN_PROTECTION_FAILURE
                                      : KERN_INVALID_ADDRESS;
        fault.codes[1] = general ? 0 : (uint64_t)info->si_addr;
        fault.signal = protection ? 10 : 11;
    } else {
        fault.codes[0] = 1;
        fault.codes[1] = pc;
    }
    return fault;
}

static void
on_signal(int linux_signal, siginfo_t *info, void *user)
{
    ucontext_t *context = user;
    struct loader_thread *thread = loader_thread_self();
    if (!thread)
        _exit(124);
    struct cpu_all before = thread->cpu;
    cpu_from_linux(context, info->si_code > 0 ? (uint64_t)info->si_addr : 0, &thread->cpu);
    if (linux_signal == SIGTRAP && loader_step(thread, context)) {
        thread->cpu = before;
        return;
    }
    struct fault fault = describe(linux_signal, info, thread->cpu.state.r[CPU_PC]);
    thread->freeze = LOADER_FROZEN;
    if (fault.exception && loader_exception_raise(thread, fault.exception, fault.codes)) {
        thread->freeze = LOADER_RUNS;
        thread->cpu = before;
        return;
    }
    thread->freeze = LOADER_RUNS;
    uint64_t sp = thread->cpu.state.r[CPU_SP];
    const struct darwin_sigaction *action = &actions[fault.signal];
    bool has_stack = (sp > thread->stack_low + 4096 && sp <= thread->stack_top) ||
                     (has_own_stack && (action->flags & SA_DARWIN_ONSTACK));
    bool is_blocked = blocked >> (fault.signal - 1) & 1;
    if (action->handler == (void *)1 && !fault.exception)
        return;
    if ((uintptr_t)action->handler <= 1 || !has_stack || is_blocked) {
        thread->freeze = LOADER_FROZEN;
        die_of(thread, &fault);
    }
    call_handler(thread, &fault, info->si_code, context);
    /* What was raised while it was blocked arrives now, in the context that the handler interrupted. */
    for (int darwin = 1; darwin < DARWIN_SIGNALS; darwin++) {
        if (!(pending & ~blocked & 1u << (darwin - 1)))
            continue;
        pending &= ~(1u << (darwin - 1));
        struct fault again = {.signal = darwin};
        if ((uintptr_t)actions[darwin].handler > 1) {
            call_handler(thread, &again, 0, context);
        } else if (!actions[darwin].handler) {
            thread->freeze = LOADER_FROZEN;
            die_of(thread, &again);
        }
    }
    thread->cpu = before;
}

void
loader_signals_install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].linux_signal != SIGTERM && signals[i].linux_signal != SIGPIPE)
            sigaction(signals[i].linux_signal, &action, NULL);
}

/* ---- what the program calls ------------------------------------------------------------------- */

static int
shim_sigaction(int darwin, const struct darwin_sigaction *action, struct darwin_sigaction *ret_old)
{
    if (darwin <= 0 || darwin >= DARWIN_SIGNALS)
        return -1;
    if (ret_old)
        *ret_old = actions[darwin];
    if (action)
        actions[darwin] = *action;
    return 0;
}

static void *
shim_signal(int darwin, void *handler)
{
    struct darwin_sigaction action = {.handler = handler}, old = {0};
    shim_sigaction(darwin, &action, &old);
    return old.handler;
}

/* Darwin's stack_t has the size before the flags, as Linux's has not. */
struct darwin_stack {
    void *sp;
    uint64_t size;
    int32_t flags;
};

static int
shim_sigaltstack(const struct darwin_stack *stack, struct darwin_stack *ret_old)
{
    if (ret_old)
        *ret_old = (struct darwin_stack){.flags = 4};
    if (!stack || (stack->flags & 4))
        return 0;
    stack_t native = {.ss_sp = stack->sp, .ss_size = stack->size};
    has_own_stack = true;
    return sigaltstack(&native, NULL);
}

/* Linux's masks are not used: on_signal() looks at `blocked`. */
static int
shim_sigprocmask(int how, const uint32_t *set, uint32_t *ret_old)
{
    if (ret_old)
        *ret_old = blocked;
    if (set)
        blocked = how == 1 ? blocked | *set : how == 2 ? blocked & ~*set : *set;
    return 0;
}

static int
shim_raise(int darwin)
{
    if (blocked >> (darwin - 1) & 1)
        pending |= 1u << (darwin - 1);
    else
        cpu_raise(getpid(), loader_thread_self()->tid, loader_signal_to_linux(darwin));
    return 0;
}

/* For a library that raises by itself (programs/library.c). */
static int
shim_raise_prepare(int darwin, long ids[3])
{
    if (blocked >> (darwin - 1) & 1) {
        pending |= 1u << (darwin - 1);
        return 0;
    }
    ids[0] = getpid();
    ids[1] = loader_thread_self()->tid;
    ids[2] = loader_signal_to_linux(darwin);
    return 1;
}

static void
shim_abort_again(void)
{
    actions[6].handler = NULL;
    blocked &= ~(1u << 5);
}

static int
shim_kill(int pid, int darwin)
{
    if (pid != getpid())
        return -1;
    return shim_raise(darwin);
}

/* Libc/stdlib/FreeBSD/abort.c: once with the handler, then without. */
static void
shim_abort(void)
{
    shim_raise(6);
    shim_abort_again();
    shim_raise(6);
}

const struct loader_symbol loader_symbols_signals[] = {
    {"_sigaction", shim_sigaction},
    {"_signal", shim_signal},
    {"_sigaltstack", shim_sigaltstack},
    {"_sigprocmask", shim_sigprocmask},
    {"_pthread_sigmask", shim_sigprocmask},
    {"_raise", shim_raise},
    {"_kill", shim_kill},
    {"_abort", shim_abort},
    {"_loader_raise_prepare", shim_raise_prepare},
    {"_loader_abort_again", shim_abort_again},
    {NULL, NULL},
};
