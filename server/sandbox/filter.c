/*
 * seccomp: the system calls that a child needs after it has locked itself in. Any other ends the process.
 *
 * Some take names of files. They are refused instead, with EACCES: libraries look for an optional file in rare cases (a
 * table of characters), and an input must not count as one that kills because of it.
 *
 * Arguments are checked where a call can do more than a child needs: no memory that can be executed or that is shared, one
 * socket, one limit, one signal to itself. fstat() is allowed and newfstatat() is not, since a filter cannot see whether
 * its name is empty; fz_map_open_fd() calls the former.
 */
#define _GNU_SOURCE /* MADV_* */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/locks.h"

/* libseccomp's macros for arguments leave a parameter and a member out. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#pragma clang diagnostic ignored "-Wmissing-field-initializers"
#endif

enum { MAP_KIND = 0x0f }; /* of the flags of mmap(): shared or private */

/* Whatever its arguments are, it affects the process alone and what it was given. */
static const int free_calls[] = {
    SCMP_SYS(brk),          SCMP_SYS(clock_gettime),   SCMP_SYS(close),
    SCMP_SYS(exit),         SCMP_SYS(exit_group),      SCMP_SYS(fstat),
    SCMP_SYS(futex),        SCMP_SYS(getpid),          SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),    SCMP_SYS(gettid),          SCMP_SYS(gettimeofday),
    SCMP_SYS(lseek),        SCMP_SYS(mremap),          SCMP_SYS(munmap),
    SCMP_SYS(poll),         SCMP_SYS(ppoll),           SCMP_SYS(pread64),
    SCMP_SYS(read),         SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sysinfo),
};
/* Those of the roles: only symbol files are unpacked to files that are used again. */
static const int write_calls[] = {SCMP_SYS(pwrite64), SCMP_SYS(write)};
static const int symbol_calls[] = {SCMP_SYS(ftruncate)};

static const int refused_calls[] = {
    SCMP_SYS(access),   SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(getcwd),
    SCMP_SYS(lstat),    SCMP_SYS(newfstatat), SCMP_SYS(open),       SCMP_SYS(openat),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(stat),       SCMP_SYS(statx),
};

static bool
add(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* Negative: this architecture does not have it. */
        if (calls[i] >= 0 && seccomp_rule_add(filter, action, calls[i], 0) != 0)
            return false;
    }
    return true;
}

static bool
allow_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp a, struct scmp_arg_cmp b)
{
    const struct scmp_arg_cmp both[] = {a, b};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, FZ_ARRAY_LEN(both), both) == 0;
}

static bool
add_memory(scmp_filter_ctx filter)
{
    static const unsigned advice[] = {MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_POPULATE_WRITE};
    const struct scmp_arg_cmp data = SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    /* RLIMIT_DATA counts private memory only. */
    bool ok = allow_if(filter, SCMP_SYS(mmap), data,
                       SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_KIND, MAP_PRIVATE)) &&
              seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, data) == 0;
    for (size_t i = 0; ok && i < FZ_ARRAY_LEN(advice); i++)
        ok = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(madvise), 1,
                              SCMP_A2_32(SCMP_CMP_EQ, advice[i])) == 0;
    return ok;
}

/* The socket, the CPU limit of a job, and abort(). */
static bool
add_checked(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp sock = SCMP_A0_32(SCMP_CMP_EQ, PROTO_FD);
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1, sock) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1, sock) == 0 &&
           allow_if(filter, SCMP_SYS(prlimit64), SCMP_A0_32(SCMP_CMP_EQ, 0),
                    SCMP_A1_32(SCMP_CMP_EQ, RLIMIT_CPU)) &&
           /* sysconf() reads others. */
           allow_if(filter, SCMP_SYS(prlimit64), SCMP_A0_32(SCMP_CMP_EQ, 0),
                    SCMP_A2_64(SCMP_CMP_EQ, 0)) &&
           allow_if(filter, SCMP_SYS(tgkill), SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)getpid()),
                    SCMP_A2_32(SCMP_CMP_EQ, SIGABRT));
}

void *
sandbox_filter_make(enum proto_role role)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter)
        return NULL;
    bool ok = add(filter, SCMP_ACT_ALLOW, free_calls, FZ_ARRAY_LEN(free_calls)) &&
              add(filter, SCMP_ACT_ALLOW, write_calls, FZ_ARRAY_LEN(write_calls)) &&
              add(filter, SCMP_ACT_ERRNO(EACCES), refused_calls, FZ_ARRAY_LEN(refused_calls)) &&
              add_memory(filter) && add_checked(filter);
    if (ok && role == PROTO_ROLE_SYMBOLS)
        ok = add(filter, SCMP_ACT_ALLOW, symbol_calls, FZ_ARRAY_LEN(symbol_calls));
    if (ok)
        return filter;
    seccomp_release(filter);
    return NULL;
}

bool
sandbox_filter_load(void *filter)
{
    bool ok = filter && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return ok;
}
