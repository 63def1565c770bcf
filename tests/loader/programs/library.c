/* A library of which no symbol file is uploaded: its frames have no names, the frames after them must. */
__attribute__((noinline)) static int
twice(int (*callback)(void *), void *argument)
{
    return callback(argument) + callback(argument) + 1;
}

int
lib_apply(int (*callback)(void *), void *argument)
{
    return twice(callback, argument);
}

__attribute__((noinline)) int
lib_poke(int *where, int value)
{
    volatile int copy = value;
    *where = copy;
    return copy + 1;
}

/* ---- raise() and abort(), as in libsystem_kernel and libsystem_c: with frames in a listed image ---------------- */

/* 1 and the ids of process and thread and Linux's number of the signal, or 0 if it is blocked. */
int loader_raise_prepare(int number, long ids[3]);
void loader_abort_again(void);

__attribute__((noinline)) int
raise(int number)
{
    long ids[3];
    if (!loader_raise_prepare(number, ids))
        return 0;
#if defined(__x86_64__)
    long result = 234; /* tgkill */
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(ids[0]), "S"(ids[1]), "d"(ids[2])
                     : "rcx", "r11", "memory");
    return (int)result;
#else
    register long call __asm__("x8") = 131;
    register long process __asm__("x0") = ids[0], thread __asm__("x1") = ids[1];
    register long signal __asm__("x2") = ids[2];
    __asm__ volatile("svc #0" : "+r"(process) : "r"(call), "r"(thread), "r"(signal) : "memory");
    return (int)process;
#endif
}

void
abort(void)
{
    raise(6);
    loader_abort_again();
    raise(6);
}

/* What libraries leave for reports of their crash: {version, message, …} in a section of its own. */
static struct {
    unsigned long version;
    const char *message, *signature, *backtrace, *message2;
    unsigned long thread, dialog_mode, abort_cause;
} crash_info __attribute__((section("__DATA,__crash_info"), used)) = {.version = 5};

void
lib_say(const char *message)
{
    crash_info.message = message;
}
