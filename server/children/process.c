#define _GNU_SOURCE /* SOCK_CLOEXEC, sigabbrev_np, wait4, memfd_create, F_ADD_SEALS */
#include "server/children/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/time.h"
#include "server/children/death.h"
#include "server/process/program.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 5000, START_WALL_S = 10 };

static enum fz_code
spawn(pid_t *ret_pid, int sock, struct fz_error *err)
{
    char path[PATH_MAX];
    enum fz_code code = program_child_path(path, err);
    if (code != FZ_OK)
        return code;
    char program[] = "framezero-child", *argv[] = {program, NULL}, *envp[] = {NULL};
    /* Its own group: Ctrl-C in a terminal ends the worker, which lets the running job finish. */
    const struct program_spawn what = {.path = path,
                                       .argv = argv,
                                       .envp = envp,
                                       .fd = sock,
                                       .fd_in_child = PROTO_FD,
                                       .own_group = true,
                                       .is_silent = true};
    errno = program_spawn(&what, ret_pid);
    if (errno == EAGAIN)
        return fz_fail(err, FZ_E_UNAVAILABLE, "cannot start a child process: too many processes");
    return errno ? fz_fail_errno(err, "cannot start a child process") : FZ_OK;
}

bool
child_process_runs(const struct child_process *child)
{
    return child->pid > 0;
}

enum fz_code
child_process_start(struct child_process *child, enum proto_role role, const struct limits *limits,
                    struct fz_error *err)
{
    *child = (struct child_process){.sock = -1,
                                    .tick = child->tick,
                                    .tick_user = child->tick_user,
                                    .backoff = child->backoff,
                                    .used = child->used};
    int pair[2];
    /* A SEQPACKET keeps messages apart, so a child cannot send half a length. */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return fz_fail_errno(err, "cannot make a socket pair");
    /* Closed here after the start: else the end of the child would not close the connection. */
    FZ_CLEANUP(fz_closep) int theirs = pair[1];
    child->sock = pair[0];
    /* Only for the message below; the first job sets its own. */
    child_process_begin(child, START_WALL_S);
    enum fz_code code = proto_inbox_init(&child->inbox, err);
    if (code == FZ_OK)
        code = spawn(&child->pid, theirs, err);
    if (code == FZ_OK) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
        proto_put_u32(&body, PROTO_VERSION);
        proto_put_u32(&body, sizeof(*limits));
        proto_put_u8(&body, (uint8_t)role);
        /* As bytes: the version and the size above show whether both programs are of one build. */
        fz_buffer_append(&body, limits, sizeof(*limits));
        code = child_process_send(child, PROTO_START, &body, NULL, 0, err);
    }
    if (code != FZ_OK)
        child_process_stop(child);
    return code;
}

/* ---- one that runs ---- */

int64_t
child_process_wait_ms(struct child_process_backoff *backoff)
{
    int64_t left = backoff->due_ms - fz_time_monotonic_ms();
    return backoff->wait_ms > 0 && left > 0 ? left : 0;
}

/* Of two threads that do this at once one wait is lost, which does no harm. */
static void
wait_longer(struct child_process_backoff *backoff)
{
    if (!backoff)
        return;
    int64_t wait_ms = backoff->wait_ms * 2;
    if (wait_ms < BACKOFF_MIN_MS)
        wait_ms = BACKOFF_MIN_MS;
    if (wait_ms > BACKOFF_MAX_MS)
        wait_ms = BACKOFF_MAX_MS;
    backoff->due_ms = fz_time_monotonic_ms() + wait_ms;
    backoff->wait_ms = wait_ms;
}

/* CPU seconds the child has used in its life, as far as the system says. */
static double
cpu_seconds(const struct child_process *child)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Has it used so much of the CPU time of its life that a job might not get its whole share? */
static bool
is_worn(const struct child_process *child, const struct child_process_plan *plan)
{
    return cpu_seconds(child) > (double)plan->limits->child_cpu_s * (PROTO_LIFE_CPU_JOBS - 1);
}

enum fz_code
child_process_ensure(struct child_process *child, const struct child_process_plan *plan,
                     struct fz_error *err)
{
    /* Replaced after a number of requests, so that leaks and fragments of memory have an end. */
    bool fits = child->project_id == plan->project_id && child->n_requests < plan->requests_max;
    if (!child_process_runs(child) || !fits || is_worn(child, plan)) {
        child_process_stop(child);
        int64_t left_ms = child_process_wait_ms(plan->backoff);
        if (left_ms > 0)
            return fz_fail(err, FZ_E_UNAVAILABLE,
                           "framezero-child does not start; the next attempt is in %lld ms",
                           (long long)left_ms);
        child->backoff = plan->backoff;
        enum fz_code code = child_process_start(child, plan->role, plan->limits, err);
        if (code != FZ_OK) {
            wait_longer(plan->backoff);
            return code;
        }
        child->project_id = plan->project_id;
        if (plan->metrics)
            plan->metrics->child_starts++;
    }
    child->n_requests++;
    child->died = child->was_killed = false;
    child->cpu_s = plan->limits->child_cpu_s *
                   (plan->role == PROTO_ROLE_SYMBOLS ? PROTO_SYMBOLS_CPU_FACTOR : 1);
    return FZ_OK;
}

void
child_process_stop(struct child_process *child)
{
    if (child->pid > 0) {
        /* It has no state worth a clean end, and one that was taken over would not answer a
         * request. */
        struct rusage used;
        pid_t got;
        child_process_kill(child);
        do {
            got = wait4(child->pid, NULL, 0, &used);
        } while (got < 0 && errno == EINTR);
        if (got == child->pid)
            child_process_note(child, &used);
    }
    child->pid = 0;
    fz_closep(&child->sock);
    proto_inbox_deinit(&child->inbox);
}

void
child_process_begin(struct child_process *child, unsigned wall_s)
{
    child->wall_s = wall_s;
    child->begin_cpu_s = cpu_seconds(child);
    int64_t now = fz_time_monotonic_ms();
    /* Wall time is the last resort; the child limits its own CPU time first. */
    child->deadline_ms = now + (int64_t)wall_s * 1000;
    child->next_tick_ms = now + CHILD_TICK_MS;
    child->died = child->was_killed = false;
}

/* The time is over. Children run at the lowest priority: if one got hardly any CPU time its input is
 * not to blame, and the job is tried again later. */
static enum fz_code
give_up(struct child_process *child, struct fz_error *err)
{
    double used_s = cpu_seconds(child) - child->begin_cpu_s;
    /* An eighth: a child that computed for most of the time is slow because of its input. */
    bool starved = used_s < child->wall_s / 8.0;
    child_process_stop(child);
    if (starved)
        return fz_fail(err, FZ_E_UNAVAILABLE, "it got %.1f s of CPU time in %u s", used_s,
                       child->wall_s);
    child->died = true;
    return fz_fail(err, FZ_E_MALFORMED, "reading it took more than %u s", child->wall_s);
}

/* How long to wait at most before the next look at the clock: short, so that leases are renewed while the child is silent. */
static enum fz_code
wait_step(struct child_process *child, int64_t *ret_ms, struct fz_error *err)
{
    int64_t now = fz_time_monotonic_ms();
    int64_t left = child->deadline_ms - now;
    enum fz_code code = FZ_OK;
    /* Checked in each turn: a child that sends all the time must not extend its time. */
    if (left <= 0)
        return give_up(child, err);
    if (now >= child->next_tick_ms) { /* also for a child that sends all the time */
        child->next_tick_ms = now + CHILD_TICK_MS;
        code = child->tick ? child->tick(child->tick_user, err) : FZ_OK;
    }
    if (code != FZ_OK)
        child_process_stop(child);
    *ret_ms = left < CHILD_TICK_MS ? left : CHILD_TICK_MS;
    return code;
}

enum fz_code
child_process_send(struct child_process *child, enum proto_kind kind, const struct fz_buffer *body,
                   const int *fds, size_t n_fds, struct fz_error *err)
{
    if (!child_process_runs(child))
        return fz_fail(err, FZ_E_INTERNAL, "no child process runs");
    const struct proto_packet packet = {kind, fz_buffer_span(body), fds, n_fds};
    enum fz_code code = fz_buffer_done(body, err);
    if (code != FZ_OK)
        return code;
    /* A child that does not read must not hold its parent for longer than its job may take. */
    for (;;) {
        int64_t step = 0;
        code = wait_step(child, &step, err);
        if (code == FZ_OK)
            code = proto_send_until(child->sock, step, &packet, err);
        if (code != FZ_E_UNAVAILABLE || !child_process_runs(child))
            break;
        if (child_process_has_ended(child))
            return FZ_OK;
    }
    /* The next receive reports a dead child, with the reason. */
    return code == FZ_E_NOT_FOUND ? FZ_OK : code;
}

static enum fz_code
fail_to_start(int status, struct fz_error *err)
{
    char path[PATH_MAX];
    enum fz_code code = program_child_path(path, err);
    if (code != FZ_OK)
        return code;
    if (status == PROTO_EXIT_VERSION)
        return fz_fail(err, FZ_E_UNAVAILABLE,
                       "%s is of another version than framezero %s: restart framezero", path,
                       FZ_VERSION);
    return fz_fail(err, FZ_E_UNAVAILABLE, "%s does not start: it ended with status %d", path,
                   status);
}

/* The socket is closed: find out why the child ended. */
static enum fz_code
report_death(struct child_process *child, struct fz_error *err)
{
    struct rusage used = {.ru_maxrss = 0};
    int status = 0;
    bool got = child_process_reap(child, &status, &used);
    child_process_stop(child);
    /* Before it is ready it has read nothing from outside, so the input is not what ended it. */
    if (!child->is_ready && got && WIFEXITED(status)) {
        wait_longer(child->backoff);
        return fail_to_start(WEXITSTATUS(status), err);
    }
    if (got && WIFSIGNALED(status))
        return child_process_signalled(child, WTERMSIG(status), &used, err);
    child->died = true;
    if (got)
        return fz_fail(err, FZ_E_MALFORMED, "the process that read it ended with status %d",
                       WEXITSTATUS(status));
    return fz_fail(err, FZ_E_MALFORMED, "the process that read it closed its connection");
}

static enum fz_code
become_ready(struct child_process *child, struct fz_error *err)
{
    enum fz_code code = proto_level_decode(child->inbox.body, &child->level, err);
    if (code != FZ_OK)
        return code;
    child->is_ready = true;
    if (child->backoff)
        child->backoff->wait_ms = 0;
    return FZ_OK;
}

/* One message; READY, which no caller waits for in a job, is kept out of its sight. */
static enum fz_code
receive(struct child_process *child, bool *ret_was_ready, struct fz_error *err)
{
    *ret_was_ready = false;
    if (!child_process_runs(child))
        return fz_fail(err, FZ_E_INTERNAL, "no child process runs");
    for (;;) {
        int64_t step = 0;
        enum fz_code code = wait_step(child, &step, err);
        if (code != FZ_OK)
            return code;
        bool has_ended = child_process_has_ended(child);
        code = proto_receive(child->sock, has_ended ? 0 : step, false, &child->inbox, err);
        if (code == FZ_OK && child->inbox.kind == PROTO_READY && !child->is_ready) {
            code = become_ready(child, err);
            *ret_was_ready = true;
        }
        if (code == FZ_OK)
            return FZ_OK;
        /* What it has started may keep the connection open after its end; what it had sent before is read first. */
        if (code == FZ_E_UNAVAILABLE && !has_ended)
            continue;
        if (code == FZ_E_NOT_FOUND || code == FZ_E_UNAVAILABLE)
            return report_death(child, err);
        child_process_stop(child);
        child->died = code == FZ_E_MALFORMED;
        return code;
    }
}

enum fz_code
child_process_next(struct child_process *child, struct fz_error *err)
{
    bool was_ready;
    enum fz_code code;
    do
        code = receive(child, &was_ready, err);
    while (code == FZ_OK && was_ready);
    return code;
}

enum fz_code
child_process_ready(struct child_process *child, struct fz_error *err)
{
    bool was_ready = child->is_ready;
    enum fz_code code = FZ_OK;
    if (!was_ready)
        code = receive(child, &was_ready, err);
    /* Before it is ready, it has nothing else to say. */
    return code == FZ_OK && !was_ready ? child_process_violation(child, err) : code;
}

enum fz_code
child_process_failure(const struct child_process *child, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(PROTO_PACKET_MAX * 2);
    struct fz_reader in = fz_reader_make(child->inbox.body, "failure");
    uint8_t given = fz_read_u8(&in);
    uint64_t offset = fz_read_u64(&in);
    const char *text = proto_get_text(&in, sizeof(err->text), &arena);
    /* A child judges its input only: no code of its own may blame the database or the disk, or keep
     * a job in the queue for ever. */
    enum fz_code code = FZ_E_MALFORMED;
    if (given == FZ_E_UNSUPPORTED || given == FZ_E_LIMIT || given == FZ_E_UNAVAILABLE)
        code = (enum fz_code)given;
    code = fz_fail(err, code, "%s", text && *text ? text : "it cannot be read");
    /* The location within the body goes to the client with the error. */
    if (err && offset <= INT64_MAX)
        err->offset = (int64_t)offset;
    return code;
}

enum fz_code
child_process_violation(struct child_process *child, struct fz_error *err)
{
    child_process_stop(child);
    child->died = true;
    return fz_fail(err, FZ_E_MALFORMED, "the process that read it broke the protocol");
}

enum fz_code
child_process_converse(struct child_process *child, const struct child_process_answer *answers,
                       void *user, struct fz_error *err)
{
    for (;;) {
        enum fz_code code = child_process_next(child, err);
        if (code != FZ_OK || child->inbox.kind == PROTO_DONE)
            return code;
        if (child->inbox.kind == PROTO_FAILED)
            return child_process_failure(child, err);
        /* A message that is not in the list is one that the child may not send in its role. */
        const struct child_process_answer *at = answers;
        while (at->kind && at->kind != child->inbox.kind)
            at++;
        code = at->kind ? at->answer(user, child, err) : child_process_violation(child, err);
        if (code != FZ_OK) {
            child_process_stop(child); /* it waits for an answer that does not come */
            return code;
        }
    }
}

/* ---- files ---- */

enum fz_code
children_file_make(struct fz_span content, int *ret_fd, struct fz_error *err)
{
    static const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    FZ_CLEANUP(fz_closep) int fd = memfd_create("framezero", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fz_fail_errno(err, "cannot make a memory file");
    enum fz_code code = fz_file_write_fd(fd, content, err);
    if (code != FZ_OK)
        return code;
    if (content.len > 0 && fcntl(fd, F_ADD_SEALS, seals) != 0)
        return fz_fail_errno(err, "cannot seal a memory file");
    *ret_fd = fd;
    fd = -1;
    return FZ_OK;
}

enum fz_code
children_file_read(int fd, uint64_t offset, uint64_t len, struct fz_arena *arena,
                   struct fz_span *ret, struct fz_error *err)
{
    uint8_t *bytes = fz_arena_bytes(arena, (size_t)len);
    if (!bytes)
        return fz_arena_fail(arena, err);
    for (uint64_t done = 0; done < len;) {
        ssize_t n = pread(fd, bytes + done, (size_t)(len - done), (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fz_fail(err, FZ_E_MALFORMED, "the child's file ends after %llu of %llu bytes",
                           (unsigned long long)done, (unsigned long long)len);
        done += (uint64_t)n;
    }
    *ret = fz_span_make(bytes, (size_t)len);
    return FZ_OK;
}
