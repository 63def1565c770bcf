/* Stands for libsystem_c.dylib and its like: what ends a process, sorts, copies and waits. Its reports come with names. */
#include <stddef.h>

#define NOINLINE __attribute__((noinline, visibility("default")))
#define NORETURN __attribute__((noreturn))
volatile int system_depth;

NOINLINE NORETURN void
__pthread_kill(void)
{
    system_depth++;
    __builtin_trap();
}

NOINLINE NORETURN void
pthread_kill(void)
{
    __pthread_kill();
}

NOINLINE NORETURN void
abort(void)
{
    system_depth++;
    pthread_kill();
}

NOINLINE NORETURN void
__assert_rtn(const char *function, const char *file, int line, const char *text)
{
    (void)function, (void)file, (void)line, (void)text;
    abort();
}

/* ---- C++ and Objective-C exceptions that nobody catches ---- */

NOINLINE NORETURN void
abort_message(void)
{
    abort();
}

NOINLINE NORETURN static void handle(void) __asm__("__ZL28demangling_terminate_handlerv");
static void
handle(void)
{
    abort_message();
}

NOINLINE NORETURN void
_objc_terminate(void)
{
    handle();
}

NOINLINE NORETURN void terminate_with(void (*handler)(void)) __asm__("__ZSt11__terminatePFvvE");
void
terminate_with(void (*handler)(void))
{
    handler();
    abort();
}

NOINLINE NORETURN void
__cxa_throw(void *object, void *type, void *destroy)
{
    (void)object, (void)type, (void)destroy;
    terminate_with((void (*)(void))_objc_terminate);
}

NOINLINE NORETURN void
objc_exception_throw(void *object)
{
    __cxa_throw(object, 0, 0);
}

NOINLINE NORETURN void
__cxa_pure_virtual(void)
{
    abort_message();
}

NOINLINE NORETURN void swift_failure(const char *text) __asm__(
    "_$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF");
void
swift_failure(const char *text)
{
    (void)text;
    system_depth++;
    __builtin_trap();
}

/* ---- what calls back, copies and waits ---- */

NOINLINE static void sort_some(char *items, size_t n, size_t size,
                               int (*compare)(const void *, const void *)) __asm__("__qsort");
static void
sort_some(char *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t i = 0; i + 1 < n; i++)
        system_depth += compare(items + i * size, items + (i + 1) * size);
}

NOINLINE void
qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    sort_some(items, n, size, compare);
    system_depth++;
}

NOINLINE void
_dispatch_client_callout(void (*work)(void *), void *argument)
{
    work(argument);
    system_depth++;
}

NOINLINE void
_dispatch_main_queue_drain(void (*work)(void *), void *argument)
{
    _dispatch_client_callout(work, argument);
    system_depth++;
}

NOINLINE void
system_call(void (*work)(void *), void *argument)
{
    _dispatch_main_queue_drain(work, argument);
    system_depth++;
}

NOINLINE void
completeTaskWithClosure(void (*work)(void *), void *argument)
{
    work(argument);
    system_depth++;
}

NOINLINE void
swift_retain(void *object)
{
    *(volatile int *)object += 1;
}

NOINLINE void *
memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    return to;
}

NOINLINE size_t
strlen(const char *text)
{
    size_t n = 0;
    while (((const volatile char *)text)[n])
        n++;
    return n;
}

NOINLINE static int wait_for_mutex(void) __asm__("___psynch_mutexwait");
static int
wait_for_mutex(void)
{
    system_depth++;
    __builtin_trap();
}

NOINLINE int
pthread_mutex_lock(void *mutex)
{
    (void)mutex;
    system_depth += wait_for_mutex();
    return system_depth;
}
