/*
 * Another user and other namespaces: what a process can name at all.
 *
 * Root asks for namespaces first and then becomes another user, since the kernel may refuse namespaces to users; everyone
 * else asks for a namespace of users together with the others, which is what the kernel allows without privileges.
 *
 * CLONE_NEWPID counts for processes that are started afterwards. One is started, and ends: a namespace whose first process
 * has ended takes no others, so fork() fails from then on, for root, too. Before it ends, that process changes the root
 * folder, which both share, to /proc/self/fdinfo: its own folder in /proc, which is empty as soon as it is gone.
 */
#define _GNU_SOURCE /* unshare, clone, setgroups */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/locks.h"

enum { NOBODY = 65534, HELPER_STACK = 16 * 1024 };

static const struct {
    enum proto_mechanism lock;
    int flag;
} namespaces[] = {
    {PROTO_LOCK_USER_NS, CLONE_NEWUSER}, {PROTO_LOCK_NET_NS, CLONE_NEWNET},
    {PROTO_LOCK_PID_NS, CLONE_NEWPID},   {PROTO_LOCK_IPC_NS, CLONE_NEWIPC},
    {PROTO_LOCK_UTS_NS, CLONE_NEWUTS},   {PROTO_LOCK_MOUNT_NS, CLONE_NEWNS},
};

static uint32_t
bit(enum proto_mechanism lock)
{
    return (uint32_t)1 << lock;
}

static int
flags_of(uint32_t locks)
{
    int flags = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(namespaces); i++)
        flags |= locks & bit(namespaces[i].lock) ? namespaces[i].flag : 0;
    return flags;
}

/* All of them at once, or, as a kernel may lack one of them, one by one. */
static uint32_t
take(uint32_t locks)
{
    uint32_t got = 0;
    if (locks == 0 || unshare(flags_of(locks)) == 0)
        return locks;
    /* In the order of the table: without privileges all others need the first. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(namespaces); i++) {
        uint32_t one = bit(namespaces[i].lock);
        if (locks & one && unshare(namespaces[i].flag) == 0)
            got |= one;
    }
    return got;
}

/* The parent has the same rights, and must be able to end a child of another user. */
static bool
may_end_others(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_KILL)].effective & CAP_TO_MASK(CAP_KILL)) != 0;
}

/* Afterwards, the right to change the root folder is kept until drop_capabilities(). */
static bool
become_nobody(void)
{
    return prctl(PR_SET_KEEPCAPS, 1) == 0 && setgroups(0, NULL) == 0 &&
           setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* Use those that are permitted; a change of the user leaves none in effect. */
static void
set_capabilities(bool all)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (all && syscall(SYS_capget, &header, data) == 0) {
        for (size_t i = 0; i < FZ_ARRAY_LEN(data); i++)
            data[i].effective = data[i].permitted;
    }
    /* All that can fail is to take what is not permitted. */
    fz_ignore(syscall(SYS_capset, &header, data) != 0);
}

/* ---- the process that ends ---- */

struct helper {
    bool wants_empty, is_empty; /* the root folder */
};

/* In the memory of the child, which waits: nothing but `user` may change. */
static int
helper_run(void *user)
{
    struct helper *helper = user;
    helper->is_empty = helper->wants_empty && chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0;
    return 0;
}

static bool
helper_start(struct helper *helper)
{
    _Alignas(16) char stack[HELPER_STACK];
    pid_t pid = clone(helper_run, stack + sizeof(stack),
                      CLONE_VM | CLONE_VFORK | CLONE_FS | SIGCHLD, helper);
    if (pid < 0)
        return false;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return true;
}

uint32_t
sandbox_namespaces(uint32_t without)
{
    struct helper helper = {.wants_empty = !(without & bit(PROTO_LOCK_EMPTY_ROOT))};
    uint32_t wanted = 0, got = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(namespaces); i++)
        wanted |= bit(namespaces[i].lock) & ~without;
    bool is_root = geteuid() == 0;
    if (is_root) {
        got = take(wanted & ~bit(PROTO_LOCK_USER_NS));
        /* If it fails, as in a container without that right, the child stays what its parent is. */
        if (!(without & bit(PROTO_LOCK_USER)) && may_end_others())
            is_root = !become_nobody();
    }
    /* Before the root folder changes: then the kernel gives no namespace of users. */
    got |= take(wanted & ~got);
    set_capabilities(true);
    if (((got & bit(PROTO_LOCK_PID_NS)) || helper.wants_empty) && !helper_start(&helper))
        got &= ~bit(PROTO_LOCK_PID_NS);
    if (!(without & bit(PROTO_LOCK_USER)))
        set_capabilities(false);
    got |= helper.is_empty ? bit(PROTO_LOCK_EMPTY_ROOT) : 0;
    /* Not by geteuid(), which answers 65534 for every user of a new namespace. */
    return got | (is_root ? 0 : bit(PROTO_LOCK_USER));
}
