#include "server/api/api_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct api_rate_key
key_of(uint64_t who, uint64_t kind)
{
    return (struct api_rate_key){{who, 0}, kind};
}

static void
test_minute(void **state)
{
    static const struct {
        uint64_t who, kind;
        int64_t now_ms;
        unsigned wait_s;
    } steps[] = {
        {1, 0, 1000, 0},  {1, 0, 1500, 0},   {1, 0, 2000, 59}, /* two are allowed */
        {2, 0, 2000, 0},  {1, 1, 2000, 0},                     /* another sender, another kind */
        {1, 0, 60999, 1}, {1, 0, 61000, 0},                    /* the minute is over */
        {1, 0, 61000, 0}, {1, 0, 61001, 60}, {1, 0, 120999, 1}, {1, 0, 300000, 0},
    };
    struct api_rate *rate = NULL;
    (void)state;
    assert_int_equal(api_rate_create(2, &rate, NULL), FZ_OK);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct api_rate_key key = key_of(steps[i].who, steps[i].kind);
        unsigned wait_s = api_rate_count(rate, &key, steps[i].now_ms);
        if (wait_s != steps[i].wait_s)
            fail_msg("step %zu: %u s, wanted %u", i, wait_s, steps[i].wait_s);
    }
    api_rate_destroy(rate);
    api_rate_destroy(NULL);
}

/* Many others do not lift the limit of one who goes on sending, unless they take its place. */
static void
test_many_senders(void **state)
{
    struct api_rate *rate = NULL;
    const struct api_rate_key mine = key_of(7, 0);
    (void)state;
    assert_int_equal(api_rate_create(1, &rate, NULL), FZ_OK);
    assert_int_equal(api_rate_count(rate, &mine, 1000), 0);
    for (uint64_t i = 0; i < 500; i++) {
        const struct api_rate_key other = key_of(1000 + i, 0);
        assert_int_equal(api_rate_count(rate, &other, 1000), 0);
    }
    assert_int_equal(api_rate_count(rate, &mine, 1000), 60);
    for (uint64_t i = 0; i < 100000; i++) {
        const struct api_rate_key other = key_of(5000 + i, 0);
        assert_int_equal(api_rate_count(rate, &other, 2000), 0);
    }
    api_rate_destroy(rate);
}

static void
test_no_limit(void **state)
{
    struct api_rate *rate = NULL;
    const struct api_rate_key key = key_of(1, 0);
    (void)state;
    assert_int_equal(api_rate_create(0, &rate, NULL), FZ_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(api_rate_count(rate, &key, 5), 0);
    api_rate_destroy(rate);
}

/* More addresses than there is room for: nobody waits for another's failures. */
static void
test_flood(void **state)
{
    enum { FAILURES = 10, FLOOD = 20000 };
    struct api_rate *rate = NULL;
    int n_delayed = 0;
    (void)state;
    assert_int_equal(api_rate_create(FAILURES, &rate, NULL), FZ_OK);
    for (uint64_t i = 0; i < FLOOD; i++) {
        const struct api_rate_key key = key_of(i, 0);
        for (int k = 0; k < (i % 2 ? FAILURES : FAILURES - 1); k++)
            assert_int_equal(api_rate_count(rate, &key, 1000), 0);
    }
    for (uint64_t i = 0; i < FLOOD; i++) {
        const struct api_rate_key key = key_of(i, 0);
        bool is_delayed = api_rate_wait_s(rate, &key, 1001) != 0;
        assert_true(i % 2 || !is_delayed);
        n_delayed += is_delayed;
    }
    assert_in_range(n_delayed, 1024, 4096);
    api_rate_destroy(rate);
}

/* Asking does not count. */
static void
test_wait(void **state)
{
    struct api_rate *rate = NULL;
    const struct api_rate_key one = key_of(1, 0), two = key_of(2, 0);
    (void)state;
    assert_int_equal(api_rate_create(10, &rate, NULL), FZ_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(api_rate_wait_s(rate, &one, 500 + i), 0);
        assert_int_equal(api_rate_count(rate, &one, 500 + i), 0);
    }
    assert_int_equal(api_rate_wait_s(rate, &one, 600), 60);
    assert_int_equal(api_rate_wait_s(rate, &one, 60499), 1);
    assert_int_equal(api_rate_wait_s(rate, &two, 600), 0);
    /* A minute after the first one it counts anew. */
    assert_int_equal(api_rate_wait_s(rate, &one, 60500), 0);
    assert_int_equal(api_rate_count(rate, &one, 60500), 0);
    assert_int_equal(api_rate_wait_s(rate, &one, 60501), 0);
    api_rate_destroy(rate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minute), cmocka_unit_test(test_many_senders),
        cmocka_unit_test(test_no_limit), cmocka_unit_test(test_flood), cmocka_unit_test(test_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
