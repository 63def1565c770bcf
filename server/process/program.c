#include "server/process/program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
