/* A child process as its parent sees it: its version, its deadline, and how often it is started. */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/time.h"
#include "server/children/process.h"
#include "server/process/program.h"

static void
start(struct child_process *child, enum proto_role role, unsigned wall_s)
{
    struct limits limits = limits_default();
    struct fz_error err;
    *child = (struct child_process){.sock = -1};
    if (child_process_start(child, role, &limits, &err) != FZ_OK)
        fail_msg("%s", err.text);
    child_process_begin(child, wall_s);
}

/* A child that never gets the processor does not prove that its input is bad. */
static void
test_deadline(void **state FZ_UNUSED)
{
    struct child_process child;
    struct fz_error err;
    start(&child, PROTO_ROLE_REPORTS, 1); /* waits for a request that never comes */
    assert_int_equal(child_process_next(&child, &err), FZ_E_UNAVAILABLE);
    assert_false(child.died);
    assert_false(child_process_runs(&child));
    assert_in_range(child.used.cpu_ms, 0, 125); /* an eighth of the time: it waited */
    assert_in_range(child.used.memory_kb, 1000, 512 * 1024);
}

/* Start framezero-child by hand and send it a START; its exit status, or -1 if it is ready. */
static int
start_by_hand(uint32_t version, uint32_t limits_size)
{
    struct limits limits = limits_default();
    struct proto_inbox inbox;
    char path[PATH_MAX];
    int socks[2], status = 0;
    assert_int_equal(program_child_path(path, NULL), FZ_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char name[] = "framezero-child", *argv[] = {name, NULL};
        dup2(socks[1], PROTO_FD);
        execv(path, argv);
        _exit(127);
    }
    fz_closep(&socks[1]);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u32(&body, version);
    proto_put_u32(&body, limits_size);
    proto_put_u8(&body, PROTO_ROLE_REPORTS);
    fz_buffer_append(&body, &limits, sizeof(limits));
    assert_int_equal(proto_send(socks[0], PROTO_START, fz_buffer_span(&body), NULL, 0, NULL),
                     FZ_OK);
    assert_int_equal(proto_inbox_init(&inbox, NULL), FZ_OK);
    enum fz_code code = proto_receive(socks[0], 30 * 1000, false, &inbox, NULL);
    bool is_ready = code == FZ_OK && inbox.kind == PROTO_READY;
    proto_inbox_deinit(&inbox);
    fz_closep(&socks[0]); /* it ends now, if it has not */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return is_ready ? -1 : WEXITSTATUS(status);
}

static void
test_version_in_start(void **state FZ_UNUSED)
{
    const uint32_t size = sizeof(struct limits);
    assert_int_equal(start_by_hand(PROTO_VERSION, size), -1);
    assert_int_equal(start_by_hand(PROTO_VERSION + 1, size), PROTO_EXIT_VERSION);
    assert_int_equal(start_by_hand(PROTO_VERSION - 1, size), PROTO_EXIT_VERSION);
    assert_int_equal(start_by_hand(PROTO_VERSION, size + 8), PROTO_EXIT_VERSION);
}

/* Children that end before they are ready are started again with a growing delay. */
static void
test_backoff(void **state FZ_UNUSED)
{
    struct limits limits = limits_default();
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    struct child_process_backoff backoff = {0};
    struct child_process child = {.sock = -1};
    struct child_process_plan plan = {.role = (enum proto_role)9, /* no child takes it */
                                      .requests_max = 9,
                                      .limits = &limits,
                                      .metrics = metrics,
                                      .backoff = &backoff};
    struct fz_error err;
    assert_non_null(metrics);
    for (unsigned n = 1; n <= 3; n++) {
        assert_int_equal(child_process_ensure(&child, &plan, &err), FZ_OK);
        child_process_begin(&child, 60);
        assert_int_equal(child_process_next(&child, &err), FZ_E_UNAVAILABLE);
        assert_non_null(strstr(err.text, "does not start: it ended with status 1"));
        int64_t wait_ms = child_process_wait_ms(&backoff);
        assert_int_equal(backoff.wait_ms, 50 << n); /* 100, 200, 400 ms */
        assert_in_range(wait_ms, 1, 50 << n);
        assert_int_equal(child_process_ensure(&child, &plan, &err), FZ_E_UNAVAILABLE);
        assert_non_null(strstr(err.text, "the next attempt is in"));
        assert_int_equal(metrics->child_starts, n);
        fz_time_sleep_ms((unsigned)wait_ms + 1);
    }
    /* One that is ready ends it. */
    plan.role = PROTO_ROLE_REPORTS;
    assert_int_equal(child_process_ensure(&child, &plan, &err), FZ_OK);
    child_process_begin(&child, 1);
    assert_int_equal(child_process_next(&child, &err), FZ_E_UNAVAILABLE); /* no request came */
    assert_int_equal(child_process_wait_ms(&backoff), 0);
    assert_int_equal(child_process_ensure(&child, &plan, &err), FZ_OK);
    child_process_stop(&child);
    free(metrics);
}

/* A child that does not read holds its parent until the deadline and no longer. */
static void
test_deadline_of_send(void **state FZ_UNUSED)
{
    struct child_process child;
    struct fz_error err;
    enum fz_code code;
    static const char filling[64 * 1024];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    fz_buffer_append(&body, filling, sizeof(filling));
    start(&child, PROTO_ROLE_REPORTS, 10);
    assert_int_equal(child_process_ready(&child, &err), FZ_OK);
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    child_process_begin(&child, 1);
    int64_t began_ms = fz_time_monotonic_ms();
    do
        code = child_process_send(&child, PROTO_INDEX_IS, &body, NULL, 0, &err);
    while (code == FZ_OK && fz_time_monotonic_ms() - began_ms < 20 * 1000);
    assert_int_equal(code, FZ_E_UNAVAILABLE); /* it got no CPU time, so its input is not to blame */
    assert_in_range(fz_time_monotonic_ms() - began_ms, 900, 10 * 1000);
    assert_false(child_process_runs(&child));
}

static enum fz_code
lose_lease(void *user, struct fz_error *err)
{
    ++*(int *)user;
    return fz_fail(err, FZ_E_CONFLICT, "the lease is lost");
}

static void
test_tick_can_end_it(void **state FZ_UNUSED)
{
    struct child_process child;
    struct fz_error err;
    int n = 0;
    start(&child, PROTO_ROLE_REPORTS, 60);
    child.tick = lose_lease;
    child.tick_user = &n;
    child.next_tick_ms = 0;
    assert_int_equal(child_process_next(&child, &err), FZ_E_CONFLICT);
    assert_int_equal(n, 1);
    assert_false(child.died);
    assert_false(child_process_runs(&child));
}

/* A child that starts another process, as one that was taken over could where the kernel has none of the locks against it.
 * That one holds the connection and reads nothing; the child ends at once. */
static void
start_with_grandchild(struct child_process *child)
{
    struct fz_error err;
    int socks[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    *child = (struct child_process){.sock = socks[0], .is_ready = true, .pid = fork()};
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        setpgid(0, 0);
        fz_closep(&socks[0]); /* else its own copy would keep the pair open */
        if (fork() == 0) {
            alarm(60);
            for (;;)
                pause();
        }
        _exit(3);
    }
    fz_closep(&socks[1]);
    assert_int_equal(proto_inbox_init(&child->inbox, &err), FZ_OK);
    child_process_begin(child, 60);
}

/* Does the other end of the connection close within 10 s: is nobody left who holds it? */
static bool
ends(int sock)
{
    struct pollfd peer = {.fd = sock, .events = POLLIN};
    return poll(&peer, 1, 10 * 1000) == 1 && (peer.revents & POLLHUP);
}

/* Its parent does not wait for what the child has left behind, and ends it. */
static void
test_grandchild_holds_the_connection(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    for (size_t i = 0; i < PROTO_PACKET_MAX / 2; i++)
        fz_buffer_char(&body, 'x');
    for (int sends = 0; sends < 2; sends++) {
        struct child_process child;
        struct fz_error err;
        enum fz_code code = FZ_OK;
        int64_t began_ms = fz_time_monotonic_ms();
        start_with_grandchild(&child);
        FZ_CLEANUP(fz_closep) int watched = dup(child.sock);
        for (int i = 0; sends && i < 8 && code == FZ_OK; i++) /* more than the buffer holds */
            code = child_process_send(&child, PROTO_INDEX_IS, &body, NULL, 0, &err);
        assert_int_equal(code, FZ_OK);
        assert_int_equal(child_process_next(&child, &err), FZ_E_MALFORMED);
        assert_string_equal(err.text, "the process that read it ended with status 3");
        assert_true(child.died);
        assert_true(ends(watched));
        assert_in_range(fz_time_monotonic_ms() - began_ms, 0, 50 * 1000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_deadline_of_send),
        cmocka_unit_test(test_version_in_start),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_tick_can_end_it),
        cmocka_unit_test(test_grandchild_holds_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
