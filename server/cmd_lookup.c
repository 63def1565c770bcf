/* framezero lookup: addresses on standard input to names out of a symbol index. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "server/cmd.h"
#include "server/lookup_stream.h"
#include "symbolicator/index.h"

enum {
    BENCH_INPUT_MAX = 1 << 30,
    BENCH_FRAMES = 2 * SYM_FRAMES_MAX,
    JOBS_MAX = 256,
    JOBS_DEFAULT_MAX = 8,
};

static int
usage(FILE *to)
{
    fprintf(to,
            "usage: framezero lookup INDEX [--json] [--jobs N] [--bench N] < ADDRESSES\n\n"
            "Addresses are hex, one a line, as they stand in the symbol file. A long list is\n"
            "worked on by N threads (default: one per processor, at most 8); the answers come in\n"
            "its order. --bench makes N lookups over it in one thread and prints nanoseconds (of\n"
            "CPU time) per lookup, first as a list is worked on, then one by one.\n");
    return to == stdout ? 0 : 2;
}

/* CPU time of this thread in ns. */
static double
cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* As a list is worked on: see sym_index_lookup_many(). Returns how many addresses were looked up.
 */
static size_t
look_up_some(const struct sym_index *index, const uint64_t *addrs, size_t n,
             struct sym_frame *frames, unsigned *touched)
{
    size_t n_frames[SYM_LOOKUPS_MAX], total = 0;
    size_t done = sym_index_lookup_many(index, addrs, n, frames, BENCH_FRAMES, n_frames);
    for (size_t i = 0; i < done; i++)
        total += n_frames[i];
    for (size_t i = 0; i < total; i++)
        *touched += (unsigned char)frames[i].name[0] + (unsigned char)frames[i].file[0];
    return done;
}

static size_t
look_up_one(const struct sym_index *index, const uint64_t *addrs, struct sym_frame *frames,
            unsigned *touched)
{
    size_t n = sym_index_lookup(index, *addrs, frames, SYM_FRAMES_MAX);
    for (size_t i = 0; i < n; i++)
        *touched += (unsigned char)frames[i].name[0] + (unsigned char)frames[i].file[0];
    return 1;
}

/* Look all addresses up again and again, touching names and files, n times in all. */
static int
bench(const struct sym_index *index, const struct fz_buffer *addresses, uint64_t n)
{
    struct sym_frame frames[BENCH_FRAMES];
    const uint64_t *addrs = (const uint64_t *)(const void *)addresses->data;
    size_t n_addrs = addresses->len / sizeof(*addrs), at = 0;
    double ns[2];
    unsigned touched = 0;
    if (n_addrs == 0) {
        fprintf(stderr, "framezero lookup: --bench wants addresses on standard input\n");
        return 1;
    }
    for (int alone = 0; alone < 2; alone++) {
        double begin = cpu_ns();
        uint64_t done = 0;
        for (size_t some; done < n; done += some) {
            some = alone ? look_up_one(index, addrs + at, frames, &touched)
                         : look_up_some(index, addrs + at, n_addrs - at, frames, &touched);
            at = at + some == n_addrs ? 0 : at + some;
        }
        ns[alone] = done ? (cpu_ns() - begin) / (double)done : 0;
    }
    printf("%.1f ns per lookup, %.1f ns one by one\n", ns[0], ns[1]);
    return touched == 0 && n ? 1 : 0; /* no address has a name */
}

/* The addresses that standard input holds, one after the other. */
static enum fz_code
read_addresses(struct fz_buffer *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    enum fz_code code = fz_file_read("-", BENCH_INPUT_MAX, &text, err);
    struct fz_span left = fz_buffer_span(&text), line;
    enum lookup_line kind;
    uint64_t addr;
    while (code == FZ_OK && (kind = lookup_line_take(&left, &addr, &line)) != LOOKUP_LINE_END) {
        if (kind == LOOKUP_LINE_ADDRESS)
            fz_buffer_append(ret, &addr, sizeof(addr));
        else
            code = fz_fail(err, FZ_E_MALFORMED, "no address: %.*s",
                           (int)(line.len < 80 ? line.len : 80), (const char *)line.data);
    }
    return code == FZ_OK ? fz_buffer_done(ret, err) : code;
}

static int
run(const struct sym_index *index, bool is_json, uint64_t n_bench, unsigned n_threads)
{
    struct fz_error err;
    size_t n_bad = 0;
    enum fz_code code;
    if (n_bench) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer addresses = fz_buffer_make(0);
        code = read_addresses(&addresses, &err);
        if (code == FZ_OK)
            return bench(index, &addresses, n_bench);
    } else {
        struct lookup_stream_options options = {.is_json = is_json, .n_threads = n_threads};
        code = lookup_stream(index, &options, STDIN_FILENO, STDOUT_FILENO, &n_bad, &err);
    }
    if (code != FZ_OK)
        fprintf(stderr, "framezero lookup: %s\n", err.text);
    return code == FZ_OK && n_bad == 0 ? 0 : 1;
}

static uint64_t
default_jobs(void)
{
    unsigned n = fz_platform_n_cores();
    return n > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX : n;
}

int
cmd_lookup(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"bench", required_argument, NULL, 'b'},
        {"jobs", required_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool is_json = false;
    uint64_t n_bench = 0, n_jobs = default_jobs();
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'j')
            is_json = true;
        else if (c == 'h')
            return usage(stdout);
        else if ((c != 'b' && c != 'n') ||
                 !fz_text_u64(fz_span_cstr(optarg), c == 'b' ? &n_bench : &n_jobs) ||
                 (c == 'b' ? n_bench == 0 : n_jobs == 0 || n_jobs > JOBS_MAX))
            return usage(stderr);
    }
    if (optind + 1 != argc)
        return usage(stderr);
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    struct fz_error err;
    if (sym_index_open(argv[optind], &index, &err) != FZ_OK) {
        fprintf(stderr, "framezero lookup: %s\n", err.text);
        return 1;
    }
    return run(index, is_json, n_bench, (unsigned)n_jobs);
}
