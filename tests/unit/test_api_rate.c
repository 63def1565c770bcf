#include "server/api/api_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
test_minute(void **state)
{
    static const struct {
        int64_t token_id, now_ms;
        unsigned wait_s;
    } steps[] = {
        {1, 1000, 0},   {1, 1500, 0},      {1, 2000, 59}, /* two are allowed */
        {2, 2000, 0},                                     /* another key */
        {1, 60999, 1},  {1, 61000, 0},                    /* the minute is over */
        {1, 61000, 0},  {1, 61001, 60},    {1, 120999, 1},
        {1, 300000, 0}, {1025, 300000, 0}, {1, 300000, 0}, /* one place for both: it starts anew */
        {1, 300000, 0}, {1, 300000, 60},
    };
    struct api_rate *rate = NULL;
    (void)state;
    assert_int_equal(api_rate_create(2, &rate, NULL), FZ_OK);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        unsigned wait_s = api_rate_count(rate, steps[i].token_id, steps[i].now_ms);
        if (wait_s != steps[i].wait_s)
            fail_msg("step %zu: %u s, wanted %u", i, wait_s, steps[i].wait_s);
    }
    api_rate_destroy(rate);
    api_rate_destroy(NULL);
}

static void
test_no_limit(void **state)
{
    struct api_rate *rate = NULL;
    (void)state;
    assert_int_equal(api_rate_create(0, &rate, NULL), FZ_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(api_rate_count(rate, 1, 5), 0);
    api_rate_destroy(rate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_minute),
                                       cmocka_unit_test(test_no_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
