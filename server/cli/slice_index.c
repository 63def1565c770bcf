#include "server/cli/slice_index.h"

#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/platform.h"

static unsigned
n_cores(void)
{
    unsigned n = fz_platform_n_cores();
    return n > 64 ? 64 : n;
}

enum fz_code
slice_index_build(const struct sym_file_slice *slice, struct sym_index **ret_index,
                  struct sym_build_stats *ret_stats, struct sym_problems *problems,
                  struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = fz_platform_memory_file("index");
    if (fd < 0)
        return fz_fail_errno(err, "cannot make a memory file");
    struct sym_build_options options = {.n_threads = n_cores(), .symbol_map = slice->symbol_map};
    struct sym_build_stats stats = {0};
    enum fz_code code = sym_index_build(&slice->macho, &options, fd, &stats, problems, err);
    if (code == FZ_OK)
        /* The map of the file outlives the descriptor. */
        code = sym_index_open_fd(fd, ret_index, err);
    if (code == FZ_OK && ret_stats)
        *ret_stats = stats;
    return code;
}

/* The dSYM in the folder of a binary. That it is missing, or of another build, is not an error. */
static void
use_dsym_beside(const char *path, struct slice_index *opened)
{
    char beside[PATH_MAX];
    struct sym_file *dsym = NULL;
    if (!opened->slice->macho.has_uuid || sym_file_slice_has_dwarf(opened->slice) ||
        snprintf(beside, sizeof(beside), "%s.dSYM", path) >= (int)sizeof(beside) ||
        sym_file_open(beside, &dsym, NULL) != FZ_OK)
        return;
    const struct sym_file_slice *found = sym_file_find(dsym, &opened->slice->macho.uuid);
    /* The dSYM of another build: its names would be wrong. */
    if (!found || !sym_file_slice_has_dwarf(found)) {
        sym_file_close(dsym);
        return;
    }
    sym_file_close(opened->file);
    opened->file = dsym;
    opened->slice = found;
}

enum fz_code
slice_index_open(const char *path, const char *arch, struct slice_index *ret, struct fz_error *err)
{
    FZ_CLEANUP(slice_index_deinit) struct slice_index opened = {NULL, NULL, NULL};
    enum fz_code code = sym_file_open(path, &opened.file, err);
    if (code != FZ_OK)
        return code;
    code = sym_file_choose(opened.file, arch, NULL, &opened.slice, err);
    if (code == FZ_OK) {
        use_dsym_beside(path, &opened);
        code = slice_index_build(opened.slice, &opened.index, NULL, NULL, err);
    }
    if (code != FZ_OK)
        return fz_wrap(err, "%s", path);
    *ret = opened;
    opened = (struct slice_index){NULL, NULL, NULL};
    return FZ_OK;
}

void
slice_index_deinit(struct slice_index *opened)
{
    sym_index_close(opened->index);
    sym_file_close(opened->file);
    *opened = (struct slice_index){NULL, NULL, NULL};
}
