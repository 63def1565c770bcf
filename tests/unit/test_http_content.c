/* Bodies that are kept once, however many threads answer with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/attr.h"
#include "server/http/content.h"

enum { LEN = 20 * 1024, THREADS = 4, ROUNDS = 20000 };

struct answers {
    struct http_contents *contents;
    uint8_t *body;
    enum fz_code code;
    struct fz_error err;
};

static void *
answer(void *user)
{
    struct answers *answers = user;
    const struct http_client client = {.key = {{1}}, .text = "192.0.2.1"};
    for (int i = 0; answers->code == FZ_OK && i < ROUNDS; i++) {
        struct http_content *content = NULL;
        char end = 0;
        answers->code = http_content_make(answers->contents, fz_span_make(answers->body, LEN),
                                          &client, 1, &content, &answers->err);
        if (answers->code == FZ_OK &&
            (http_content_read(content, LEN - 1, &end, 1) != 1 || end != 'x'))
            answers->code = FZ_E_INTERNAL;
        http_content_unref(content);
    }
    return NULL;
}

/* It is charged once at any moment: also while the last reader of it goes and another thread makes it again. */
static void
test_charged_once(void **state)
{
    (void)state;
    struct http_contents contents;
    struct answers answers[THREADS];
    pthread_t threads[THREADS];
    static uint8_t body[LEN];
    memset(body, 'x', sizeof(body));
    /* One caller may use half of it. */
    http_contents_init(&contents, "/nonexistent", 2 * LEN, 2 * LEN);
    for (size_t i = 0; i < THREADS; i++) {
        answers[i] = (struct answers){.contents = &contents, .body = body};
        assert_int_equal(pthread_create(&threads[i], NULL, answer, &answers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) {
        if (answers[i].code != FZ_OK)
            fail_msg("thread %zu: %s", i, answers[i].err.text);
    }
    assert_int_equal(contents.memory.used, 0);
    assert_true(LIST_EMPTY(&contents.alive));
    http_contents_deinit(&contents);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_charged_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
