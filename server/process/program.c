#include "server/process/program.h"

#include <limits.h>
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
