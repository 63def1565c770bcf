#include "server/ingest/common/exception_names.h"

#include <stddef.h>
#include <string.h>

#include "base/attr.h"

enum {
    KERN_INVALID_ADDRESS = 1,
    EXC_SOFT_SIGNAL = 0x10003,
    EXC_UNIX_ABORT = 0x10002,
    EXC_UNIX_BAD_PIPE = 0x10001,
    EXC_UNIX_BAD_SYSCALL = 0x10000,
};

static const char *const signals[] = {
    NULL,      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGEMT",
    "SIGFPE",  "SIGKILL", "SIGBUS",    "SIGSEGV", "SIGSYS",   "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGURG",  "SIGSTOP", "SIGTSTP",   "SIGCONT", "SIGCHLD",  "SIGTTIN", "SIGTTOU", "SIGIO",
    "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGINFO", "SIGUSR1", "SIGUSR2",
};

static const char *const exceptions[] = {
    NULL,           "EXC_BAD_ACCESS", "EXC_BAD_INSTRUCTION", "EXC_ARITHMETIC",    "EXC_EMULATION",
    "EXC_SOFTWARE", "EXC_BREAKPOINT", "EXC_SYSCALL",         "EXC_MACH_SYSCALL",  "EXC_RPC_ALERT",
    "EXC_CRASH",    "EXC_RESOURCE",   "EXC_GUARD",           "EXC_CORPSE_NOTIFY",
};

enum processor { ALL, X86, ARM };

static const struct {
    uint32_t type, code;
    enum processor processor;
    const char *name;
} codes[] = {
    /* EXC_BAD_ACCESS: a kern_return_t, and a few of the processor's own */
    {1, 1, ALL, "KERN_INVALID_ADDRESS"},
    {1, 2, ALL, "KERN_PROTECTION_FAILURE"},
    {1, 3, ALL, "KERN_NO_SPACE"},
    {1, 4, ALL, "KERN_INVALID_ARGUMENT"},
    {1, 5, ALL, "KERN_FAILURE"},
    {1, 6, ALL, "KERN_RESOURCE_SHORTAGE"},
    {1, 8, ALL, "KERN_NO_ACCESS"},
    {1, 9, ALL, "KERN_MEMORY_FAILURE"},
    {1, 10, ALL, "KERN_MEMORY_ERROR"},
    {1, 13, X86, "EXC_I386_GPFLT"},
    {1, 50, ALL, "KERN_CODESIGN_ERROR"},
    {1, 0x101, ARM, "EXC_ARM_DA_ALIGN"},
    {1, 0x102, ARM, "EXC_ARM_DA_DEBUG"},
    {1, 0x103, ARM, "EXC_ARM_SP_ALIGN"},
    {1, 0x104, ARM, "EXC_ARM_SWP"},
    {1, 0x105, ARM, "EXC_ARM_PAC_FAIL"},
    {2, 1, X86, "EXC_I386_INVOP"},
    {2, 10, X86, "EXC_I386_INVTSSFLT"},
    {2, 11, X86, "EXC_I386_SEGNPFLT"},
    {2, 12, X86, "EXC_I386_STKFLT"},
    {2, 1, ARM, "EXC_ARM_UNDEFINED"},
    {3, 0, ARM, "EXC_ARM_FP_UNDEFINED"},
    {3, 1, X86, "EXC_I386_DIV"},
    {3, 1, ARM, "EXC_ARM_FP_IO"},
    {3, 2, X86, "EXC_I386_INTO"},
    {3, 2, ARM, "EXC_ARM_FP_DZ"},
    {3, 3, X86, "EXC_I386_NOEXT"},
    {3, 3, ARM, "EXC_ARM_FP_OF"},
    {3, 4, X86, "EXC_I386_EXTOVR"},
    {3, 4, ARM, "EXC_ARM_FP_UF"},
    {3, 5, X86, "EXC_I386_EXTERR"},
    {3, 5, ARM, "EXC_ARM_FP_IX"},
    {3, 6, X86, "EXC_I386_EMERR"},
    {3, 6, ARM, "EXC_ARM_FP_ID"},
    {3, 7, X86, "EXC_I386_BOUND"},
    {3, 8, X86, "EXC_I386_SSEEXTERR"},
    {5, EXC_UNIX_BAD_SYSCALL, ALL, "EXC_UNIX_BAD_SYSCALL"},
    {5, EXC_UNIX_BAD_PIPE, ALL, "EXC_UNIX_BAD_PIPE"},
    {5, EXC_UNIX_ABORT, ALL, "EXC_UNIX_ABORT"},
    {5, EXC_SOFT_SIGNAL, ALL, "EXC_SOFT_SIGNAL"},
    {6, 1, X86, "EXC_I386_SGL"},
    {6, 2, X86, "EXC_I386_BPT"},
    {6, 1, ARM, "EXC_ARM_BREAKPOINT"},
};

const char *
ingest_signal_name(int64_t number)
{
    if (number < 0 || (uint64_t)number >= FZ_ARRAY_LEN(signals))
        return NULL;
    return signals[number];
}

const char *
ingest_signal_code(int64_t number, int64_t code)
{
    enum { MOST = 9 };
    static const struct {
        int64_t number;
        const char *names[MOST];
    } rows[] = {
        {4,
         {NULL, "ILL_ILLOPC", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_PRVREG",
          "ILL_COPROC", "ILL_BADSTK"}},
        {5, {NULL, "TRAP_BRKPT", "TRAP_TRACE"}},
        {8,
         {NULL, "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB",
          "FPE_INTDIV", "FPE_INTOVF"}},
        {10, {NULL, "BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR"}},
        {11, {NULL, "SEGV_MAPERR", "SEGV_ACCERR"}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        /* 0 is SEGV_NOOP and its like: it says nothing. */
        if (rows[i].number == number && code > 0 && code < MOST)
            return rows[i].names[code];
    }
    return NULL;
}

const char *
ingest_mach_exception(uint64_t type)
{
    return type < FZ_ARRAY_LEN(exceptions) ? exceptions[type] : NULL;
}

uint64_t
ingest_mach_type(const char *name)
{
    for (uint64_t i = 1; name && i < FZ_ARRAY_LEN(exceptions); i++) {
        if (strcmp(exceptions[i], name) == 0)
            return i;
    }
    return 0;
}

/* Three bits of type and three of flavor. */
static const char *
resource_name(uint64_t code)
{
    enum { CPU = 1, FATAL = 2 };
    static const char *const types[] = {NULL, "CPU", "WAKEUPS", "MEMORY", "IO", "THREADS", "PORTS"};
    uint64_t type = code >> 61, flavor = code >> 58 & 7;
    if (type == CPU && flavor == FATAL)
        return "CPU_FATAL";
    return type < FZ_ARRAY_LEN(types) ? types[type] : NULL;
}

static const char *
guard_name(uint64_t code)
{
    static const char *const types[] = {NULL,
                                        "GUARD_TYPE_MACH_PORT",
                                        "GUARD_TYPE_FD",
                                        "GUARD_TYPE_USER",
                                        "GUARD_TYPE_VN",
                                        "GUARD_TYPE_VIRT_MEMORY",
                                        "GUARD_TYPE_REJECTED_SC"};
    /* EXC_GUARD has its type in the three highest bits, as EXC_RESOURCE does. */
    uint64_t type = code >> 61;
    return type < FZ_ARRAY_LEN(types) ? types[type] : NULL;
}

const char *
ingest_mach_code(uint64_t type, uint64_t code, bool arm)
{
    if (type == MACH_EXC_RESOURCE)
        return resource_name(code);
    if (type == MACH_EXC_GUARD)
        return guard_name(code);
    for (size_t i = 0; i < FZ_ARRAY_LEN(codes); i++) {
        /* The same number has other names on other processors. */
        if (codes[i].type == type && codes[i].code == code &&
            (codes[i].processor == ALL || (codes[i].processor == ARM) == arm))
            return codes[i].name;
    }
    return NULL;
}

int
ingest_mach_signal(uint64_t type, uint64_t code, uint64_t subcode)
{
    enum { ILL = 4, TRAP = 5, ABRT = 6, FPE = 8, BUS = 10, SEGV = 11, SYS = 12, PIPE = 13 };
    switch (type) {
    case MACH_EXC_BAD_ACCESS:
        /* A page that exists but forbids the access is SIGBUS on Darwin, unlike on Linux. */
        return code == KERN_INVALID_ADDRESS ? SEGV : BUS;
    case MACH_EXC_BAD_INSTRUCTION:
        return ILL;
    case MACH_EXC_ARITHMETIC:
        return FPE;
    case MACH_EXC_BREAKPOINT:
        return TRAP;
    case MACH_EXC_SOFTWARE:
        /* A signal that a debugger or the kernel forwards as an exception carries its number. */
        if (code == EXC_SOFT_SIGNAL && subcode < FZ_ARRAY_LEN(signals))
            return (int)subcode;
        return code == EXC_UNIX_BAD_SYSCALL ? SYS
               : code == EXC_UNIX_BAD_PIPE  ? PIPE
               : code == EXC_UNIX_ABORT     ? ABRT
                                            : 0;
    default:
        return 0;
    }
}

const char *
ingest_exit_namespace(uint64_t number)
{
    static const char *const names[] = {
        NULL,           "JETSAM",   "SIGNAL",          "CODESIGNING",   "HANGTRACER",
        "TEST",         "DYLD",     "LIBXPC",          "OBJC",          "EXEC",
        "SPRINGBOARD",  "TCC",      "REPORTCRASH",     "COREANIMATION", "AGGREGATED",
        "RUNNINGBOARD", "SKYWALK",  "SETTINGS",        "LIBSYSTEM",     "FOUNDATION",
        "WATCHDOG",     "METAL",    "WATCHKIT",        "GUARD",         "ANALYTICS",
        "SANDBOX",      "SECURITY", "ENDPOINTSECURITY"};
    return number < FZ_ARRAY_LEN(names) ? names[number] : NULL;
}
