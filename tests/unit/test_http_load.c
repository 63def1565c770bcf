/* How many requests may wait, and whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/http/load.h"

enum { AT_LEAST = 256, MANY = 4096, TICK_MS = 100 };

/* `n` requests of a project; returns how many find a place. */
static unsigned
enter(struct http_load *load, int64_t project, struct http_place *places, unsigned n)
{
    unsigned n_taken = 0;
    for (unsigned i = 0; i < n; i++) {
        bool room = http_load_has_room(load, project);
        struct http_place place = {0};
        assert_int_equal(http_load_enter(load, project, &place), room);
        assert_int_equal(place.is_taken, room);
        if (room)
            places[n_taken++] = place;
    }
    return n_taken;
}

static void
leave(struct http_load *load, struct http_place *places, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        http_load_leave(load, &places[i]);
}

static void
test_at_least(void **state)
{
    (void)state;
    static struct http_place places[MANY];
    struct http_load load;
    http_load_init(&load, AT_LEAST, 0);
    assert_int_equal(enter(&load, 1, places, MANY), AT_LEAST);
    /* Each place once, however often it is given back. */
    http_load_leave(&load, &places[0]);
    http_load_leave(&load, &places[0]);
    assert_int_equal(load.n, AT_LEAST - 1);
    assert_int_equal(enter(&load, 1, places, MANY), 1);
    http_load_deinit(&load);
}

/* Who floods the server does not shut out the others, and they cannot be without end. */
static void
test_projects(void **state)
{
    (void)state;
    static struct http_place places[MANY];
    struct http_load load;
    http_load_init(&load, AT_LEAST, 0);
    assert_int_equal(enter(&load, 1, places, MANY), AT_LEAST);
    assert_int_equal(enter(&load, 2, places, MANY), AT_LEAST / 8);
    assert_int_equal(enter(&load, 1, places, MANY), 0);
    unsigned n_all = AT_LEAST + AT_LEAST / 8;
    for (int64_t project = 3; project < 40; project++)
        n_all += enter(&load, project, places, MANY);
    assert_int_equal(n_all, 2 * AT_LEAST);
    http_load_deinit(&load);
}

/* The places follow what the server stores in a quarter of a second. */
static void
test_speed(void **state)
{
    (void)state;
    static struct http_place places[MANY];
    struct http_load load;
    int64_t now = 0;
    http_load_init(&load, AT_LEAST, now);
    for (unsigned i = 0; i < 100; i++) {
        unsigned n = enter(&load, 1, places, 200); /* 2,000 a second */
        leave(&load, places, n);
        now += TICK_MS;
        http_load_look(&load, now);
    }
    assert_in_range(load.limit, 495, 500);
    /* Two looks soon after each other are one. */
    http_load_look(&load, now + 1);
    assert_in_range(load.limit, 495, 500);
    /* Nothing is stored for half a second, then for ten. */
    for (unsigned i = 0; i < 5; i++)
        http_load_look(&load, now += TICK_MS);
    assert_in_range(load.limit, 256, 260);
    for (unsigned i = 0; i < 100; i++)
        http_load_look(&load, now += TICK_MS);
    assert_int_equal(load.limit, AT_LEAST);
    http_load_deinit(&load);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_least),
        cmocka_unit_test(test_projects),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
