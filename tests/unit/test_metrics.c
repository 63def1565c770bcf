#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/process/metrics.h"

static void
test_shared(void **state)
{
    (void)state;
    struct metrics *metrics;
    int fd;
    struct fz_error err;
    assert_int_equal(metrics_create(&metrics, &fd, &err), FZ_OK);
    pid_t child = fork();
    if (child == 0) {
        struct metrics *same;
        if (metrics_attach(fd, &same, NULL))
            _exit(1);
        for (int i = 0; i < 1000; i++)
            atomic_fetch_add(&same->child_starts, 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&metrics->child_starts), 1000);
    metrics_detach(metrics);
    close(fd);
    metrics_detach(NULL);
}

static void
test_attach_refuses(void **state)
{
    (void)state;
    struct metrics *metrics = NULL;
    struct fz_error err;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(metrics_attach(fileno(file), &metrics, &err), FZ_E_MALFORMED);
    assert_non_null(strstr(err.text, "holds 0 bytes"));
    fclose(file);
    assert_int_equal(metrics_attach(-1, &metrics, &err), FZ_E_INTERNAL);
    assert_null(metrics);
}

static void
test_routes(void **state)
{
    (void)state;
    struct metrics *metrics;
    int fd;
    assert_int_equal(metrics_create(&metrics, &fd, NULL), FZ_OK);
    struct metrics_route *first = metrics_route(metrics, "report_post");
    assert_ptr_equal(metrics_route(metrics, "report_post"), first);
    assert_string_equal(first->name, "report_post");
    char name[64];
    for (int i = 1; i < METRICS_ROUTES - 1; i++) {
        snprintf(name, sizeof(name), "route_%d", i);
        assert_ptr_equal(metrics_route(metrics, name), &metrics->routes[i]);
    }
    struct metrics_route *rest = metrics_route(metrics, "one_too_many");
    assert_ptr_equal(rest, metrics_route(metrics, "two_too_many"));
    assert_string_equal(rest->name, "other");
    static const char long_name[] = "a_name_that_is_longer_than_its_place_is";
    metrics_detach(metrics);
    close(fd);
    assert_int_equal(metrics_create(&metrics, &fd, NULL), FZ_OK);
    assert_ptr_equal(metrics_route(metrics, long_name), metrics_route(metrics, long_name));
    metrics_detach(metrics);
    close(fd);
}

static void
test_buckets(void **state)
{
    (void)state;
    static const struct {
        uint64_t us;
        size_t bucket;
    } cases[] = {{0, 0},      {1000, 0},   {1001, 1},      {2000, 1},      {5000, 2},
                 {100000, 6}, {500000, 8}, {10000000, 12}, {10000001, 13}, {UINT64_MAX / 2, 13}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        _Atomic uint64_t bucket[METRICS_BUCKETS] = {0}, sum = 0;
        metrics_observe_us(bucket, &sum, cases[i].us);
        assert_int_equal(atomic_load(&bucket[cases[i].bucket]), 1);
        assert_int_equal(atomic_load(&sum), cases[i].us);
    }
}

static void
test_print(void **state)
{
    (void)state;
    struct metrics *metrics;
    int fd;
    assert_int_equal(metrics_create(&metrics, &fd, NULL), FZ_OK);
    struct metrics_route *route = metrics_route(metrics, "report_post");
    atomic_store(&route->by_class[2], 3);
    metrics_observe_us(route->bucket, &route->sum_us, 1500);
    metrics_observe_us(route->bucket, &route->sum_us, 20000000);
    atomic_store(&metrics->jobs[1][METRICS_JOB_DONE], 5);
    struct metrics_gauges gauges = {.has_database = true,
                                    .jobs_waiting = 7,
                                    .jobs_running = 2,
                                    .oldest_job_s = 1.25,
                                    .usage = {{1, "reports", 99}},
                                    .n_usage = 1};
    metrics_route(metrics, "never_asked");
    atomic_store(&metrics->requests_limited[METRICS_LIMITED_ADDRESS], 4);
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    metrics_print(metrics, &gauges, &out);
    static const char *const lines[] = {
        "framezero_http_requests_total{route=\"report_post\",class=\"2xx\"} 3\n",
        "framezero_http_request_seconds_bucket{route=\"report_post\",le=\"0.001\"} 0\n",
        "framezero_http_request_seconds_bucket{route=\"report_post\",le=\"0.002\"} 1\n",
        "framezero_http_request_seconds_bucket{route=\"report_post\",le=\"10\"} 1\n",
        "framezero_http_request_seconds_bucket{route=\"report_post\",le=\"+Inf\"} 2\n",
        "framezero_http_request_seconds_sum{route=\"report_post\"} 20.001500\n",
        "framezero_http_request_seconds_count{route=\"report_post\"} 2\n",
        "framezero_jobs_total{kind=\"report\",result=\"done\"} 5\n",
        "framezero_jobs{state=\"waiting\"} 7\n",
        "framezero_jobs{state=\"running\"} 2\n",
        "framezero_build_info{version=\"" FZ_VERSION "\"} 1\n",
        "framezero_database_up 1\n",
        "framezero_project_usage_bytes{project=\"1\",kind=\"reports\"} 99\n",
        "framezero_requests_limited_total{by=\"address\"} 4\n",
        "framezero_oldest_job_seconds 1.250\n",
    };
    const char *text = fz_buffer_cstr(&out);
    for (size_t i = 0; i < FZ_ARRAY_LEN(lines); i++) {
        print_message("%s", lines[i]);
        assert_non_null(strstr(text, lines[i]));
    }
    /* What never happened has no line. */
    static const char *const absent[] = {"never_asked", "kind=\"upload\"", "result=\"lost\"",
                                         "by=\"key\"", "class=\"5xx\""};
    for (size_t i = 0; i < FZ_ARRAY_LEN(absent); i++)
        assert_null(strstr(text, absent[i]));
    /* The format itself: every line is a comment or "name{labels} number", each family typed once
     * and before its samples. */
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert_true(strncmp(line, "# HELP framezero_", 17) == 0 ||
                    strncmp(line, "# TYPE framezero_", 17) == 0 ||
                    strncmp(line, "framezero_", 10) == 0);
        if (strncmp(line, "# TYPE ", 7) == 0) {
            size_t name_len = strcspn(line + 7, " ");
            char type[160];
            snprintf(type, sizeof(type), "# TYPE %.*s ", (int)name_len, line + 7);
            assert_ptr_equal(strstr(text, type), line);
            assert_null(strstr(line + 7, type));
        }
    }
    fz_buffer_deinit(&out);
    metrics_detach(metrics);
    close(fd);
}

static void
test_process(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu_seconds_total",    "resident_memory_bytes",
                                        "virtual_memory_bytes", "open_fds",
                                        "start_time_seconds",   "threads"};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    metrics_print_process(&out);
    const char *text = fz_buffer_cstr(&out);
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\nprocess_%s ", names[i]);
        const char *at = strstr(text, line);
        assert_non_null(at);
        double value = strtod(at + strlen(line), NULL);
        if (strcmp(names[i], "cpu_seconds_total") != 0)
            assert_true(value >= 1);
        if (strcmp(names[i], "start_time_seconds") == 0)
            assert_true(value > 1.6e9 && value <= (double)time(NULL) + 1);
        if (strcmp(names[i], "threads") == 0)
            assert_true(value == 1);
    }
    fz_buffer_deinit(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared), cmocka_unit_test(test_attach_refuses),
        cmocka_unit_test(test_routes), cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_print),  cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
