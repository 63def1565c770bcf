/*
 * Preloaded into a server and its workers: kills the process at a named point.
 *
 * The file KILL_SHIM_FILE is a struct control that all processes map and killer.py writes: which point,
 * in which program, at which of its passes. The process that makes the last pass ends by SIGKILL, there
 * and then. With no point armed a call costs one read of memory. Children have an environment of their
 * own, and so no shim.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* killer.py has the same list. */
enum point {
    NONE,
    WAL_WRITTEN,      /* in the middle of a transaction's way into SQLite's log */
    WAL_SYNC_BEFORE,  /* a commit is in the log, and not durable */
    WAL_SYNC_AFTER,   /* it is, and nobody knows */
    DATABASE_WRITTEN, /* in the middle of a checkpoint */
    DATABASE_SYNC,    /* a checkpoint that is not durable */
    BLOB_SYNC_BEFORE, /* a blob or its folder is not durable */
    BLOB_LINK_BEFORE, /* a blob is durable, and has no name */
    BLOB_LINK_AFTER,  /* its name is not durable */
    RENAME_AFTER,     /* a blob that goes, or credentials that come */
    ANSWER_BEFORE,    /* a success that the client will not see */
    ANSWER_AFTER,     /* one that it may just have seen */
    CHILD_ASKED,      /* between claim and finish */
    STATEMENT_SENT,   /* PostgreSQL: in the middle of a transaction */
    COMMIT_BEFORE,    /* PostgreSQL: before its commit */
    COMMIT_AFTER,     /* PostgreSQL: the commit is on its way */
    COMMIT_CUT,       /* PostgreSQL: not a kill, the connection is cut before the commit */
    WAL_FULL,         /* not a kill, the disk is full for one write */
    COMMIT_LOST,      /* PostgreSQL: not a kill, the connection is cut after the commit was sent */
};
enum program { ANY, SERVE, WORKER, OTHER };

struct control {
    int32_t point, program, passes;
    int32_t n_killed, killed_pid; /* written here */
};

static struct control *control;
static enum program me = OTHER;

__attribute__((constructor)) static void
map_control(void)
{
    const char *path = getenv("KILL_SHIM_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = MAP_FAILED;
    if (fd >= 0)
        at = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        control = at;
    if (fd >= 0)
        close(fd);
    char words[256] = "";
    fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, words, sizeof(words) - 1) : -1;
    if (fd >= 0)
        close(fd);
    const char *second = n > 0 ? words + strlen(words) + 1 : "";
    me = strcmp(second, "serve") == 0 ? SERVE : strcmp(second, "worker") == 0 ? WORKER : OTHER;
}

static int
is_armed(void)
{
    return control && __atomic_load_n(&control->point, __ATOMIC_ACQUIRE) != NONE;
}

/* Is this the pass that was asked for? */
static int
is_hit(enum point point)
{
    if (!is_armed() || control->point != (int32_t)point)
        return 0;
    if (control->program != ANY && control->program != (int32_t)me)
        return 0;
    if (__atomic_sub_fetch(&control->passes, 1, __ATOMIC_ACQ_REL) != 0)
        return 0;
    /* Disarmed before the end: whoever is started next lives. */
    __atomic_store_n(&control->point, NONE, __ATOMIC_RELEASE);
    return 1;
}

static void
report_hit(pid_t pid)
{
    control->killed_pid = pid;
    __atomic_add_fetch(&control->n_killed, 1, __ATOMIC_ACQ_REL);
}

static void
pass(enum point point)
{
    if (!is_hit(point))
        return;
    report_hit(getpid());
    kill(getpid(), SIGKILL);
}

enum place { ELSEWHERE, WAL, DATABASE, BLOBS };

static enum place
place_of(int fd)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = is_armed() ? readlink(name, path, sizeof(path) - 1) : -1;
    if (n < 0)
        return ELSEWHERE;
    path[n] = '\0';
    if (strstr(path, "/blobs"))
        return BLOBS;
    if (n > 4 && strcmp(path + n - 4, "-wal") == 0)
        return WAL;
    return n > 3 && strcmp(path + n - 3, ".db") == 0 ? DATABASE : ELSEWHERE;
}

/* A function's own next one, as an object of that type: dlsym() returns data. */
#define NEXT(name)                             \
    static __typeof__(&name) next;             \
    if (!next) {                               \
        void *found = dlsym(RTLD_NEXT, #name); \
        memcpy(&next, &found, sizeof(found));  \
    }

/* ---- files ---- */

static int
is_full(int fd)
{
    if (!is_armed() || place_of(fd) != WAL || !is_hit(WAL_FULL))
        return 0;
    report_hit(0);
    errno = ENOSPC;
    return 1;
}

static void
after_write(int fd)
{
    enum place place = place_of(fd);
    if (place == WAL)
        pass(WAL_WRITTEN);
    else if (place == DATABASE)
        pass(DATABASE_WRITTEN);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    NEXT(pwrite64)
    if (is_full(fd))
        return -1;
    ssize_t done = next(fd, bytes, n, at);
    after_write(fd);
    return done;
}

ssize_t
pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    NEXT(pwrite)
    if (is_full(fd))
        return -1;
    ssize_t done = next(fd, bytes, n, at);
    after_write(fd);
    return done;
}

static enum place
before_sync(int fd)
{
    enum place place = place_of(fd);
    if (place == WAL)
        pass(WAL_SYNC_BEFORE);
    else if (place == DATABASE)
        pass(DATABASE_SYNC);
    else if (place == BLOBS)
        pass(BLOB_SYNC_BEFORE);
    return place;
}

int
fsync(int fd)
{
    NEXT(fsync)
    enum place place = before_sync(fd);
    int code = next(fd);
    if (place == WAL)
        pass(WAL_SYNC_AFTER);
    return code;
}

int
fdatasync(int fd)
{
    NEXT(fdatasync)
    enum place place = before_sync(fd);
    int code = next(fd);
    if (place == WAL)
        pass(WAL_SYNC_AFTER);
    return code;
}

int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    NEXT(linkat)
    pass(BLOB_LINK_BEFORE);
    int code = next(from_fd, from, to_fd, to, flags);
    pass(BLOB_LINK_AFTER);
    return code;
}

int
rename(const char *from, const char *to)
{
    NEXT(rename)
    int code = next(from, to);
    pass(RENAME_AFTER);
    return code;
}

/* ---- sockets ---- */

static int
begins(const void *bytes, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

/* A message of libpq: 'Q', its length, the text; or those of a prepared statement. Before the COMMIT there may be settings. */
static int
is_commit(const void *bytes, size_t n)
{
    static const char end[] = "COMMIT";
    return n >= 5 + sizeof(end) && begins(bytes, n, "Q") &&
           memcmp((const char *)bytes + n - sizeof(end), end, sizeof(end)) == 0;
}

static int
is_statement(const void *bytes, size_t n)
{
    return n > 5 && (begins(bytes, n, "Q") || begins(bytes, n, "P") || begins(bytes, n, "B"));
}

ssize_t
send(int fd, const void *bytes, size_t n, int flags)
{
    NEXT(send)
    int armed = is_armed();
    int answers = armed && begins(bytes, n, "HTTP/1.1 20"), commits = armed && is_commit(bytes, n);
    if (answers)
        pass(ANSWER_BEFORE);
    if (commits)
        pass(COMMIT_BEFORE);
    if (commits && is_hit(COMMIT_CUT)) {
        shutdown(fd, SHUT_RDWR);
        report_hit(0);
    }
    ssize_t done = next(fd, bytes, n, flags);
    if (answers)
        pass(ANSWER_AFTER);
    else if (commits)
        pass(COMMIT_AFTER);
    else if (armed && is_statement(bytes, n))
        pass(STATEMENT_SENT);
    if (commits && is_hit(COMMIT_LOST)) {
        shutdown(fd, SHUT_RDWR);
        report_hit(0);
    }
    return done;
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg)
    int answers = is_armed() && message->msg_iovlen > 0 &&
                  begins(message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, "HTTP/1.1 20");
    if (answers)
        pass(ANSWER_BEFORE);
    ssize_t done = next(fd, message, flags);
    pass(answers ? ANSWER_AFTER : CHILD_ASKED);
    return done;
}
