#include "server/alert/schedule.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static const enum alert_kind NEW = ALERT_ISSUE_CREATED;
static const int64_t NOW = 1795403111999, MINUTE = 60 * 1000, HOUR = 3600 * 1000;

static struct alert_next
next_of(unsigned number, bool is_mail, struct net_outcome outcome, uint32_t random)
{
    struct alert_next next;
    const struct alert_attempt attempt = {
        .number = number, .is_mail = is_mail, .outcome = &outcome, .now_ms = NOW, .random = random};
    alert_next_attempt(&attempt, &next);
    return next;
}

static void
test_delays(void **state)
{
    (void)state;
    static const int64_t seconds[] = {5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400};
    const struct net_outcome failed = {.result = NET_ANSWERED, .status = 500};
    for (unsigned n = 1; n < ALERT_ATTEMPTS_MAX; n++) {
        int64_t delay_ms = seconds[n - 1] * 1000, least = INT64_MAX, most = 0;
        for (uint32_t random = 0; random < 100000; random += 7) {
            struct alert_next next = next_of(n, false, failed, random * 48271U);
            assert_int_equal(next.verdict, ALERT_AGAIN);
            int64_t wait_ms = next.when_ms - NOW;
            assert_in_range(wait_ms, delay_ms * 9 / 10, delay_ms * 11 / 10);
            least = wait_ms < least ? wait_ms : least;
            most = wait_ms > most ? wait_ms : most;
            assert_int_equal(next.is_trouble, n == 5);
        }
        assert_true(least < delay_ms * 92 / 100 && most > delay_ms * 108 / 100);
    }
    struct alert_next last = next_of(ALERT_ATTEMPTS_MAX, false, failed, 0);
    assert_int_equal(last.verdict, ALERT_DISABLE);
    assert_true(last.is_trouble);
}

static void
test_responses(void **state)
{
    (void)state;
    static const struct {
        bool is_mail;
        struct net_outcome outcome;
        enum alert_verdict verdict;
        int64_t least_s;   /* until the next attempt */
        int64_t channel_s; /* until the next message of the channel */
    } rows[] = {
        {false, {.status = 200}, ALERT_DELIVERED, 0, 0},
        {false, {.status = 204}, ALERT_DELIVERED, 0, 0},
        {false, {.status = 299}, ALERT_DELIVERED, 0, 0},
        {false, {.status = 301}, ALERT_AGAIN, 4, 0},
        {false, {.status = 307}, ALERT_AGAIN, 4, 0},
        {false, {.status = 400}, ALERT_AGAIN, 4, 0},
        {false, {.status = 404}, ALERT_AGAIN, 4, 0},
        {false, {.status = 410}, ALERT_DISABLE, 0, 0},
        {false, {.status = 410, .retry_after_s = 5}, ALERT_DISABLE, 0, 0},
        {false, {.status = 429}, ALERT_AGAIN, 60, 60},
        {false, {.status = 429, .retry_after_s = 90}, ALERT_AGAIN, 90, 90},
        {false, {.status = 429, .retry_after_s = 1}, ALERT_AGAIN, 4, 1},
        {false, {.status = 429, .retry_after_s = INT64_MAX}, ALERT_AGAIN, 86400, 86400},
        {false, {.status = 500, .retry_after_s = 90}, ALERT_AGAIN, 90, 0},
        {false, {.status = 500}, ALERT_AGAIN, 4, 0},
        {false, {.status = 502}, ALERT_AGAIN, 60, 60},
        {false, {.status = 503, .retry_after_s = 7}, ALERT_AGAIN, 7, 7},
        {false, {.status = 504}, ALERT_AGAIN, 60, 60},
        {false, {.result = NET_FAILED}, ALERT_AGAIN, 4, 0},
        {false, {.result = NET_REFUSED}, ALERT_AGAIN, 4, 0},
        {false, {.result = NET_INVALID}, ALERT_DISABLE, 0, 0},
        {true, {.status = 250}, ALERT_DELIVERED, 0, 0},
        {true, {.result = NET_FAILED}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 421}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 451}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 550}, ALERT_GIVE_UP, 0, 0},
        {true, {.result = NET_FAILED, .status = 535}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 530}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 502}, ALERT_AGAIN, 4, 0},
        {true, {.result = NET_FAILED, .status = 559}, ALERT_GIVE_UP, 0, 0},
        {true, {.result = NET_INVALID}, ALERT_DISABLE, 0, 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct alert_next next = next_of(1, rows[i].is_mail, rows[i].outcome, 0);
        bool is_again = rows[i].verdict == ALERT_AGAIN;
        int64_t wait_ms = next.when_ms - NOW;
        if (next.verdict != rows[i].verdict ||
            (is_again &&
             (wait_ms < rows[i].least_s * 1000 || wait_ms > rows[i].least_s * 1100 + 1000)) ||
            next.channel_from_ms != (rows[i].channel_s ? NOW + rows[i].channel_s * 1000 : 0) ||
            next.is_trouble != (next.verdict == ALERT_DISABLE))
            fail_msg("row %zu: verdict %d, %lld ms, channel %lld", i, (int)next.verdict,
                     (long long)wait_ms, (long long)next.channel_from_ms);
    }
}

/* The most messages within any hour, over a day of one event each `every_ms`; digests too. */
static int
most_in_an_hour(unsigned per_hour, enum alert_kind kind, int64_t every_ms, int *ret_digests,
                int *ret_passed)
{
    enum { ROOM = 20000 };
    static int64_t sent[ROOM];
    const struct alert_storm_rules rules = {.per_hour = per_hour, .digest_every_ms = 15 * MINUTE};
    struct alert_storm storm = {0};
    int n = 0, most = 0, first = 0;
    *ret_digests = *ret_passed = 0;
    for (int64_t now = NOW; now < NOW + 24 * HOUR; now += every_ms) {
        int64_t due = alert_storm_digest_ms(&rules, &storm, now);
        if (due && due <= now) {
            alert_storm_digested(&storm);
            (*ret_digests)++;
        }
        if (alert_storm_passes(&rules, &storm, kind, now)) {
            assert_true(n < ROOM);
            sent[n++] = now;
            (*ret_passed)++;
        }
        while (first < n && sent[first] <= now - HOUR)
            first++;
        most = n - first > most ? n - first : most;
    }
    return most;
}

static void
test_storm(void **state)
{
    (void)state;
    int digests, passed;
    static const unsigned limits[] = {1, 2, 3, 10, 30, 60, 1000};
    for (size_t i = 0; i < FZ_ARRAY_LEN(limits); i++) {
        int most = most_in_an_hour(limits[i], NEW, 1000, &digests, &passed);
        if (most > (int)limits[i])
            fail_msg("%u an hour: %d", limits[i], most);
        assert_in_range(digests, 70, 96);
        int urgent = limits[i] / 3 ? (int)(limits[i] / 3) : 1;
        most = most_in_an_hour(limits[i], ALERT_ISSUE_URGENT, 1000, &digests, &passed);
        if (most > (int)limits[i] + urgent)
            fail_msg("%u an hour: %d urgent ones", limits[i], most);
        most_in_an_hour(limits[i], NEW, 1000, &digests, &passed);
        assert_true(passed >= 24 / 2);
    }
    /* Fewer than the limit all pass: one in 4 minutes, of at most 30 an hour. */
    assert_int_equal(most_in_an_hour(30, NEW, 4 * MINUTE, &digests, &passed), 15);
    assert_int_equal(digests, 0);
    assert_int_equal(passed, 360);
    most_in_an_hour(0, NEW, 10000, &digests, &passed);
    assert_int_equal(passed, 8640);
}

static void
test_storm_states(void **state)
{
    (void)state;
    const struct alert_storm_rules rules = alert_storm_default();
    struct alert_storm storm = {0};
    assert_int_equal(alert_storm_digest_ms(&rules, &storm, NOW), 0);
    for (int i = 0; i < 10; i++)
        assert_true(alert_storm_passes(&rules, &storm, NEW, NOW));
    assert_false(alert_storm_passes(&rules, &storm, NEW, NOW));
    assert_int_equal(alert_storm_digest_ms(&rules, &storm, NOW), NOW + 15 * MINUTE);
    /* What is held is not overtaken. */
    assert_false(alert_storm_passes(&rules, &storm, NEW, NOW + 10 * MINUTE));
    assert_int_equal(alert_storm_digest_ms(&rules, &storm, NOW + 10 * MINUTE), NOW + 15 * MINUTE);
    alert_storm_digested(&storm);
    assert_true(alert_storm_passes(&rules, &storm, NEW, NOW + 15 * MINUTE));
    /* The clock is set back by a year: nothing waits for a year. */
    storm.held_since_ms = NOW;
    int64_t then = NOW - 365 * 24 * HOUR;
    assert_int_equal(alert_storm_digest_ms(&rules, &storm, then), then);
    alert_storm_digested(&storm);
    storm.free_at_ms = NOW;
    int n = 0;
    for (int64_t now = then; now < then + 2 * HOUR; now += MINUTE) {
        int64_t due_ms = alert_storm_digest_ms(&rules, &storm, now);
        if (due_ms && due_ms <= now)
            alert_storm_digested(&storm);
        n += alert_storm_passes(&rules, &storm, NEW, now);
    }
    assert_in_range(n, 10, 60);
}

/* Urgent issues pass while others are held, up to a third more; what is always sent does not count. */
static void
test_storm_kinds(void **state)
{
    (void)state;
    const struct alert_storm_rules rules = alert_storm_default();
    struct alert_storm storm = {0};
    int n = 0;
    while (alert_storm_passes(&rules, &storm, NEW, NOW))
        n++;
    assert_int_equal(n, 10);
    for (n = 0; alert_storm_passes(&rules, &storm, ALERT_ISSUE_URGENT, NOW); n++)
        assert_false(alert_storm_passes(&rules, &storm, NEW, NOW));
    assert_int_equal(n, 10);
    assert_int_equal(alert_storm_digest_ms(&rules, &storm, NOW + MINUTE), NOW + 15 * MINUTE);
    const struct alert_storm before = storm;
    for (n = 0; n < 100; n++) {
        assert_true(alert_storm_passes(&rules, &storm, ALERT_CHANNEL_FAILING, NOW));
        assert_true(alert_storm_passes(&rules, &storm, ALERT_TEST, NOW));
        assert_true(alert_storm_passes(&rules, &storm, ALERT_DIGEST, NOW));
    }
    assert_memory_equal(&storm, &before, sizeof(storm));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays), cmocka_unit_test(test_responses),
        cmocka_unit_test(test_storm), cmocka_unit_test(test_storm_states),
        cmocka_unit_test(test_storm_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
