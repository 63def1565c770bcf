/* Rules of passwords, and jobs that compare and make hashes. */
#include "server/web/passwords.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_rules(void **state FZ_UNUSED)
{
    static char longest[WEB_PASSWORD_MAX + 1], longer[WEB_PASSWORD_MAX + 2];
    memset(longest, 'x', sizeof(longest) - 1);
    memset(longer, 'x', sizeof(longer) - 1);
    const struct {
        const char *password, *email, *name;
        enum fz_code code;
    } rows[] = {
        {"correct horse", "ann@example.com", "Ann", FZ_OK},
        {"aaaaaaaaaa", NULL, NULL, FZ_OK},
        {"aaaaaaaaa", NULL, NULL, FZ_E_MALFORMED},
        {"", NULL, NULL, FZ_E_MALFORMED},
        {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", NULL, NULL, FZ_E_MALFORMED}, /* 5 characters */
        {"          ", NULL, NULL, FZ_OK},
        {"ann@example.com", "ann@example.com", "Ann", FZ_E_MALFORMED},
        {"ANN@example.COM1", "ann@example.com", "Ann", FZ_E_MALFORMED},
        {"annabella12", "annabella@example.com", NULL, FZ_E_MALFORMED},
        {"annabella and 12 horses", "annabella@example.com", NULL, FZ_OK},
        {"Annabella!!", "a@example.com", "annabella", FZ_E_MALFORMED},
        {"al and some more", "al@example.com", "Al", FZ_OK},
        {longest, NULL, NULL, FZ_OK},
        {longer, NULL, NULL, FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = web_password_check(rows[i].password, rows[i].email, rows[i].name, &err);
        if (code != rows[i].code)
            fail_msg("'%.40s': %d %s", rows[i].password, (int)code, err.text);
    }
}

struct waiting {
    struct web_job job; /* the first member */
    sem_t done;
};

static void
on_done(struct web_job *job)
{
    sem_post(&((struct waiting *)job)->done);
}

/* One job from its beginning to its end. */
static void
run(struct web_passwords *passwords, struct waiting *waiting, const char *password,
    const char *new_password)
{
    struct fz_error err;
    sem_init(&waiting->done, 0, 0);
    waiting->job.done = on_done;
    waiting->job.password = password ? web_password_copy(password) : NULL;
    waiting->job.new_password = new_password ? web_password_copy(new_password) : NULL;
    assert_int_equal(web_passwords_push(passwords, &waiting->job, &err), FZ_OK);
    while (sem_wait(&waiting->done) != 0)
        ;
    sem_destroy(&waiting->done);
    assert_null(waiting->job.password);
    assert_null(waiting->job.new_password);
}

static void
test_jobs(void **state FZ_UNUSED)
{
    const struct web_passwords_config config = {.n_threads = 2, .n_waiting = 4};
    struct web_passwords *passwords = NULL;
    struct waiting one = {0}, two = {0};
    struct fz_error err;
    char first[WEB_HASH_TEXT];
    assert_int_equal(web_passwords_start(&config, &passwords, &err), FZ_OK);
    run(passwords, &one, NULL, "correct horse");
    assert_true(one.job.matches);
    assert_int_equal(one.job.code, FZ_OK);
    assert_int_equal(strncmp(one.job.hash, "$argon2id$v=19$m=19456,t=2,p=1$", 31), 0);
    memcpy(first, one.job.hash, sizeof(first));
    one.job.is_known = true;
    run(passwords, &one, "correct horse", NULL);
    assert_true(one.job.matches);
    run(passwords, &one, "correct horsf", NULL);
    assert_false(one.job.matches);
    /* A wrong one makes no new one. */
    run(passwords, &one, "wrong", "battery staple");
    assert_false(one.job.matches);
    assert_string_equal(one.job.hash, first);
    run(passwords, &one, "correct horse", "battery staple");
    assert_true(one.job.matches);
    assert_string_not_equal(one.job.hash, first);
    run(passwords, &one, "battery staple", NULL);
    assert_true(one.job.matches);
    /* Of an unknown user, nothing matches, whatever the hash is. */
    memcpy(two.job.hash, one.job.hash, sizeof(two.job.hash));
    run(passwords, &two, "battery staple", NULL);
    assert_false(two.job.matches);
    web_job_deinit(&one.job);
    assert_int_equal(one.job.hash[0], 0);
    web_passwords_stop(passwords);
    web_passwords_stop(NULL);
}

static void
test_queue_has_an_end(void **state FZ_UNUSED)
{
    const struct web_passwords_config config = {.n_threads = 0, .n_waiting = 2};
    struct web_passwords *passwords = NULL;
    struct web_job jobs[3] = {{.is_known = false}};
    struct fz_error err;
    assert_int_equal(web_passwords_start(&config, &passwords, &err), FZ_OK);
    assert_int_equal(web_passwords_push(passwords, &jobs[0], &err), FZ_OK);
    assert_int_equal(web_passwords_push(passwords, &jobs[1], &err), FZ_OK);
    assert_int_equal(web_passwords_push(passwords, &jobs[2], &err), FZ_E_UNAVAILABLE);
    web_passwords_stop(passwords);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_queue_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
