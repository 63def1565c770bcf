/*
 * What the tests of report formats have in common: an arena and the default limits for each test,
 * and parsing a text that must be a report.
 */
#ifndef INGEST_CASE_H
#define INGEST_CASE_H

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "server/ingest/ingest.h"

static struct fz_arena arena;
static struct limits limits;

static int
set_up(void **state)
{
    (void)state;
    limits = limits_default();
    fz_arena_init(&arena, limits.report_memory);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fz_arena_deinit(&arena);
    return 0;
}

/* The report in `body`, which must be detected and read as `format`. */
static inline struct report
parse_as(struct fz_span body, const char *format)
{
    struct report report;
    struct fz_error err;
    const char *found = ingest_detect(body);
    if (!found || strcmp(found, format) != 0)
        fail_msg("%.*s: detected as %s", (int)body.len, (const char *)body.data,
                 found ? found : "nothing");
    if (ingest_parse(body, &limits, &arena, &report, &err) != FZ_OK)
        fail_msg("%.*s: %s", (int)body.len, (const char *)body.data, err.text);
    assert_string_equal(report.format, format);
    return report;
}

/* Parse with one allocation failing after another, until none fails: each ends with NO_MEMORY, or
 * has lost nothing but notes, which are dropped in silence. */
static inline void
fail_each_allocation(struct fz_span body)
{
    bool failed = true;
    struct report whole;
    struct fz_error err;
    assert_int_equal(ingest_parse(body, &limits, &arena, &whole, &err), FZ_OK);
    for (int64_t n = 0; failed; n++) {
        struct report report;
        struct fz_arena small;
        fz_arena_init(&small, limits.report_memory);
        small.fail_after = n;
        enum fz_code code = ingest_parse(body, &limits, &small, &report, &err);
        failed = small.fail_after == 0;
        if (code == FZ_OK && failed) {
            assert_int_equal(report.n_threads, whole.n_threads);
            assert_int_equal(report.n_images, whole.n_images);
        } else if (failed) {
            assert_int_equal(code, FZ_E_NO_MEMORY);
        } else {
            assert_int_equal(code, FZ_OK);
        }
        fz_arena_deinit(&small);
        assert_true(n < 10000);
    }
}

#endif
