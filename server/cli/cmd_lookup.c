/* framezero lookup: addresses on standard input to names out of a symbol index. */
#include <unistd.h>

#include "base/platform.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/lookup_bench.h"
#include "server/cli/lookup_stream.h"
#include "server/config/term.h"
#include "symbolicator/symbolicator.h"

enum { JOBS_MAX = 256, JOBS_DEFAULT_MAX = 8 };

struct arguments {
    bool is_json;
    uint64_t n_bench, n_jobs;
};

static const struct option_spec own_options[] = {
    {.name = "json",
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

static int
look_up(const struct sym_index *index, bool is_json, uint64_t n_bench, unsigned n_threads)
{
    struct fz_error err;
    size_t n_bad = 0;
    enum fz_code code;
    if (n_bench) {
        code = lookup_bench(index, n_bench, &err);
    } else {
        struct lookup_stream_options options = {.is_json = is_json, .n_threads = n_threads};
        code = lookup_stream(index, &options, STDIN_FILENO, STDOUT_FILENO, &n_bad, &err);
    }
    if (code != FZ_OK)
        term_error(cmd_lookup.name, "%s", err.text);
    /* Lines that are not addresses have been reported; scripts see them by the status. */
    return code == FZ_OK && n_bad == 0 ? 0 : 1;
}

static uint64_t
default_jobs(void)
{
    unsigned n = fz_platform_n_cores();
    return n > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX : n;
}

static int
run(const struct command_call *call)
{
    const struct arguments *arguments = call->values;
    struct fz_error err;
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = NULL;
    enum fz_code code = sym_index_open(call->operands[0], &index, &err);
    /* It is not an index: perhaps the dSYM that one is made of. */
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED) {
        term_error(cmd_lookup.name, "%s; 'framezero index FILE -o INDEX' makes an index", err.text);
        return 1;
    }
    if (code != FZ_OK)
        return term_failed(cmd_lookup.name, &err);
    uint64_t n_jobs = arguments->n_jobs ? arguments->n_jobs : default_jobs();
    return look_up(index, arguments->is_json, arguments->n_bench, (unsigned)n_jobs);
}

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
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
