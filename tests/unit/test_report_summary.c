/* What lists show: the frame at the top, release, user and tags. */
#include "server/report/summary.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buffer.h"

static struct report_symbol names[] = {
    {.function = "main", .file = "main.c", .line = 5},
    {.function = "objc_exception_throw"},
    {.function = "checkout(int)", .file = "shop.cpp", .line = 7},
    {.function = NULL, .file = "inlined.h"}, /* an inlined call without a name, and what it is in */
    {.function = "outer", .file = "outer.c", .line = 9},
};

static struct report_frame
frame(size_t first, size_t n, bool in_app)
{
    return (struct report_frame){
        .symbols = n ? &names[first] : NULL, .n_symbols = n, .in_app = in_app};
}

static void
test_top(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct report_frame thrown[3], crashed[3];
        size_t n_thrown, n_crashed;
        const char *function;
        int64_t line;
    } cases[] = {
        {"nothing", {{0}}, {{0}}, 0, 0, NULL, 0},
        {"no names", {{0}}, {frame(0, 0, true)}, 0, 1, NULL, 0},
        {"own before system",
         {{0}},
         {frame(1, 1, false), frame(2, 1, true)},
         0,
         2,
         "checkout(int)",
         7},
        {"system alone",
         {{0}},
         {frame(0, 0, true), frame(1, 1, false)},
         0,
         2,
         "objc_exception_throw",
         0},
        {"backtrace before thread",
         {frame(1, 1, false), frame(2, 1, true)},
         {frame(0, 1, true)},
         2,
         1,
         "checkout(int)",
         7},
        {"backtrace without names", {frame(0, 0, true)}, {frame(0, 1, true)}, 1, 1, "main", 5},
        {"inlined without a name", {{0}}, {frame(3, 2, true)}, 0, 1, "outer", 9},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_frame thrown[3], crashed[3];
        memcpy(thrown, cases[i].thrown, sizeof(thrown));
        memcpy(crashed, cases[i].crashed, sizeof(crashed));
        struct report_thread thread = {
            .crashed = true, .frames = crashed, .n_frames = cases[i].n_crashed};
        struct report report = {.threads = &thread,
                                .n_threads = 1,
                                .exception_frames = thrown,
                                .n_exception_frames = cases[i].n_thrown,
                                .crash = {.thread = -1}};
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 16);
        struct report_summary got;
        assert_int_equal(report_summary_make(&report, &arena, &got, NULL), FZ_OK);
        const char *want = cases[i].function ? cases[i].function : "(none)";
        const char *function = got.top_function ? got.top_function : "(none)";
        if (strcmp(want, function) != 0 || got.top_line != cases[i].line)
            fail_msg("%s: %s:%d", cases[i].name, function, (int)got.top_line);
    }
}

static void
test_texts(void **state)
{
    (void)state;
    static const struct {
        struct report report;
        const char *kind, *release, *user, *tags;
    } cases[] = {
        {{0}, "crash", NULL, NULL, NULL},
        {{.kind = "hang", .app_id = "com.acme.shop", .app_version = "4.2", .app_build = "4201"},
         "hang",
         "com.acme.shop@4.2+4201",
         NULL,
         NULL},
        {{.app_version = "4.2"}, "crash", "4.2", NULL, NULL},
        {{.app_id = "com.acme.shop", .app_build = "4201"}, "crash", NULL, NULL, NULL},
        {{.user_json = "{\"email\":\"a@b.c\",\"id\":\"7\"}"}, "crash", NULL, "7", NULL},
        {{.user_json = "{\"email\":\"a@b.c\",\"id\":\"\"}"}, "crash", NULL, "a@b.c", NULL},
        {{.user_json = "{\"id\":7}"}, "crash", NULL, "7", NULL},
        {{.user_json = "\"somebody\""}, "crash", NULL, "somebody", NULL},
        {{.user_json = "{\"id\":{}}"}, "crash", NULL, NULL, NULL},
        {{.user_json = "no json"}, "crash", NULL, NULL, NULL},
        {{.tags_json = "{\"a\":\"x\",\"b\":2,\"c\":true,\"d\":{},\"e\":null}"},
         "crash",
         NULL,
         NULL,
         "\na=x\nb=2\nc=true\n"},
        {{.tags_json = "{\"a\":\"x\\nadmin=yes\"}"}, "crash", NULL, NULL, "\na=x admin=yes\n"},
        {{.tags_json = "{}"}, "crash", NULL, NULL, NULL},
        {{.tags_json = "[1]"}, "crash", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 16);
        struct report_summary got;
        assert_int_equal(report_summary_make(&cases[i].report, &arena, &got, NULL), FZ_OK);
        const char *const pairs[][2] = {{got.kind, cases[i].kind},
                                        {got.release, cases[i].release},
                                        {got.user, cases[i].user},
                                        {got.tags, cases[i].tags}};
        for (size_t k = 0; k < FZ_ARRAY_LEN(pairs); k++) {
            const char *is = pairs[k][0] ? pairs[k][0] : "(none)";
            if (strcmp(is, pairs[k][1] ? pairs[k][1] : "(none)") != 0)
                fail_msg("case %zu, text %zu: %s", i, k, is);
        }
    }
}

/* Only a report whose run is known can be the same crash as another. */
static void
test_run(void **state)
{
    (void)state;
    static const struct {
        struct report report;
        const char *run_id;
        int64_t ends_run;
    } cases[] = {
        {{.run_id = NULL}, NULL, 0},
        {{.run_id = ""}, NULL, 0},
        {{.run_id = "r"}, "r", 1},
        {{.run_id = "r", .kind = "hang"}, "r", 0},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 16);
        struct report_summary got;
        assert_int_equal(report_summary_make(&cases[i].report, &arena, &got, NULL), FZ_OK);
        assert_int_equal(got.ends_run, cases[i].ends_run);
        assert_int_equal(got.run_id == NULL, cases[i].run_id == NULL);
    }
}

/* Many long tags: whole ones are kept until the column is full. */
static void
test_many_tags(void **state)
{
    (void)state;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer json = fz_buffer_make(0);
    for (int i = 0; i < 100; i++)
        fz_buffer_printf(&json, "%c\"tag%d\":\"%0200d\"", i ? ',' : '{', i, i);
    fz_buffer_char(&json, '}');
    struct report report = {.tags_json = fz_buffer_cstr(&json)};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 20);
    struct report_summary got;
    assert_int_equal(report_summary_make(&report, &arena, &got, NULL), FZ_OK);
    size_t len = strlen(got.tags);
    assert_in_range(len, 3500, 4000);
    assert_int_equal(got.tags[len - 1], '\n');
    struct fz_arena small = fz_arena_make(8);
    struct fz_error err;
    assert_int_equal(report_summary_make(&report, &small, &got, &err), FZ_E_LIMIT);
    fz_arena_deinit(&small);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_top), cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_run),
                                       cmocka_unit_test(test_many_tags)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
