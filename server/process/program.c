#include "server/process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"

const char *
program_path(void)
{
#ifdef FZ_VALGRIND
    /* For the kernel, /proc/self/exe is valgrind itself; only readlink() gives the program. */
    static char path[PATH_MAX];
    ssize_t len = path[0] ? 1 : readlink("/proc/self/exe", path, sizeof(path) - 1);
    return len > 0 ? path : "framezero";
#else
    return "/proc/self/exe";
#endif
}

enum fz_code
program_child_path(char ret[PATH_MAX], struct fz_error *err)
{
    static const char name[] = "framezero-child";
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return fz_fail_errno(err, "/proc/self/exe");
    path[len] = '\0';
    /* Found by folder: after an upgrade the link ends in " (deleted)", the folder is the same. */
    const char *slash = strrchr(path, '/');
    int folder_len = slash ? (int)(slash - path) : 0;
    if ((size_t)folder_len + 1 + sizeof(name) > PATH_MAX)
        return fz_fail(err, FZ_E_INTERNAL, "the path of %s is too long", name);
    snprintf(path + folder_len, sizeof(path) - (size_t)folder_len, "/%s", name);
    if (access(path, X_OK) != 0)
        return fz_fail(err, FZ_E_INTERNAL,
                       "%s cannot be executed: install it in the same folder as framezero", path);
    memcpy(ret, path, strlen(path) + 1);
    return FZ_OK;
}

static bool
set_files(posix_spawn_file_actions_t *actions, const struct program_spawn *what)
{
    bool ok = posix_spawn_file_actions_adddup2(actions, what->fd, what->fd_in_child) == 0;
    for (int fd = STDIN_FILENO; ok && what->is_silent && fd <= STDERR_FILENO; fd++) {
        /* A child that was taken over could forge log lines; a sanitizer's report is worth more. */
        if (fd != STDERR_FILENO || !FZ_IS_WATCHED)
            ok = posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
                                                  fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0) == 0;
    }
    return ok;
}

static bool
set_attributes(posix_spawnattr_t *attr, const struct program_spawn *what)
{
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    struct sigaction hangup;
    sigset_t none, all;
    sigemptyset(&none);
    /* An ignored signal is inherited over exec, and this program ignores some. */
    sigfillset(&all);
    if (what->keeps_nohup && sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
        sigdelset(&all, SIGHUP);
    if (what->own_group)
        flags |= POSIX_SPAWN_SETPGROUP; /* the group 0 is a new one */
    return posix_spawnattr_setsigmask(attr, &none) == 0 &&
           posix_spawnattr_setsigdefault(attr, &all) == 0 &&
           posix_spawnattr_setflags(attr, (short)flags) == 0;
}

int
program_spawn(const struct program_spawn *what, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int error = ENOMEM; /* the only way in which settings fail */
    if (set_files(&actions, what) && set_attributes(&attr, what))
        error = posix_spawn(ret_pid, what->path, &actions, &attr, what->argv, what->envp);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}
