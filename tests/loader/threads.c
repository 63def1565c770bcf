#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "loader.h"

/*
 * Threads of the program: each runs on a stack of its own with a known end and a guard before it. Suspending a thread
 * sends it a signal whose handler saves its registers and waits.
 */
enum { GUARD = 0x10000, ALTERNATE = 0x40000, WAIT_MS = 2000, START_MS = 100 };

static int freeze_signal;
static __thread struct loader_thread *self;

struct loader_thread *
loader_thread_self(void)
{
    return self;
}

uint32_t
loader_port_of_thread(const struct loader_thread *thread)
{
    return LOADER_THREAD_PORT + 0x100 * (uint32_t)(thread - loader_shared->threads);
}

struct loader_thread *
loader_thread_of_port(uint32_t port)
{
    uint32_t index = (port - LOADER_THREAD_PORT) / 0x100;
    if ((port - LOADER_THREAD_PORT) % 0x100 || index >= LOADER_THREADS)
        return NULL;
    return loader_shared->threads[index].used ? &loader_shared->threads[index] : NULL;
}

/* As in the kernel, a thread is in the list from its creation on. */
static struct loader_thread *
reserve(void)
{
    for (int i = 0; i < LOADER_THREADS; i++) {
        struct loader_thread *thread = &loader_shared->threads[i];
        if (__atomic_test_and_set(&thread->used, __ATOMIC_SEQ_CST))
            continue;
        thread->tid = 0;
        thread->id = 0x5000 + (uint64_t)i;
        thread->name[0] = '\0';
        return thread;
    }
    fprintf(stderr, "loader: more than %d threads\n", LOADER_THREADS);
    _exit(125);
}

static void
adopt(struct loader_thread *thread)
{
    self = thread;
    __atomic_store_n(&thread->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

struct loader_thread *
loader_thread_register(void)
{
    adopt(reserve());
    return self;
}

/* The loader's handlers need a stack even where the program's is used up. */
void
loader_thread_alternate_stack(void)
{
    stack_t stack = {.ss_size = ALTERNATE};
    stack.ss_sp = mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
}

uint64_t
loader_stack_make(uint64_t *ret_low)
{
    uint8_t *at = mmap(NULL, GUARD + LOADER_STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at, GUARD, PROT_NONE) != 0) {
        fprintf(stderr, "loader: no memory for a stack\n");
        _exit(125);
    }
    *ret_low = (uint64_t)at + GUARD;
    return *ret_low + LOADER_STACK;
}

/* ---- suspending ------------------------------------------------------------------------------ */

static void
pause_us(long us)
{
    struct timespec pause = {.tv_nsec = us * 1000};
    nanosleep(&pause, NULL);
}

static void
on_freeze(int linux_signal, siginfo_t *info, void *context)
{
    (void)linux_signal, (void)info;
    struct loader_thread *thread = self;
    if (!thread || thread->suspends == 0)
        return;
    cpu_from_linux(context, 0, &thread->cpu);
    __atomic_store_n(&thread->freeze, LOADER_FROZEN, __ATOMIC_SEQ_CST);
    /* Hundreds may wait here while one thread works. */
    while (__atomic_load_n(&thread->suspends, __ATOMIC_SEQ_CST) > 0)
        pause_us(10000);
    thread->freeze = LOADER_RUNS;
}

static int
suspend(struct loader_thread *thread)
{
    if (__atomic_fetch_add(&thread->suspends, 1, __ATOMIC_SEQ_CST) > 0 ||
        thread->freeze == LOADER_FROZEN)
        return 0;
    for (int waited = 0; !__atomic_load_n(&thread->tid, __ATOMIC_SEQ_CST); waited++) {
        /* It waits for a lock of a suspended thread, and cannot run either. */
        if (waited > START_MS * 10) {
            __atomic_fetch_sub(&thread->suspends, 1, __ATOMIC_SEQ_CST);
            return 5;
        }
        pause_us(100);
    }
    syscall(SYS_tgkill, getpid(), thread->tid, freeze_signal);
    for (int waited = 0; thread->freeze != LOADER_FROZEN; waited++) {
        if (waited > WAIT_MS * 10 || syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0)
            return 5;
        pause_us(100);
    }
    return 0;
}

void
loader_stop_others(void)
{
    for (int i = 0; i < LOADER_THREADS; i++)
        if (loader_shared->threads[i].used && &loader_shared->threads[i] != self)
            suspend(&loader_shared->threads[i]);
}

void
loader_threads_install(void)
{
    freeze_signal = SIGRTMIN + 5;
    struct sigaction action = {.sa_sigaction = on_freeze, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(freeze_signal, &action, NULL);
}

/* ---- what the program calls ------------------------------------------------------------------- */

static int
shim_thread_suspend(uint32_t port)
{
    struct loader_thread *thread = loader_thread_of_port(port);
    return thread && thread != self ? suspend(thread) : 4;
}

static int
shim_thread_resume(uint32_t port)
{
    struct loader_thread *thread = loader_thread_of_port(port);
    if (!thread || thread->suspends == 0)
        return 4;
    __atomic_fetch_sub(&thread->suspends, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static uint32_t
shim_mach_thread_self(void)
{
    return loader_port_of_thread(self);
}

struct start {
    void *(*fn)(void *);
    void *argument;
    struct loader_thread *thread;
};

static void *
thread_main(void *user)
{
    struct start start = *(struct start *)user;
    struct loader_thread *thread = start.thread;
    /* First, because the creator may be suspended with the lock of free(). */
    adopt(thread);
    free(user);
    loader_thread_alternate_stack();
    thread->stack_top = loader_stack_make(&thread->stack_low);
    cpu_call_on_stack(start.fn, start.argument, thread->stack_top);
    thread->used = false;
    return NULL;
}

static int
shim_pthread_create(uint64_t *thread, const void *attributes, void *(*fn)(void *), void *argument)
{
    (void)attributes;
    struct start *start = malloc(sizeof(*start));
    *start = (struct start){fn, argument, reserve()};
    pthread_t id;
    int code = pthread_create(&id, NULL, thread_main, start);
    *thread = (uint64_t)id;
    return code;
}

static int
shim_pthread_join(uint64_t thread, void **ret)
{
    return pthread_join((pthread_t)thread, ret);
}

static int
shim_pthread_detach(uint64_t thread)
{
    return pthread_detach((pthread_t)thread);
}

static int
shim_pthread_setname(const char *name)
{
    snprintf(self->name, sizeof(self->name), "%s", name);
    return 0;
}

static int
shim_pthread_is_main(void)
{
    return self == &loader_shared->threads[0];
}

/* Attributes are not kept: all threads have the same stack. */
static int
shim_no_effect(void)
{
    return 0;
}

const struct loader_symbol loader_symbols_threads[] = {
    {"_thread_suspend", shim_thread_suspend},
    {"_thread_resume", shim_thread_resume},
    {"_mach_thread_self", shim_mach_thread_self},
    {"_pthread_create", shim_pthread_create},
    {"_pthread_join", shim_pthread_join},
    {"_pthread_detach", shim_pthread_detach},
    {"_pthread_setname_np", shim_pthread_setname},
    {"_pthread_main_np", shim_pthread_is_main},
    {"_pthread_attr_init", shim_no_effect},
    {"_pthread_attr_destroy", shim_no_effect},
    {"_pthread_attr_setdetachstate", shim_no_effect},
    {"_pthread_attr_setstacksize", shim_no_effect},
    {NULL, NULL},
};
