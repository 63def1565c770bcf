/* framezero index: one slice of a symbol file to a symbol index. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "server/cmd.h"
#include "symbolicator/index.h"
#include "symbolicator/symfile.h"

enum { JOBS_MAX = 256 };

struct arguments {
    const char *file, *out, *arch, *symbol_map;
    struct fz_uuid uuid;
    bool has_uuid;
    unsigned n_jobs;
};

static int
usage(FILE *to)
{
    fprintf(
        to,
        "usage: framezero index FILE -o OUT [--arch A | --uuid U] [--jobs N] [--symbol-map MAP]\n\n"
        "Build the symbol index of FILE (Mach-O, .dSYM bundle, or a zip of one) and print one\n"
        "JSON line about it. A file with several slices needs --arch or --uuid. --jobs N reads\n"
        "the debug information in N threads (default 1); the index is the same for any N.\n"
        "Names that a bitcode build hid (__hidden#12_) are looked up in MAP, a .bcsymbolmap; if\n"
        "FILE is an .xcarchive, or any folder or archive with its map, that is found by itself.\n");
    return to == stdout ? 0 : 2;
}

/* -1 when the arguments are good, else the exit code. */
static int
parse(int argc, char **argv, struct arguments *ret)
{
    static const struct option options[] = {
        {"arch", required_argument, NULL, 'a'},
        {"uuid", required_argument, NULL, 'u'},
        {"jobs", required_argument, NULL, 'j'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {"symbol-map", required_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };
    uint64_t jobs;
    for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        switch (c) {
        case 'o':
            ret->out = optarg;
            break;
        case 'a':
            ret->arch = optarg;
            break;
        case 'u':
            if (!fz_uuid_parse(fz_span_cstr(optarg), &ret->uuid)) {
                fprintf(stderr, "framezero index: '%s' is no UUID\n", optarg);
                return 2;
            }
            ret->has_uuid = true;
            break;
        case 'j':
            if (!fz_text_u64(fz_span_cstr(optarg), &jobs) || jobs == 0 || jobs > JOBS_MAX) {
                fprintf(stderr, "framezero index: --jobs wants 1 to %d\n", JOBS_MAX);
                return 2;
            }
            ret->n_jobs = (unsigned)jobs;
            break;
        case 'm':
            ret->symbol_map = optarg;
            break;
        case 'h':
            return usage(stdout);
        default:
            return usage(stderr);
        }
    }
    if (optind + 1 != argc || !ret->out || (ret->arch && ret->has_uuid))
        return usage(stderr);
    ret->file = argv[optind];
    return -1;
}

static void
print_result(const struct sym_file_slice *slice, const struct sym_build_stats *stats,
             const struct sym_problems *lists[2])
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    char uuid[FZ_UUID_TEXT] = "";
    if (slice->macho.has_uuid)
        fz_uuid_format(&slice->macho.uuid, uuid);
    fz_buffer_printf(&out,
                     "{\"uuid\":\"%s\",\"arch\":\"%s\",\"functions\":%llu,\"ranges\":%llu,"
                     "\"bytes\":%llu,\"inlines\":%llu,\"symbols\":%llu,\"lines\":%llu,"
                     "\"units\":%llu,\"problems\":[",
                     uuid, slice->arch, (unsigned long long)stats->n_functions,
                     (unsigned long long)stats->n_ranges, (unsigned long long)stats->bytes,
                     (unsigned long long)stats->n_inlines, (unsigned long long)stats->n_symbols,
                     (unsigned long long)stats->n_lines, (unsigned long long)stats->n_units);
    const char *comma = "";
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->n; i++) {
            const struct sym_problem *problem = &lists[k]->list[i];
            fz_buffer_printf(&out, "%s{\"kind\":\"%s\",\"count\":%llu,\"text\":", comma,
                             problem->kind, (unsigned long long)problem->count);
            fz_text_json_append(&out, fz_span_cstr(problem->text));
            fz_buffer_char(&out, '}');
            comma = ",";
        }
    }
    printf("%s]}\n", fz_buffer_cstr(&out));
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
    struct sym_build_options options = {.n_threads = arguments->n_jobs};
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

int
cmd_index(int argc, char **argv)
{
    struct arguments arguments = {0};
    int status = parse(argc, argv, &arguments);
    if (status >= 0)
        return status;
    struct fz_error err;
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    const struct sym_file_slice *slice = NULL;
    struct sym_build_stats stats = {0};
    struct sym_problems problems = {0};
    enum fz_code code = sym_file_open(arguments.file, &file, &err);
    if (code == FZ_OK)
        code = sym_file_choose(file, arguments.arch, arguments.has_uuid ? &arguments.uuid : NULL,
                               &slice, &err);
    if (code == FZ_OK)
        code = build(slice, &arguments, &stats, &problems, &err);
    if (code != FZ_OK) {
        fprintf(stderr, "framezero index: %s\n", err.text);
        return 1;
    }
    const struct sym_problems *lists[2] = {&slice->problems, &problems};
    print_result(slice, &stats, lists);
    return 0;
}
