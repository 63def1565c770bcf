#include "server/cli/index_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/json/write.h"

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
    /* The map's texts are in the arena by now. */
    fz_map_close(&file);
    return code == FZ_OK ? FZ_OK : fz_wrap(err, "%s", path);
}

/* Build in a temporary file and rename it, so that OUT is whole or as it was. */
static enum fz_code
build(const struct sym_file_slice *slice, const struct index_file_options *options,
      struct sym_build_stats *ret_stats, struct sym_problems *problems, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer temp = fz_buffer_make(0);
    fz_buffer_printf(&temp, "%s.XXXXXX", options->out);
    /* No cap: the map is a file of the user's own. */
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(SIZE_MAX);
    struct sym_symbol_map map = {NULL, NULL, 0, false};
    struct sym_build_options how = {.n_threads = (unsigned)options->n_jobs};
    enum fz_code code = fz_buffer_done(&temp, err);
    if (code == FZ_OK)
        code = choose_map(slice, options->symbol_map, &arena, &map, &how.symbol_map, err);
    if (code != FZ_OK)
        return code;
    /* Beside OUT: rename() does not work across file systems. */
    FZ_CLEANUP(fz_closep) int fd = mkstemp(temp.data);
    if (fd < 0)
        return fz_fail_errno(err, "%s", options->out);
    code = sym_index_build(&slice->macho, &how, fd, ret_stats, problems, err);
    /* mkstemp() makes files that only their owner can read. */
    if (code == FZ_OK && (fchmod(fd, 0644) != 0 || rename(temp.data, options->out) != 0))
        code = fz_fail_errno(err, "%s", options->out);
    if (code != FZ_OK)
        unlink(temp.data);
    return code;
}

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
    /* Those found while the slice was opened, then those of building the index. */
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

enum fz_code
index_file_write(const struct sym_file_slice *slice, const struct index_file_options *options,
                 struct fz_error *err)
{
    struct sym_build_stats stats = {0};
    struct sym_problems problems = {0};
    enum fz_code code = build(slice, options, &stats, &problems, err);
    const struct sym_problems *lists[2] = {&slice->problems, &problems};
    if (code == FZ_OK)
        print_result(slice, &stats, lists);
    return code;
}
