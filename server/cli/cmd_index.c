/* framezero index: one slice of a symbol file to a symbol index. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/json/write.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "symbolicator/symbolicator.h"

enum { JOBS_MAX = 256 };

struct arguments {
    const char *out, *arch, *symbol_map;
    struct fz_uuid uuid;
    bool has_uuid;
    uint64_t n_jobs;
};

static enum fz_code
set_uuid(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
         const char *where, struct fz_error *err)
{
    struct arguments *arguments = field;
    if (!fz_uuid_parse(fz_span_cstr(value), &arguments->uuid))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.60s' is not a UUID", where, value);
    arguments->has_uuid = true;
    return FZ_OK;
}

static const struct option_spec own_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .complete = "file",
     .set = option_set_text,
     .offset = offsetof(struct arguments, out),
     .help = "The index to write."},
    {.name = "arch",
     .argument = "A",
     .set = option_set_text,
     .offset = offsetof(struct arguments, arch),
     .help = "Which architecture, for a file with several."},
    {.name = "uuid",
     .argument = "U",
     .set = set_uuid,
     .help = "Which slice, for a file with several."},
    {.name = "jobs",
     .argument = "N",
     .set = option_set_count,
     .offset = offsetof(struct arguments, n_jobs),
     .min = 1,
     .max = JOBS_MAX,
     .initial = "1",
     .help = "Threads that read the debug information; the index is the same for any N."},
    {.name = "symbol-map",
     .argument = "MAP",
     .complete = "file",
     .set = option_set_text,
     .offset = offsetof(struct arguments, symbol_map),
     .help = "The .bcsymbolmap with the names that a bitcode build hid (__hidden#12_). It is found "
             "without this option if FILE is an .xcarchive, or a folder or archive that has it."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero index Shop.app.dSYM -o Shop.index --arch arm64", "the arm64 slice of a dSYM"},
    {NULL, NULL},
};
static int run(int argc, char **argv);
const struct command_spec cmd_index = {
    .name = "index",
    .summary = "symbol file to symbol index",
    .operands = "FILE",
    .required = "-o OUT",
    .complete = "file",
    .flags = COMMAND_NEEDS_OPERANDS,
    .description = "Build the symbol index of FILE (a Mach-O, a .dSYM bundle, or a zip of one) and "
                   "print one JSON line about it. 'framezero lookup' reads the index.",
    .options = own_options,
    .examples = examples,
    .run = run,
};

static void
print_result(const struct sym_file_slice *slice, const struct sym_build_stats *stats,
             const struct sym_problems *lists[2])
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    char uuid[FZ_UUID_TEXT] = "";
    if (slice->macho.has_uuid)
        fz_uuid_format(&slice->macho.uuid, uuid);
    struct json_write w = json_write_start(&out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "uuid", uuid);
    json_write_text(&w, "arch", slice->arch);
    json_write_u64(&w, "functions", stats->n_functions);
    json_write_u64(&w, "ranges", stats->n_ranges);
    json_write_u64(&w, "bytes", stats->bytes);
    json_write_u64(&w, "inlines", stats->n_inlines);
    json_write_u64(&w, "symbols", stats->n_symbols);
    json_write_u64(&w, "lines", stats->n_lines);
    json_write_u64(&w, "units", stats->n_units);
    json_write_open(&w, "problems", '[');
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->n; i++) {
            const struct sym_problem *problem = &lists[k]->list[i];
            json_write_open(&w, NULL, '{');
            json_write_text(&w, "kind", sym_problem_kind_name(problem->kind));
            json_write_u64(&w, "count", problem->count);
            json_write_text(&w, "text", problem->text);
            json_write_close(&w, '}');
        }
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    printf("%s\n", fz_buffer_cstr(&out));
}

/* The map that was named, else the one that was found. */
static enum fz_code
choose_map(const struct sym_file_slice *slice, const char *path, struct fz_arena *arena,
           struct sym_symbol_map *named, const struct sym_symbol_map **ret, struct fz_error *err)
{
    struct fz_map file;
    *ret = path ? named : slice->symbol_map;
    enum fz_code code = path ? fz_map_open(path, &file, err) : FZ_OK;
    if (code != FZ_OK || !path)
        return code;
    code = sym_symbol_map_read(file.bytes, arena, named, err);
    fz_map_close(&file);
    return code == FZ_OK ? FZ_OK : fz_wrap(err, "%s", path);
}

/* Build beside OUT and rename, so that OUT is whole or not there. */
static enum fz_code
build(const struct sym_file_slice *slice, const struct arguments *arguments,
      struct sym_build_stats *ret_stats, struct sym_problems *problems, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer temp = fz_buffer_make(0);
    fz_buffer_printf(&temp, "%s.XXXXXX", arguments->out);
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(SIZE_MAX);
    struct sym_symbol_map map = {NULL, NULL, 0, false};
    struct sym_build_options options = {.n_threads = (unsigned)arguments->n_jobs};
    enum fz_code code = fz_buffer_done(&temp, err);
    if (code == FZ_OK)
        code = choose_map(slice, arguments->symbol_map, &arena, &map, &options.symbol_map, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_closep) int fd = mkstemp(temp.data);
    if (fd < 0)
        return fz_fail_errno(err, "%s", arguments->out);
    code = sym_index_build(&slice->macho, &options, fd, ret_stats, problems, err);
    if (code == FZ_OK && (fchmod(fd, 0644) != 0 || rename(temp.data, arguments->out) != 0))
        code = fz_fail_errno(err, "%s", arguments->out);
    if (code != FZ_OK)
        unlink(temp.data);
    return code;
}

static int
run(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct arguments arguments = {.n_jobs = 0};
    struct fz_error err;
    int ended = command_start(&cmd_index, argc, argv, &arguments, &given);
    if (ended >= 0)
        return ended;
    if (!arguments.out || (arguments.arch && arguments.has_uuid)) {
        fz_fail(&err, FZ_E_MALFORMED,
                arguments.out ? "--arch and --uuid cannot be used together" : "-o OUT is missing");
        return term_wrong_usage(cmd_index.name, &err);
    }
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    const struct sym_file_slice *slice = NULL;
    struct sym_build_stats stats = {0};
    struct sym_problems problems = {0};
    enum fz_code code = sym_file_open(given.operands[0], &file, &err);
    if (code == FZ_OK)
        code = sym_file_choose(file, arguments.arch, arguments.has_uuid ? &arguments.uuid : NULL,
                               &slice, &err);
    if (code == FZ_OK)
        code = build(slice, &arguments, &stats, &problems, &err);
    if (code != FZ_OK)
        return term_failed(cmd_index.name, &err);
    const struct sym_problems *lists[2] = {&slice->problems, &problems};
    print_result(slice, &stats, lists);
    return 0;
}
