/* When free memory is given back, and that it is. */
#include "server/process/trim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"

static void
test_decision(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t now_ms, cpu_ms;
        bool want;
    } cases[] = {
        {"idle from the start", 10000, 0, false},
        {"busy", 12000, 900, false},
        {"too soon", 12500, 900, false},
        {"busy still", 14000, 1800, false},
        {"idle", 16000, 1810, true},
        {"given back once", 18000, 1811, false},
        {"hardly busy", 20000, 1911, false},
        {"idle after that", 22000, 1912, false},
        {"busy again", 24000, 2100, false},
        {"idle again", 26000, 2101, true},
    };
    struct trim trim = {0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (trim_is_time(&trim, cases[i].now_ms, cases[i].cpu_ms) != cases[i].want)
            fail_msg("%s", cases[i].name);
    }
}

static long
resident_pages(void)
{
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &all, &resident), 2);
    fclose(file);
    return resident;
}

static void
test_memory(void **state)
{
    (void)state;
    enum { PIECES = 16 * 1024, PIECE = 1024, PAGE = 4096 };
    static char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = malloc(PIECE);
        assert_non_null(pieces[i]);
        memset(pieces[i], 1, PIECE);
    }
    long most = resident_pages();
    /* The last one stays, so that the heap cannot shrink by itself. */
    for (size_t i = 0; i < PIECES - 1; i++)
        free(pieces[i]);
    /* It was busy when it was looked at, and that is long ago. */
    struct trim trim = {.is_due = true, .cpu_ms = INT64_MAX / 64};
    trim_tend(&trim);
    assert_in_range(resident_pages(), 1, most - PIECES * (PIECE / 2) / PAGE);
    assert_false(trim.is_due);
    free(pieces[PIECES - 1]);
}

static void *
fill(size_t size)
{
    char *piece = malloc(size);
    assert_non_null(piece);
    memset(piece, 1, size);
    return piece;
}

/* What was freed stays while the process is busy, and is given back when it is idle. */
static void
test_keep(void **state)
{
    (void)state;
    enum { PIECES = 96, PIECE = 64 * 1024, PAGE = 4096 };
    static void *pieces[PIECES];
    /* First, so that what stays of it is not above the pieces, which could not go then in any case. */
    assert_true(resident_pages() > 0);
    trim_keep();
    for (int i = 0; i < PIECES; i++)
        pieces[i] = fill(PIECE);
    long most = resident_pages();
    for (int i = PIECES; i-- > 0;)
        free(pieces[i]);
    assert_in_range(resident_pages(), most - 16, most + 16);
    struct trim trim = {.is_due = true, .cpu_ms = INT64_MAX / 64};
    trim_tend(&trim);
    assert_in_range(resident_pages(), 1, most - PIECES * (PIECE / 2) / PAGE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
