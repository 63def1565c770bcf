/*
 * A child that input has taken over: it locks itself in as framezero-child does, and then tries one way out.
 *
 *   evil_child list
 *   evil_child try WAY ROLE WITHOUT FOLDER VICTIM PORT
 *
 * WITHOUT is a number with a bit for each lock to leave out (enum proto_mechanism). FOLDER has a file "secret" that its user can
 * read and write; VICTIM is a process of the same user; PORT takes TCP on loopback. Prints the locks that are active. Exit
 * status 42: the way is open; 0: it is refused; a signal: it ended the process. `list` prints for each way its name, what is in
 * its row of the table, and the locks that stop it even alone.
 */
#define _GNU_SOURCE /* clone, unshare, memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/sandbox.h"

enum { OPEN = 42, PAGE = 4096 };

static const char *folder;
static pid_t victim;
static uint16_t port;

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
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return opens(path, flags);
}

static bool
opens_of_victim(const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)victim, name);
    return opens(path, flags);
}

static bool
read_secret(void)
{
    return opens_in_folder("secret", O_RDONLY);
}
static bool
write_secret(void)
{
    return opens_in_folder("secret", O_RDWR);
}
static bool
truncate_secret(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/secret", folder);
    return truncate(path, 7) == 0;
}
static bool
list_folder(void)
{
    return opens(folder, O_RDONLY | O_DIRECTORY);
}
static bool
create_file(void)
{
    return opens_in_folder("new", O_RDWR | O_CREAT);
}
static bool
create_folder(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/folder", folder);
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}
static bool
make_link(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/link", folder);
    return symlink("/etc/passwd", path) == 0 || errno == EEXIST;
}
static bool
stat_secret(void)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/secret", folder);
    return stat(path, &st) == 0;
}
static bool
read_users(void)
{
    return opens("/etc/passwd", O_RDONLY);
}
static bool
read_shadow(void)
{
    return opens("/etc/shadow", O_RDONLY);
}
static bool
read_program(void)
{
    return opens("/proc/self/exe", O_RDONLY) || opens("/bin/sh", O_RDONLY);
}
static bool
read_environment(void)
{
    return opens_of_victim("environ", O_RDONLY);
}
static bool
write_memory(void)
{
    return opens_of_victim("mem", O_RDWR);
}
static bool
change_folder(void)
{
    return chdir("/etc") == 0;
}

/* ---- processes ---- */

static bool
trace_victim(void)
{
    return ptrace(PTRACE_SEIZE, victim, NULL, NULL) == 0;
}
static bool
read_victim(void)
{
    char byte;
    /* An address that is not mapped is EFAULT, after the permission was checked. */
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)PAGE, 1};
    return process_vm_readv(victim, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}
static bool
signal_victim(void)
{
    return kill(victim, SIGCONT) == 0;
}
static bool
signal_parent(void)
{
    return kill(getppid(), 0) == 0;
}
static bool
hold_victim(void)
{
    return syscall(SYS_pidfd_open, victim, 0) >= 0;
}
static bool
start_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}
static bool
start_outliving(void)
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
static bool
start_thread(void)
{
    static _Alignas(16) char stack[16 * PAGE];
    return clone(thread_run, stack + sizeof(stack),
                 CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) > 0;
}
static bool
run_shell(void)
{
    char name[] = "sh", option[] = "-c", command[] = "exit 42",
         *argv[] = {name, option, command, NULL};
    execv("/bin/sh", argv);
    return false;
}
static bool
new_session(void)
{
    return setsid() >= 0;
}
static bool
outlive_parent(void)
{
    return prctl(PR_SET_PDEATHSIG, 0) == 0;
}
static bool
become_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 1) == 0;
}
static bool
rename_self(void)
{
    return prctl(PR_SET_NAME, "kworker") == 0;
}
static bool
more_files(void)
{
    struct rlimit limit = {32, 64};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
static bool
ignore_signals(void)
{
    return signal(SIGXCPU, SIG_IGN) != SIG_ERR;
}
static bool
stop_scheduling_last(void)
{
    struct sched_param param = {.sched_priority = 0};
    return sched_setscheduler(0, SCHED_BATCH, &param) == 0;
}
static bool
real_time(void)
{
    struct sched_param param = {.sched_priority = 1};
    return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

/* ---- networks ---- */

static struct sockaddr_in
loopback(uint16_t number)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(number),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
static bool
connect_tcp(void)
{
    struct sockaddr_in to = loopback(port);
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    return sock >= 0 && connect(sock, (struct sockaddr *)&to, sizeof(to)) == 0;
}
static bool
send_udp(void)
{
    struct sockaddr_in to = loopback(port);
    int sock = socket(AF_INET, SOCK_DGRAM, 0);
    return sock >= 0 && sendto(sock, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1;
}
static bool
listen_tcp(void)
{
    struct sockaddr_in at = loopback(0);
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    return sock >= 0 && bind(sock, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(sock, 1) == 0;
}
static bool
raw_socket(void)
{
    return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0;
}
static bool
unix_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}
static bool
netlink_socket(void)
{
    return socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
}
static bool
connect_abstract(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "fz-evil-%u", port);
    return sock >= 0 &&
           connect(sock, (struct sockaddr *)&to,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0;
}

/* ---- memory ---- */

static bool
maps(int protection, int flags)
{
    return mmap(NULL, PAGE, protection, flags | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
static bool
write_and_execute(void)
{
    return maps(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
}
static bool
make_executable(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0;
}
static bool
shared_memory(void)
{
    return maps(PROT_READ | PROT_WRITE, MAP_SHARED);
}
static bool
memory_file(void)
{
    return memfd_create("x", 0) >= 0;
}
static bool
system_v_memory(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    return id >= 0 && shmctl(id, IPC_RMID, NULL) == 0;
}

/* ---- the kernel ---- */

static bool
user_namespace(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}
static bool
io_uring(void)
{
    char parameters[256] = {0};
    return syscall(SYS_io_uring_setup, 1, parameters) >= 0;
}
static bool
keys(void)
{
    return syscall(SYS_add_key, "user", "fz", "x", 1, KEY_SPEC_PROCESS_KEYRING) >= 0;
}
static bool
page_faults(void)
{
    return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0;
}
static bool
events(void)
{
    return syscall(SYS_inotify_init1, 0) >= 0;
}
static bool
bpf(void)
{
    struct {
        uint32_t type, key_size, value_size, max_entries;
        char rest[112];
    } map = {2 /* array */, 4, 4, 1, {0}};
    return syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, &map, sizeof(map)) >= 0;
}
static bool
mounts(void)
{
    return mount("none", folder, "tmpfs", 0, NULL) == 0 && umount2(folder, MNT_DETACH) == 0;
}
static bool
changes_root(void)
{
    return chroot(folder) == 0;
}
static bool
makes_device(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/null", folder);
    return mknod(path, S_IFCHR | 0600, makedev(1, 3)) == 0 || errno == EEXIST;
}
static bool
names_host(void)
{
    char name[256];
    return gethostname(name, sizeof(name)) == 0 && sethostname(name, strlen(name)) == 0;
}
static bool
sets_clock(void)
{
    struct timex now = {.modes = 0};
    if (adjtimex(&now) < 0)
        return false;
    now.modes = ADJ_TICK; /* to what it is */
    return adjtimex(&now) >= 0;
}
/* With a wrong number: EINVAL comes after the permission was checked. */
static bool
reboots(void)
{
    return syscall(SYS_reboot, 1, 2, 3, NULL) != 0 && errno == EINVAL;
}

/* ---- the table ---- */

#define BIT(lock) ((uint32_t)1 << PROTO_LOCK_##lock)

enum { ROOT = 1 /* only root could */, SURE = 2 /* open on any machine without locks */ };

static const struct {
    const char *name;
    bool (*attempt)(void);
    int flags;
    uint32_t stopped_by; /* each of these alone */
} ways[] = {
    {"read_secret", read_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"write_secret", write_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"truncate_secret", truncate_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"list_folder", list_folder, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"create_file", create_file, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"create_folder", create_folder, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"make_link", make_link, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"stat_secret", stat_secret, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_users", read_users, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_shadow", read_shadow, ROOT, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER) | BIT(EMPTY_ROOT)},
    {"read_program", read_program, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_environment", read_environment, 0,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"write_memory", write_memory, 0,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"change_folder", change_folder, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"trace_victim", trace_victim, 0, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS)},
    {"read_victim", read_victim, 0, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS)},
    {"signal_victim", signal_victim, SURE, BIT(LANDLOCK) | BIT(SECCOMP)},
    {"signal_parent", signal_parent, ROOT, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER)},
    {"hold_victim", hold_victim, 0, BIT(SECCOMP)},
    {"start_process", start_process, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"start_outliving", start_outliving, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"start_thread", start_thread, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"run_shell", run_shell, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"new_session", new_session, SURE, BIT(SECCOMP)},
    {"outlive_parent", outlive_parent, SURE, BIT(SECCOMP)},
    {"become_dumpable", become_dumpable, SURE, BIT(SECCOMP)},
    {"rename_self", rename_self, SURE, BIT(SECCOMP)},
    {"more_files", more_files, SURE, BIT(SECCOMP)},
    {"ignore_signals", ignore_signals, SURE, BIT(SECCOMP)},
    {"stop_scheduling_last", stop_scheduling_last, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"real_time", real_time, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"connect_tcp", connect_tcp, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(NET_NS)},
    {"send_udp", send_udp, SURE, BIT(SECCOMP) | BIT(NET_NS)},
    {"listen_tcp", listen_tcp, SURE, BIT(LANDLOCK) | BIT(SECCOMP)},
    {"raw_socket", raw_socket, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"unix_socket", unix_socket, SURE, BIT(SECCOMP)},
    {"netlink_socket", netlink_socket, SURE, BIT(SECCOMP)},
    {"connect_abstract", connect_abstract, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(NET_NS)},
    {"write_and_execute", write_and_execute, SURE, BIT(SECCOMP)},
    {"make_executable", make_executable, SURE, BIT(SECCOMP)},
    {"shared_memory", shared_memory, SURE, BIT(SECCOMP)},
    {"memory_file", memory_file, SURE, BIT(SECCOMP)},
    {"system_v_memory", system_v_memory, SURE, BIT(SECCOMP)},
    {"user_namespace", user_namespace, 0, BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"io_uring", io_uring, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"keys", keys, 0, BIT(SECCOMP)},
    {"page_faults", page_faults, 0, BIT(SECCOMP)},
    {"events", events, 0, BIT(SECCOMP)},
    {"bpf", bpf, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"mounts", mounts, ROOT,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"changes_root", changes_root, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(EMPTY_ROOT)},
    {"makes_device", makes_device, ROOT, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"names_host", names_host, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"sets_clock", sets_clock, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"reboots", reboots, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
};

static void
print_level(uint32_t locks, unsigned abi)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "%u %u\n", locks, abi);
    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(3);
}

static int
list(void)
{
    for (int i = 0; i < PROTO_LOCKS; i++)
        printf("lock %s\n", proto_level_name((enum proto_mechanism)i));
    for (size_t i = 0; i < FZ_ARRAY_LEN(ways); i++)
        printf("way %s %d %u\n", ways[i].name, ways[i].flags, ways[i].stopped_by);
    return 0;
}

int
main(int argc, char **argv)
{
    struct limits limits = limits_default();
    struct proto_level level;
    struct fz_error err;
    int pair[2];
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc != 8 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 ||
        dup2(pair[0], PROTO_FD) < 0)
        return 2;
    size_t way = 0;
    while (way < FZ_ARRAY_LEN(ways) && strcmp(ways[way].name, argv[2]) != 0)
        way++;
    folder = argv[5];
    victim = (pid_t)strtol(argv[6], NULL, 10);
    port = (uint16_t)strtol(argv[7], NULL, 10);
    const struct sandbox_plan plan = {.role = (enum proto_role)strtol(argv[3], NULL, 10),
                                      .limits = &limits,
                                      .without = (uint32_t)strtoul(argv[4], NULL, 10)};
    if (way == FZ_ARRAY_LEN(ways) || sandbox_enter(&plan, &level, &err) != FZ_OK)
        return 2;
    print_level(level.locks, level.landlock_abi);
    _exit(ways[way].attempt() ? OPEN : 0);
}
