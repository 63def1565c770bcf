#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

enum { LINES = 50000, TEXT_MAX = 8 * 1024 * 1024 };

/* A process whose standard error is `fd` logs LINES lines, which nobody reads meanwhile, says so through
 * `done`, waits for `go`, and logs one more. */
static pid_t
start_writer(int fd, int done, int go)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    char byte = 'x';
    dup2(fd, STDERR_FILENO);
    close(fd);
    for (int i = 0; i < LINES; i++)
        fz_log(FZ_LOG_INFO, "numbered", "n=%d", i);
    if (write(done, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        _exit(3);
    fz_log(FZ_LOG_INFO, "last", "%s", "");
    _exit(0);
}

/* msg="..." n=NUMBER */
static unsigned long
number_after(const char *at)
{
    const char *number = strstr(at, "n=");
    assert_non_null(number);
    return strtoul(number + 2, NULL, 10);
}

static void
check_lines(const char *text)
{
    unsigned long next = 0, dropped = 0;
    bool has_last = false;
    while (*text) {
        const char *end = strchr(text, '\n'), *at;
        assert_non_null(end); /* no line is cut */
        assert_int_equal(strncmp(text, "ts=", 3), 0);
        if ((at = strstr(text, "msg=\"numbered\" n=")) != NULL && at < end) {
            assert_int_equal(number_after(at),
                             next); /* in order, and nothing is missing before the first loss */
            next++;
        } else if ((at = strstr(text, "msg=\"log lines dropped\" n=")) != NULL && at < end) {
            dropped = number_after(at);
            assert_false(has_last);
        } else {
            at = strstr(text, "msg=\"last\"\n");
            assert_true(at != NULL && at < end);
            has_last = true;
        }
        text = end + 1;
    }
    assert_true(next > 0);
    assert_true(dropped > 0);
    assert_true(has_last);
    assert_int_equal(next + dropped, LINES);
}

static void
check_reader_that_stops(int read_end, int write_end)
{
    int done[2], go[2], status;
    char byte;
    assert_int_equal(pipe(done), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = start_writer(write_end, done[1], go[0]);
    close(write_end);
    close(done[1]);
    assert_int_equal(read(done[0], &byte, 1), 1); /* it never came to this while logging waited */
    char *text = calloc(1, TEXT_MAX);
    assert_non_null(text);
    size_t len = 0;
    /* What waits is read first, so that there is room for the last line. */
    assert_int_equal(fcntl(read_end, F_SETFL, O_NONBLOCK), 0);
    for (ssize_t n; (n = read(read_end, text + len, TEXT_MAX - 1 - len)) > 0;)
        len += (size_t)n;
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(fcntl(read_end, F_SETFL, 0), 0);
    for (ssize_t n; (n = read(read_end, text + len, TEXT_MAX - 1 - len)) > 0;)
        len += (size_t)n;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    check_lines(text);
    free(text);
    close(read_end);
    close(done[0]);
    close(go[0]);
    close(go[1]);
}

static void
a_pipe_that_nobody_reads(void **state FZ_UNUSED)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    check_reader_that_stops(ends[0], ends[1]);
}

static void
a_socket_that_nobody_reads(void **state FZ_UNUSED)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_reader_that_stops(ends[0], ends[1]);
}

/* Other processes share standard error: what they write must not fail because of us. */
static void
the_shared_pipe_stays_as_it_was(void **state FZ_UNUSED)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        fz_log(FZ_LOG_INFO, "one", "%s", "");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    close(ends[0]);
    close(ends[1]);
}

/* As a full disk: room for a line and a half. Whether the position follows the file's end depends on O_APPEND. */
static void
log_into_full_file(int fd)
{
    struct rlimit room;
    dup2(fd, STDERR_FILENO);
    signal(SIGXFSZ, SIG_IGN);
    fz_log(FZ_LOG_INFO, "first", "%s", "");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &room), 0);
    rlim_t enough = room.rlim_cur;
    room.rlim_cur = (rlim_t)lseek(fd, 0, SEEK_CUR) + 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
    fz_log(FZ_LOG_INFO, "cut", "%s", "");
    room.rlim_cur = enough;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
    assert_int_equal(write(fd, "ts=other\n", 9), 9);
    fz_log(FZ_LOG_INFO, "last", "%s", "");
    _exit(0);
}

/* Another process writes to the file first when there is room again: its line begins where a line begins. */
static void
a_full_file_of_two_processes(void **state FZ_UNUSED)
{
    static const int flags[] = {O_APPEND, 0};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        char name[] = "/tmp/framezero-log-XXXXXX", text[1000] = "";
        int fd = mkstemp(name), status;
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_SETFL, flags[i]), 0);
        assert_int_equal(unlink(name), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            log_into_full_file(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
        static const char *const ends[] = {"msg=\"first\"\n", "ts=other\n",
                                           "msg=\"log lines dropped\" n=1\n", "msg=\"last\"\n"};
        const char *at = text;
        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
            assert_int_equal(strncmp(at, "ts=", 3), 0);
            const char *end = strchr(at, '\n');
            assert_non_null(end);
            size_t len = strlen(ends[k]);
            assert_true((size_t)(end + 1 - at) >= len);
            assert_memory_equal(end + 1 - len, ends[k], len);
            at = end + 1;
        }
        assert_string_equal(at, "");
        close(fd);
    }
}

/* Another process writes while the disk is full, so that the part of the line is not at the end of the file any more. */
static void
a_part_that_cannot_be_taken_back(void **state FZ_UNUSED)
{
    char name[] = "/tmp/framezero-log-XXXXXX", text[1000] = "";
    int fd = mkstemp(name), status;
    assert_true(fd >= 0);
    assert_int_equal(unlink(name), 0);
    /* As if those bytes had come after it: the file is longer than the position. */
    memset(text, ' ', sizeof(text) - 1);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        log_into_full_file(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    const char *other = strstr(text, "ts=other\n");
    assert_non_null(other);
    assert_int_equal(strncmp(other + strlen("ts=other\n"), "ts=", 3), 0);
    assert_non_null(strstr(other, "msg=\"log lines dropped\" n=1\n"));
    assert_non_null(strstr(other, "msg=\"last\"\n"));
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_that_nobody_reads),
        cmocka_unit_test(a_socket_that_nobody_reads),
        cmocka_unit_test(the_shared_pipe_stays_as_it_was),
        cmocka_unit_test(a_full_file_of_two_processes),
        cmocka_unit_test(a_part_that_cannot_be_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
