/*
 * Which files the running program starts: itself again for its other roles, and framezero-child for
 * everything that parses untrusted bytes.
 */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include <limits.h>

#include "base/error.h"
#include <stdbool.h>
#include <sys/types.h>

/* The path to execute; it stays right after an upgrade has replaced the program's file. Borrowed for ever. */
const char *program_path(void);

/*
 * The path of framezero-child, in the folder of the running program, also after an upgrade has
 * replaced that program's file. INTERNAL: it is not there or cannot be executed; the text names it.
 */
FZ_MUST_CHECK enum fz_code program_child_path(char ret[PATH_MAX], struct fz_error *err);

struct program_spawn {
    const char *path;
    char *const *argv, *const *envp;
    int fd, fd_in_child; /* the descriptor that it inherits, and its number there */
    bool own_group;      /* Ctrl-C in the terminal does not reach it */
    bool keeps_nohup;    /* SIGHUP stays ignored if it is; all other signals are as after a login */
    bool is_silent;      /* no standard input, output and error */
};
/* Returns 0, or an errno. */
int program_spawn(const struct program_spawn *what, pid_t *ret_pid);

#endif
