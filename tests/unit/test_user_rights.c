/* The rights of another user for a moment: without those of root back, the process ends. Needs no root: the linker puts
 * functions of this file in the place of the system's (--wrap). */
#include "server/process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"

enum call { NONE, SETEUID, SETEGID, SETGROUPS };

/* Which call fails, after how many of its kind that do not. */
static enum call failing;
static int n_left;

static int
answer(enum call call)
{
    if (failing != call || n_left-- != 0)
        return 0;
    errno = EPERM;
    return -1;
}

int __wrap_seteuid(uid_t uid);
int __wrap_setegid(gid_t gid);
int __wrap_initgroups(const char *name, gid_t gid);
int __wrap_setgroups(size_t n, const gid_t *groups);

int
__wrap_seteuid(uid_t uid FZ_UNUSED)
{
    return answer(SETEUID);
}

int
__wrap_setegid(gid_t gid FZ_UNUSED)
{
    return answer(SETEGID);
}

int
__wrap_initgroups(const char *name FZ_UNUSED, gid_t gid FZ_UNUSED)
{
    return 0;
}

int
__wrap_setgroups(size_t n FZ_UNUSED, const gid_t *groups FZ_UNUSED)
{
    return answer(SETGROUPS);
}

/* In a process of its own: what it has logged, and how it ended; 7 and 8 are the answers of user_may(). */
static int
ask(enum call call, int after, char log[1000])
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct user user;
        user_of(0, 0, &user); /* has a name, so that its groups are looked up */
        dup2(ends[1], STDERR_FILENO);
        failing = call;
        n_left = after;
        _exit(user_may(&user, "/", R_OK) ? 7 : errno == EPERM ? 8 : 9);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], log, 999);
    log[n < 0 ? 0 : n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
test_ends(void **state FZ_UNUSED)
{
    static const struct {
        const char *name;
        enum call call;
        int after, want;
    } cases[] = {
        {"nothing fails", NONE, 0, 7},
        {"the user is refused", SETEUID, 0, 8},
        {"its group is refused", SETEGID, 0, 8},
        {"root is not given back", SETEUID, 1, 1},
        {"root's group is not given back", SETEGID, 1, 1},
        {"root's groups are not given back", SETGROUPS, 0, 1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char log[1000];
        print_message("%s\n", cases[i].name);
        assert_int_equal(ask(cases[i].call, cases[i].after, log), cases[i].want);
        assert_int_equal(strstr(log, "cannot get the rights of root back") != NULL,
                         cases[i].want == 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
