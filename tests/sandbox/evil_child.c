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
#define _GNU_SOURCE /* SOCK_SEQPACKET */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/sandbox.h"
#include "tests/sandbox/ways.h"

enum { OPEN = 42 };

/* ---- the table ---- */

#define BIT(lock) ((uint32_t)1 << PROTO_LOCK_##lock)

enum { ROOT = 1 /* only root could */, SURE = 2 /* open on any machine without locks */ };

static const struct {
    const char *name;
    bool (*attempt)(void);
    int flags;
    uint32_t stopped_by; /* each of these alone */
} ways[] = {
    {"read_secret", way_read_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"write_secret", way_write_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"truncate_secret", way_truncate_secret, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"list_folder", way_list_folder, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"create_file", way_create_file, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"create_folder", way_create_folder, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"make_link", way_make_link, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"stat_secret", way_stat_secret, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_users", way_read_users, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_shadow", way_read_shadow, ROOT,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER) | BIT(EMPTY_ROOT)},
    {"read_program", way_read_program, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"read_environment", way_read_environment, 0,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"write_memory", way_write_memory, 0,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"change_folder", way_change_folder, SURE, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"trace_victim", way_trace_victim, 0, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS)},
    {"read_victim", way_read_victim, 0, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER_NS)},
    {"signal_victim", way_signal_victim, SURE, BIT(LANDLOCK) | BIT(SECCOMP)},
    {"signal_parent", way_signal_parent, ROOT, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER)},
    {"hold_victim", way_hold_victim, 0, BIT(SECCOMP)},
    {"start_process", way_start_process, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"start_outliving", way_start_outliving, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"start_thread", way_start_thread, SURE, BIT(SECCOMP) | BIT(PID_NS)},
    {"run_shell", way_run_shell, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"new_session", way_new_session, SURE, BIT(SECCOMP)},
    {"outlive_parent", way_outlive_parent, SURE, BIT(SECCOMP)},
    {"become_dumpable", way_become_dumpable, SURE, BIT(SECCOMP)},
    {"rename_self", way_rename_self, SURE, BIT(SECCOMP)},
    {"more_files", way_more_files, SURE, BIT(SECCOMP)},
    {"ignore_signals", way_ignore_signals, SURE, BIT(SECCOMP)},
    {"stop_scheduling_last", way_stop_scheduling_last, ROOT,
     BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"real_time", way_real_time, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"connect_tcp", way_connect_tcp, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(NET_NS)},
    {"send_udp", way_send_udp, SURE, BIT(SECCOMP) | BIT(NET_NS)},
    {"listen_tcp", way_listen_tcp, SURE, BIT(LANDLOCK) | BIT(SECCOMP)},
    {"raw_socket", way_raw_socket, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"unix_socket", way_unix_socket, SURE, BIT(SECCOMP)},
    {"netlink_socket", way_netlink_socket, SURE, BIT(SECCOMP)},
    {"connect_abstract", way_connect_abstract, SURE, BIT(LANDLOCK) | BIT(SECCOMP) | BIT(NET_NS)},
    {"write_and_execute", way_write_and_execute, SURE, BIT(SECCOMP)},
    {"make_executable", way_make_executable, SURE, BIT(SECCOMP)},
    {"shared_memory", way_shared_memory, SURE, BIT(SECCOMP)},
    {"memory_file", way_memory_file, SURE, BIT(SECCOMP)},
    {"system_v_memory", way_system_v_memory, SURE, BIT(SECCOMP)},
    {"user_namespace", way_user_namespace, 0, BIT(SECCOMP) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"io_uring", way_io_uring, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"keys", way_keys, 0, BIT(SECCOMP)},
    {"page_faults", way_page_faults, 0, BIT(SECCOMP)},
    {"events", way_events, 0, BIT(SECCOMP)},
    {"bpf", way_bpf, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"mounts", way_mounts, ROOT,
     BIT(LANDLOCK) | BIT(SECCOMP) | BIT(USER) | BIT(USER_NS) | BIT(EMPTY_ROOT)},
    {"changes_root", way_changes_root, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(EMPTY_ROOT)},
    {"makes_device", way_makes_device, ROOT, BIT(SECCOMP) | BIT(EMPTY_ROOT)},
    {"names_host", way_names_host, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"sets_clock", way_sets_clock, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
    {"reboots", way_reboots, ROOT, BIT(SECCOMP) | BIT(USER) | BIT(USER_NS)},
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
    way_folder = argv[5];
    way_victim = (pid_t)strtol(argv[6], NULL, 10);
    way_port = (uint16_t)strtol(argv[7], NULL, 10);
    const struct sandbox_plan plan = {.role = (enum proto_role)strtol(argv[3], NULL, 10),
                                      .limits = &limits,
                                      .without = (uint32_t)strtoul(argv[4], NULL, 10)};
    if (way == FZ_ARRAY_LEN(ways) || sandbox_enter(&plan, &level, &err) != FZ_OK)
        return 2;
    print_level(level.locks, level.landlock_abi);
    _exit(ways[way].attempt() ? OPEN : 0);
}
