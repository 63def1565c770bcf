#include "server/worker/worker.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"

/* The parts of this process's own name, after the host. */
struct parts {
    int pid;
    unsigned long long start, space;
    char boot[16];
};

static struct parts
own_parts(void)
{
    char name[WORKER_NAME];
    struct parts ret;
    worker_name(name);
    char *at = strrchr(name, '-');
    assert_non_null(at);
    ret.pid = (int)strtol(at + 1, &at, 10);
    ret.start = strtoull(at + 1, &at, 10);
    snprintf(ret.boot, sizeof(ret.boot), "%.8s", at + 1);
    assert_int_equal(at[9], '.');
    ret.space = strtoull(at + 10, NULL, 10);
    assert_int_equal(ret.pid, getpid());
    return ret;
}

static void
one_that_runs_is_there(void **state FZ_UNUSED)
{
    char name[WORKER_NAME];
    worker_name(name);
    assert_false(worker_is_gone(NULL, name));
    /* The command's name says nothing: workers are started as /proc/self/exe. */
    FILE *comm = fopen("/proc/self/comm", "w");
    assert_non_null(comm);
    fputs("a) b (c", comm);
    assert_int_equal(fclose(comm), 0);
    assert_false(worker_is_gone(NULL, name));
    struct parts again = own_parts();
    assert_true(again.start > 0);
}

static void
names_are_judged(void **state FZ_UNUSED)
{
    struct parts own = own_parts();
    char other_boot[16];
    snprintf(other_boot, sizeof(other_boot), "%s", own.boot);
    other_boot[0] = own.boot[0] == '0' ? '1' : '0';
    const struct {
        const char *what;
        int pid;
        unsigned long long start, space;
        const char *boot;
        bool is_gone;
    } cases[] = {
        {"itself", own.pid, own.start, own.space, own.boot, false},
        {"a number that is used again", own.pid, own.start - 1, own.space, own.boot, true},
        {"a number that nobody has", 2147483646, own.start, own.space, own.boot, true},
        {"another machine, or before a restart", own.pid, own.start - 1, own.space, other_boot,
         false},
        {"another container", own.pid, own.start - 1, own.space + 1, own.boot, false},
        {"a process of the system", 1, own.start + 1, own.space, own.boot, true},
        {"unknown", own.pid, 0, 0, "unknown", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char name[WORKER_NAME];
        snprintf(name, sizeof(name), "a-host.with-dashes.2-%d.%llu.%s.%llu", cases[i].pid,
                 cases[i].start, cases[i].boot, cases[i].space);
        if (worker_is_gone(NULL, name) != cases[i].is_gone)
            fail_msg("%s (%s): want %d", cases[i].what, name, cases[i].is_gone);
    }
    static const char *const strange[] = {
        "", "host", "host-1", "host-1.2", "host-x.1.00000000.1", "host-1.1.00000000.x", "..."};
    for (size_t i = 0; i < FZ_ARRAY_LEN(strange); i++)
        assert_false(worker_is_gone(NULL, strange[i]));
}

static void
one_that_ended_is_gone(void **state FZ_UNUSED)
{
    int ends[2];
    char name[WORKER_NAME];
    siginfo_t info;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        worker_name(name);
        if (write(ends[1], name, sizeof(name)) != sizeof(name))
            _exit(1);
        pause();
    }
    assert_int_equal(read(ends[0], name, sizeof(name)), sizeof(name));
    assert_false(worker_is_gone(NULL, name));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(worker_is_gone(NULL, name)); /* as a zombie */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(worker_is_gone(NULL, name));
    close(ends[0]);
    close(ends[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_runs_is_there),
        cmocka_unit_test(names_are_judged),
        cmocka_unit_test(one_that_ended_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
