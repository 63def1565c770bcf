#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <TargetConditionals.h>

/*
 * Faults and abort() as signals. The registers of the crash are in the machine context that the kernel hands over;
 * those of thread_get_state() would be the handler's own.
 *
 * After the capture the old actions are back. A fault then happens again at the same instruction, with its true state,
 * and the system's report and the extension see it. A signal that was sent is sent again, blocked until this handler has
 * returned, so that the handler's frames are not in the corpse.
 */
enum { N_SIGNALS = 7, STACK_SIZE = 64 * 1024 };

static const int watched[N_SIGNALS] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
static struct sigaction old_actions[N_SIGNALS];
static bool is_watched[N_SIGNALS];
#if !TARGET_OS_TV
/* sigaltstack() is per thread: this one is the main thread's, whose stack may overflow. */
FRAMEZERO_WORK static uint8_t handler_stack[STACK_SIZE] __attribute__((aligned(16)));
#endif
FRAMEZERO_WORK static struct framezero_state first_state;

void
framezero_signals_restore(void)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (is_watched[i])
            sigaction(watched[i], &old_actions[i], NULL);
}

static void
take_state(struct framezero_state *state, const ucontext_t *context)
{
    memset(state, 0, sizeof(*state));
    if (!context || !context->uc_mcontext)
        return;
    state->has_general = state->has_fault = state->has_vectors = true;
    memcpy(state->general, &context->uc_mcontext->__ss, sizeof(state->general));
    memcpy(state->fault, &context->uc_mcontext->__es, sizeof(state->fault));
#if defined(__x86_64__)
    memcpy(state->vectors, &context->uc_mcontext->__fs, sizeof(state->vectors));
#else
    memcpy(state->vectors, &context->uc_mcontext->__ns, sizeof(state->vectors));
#endif
}

/* The Mach exception that the kernel made this signal from; 0 if it was sent. */
static int
exception_of(int number, bool is_fault)
{
    if (!is_fault)
        return number == SIGABRT ? EXC_CRASH : 0;
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
        return EXC_BAD_ACCESS;
    case SIGILL:
        return EXC_BAD_INSTRUCTION;
    case SIGFPE:
        return EXC_ARITHMETIC;
    case SIGTRAP:
        return EXC_BREAKPOINT;
    default:
        return 0;
    }
}

static bool
is_hardware(int number, const siginfo_t *info)
{
    /* SI_USER and its kind are 0 or from 0x10001 on. */
    return info && info->si_code > 0 && info->si_code < 0x10000 && number != SIGABRT &&
           number != SIGSYS;
}

static void
on_signal(int number, siginfo_t *info, void *user)
{
    thread_t self = mach_thread_self();
    enum framezero_turn turn = framezero_run_claim(self);
    bool is_fault = is_hardware(number, info);
    if (turn == FRAMEZERO_OTHER) {
        framezero_run_wait();
    } else if (turn == FRAMEZERO_SECOND) {
        framezero_run_write_short();
    } else if (turn == FRAMEZERO_FIRST) {
        take_state(&first_state, user);
        struct framezero_crash crash = {.way = "signal",
                                        .crashed = self,
                                        .state = &first_state,
                                        .signal = number,
                                        .when_stopped = framezero_mach_restore,
                                        .exception = exception_of(number, is_fault)};
        if (is_fault) {
            crash.has_addr = true;
            crash.addr = (uint64_t)(uintptr_t)info->si_addr;
        }
        framezero_run_write(&crash);
    }
    framezero_signals_restore();
    if (!is_fault) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        raise(number);
    }
}

void
framezero_signals_install(void)
{
    struct sigaction action;
#if !TARGET_OS_TV /* has no sigaltstack(): overflows of the main thread are lost there */
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)}, old;
    /* Another library's stack serves as well. */
    if (sigaltstack(NULL, &old) != 0 || (old.ss_flags & SS_DISABLE))
        sigaltstack(&stack, NULL);
#endif
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_signal;
    /* Other signals stay open: a fault in the handler must reach it. */
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < N_SIGNALS; i++)
        is_watched[i] = sigaction(watched[i], &action, &old_actions[i]) == 0;
}
