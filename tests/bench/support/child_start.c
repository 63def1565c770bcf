/*
 * How long a child process takes from its start to the moment at which it takes a report.
 *
 *   bench_child_start [RUNS]
 *
 * Each run starts a child and sends it two small reports. The first answer comes after the start and one report, the
 * second after one report; the difference is the start. Prints both medians in milliseconds.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "server/children/process.h"

enum { RUNS = 200, RUNS_MAX = 10000 };

static const char report[] = "{\"framezero\":1,\"addresses\":[\"0x1000\"]}";

static double
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* One report to the child and its answer, whatever that says. */
static enum fz_code
ask(struct child_process *child, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int raw = memfd_create("report", MFD_CLOEXEC);
    FZ_CLEANUP(fz_closep) int result = memfd_create("result", MFD_CLOEXEC);
    if (raw < 0 || result < 0)
        return fz_fail_errno(err, "memfd_create");
    enum fz_code code = fz_file_write_fd(raw, fz_span_cstr(report), err);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_text(&body, "0123", PROTO_TEXT_MAX);
    proto_put_text(&body, "shop", PROTO_TEXT_MAX);
    proto_put_u64(&body, 1000);
    proto_put_text(&body, NULL, PROTO_TEXT_MAX);
    proto_put_u8(&body, 0);
    proto_put_u8(&body, 0);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    proto_put_text(&body, NULL, PROTO_TEXT_MAX);
    proto_put_text(&body, NULL, PROTO_RULES_MAX);
    proto_put_u8(&body, 0);
    proto_put_text(&body, NULL, PROTO_REDACT_MAX);
    proto_put_u64(&body, 1);
    int fds[2] = {raw, result};
    child_process_begin(child, 60);
    if (code == FZ_OK)
        code = child_process_send(child, PROTO_SYMBOLICATE, &body, fds, 2, err);
    return code == FZ_OK ? child_process_next(child, err) : code;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    static double starts[RUNS_MAX], reports[RUNS_MAX];
    long runs = argc > 1 ? strtol(argv[1], NULL, 10) : RUNS;
    struct limits limits = limits_default();
    struct fz_error err;
    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "usage: bench_child_start [RUNS, at most %d]\n", (int)RUNS_MAX);
        return 2;
    }
    for (long i = 0; i < runs; i++) {
        struct child_process child = {.sock = -1};
        double began = now_ms();
        enum fz_code code = child_process_start(&child, PROTO_ROLE_REPORTS, &limits, &err);
        if (code == FZ_OK)
            code = ask(&child, &err);
        double first = now_ms();
        if (code == FZ_OK)
            code = ask(&child, &err);
        double second = now_ms();
        child_process_stop(&child);
        if (code != FZ_OK) {
            fprintf(stderr, "bench_child_start: %s\n", err.text);
            return 1;
        }
        reports[i] = second - first;
        starts[i] = first - began - reports[i];
    }
    qsort(starts, (size_t)runs, sizeof(*starts), compare);
    qsort(reports, (size_t)runs, sizeof(*reports), compare);
    printf("{\"start_ms\": %.3f, \"report_ms\": %.3f, \"runs\": %ld}\n", starts[runs / 2],
           reports[runs / 2], runs);
    return 0;
}
