/* framezero lookup: addresses on standard input to names out of a symbol index. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/lookup_stream.h"
#include "server/config/term.h"
#include "symbolicator/symbolicator.h"

enum {
    BENCH_INPUT_MAX = 1 << 30,
    BENCH_FRAMES = 2 * SYM_FRAMES_MAX,
    JOBS_MAX = 256,
    JOBS_DEFAULT_MAX = 8,
};

struct arguments {
    bool is_json;
    uint64_t n_bench, n_jobs;
};

static const struct option_spec own_options[] = {
    {.name = "json",
     .set = option_set_flag,
     .offset = offsetof(struct arguments, is_json),
     .help = "One line of JSON per address."},
    {.name = "jobs",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct arguments, n_jobs),
     .min = 1,
     .max = JOBS_MAX,
     .fallback = "one per processor, at most 8",
     .help = "Threads that work on a long list; the answers keep its order."},
    {.name = "bench",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct arguments, n_bench),
     .min = 1,
     .max = UINT64_MAX,
     .help = "Make N lookups over the list in one thread and print nanoseconds of CPU time per "
             "lookup, first as a list is worked on, then one by one."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"echo 0x100003f10 | framezero lookup Shop.index --json", "one address"},
    {NULL, NULL},
};
static int run_command(int argc, char **argv);
const struct command_spec cmd_lookup = {
    .name = "lookup",
    .summary = "addresses to names with a symbol index",
    .operands = "INDEX",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description =
        "Read addresses from standard input, hex, one per line, as they are in the symbol "
        "file, and print their names. INDEX is made by 'framezero index'.",
    .options = own_options,
    .examples = examples,
    .run = run_command,
};

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
        term_error(cmd_lookup.name, "--bench needs addresses on standard input");
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
            code = fz_fail(err, FZ_E_MALFORMED, "'%.*s' is not a hex address",
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
        term_error(cmd_lookup.name, "%s", err.text);
    return code == FZ_OK && n_bad == 0 ? 0 : 1;
}

static uint64_t
default_jobs(void)
{
    unsigned n = fz_platform_n_cores();
    return n > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX : n;
}

static int
run_command(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct arguments arguments = {.n_jobs = default_jobs()};
    struct fz_error err;
    int ended = command_start(&cmd_lookup, argc, argv, &arguments, &given);
    if (ended >= 0)
        return ended;
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    enum fz_code code = sym_index_open(given.operands[0], &index, &err);
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED) {
        term_error(cmd_lookup.name, "%s; 'framezero index FILE -o INDEX' makes an index", err.text);
        return 1;
    }
    if (code != FZ_OK)
        return term_failed(cmd_lookup.name, &err);
    return run(index, arguments.is_json, arguments.n_bench, (unsigned)arguments.n_jobs);
}
