/* framezero lookup: addresses on standard input to names out of a symbol index. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "server/cmd.h"
#include "server/lookup_stream.h"
#include "symbolicator/index.h"

enum { BENCH_INPUT_MAX = 1 << 30, JOBS_MAX = 256, JOBS_DEFAULT_MAX = 8 };

static int
usage(FILE *to)
{
    fprintf(to,
            "usage: framezero lookup INDEX [--json] [--jobs N] [--bench N] < ADDRESSES\n\n"
            "Addresses are hex, one a line, as they stand in the symbol file. A long list is\n"
            "worked on by N threads (default: one per processor, at most 8); the answers come in\n"
            "its order. --bench makes N lookups over it in one thread and prints nanoseconds (of\n"
            "CPU time) per lookup.\n");
    return to == stdout ? 0 : 2;
}

/* Look all addresses up again and again, touching names and files, n times in all. */
static int
bench(const struct sym_index *index, const struct fz_buffer *addresses, uint64_t n)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    size_t n_addresses = addresses->len / sizeof(uint64_t), at = 0;
    struct timespec begin, end;
    unsigned touched = 0;
    if (n_addresses == 0) {
        fprintf(stderr, "framezero lookup: --bench wants addresses on standard input\n");
        return 1;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t addr;
        memcpy(&addr, addresses->data + at * sizeof(addr), sizeof(addr));
        at = at + 1 == n_addresses ? 0 : at + 1;
        size_t n_frames = sym_index_lookup(index, addr, frames, SYM_FRAMES_MAX);
        for (size_t k = 0; k < n_frames; k++)
            touched += (unsigned char)frames[k].name[0] + (unsigned char)frames[k].file[0];
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.1f ns per lookup\n", n ? ns / (double)n : 0.0);
    return touched == 0 && n ? 1 : 0; /* no address has a name */
}

/* The addresses that standard input holds, one after the other. */
static enum fz_code
read_addresses(struct fz_buffer *ret, struct fz_error *err)
{
    struct fz_buffer text FZ_CLEANUP(fz_buffer_deinit);
    fz_buffer_init(&text, 0);
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
        struct fz_buffer addresses FZ_CLEANUP(fz_buffer_deinit);
        fz_buffer_init(&addresses, 0);
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
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX : (uint64_t)n;
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
