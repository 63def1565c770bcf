#define _GNU_SOURCE /* unshare, memfd_create */
#include "tests/sandbox/ways.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* ---- networks ---- */

static struct sockaddr_in
loopback(uint16_t number)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(number),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
bool
way_connect_tcp(void)
{
    struct sockaddr_in to = loopback(way_port);
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    return sock >= 0 && connect(sock, (struct sockaddr *)&to, sizeof(to)) == 0;
}
bool
way_send_udp(void)
{
    struct sockaddr_in to = loopback(way_port);
    int sock = socket(AF_INET, SOCK_DGRAM, 0);
    return sock >= 0 && sendto(sock, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1;
}
bool
way_listen_tcp(void)
{
    struct sockaddr_in at = loopback(0);
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    return sock >= 0 && bind(sock, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(sock, 1) == 0;
}
bool
way_raw_socket(void)
{
    return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0;
}
bool
way_unix_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}
bool
way_netlink_socket(void)
{
    return socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
}
bool
way_connect_abstract(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "fz-evil-%u", way_port);
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
bool
way_write_and_execute(void)
{
    return maps(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
}
bool
way_make_executable(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0;
}
bool
way_shared_memory(void)
{
    return maps(PROT_READ | PROT_WRITE, MAP_SHARED);
}
bool
way_memory_file(void)
{
    return memfd_create("x", 0) >= 0;
}
bool
way_system_v_memory(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    return id >= 0 && shmctl(id, IPC_RMID, NULL) == 0;
}

/* ---- the kernel ---- */

bool
way_user_namespace(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}
bool
way_io_uring(void)
{
    char parameters[256] = {0};
    return syscall(SYS_io_uring_setup, 1, parameters) >= 0;
}
bool
way_keys(void)
{
    return syscall(SYS_add_key, "user", "fz", "x", 1, KEY_SPEC_PROCESS_KEYRING) >= 0;
}
bool
way_page_faults(void)
{
    return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0;
}
bool
way_events(void)
{
    return syscall(SYS_inotify_init1, 0) >= 0;
}
bool
way_bpf(void)
{
    struct {
        uint32_t type, key_size, value_size, max_entries;
        char rest[112];
    } map = {2 /* array */, 4, 4, 1, {0}};
    return syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, &map, sizeof(map)) >= 0;
}
bool
way_mounts(void)
{
    return mount("none", way_folder, "tmpfs", 0, NULL) == 0 && umount2(way_folder, MNT_DETACH) == 0;
}
bool
way_changes_root(void)
{
    return chroot(way_folder) == 0;
}
bool
way_makes_device(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/null", way_folder);
    return mknod(path, S_IFCHR | 0600, makedev(1, 3)) == 0 || errno == EEXIST;
}
bool
way_names_host(void)
{
    char name[256];
    return gethostname(name, sizeof(name)) == 0 && sethostname(name, strlen(name)) == 0;
}
bool
way_sets_clock(void)
{
    struct timex now = {.modes = 0};
    if (adjtimex(&now) < 0)
        return false;
    now.modes = ADJ_TICK; /* to what it is */
    return adjtimex(&now) >= 0;
}
/* With a wrong number: EINVAL comes after the permission was checked. */
bool
way_reboots(void)
{
    return syscall(SYS_reboot, 1, 2, 3, NULL) != 0 && errno == EINVAL;
}
