#include "server/alert/urgent.h"

#include <stdarg.h>

#include <setjmp.h>

#include <cmocka.h>

enum { WEEK = 168 };

static uint64_t
ceiling(const uint64_t *hours, size_t n)
{
    return (uint64_t)(alert_hour_ceiling(hours, n) + 0.5);
}

static void
test_ceiling(void **state)
{
    (void)state;
    uint64_t hours[WEEK] = {0};
    assert_int_equal(ceiling(hours, 0), 0);
    assert_int_equal(ceiling(hours, WEEK), 0);
    hours[3] = 4;
    /* Less than a week: ten times the highest hour. */
    assert_int_equal(ceiling(hours, 10), 40);
    /* Steady: no deviation, so five times the highest hour; the mean and five times it is more. */
    for (size_t i = 0; i < WEEK; i++)
        hours[i] = 10;
    assert_int_equal(ceiling(hours, WEEK), 60);
    /* One spike: the highest hour counts twice at least. */
    for (size_t i = 0; i < WEEK; i++)
        hours[i] = 0;
    hours[100] = 1000;
    assert_int_equal(ceiling(hours, WEEK), 2000);
    /* Hours a week ago, of the same day, weigh more. */
    for (size_t i = 0; i < WEEK; i++)
        hours[i] = i < 24 ? 20 : 10;
    uint64_t same_day = ceiling(hours, WEEK);
    for (size_t i = 0; i < WEEK; i++)
        hours[i] = i >= WEEK - 24 ? 20 : 10;
    assert_true(same_day >= ceiling(hours, WEEK));
}

static void
test_urgent(void **state)
{
    (void)state;
    uint64_t quiet[WEEK] = {0}, busy[WEEK];
    for (size_t i = 0; i < WEEK; i++)
        busy[i] = 100;
    const struct {
        const char *name;
        struct alert_burst_numbers numbers;
        bool want;
    } cases[] = {
        {"nothing", {.n_reports = 0, .has_sessions = true}, false},
        {"one percent and 25 users",
         {.n_reports = 30, .n_users = 25, .has_sessions = true, .n_sessions = 3000},
         true},
        {"less than one percent",
         {.n_reports = 29, .n_users = 25, .has_sessions = true, .n_sessions = 3000},
         false},
        {"few users",
         {.n_reports = 500, .n_users = 24, .has_sessions = true, .n_sessions = 600},
         false},
        {"no report has a user", {.n_reports = 25, .has_sessions = true, .n_sessions = 100}, true},
        {"sessions come later", {.n_reports = 25, .n_users = 25, .has_sessions = true}, true},
        {"a new issue without sessions",
         {.n_reports = 25, .hours = quiet, .n_hours = 0, .window_s = 1800},
         true},
        {"as busy as ever",
         {.n_reports = 50, .hours = busy, .n_hours = WEEK, .window_s = 1800},
         false},
        {"at the ceiling",
         {.n_reports = 300, .hours = busy, .n_hours = WEEK, .window_s = 1800},
         false},
        {"above the ceiling",
         {.n_reports = 301, .hours = busy, .n_hours = WEEK, .window_s = 1800},
         true},
    };
    const struct alert_burst_rules rules = {.ppm = 10000, .users = 25};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("%s\n", cases[i].name);
        assert_int_equal(alert_is_urgent(&rules, &cases[i].numbers), cases[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_urgent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
