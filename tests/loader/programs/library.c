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
