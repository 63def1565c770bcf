/*
 * Ways out of the sandbox. Each returns true if it is open.
 */
#ifndef SANDBOX_WAYS_H
#define SANDBOX_WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A folder with a file "secret" that its user can read and write; a process of the same user; a port of loopback. */
extern const char *way_folder;
extern pid_t way_victim;
extern uint16_t way_port;

/* Files and processes: ways.c */
bool way_read_secret(void);
bool way_write_secret(void);
bool way_truncate_secret(void);
bool way_list_folder(void);
bool way_create_file(void);
bool way_create_folder(void);
bool way_make_link(void);
bool way_stat_secret(void);
bool way_read_users(void);
bool way_read_shadow(void);
bool way_read_program(void);
bool way_read_environment(void);
bool way_write_memory(void);
bool way_change_folder(void);
bool way_trace_victim(void);
bool way_read_victim(void);
bool way_signal_victim(void);
bool way_signal_parent(void);
bool way_hold_victim(void);
bool way_start_process(void);
bool way_start_outliving(void);
bool way_start_thread(void);
bool way_run_shell(void);
bool way_new_session(void);
bool way_outlive_parent(void);
bool way_become_dumpable(void);
bool way_rename_self(void);
bool way_more_files(void);
bool way_ignore_signals(void);
bool way_stop_scheduling_last(void);
bool way_real_time(void);

/* Networks, memory, the kernel: ways_system.c */
bool way_connect_tcp(void);
bool way_send_udp(void);
bool way_listen_tcp(void);
bool way_raw_socket(void);
bool way_unix_socket(void);
bool way_netlink_socket(void);
bool way_connect_abstract(void);
bool way_write_and_execute(void);
bool way_make_executable(void);
bool way_shared_memory(void);
bool way_memory_file(void);
bool way_system_v_memory(void);
bool way_user_namespace(void);
bool way_io_uring(void);
bool way_keys(void);
bool way_page_faults(void);
bool way_events(void);
bool way_bpf(void);
bool way_mounts(void);
bool way_changes_root(void);
bool way_makes_device(void);
bool way_names_host(void);
bool way_sets_clock(void);
bool way_reboots(void);

#endif
