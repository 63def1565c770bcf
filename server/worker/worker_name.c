/* Which process a name in the database belongs to, and whether it is still there.
 *
 * A number is used again in time, so the number alone names no process. The time at which it was
 * started (field 22 of /proc/PID/stat, in clock ticks since the system was started) makes it one of
 * this run of the system, and numbers are counted per PID namespace. */
#define _GNU_SOURCE /* gethostname */
#include "server/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"

enum { HOST_BYTES = 64, BOOT_DIGITS = 8, STAT_BYTES = 1024, FIELD_STATE = 3, FIELD_START = 22 };

struct identity { /* all zero: unknown */
    int64_t pid;
    uint64_t start, space;
    char boot[BOOT_DIGITS + 1];
};

/* False with errno if there is no such file; cut to fit. */
static bool
read_text(const char *path, char *ret, size_t size)
{
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The state and the start of a process: "PID (COMMAND) S PPID ...". A command may hold spaces and
 * parentheses. */
static bool
read_stat(int64_t pid, char *ret_state, uint64_t *ret_start)
{
    char path[48], text[STAT_BYTES];
    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    if (!read_text(path, text, sizeof(text)))
        return false;
    /* From the last parenthesis: the command between them may hold any byte. */
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    *ret_state = at[2];
    at += 2;
    for (int field = FIELD_STATE; at && field < FIELD_START; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    size_t len = at ? strspn(at, "0123456789") : 0;
    return len > 0 && fz_text_u64(fz_span_make(at, len), ret_start);
}

/* This system's run and this process's namespace. */
static bool
read_place(struct identity *ret)
{
    char boot[64], space[64];
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1); /* "pid:[4026531836]" */
    if (n <= 0 || !read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
        return false;
    space[n] = '\0';
    const char *digits = strchr(space, '[');
    size_t len = digits ? strspn(digits + 1, "0123456789") : 0;
    /* The first eight digits are random enough to separate the runs of one machine. */
    snprintf(ret->boot, sizeof(ret->boot), "%.*s", (int)BOOT_DIGITS, boot);
    return len > 0 && strlen(ret->boot) == BOOT_DIGITS &&
           fz_text_u64(fz_span_make(digits + 1, len), &ret->space);
}

void
worker_name(char ret[WORKER_NAME])
{
    char host[HOST_BYTES], state;
    struct identity self = {0};
    if (gethostname(host, sizeof(host)) != 0)
        snprintf(host, sizeof(host), "localhost");
    host[sizeof(host) - 1] = '\0';
    /* Without /proc the name cannot be checked, so its leases just run out. */
    if (!read_place(&self) || !read_stat(getpid(), &state, &self.start))
        self = (struct identity){.boot = "unknown"};
    snprintf(ret, WORKER_NAME, "%s-%d.%" PRIu64 ".%s.%" PRIu64, host, (int)getpid(), self.start,
             self.boot, self.space);
}

/* "HOST-PID.START.BOOT.SPACE", read from its end since a host may hold dots and dashes. */
static bool
parse_name(const char *name, struct identity *ret)
{
    char text[WORKER_NAME];
    if (snprintf(text, sizeof(text), "%s", name) >= (int)sizeof(text))
        return false;
    char *parts[3]; /* start, boot, space */
    for (size_t i = FZ_ARRAY_LEN(parts); i-- > 0;) {
        char *dot = strrchr(text, '.');
        /* The name of an older version, or of another program: its leases run out. */
        if (!dot)
            return false;
        *dot = '\0';
        parts[i] = dot + 1;
    }
    const char *dash = strrchr(text, '-');
    if (!dash || strlen(parts[1]) != BOOT_DIGITS)
        return false;
    memcpy(ret->boot, parts[1], BOOT_DIGITS + 1);
    return fz_text_i64(fz_span_cstr(dash + 1), &ret->pid) && ret->pid > 0 &&
           ret->pid <= INT32_MAX && fz_text_u64(fz_span_cstr(parts[0]), &ret->start) &&
           fz_text_u64(fz_span_cstr(parts[2]), &ret->space);
}

bool
worker_is_gone(void *user FZ_UNUSED, const char *name)
{
    struct identity theirs = {0}, here = {0};
    uint64_t start;
    char state;
    if (!parse_name(name, &theirs) || !read_place(&here) || strcmp(theirs.boot, here.boot) != 0 ||
        theirs.space != here.space)
        return false;
    if (read_stat(theirs.pid, &state, &start))
        /* A zombie has ended; only its parent has not collected it. */
        return start != theirs.start || state == 'Z' || state == 'X';
    /* /proc may hide other users' processes; kill() does not. */
    return kill((pid_t)theirs.pid, 0) != 0 && errno == ESRCH;
}
