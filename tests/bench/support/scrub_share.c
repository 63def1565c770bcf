/*
 * What scrubbing takes of a child's work on a report, which is less than all of a report's CPU time.
 *
 *   bench_scrub_share FILE...
 *
 * Each file is parsed, scrubbed, resolved without symbol files, grouped and rendered, for a fifth of a second of CPU time. Prints a line
 * for each: microseconds of all, microseconds of scrubbing, the file. One that is not a report is left out.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "base/json/pool.h"
#include "server/group/group.h"
#include "server/ingest/ingest.h"
#include "server/process/limits.h"
#include "server/report/render.h"
#include "server/resolve/resolve.h"
#include "server/scrub/scrub.h"

enum { FILE_MAX = 16 * 1024 * 1024 };

static const double LEAST_S = 0.2;

static double
cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static enum fz_code
find_none(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
          struct fz_error *err)
{
    (void)user;
    (void)image;
    (void)rank;
    (void)ret;
    return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file");
}

static enum fz_code
work(struct fz_span body, const struct limits *limits, double *scrub_s, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits->report_memory);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    static const struct report_envelope envelope = {.status = NULL};
    static const char *const no_prefixes[] = {NULL};
    const struct resolve_options options = {.cut_prefixes = no_prefixes};
    const struct scrub_rules rules = scrub_rules_default();
    const struct group_rules grouping = group_rules_builtin();
    struct group_result group;
    struct report report;
    enum fz_code code = ingest_parse(body, limits, &arena, &report, err);
    double began = cpu_s();
    if (code == FZ_OK)
        code = scrub_report(&report, &rules, &arena, err);
    *scrub_s += cpu_s() - began;
    if (code == FZ_OK)
        code = resolve_report(&report, find_none, NULL, &options, &arena, err);
    if (code == FZ_OK)
        code = group_report(&report, &grouping, &arena, &group, err);
    return code == FZ_OK ? report_render_json(&report, &envelope, &out, err) : code;
}

int
main(int argc, char **argv)
{
    struct limits limits = limits_default();
    json_pool_install();
    for (int i = 1; i < argc; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(FILE_MAX);
        struct fz_error err;
        double scrub_s = 0, began = cpu_s();
        enum fz_code code = fz_file_read(argv[i], FILE_MAX, &body, &err);
        size_t n = 0;
        for (; code == FZ_OK && (n == 0 || cpu_s() - began < LEAST_S); n++) {
            json_pool_start();
            code = work(fz_buffer_span(&body), &limits, &scrub_s, &err);
            json_pool_end();
        }
        if (code == FZ_OK)
            printf("%.2f %.2f %s\n", (cpu_s() - began) / (double)n * 1e6, scrub_s / (double)n * 1e6,
                   argv[i]);
    }
    return 0;
}
