#define _GNU_SOURCE /* clone, process_vm_readv */
#include "tests/sandbox/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"

enum { PAGE = 4096 };

const char *way_folder;
pid_t way_victim;
uint16_t way_port;

/* ---- files ---- */

static bool
opens(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC, 0600) >= 0;
}

static bool
opens_in_folder(const char *name, int flags)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", way_folder, name);
    return opens(path, flags);
}

static bool
opens_of_victim(const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)way_victim, name);
    return opens(path, flags);
}

bool
way_read_secret(void)
{
    return opens_in_folder("secret", O_RDONLY);
}
bool
way_write_secret(void)
{
    return opens_in_folder("secret", O_RDWR);
}
bool
way_truncate_secret(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/secret", way_folder);
    return truncate(path, 7) == 0;
}
bool
way_list_folder(void)
{
    return opens(way_folder, O_RDONLY | O_DIRECTORY);
}
bool
way_create_file(void)
{
    return opens_in_folder("new", O_RDWR | O_CREAT);
}
bool
way_create_folder(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/folder", way_folder);
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}
bool
way_make_link(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/link", way_folder);
    return symlink("/etc/passwd", path) == 0 || errno == EEXIST;
}
bool
way_stat_secret(void)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/secret", way_folder);
    return stat(path, &st) == 0;
}
bool
way_read_users(void)
{
    return opens("/etc/passwd", O_RDONLY);
}
bool
way_read_shadow(void)
{
    return opens("/etc/shadow", O_RDONLY);
}
bool
way_read_program(void)
{
    return opens("/proc/self/exe", O_RDONLY) || opens("/bin/sh", O_RDONLY);
}
bool
way_read_environment(void)
{
    return opens_of_victim("environ", O_RDONLY);
}
bool
way_write_memory(void)
{
    return opens_of_victim("mem", O_RDWR);
}
bool
way_change_folder(void)
{
    return chdir("/etc") == 0;
}

/* ---- processes ---- */

bool
way_trace_victim(void)
{
    return ptrace(PTRACE_SEIZE, way_victim, NULL, NULL) == 0;
}
bool
way_read_victim(void)
{
    char byte;
    /* An address that is not mapped is EFAULT, after the permission was checked. */
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)PAGE, 1};
    return process_vm_readv(way_victim, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}
bool
way_signal_victim(void)
{
    return kill(way_victim, SIGCONT) == 0;
}
bool
way_signal_parent(void)
{
    return kill(getppid(), 0) == 0;
}
bool
way_hold_victim(void)
{
    return syscall(SYS_pidfd_open, way_victim, 0) >= 0;
}
bool
way_start_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}
bool
way_start_outliving(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid(); /* out of the group that the parent kills */
        _exit(0);
    }
    return pid > 0;
}
static int
thread_run(void *user FZ_UNUSED)
{
    return 0;
}
bool
way_start_thread(void)
{
    static _Alignas(16) char stack[16 * PAGE];
    return clone(thread_run, stack + sizeof(stack),
                 CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) > 0;
}
bool
way_run_shell(void)
{
    char name[] = "sh", option[] = "-c", command[] = "exit 42",
         *argv[] = {name, option, command, NULL};
    execv("/bin/sh", argv);
    return false;
}
bool
way_new_session(void)
{
    return setsid() >= 0;
}
bool
way_outlive_parent(void)
{
    return prctl(PR_SET_PDEATHSIG, 0) == 0;
}
bool
way_become_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 1) == 0;
}
bool
way_rename_self(void)
{
    return prctl(PR_SET_NAME, "kworker") == 0;
}
bool
way_more_files(void)
{
    struct rlimit limit = {32, 64};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
bool
way_ignore_signals(void)
{
    return signal(SIGXCPU, SIG_IGN) != SIG_ERR;
}
bool
way_stop_scheduling_last(void)
{
    struct sched_param param = {.sched_priority = 0};
    /* Children that read reports are in the ordinary class, where BATCH would give them nothing. */
    if (sched_getscheduler(0) == SCHED_IDLE)
        return sched_setscheduler(0, SCHED_BATCH, &param) == 0;
    return setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1) == 0;
}
bool
way_real_time(void)
{
    struct sched_param param = {.sched_priority = 1};
    return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}
