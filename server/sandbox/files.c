/*
 * Landlock: what the process may open. The set of rules is empty, so nothing: descriptors that are open, and those that
 * come through the socket, are all it has.
 *
 * By system calls, with the layout of Linux 6.12: Debian's headers are older than the kernels that the program runs on.
 * A kernel accepts a longer struct than its own if what it does not know is 0, so only what its version has is asked for.
 */
#define _GNU_SOURCE /* syscall */
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "server/sandbox/locks.h"

enum { CREATE_RULESET_VERSION = 1 };

/* Access to files, as Linux numbers it: 13 kinds in version 1, then rename between folders, truncate, and ioctl of
 * devices in 2, 3 and 5. */
static const uint64_t access_v1 = 0x1fff, refer = 1 << 13, truncate_file = 1 << 14,
                      device = 1 << 15;
/* Bind and connect TCP, since 4; abstract Unix sockets and signals of others, since 6. */
static const uint64_t tcp = 3, others = 3;

struct ruleset {
    uint64_t access_fs, access_net, scoped;
};

unsigned
sandbox_files(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    if (abi < 1) /* not compiled in, or not switched on at boot */
        return 0;
    struct ruleset rules = {.access_fs = access_v1};
    rules.access_fs |= abi >= 2 ? refer : 0;
    rules.access_fs |= abi >= 3 ? truncate_file : 0;
    rules.access_fs |= abi >= 5 ? device : 0;
    rules.access_net = abi >= 4 ? tcp : 0;
    rules.scoped = abi >= 6 ? others : 0;
    long fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (fd < 0)
        return 0;
    bool ok = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    close((int)fd);
    return ok ? (unsigned)abi : 0;
}
