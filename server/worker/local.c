#include "server/worker/local.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "server/ingest/ingest.h"
#include "server/worker/resolve.h"
#include "symbolicator/arch.h"
#include "symbolicator/index.h"
#include "symbolicator/symfile.h"

/* Grown by one each: there are as many as arguments, or as images that are hit. */
struct local_symbols {
    struct sym_file **files;
    size_t n_files;
    struct sym_index **indexes;
    size_t n_indexes;
};

enum fz_code
local_symbols_create(struct local_symbols **ret, struct fz_error *err)
{
    struct local_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = symbols;
    return FZ_OK;
}

void
local_symbols_destroy(struct local_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->n_indexes; i++)
        sym_index_close(symbols->indexes[i]);
    for (size_t i = 0; i < symbols->n_files; i++)
        sym_file_close(symbols->files[i]);
    free(symbols->indexes);
    free(symbols->files);
    free(symbols);
}

enum fz_code
local_symbols_add(struct local_symbols *symbols, const char *path, struct fz_error *err)
{
    struct sym_file **files = calloc(symbols->n_files + 1, sizeof(*files));
    if (!files)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (symbols->n_files)
        memcpy(files, symbols->files, symbols->n_files * sizeof(*files));
    free(symbols->files);
    symbols->files = files;
    enum fz_code code = sym_file_open(path, &files[symbols->n_files], err);
    if (code == FZ_OK)
        symbols->n_files++;
    return code;
}

static enum fz_code
keep_index(struct local_symbols *symbols, struct sym_index *index, struct fz_error *err)
{
    struct sym_index **indexes = calloc(symbols->n_indexes + 1, sizeof(struct sym_index *));
    if (!indexes)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    if (symbols->n_indexes)
        memcpy(indexes, symbols->indexes, symbols->n_indexes * sizeof(*indexes));
    free(symbols->indexes);
    symbols->indexes = indexes;
    indexes[symbols->n_indexes++] = index;
    return FZ_OK;
}

static enum fz_code
build(struct local_symbols *symbols, const struct sym_file_slice *slice, struct sym_index **ret,
      struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = fz_platform_memory_file("index");
    if (fd < 0)
        return fz_fail_errno(err, "cannot make a memory file");
    struct sym_build_options options = {.n_threads = 0, .symbol_map = slice->symbol_map};
    struct sym_build_stats stats;
    struct sym_index *index = NULL;
    enum fz_code code = sym_index_build(&slice->macho, &options, fd, &stats, NULL, err);
    if (code == FZ_OK)
        code = sym_index_open_fd(fd, &index, err);
    if (code == FZ_OK)
        code = keep_index(symbols, index, err);
    if (code != FZ_OK) {
        sym_index_close(index);
        return code;
    }
    *ret = index;
    return FZ_OK;
}

/* The slice of that rank among those with the UUID: those with DWARF first, then as they were
 * given. NULL: there are not so many. */
static const struct sym_file_slice *
find_slice(const struct local_symbols *symbols, const struct fz_uuid *uuid, unsigned rank)
{
    for (int with_dwarf = 1; with_dwarf >= 0; with_dwarf--) {
        for (size_t i = 0; i < symbols->n_files; i++) {
            const struct sym_file *file = symbols->files[i];
            for (size_t k = 0; k < file->n_slices; k++) {
                const struct sym_file_slice *slice = file->slices[k];
                if (!slice->macho.has_uuid || !fz_uuid_equal(&slice->macho.uuid, uuid) ||
                    sym_file_slice_has_dwarf(slice) != (with_dwarf == 1))
                    continue;
                if (rank-- == 0)
                    return slice;
            }
        }
    }
    return NULL;
}

static enum fz_code
find_index(void *user, const struct report_image *image, unsigned rank, struct resolve_found *ret,
           struct fz_error *err)
{
    const struct sym_file_slice *slice = find_slice(user, &image->uuid, rank);
    if (!slice)
        return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file");
    ret->file = (struct report_symbol_file){
        .kind = sym_file_slice_has_dwarf(slice) ? "dsym" : "binary", .name = slice->path};
    return build(user, slice, &ret->index, err);
}

/* May the slice's code run where `arch` did? An unknown architecture may be any. */
static bool
fits_arch(const struct sym_file_slice *slice, const char *arch)
{
    uint32_t type, subtype;
    return !arch || !sym_arch_parse(arch, &type, &subtype) || slice->macho.cputype == type;
}

/* The UUID of the symbol files that have the image's name; false if none has, or two differ. */
static bool
uuid_by_name(const struct local_symbols *symbols, const struct report_image *image,
             const char *arch, struct fz_uuid *ret)
{
    bool found = false;
    for (size_t i = 0; i < symbols->n_files; i++) {
        for (size_t k = 0; k < symbols->files[i]->n_slices; k++) {
            const struct sym_file_slice *slice = symbols->files[i]->slices[k];
            if (!slice->macho.has_uuid || !fits_arch(slice, arch) ||
                strcmp(fz_text_base_name(slice->path), image->name) != 0)
                continue;
            if (found && !fz_uuid_equal(ret, &slice->macho.uuid))
                return false;
            *ret = slice->macho.uuid;
            found = true;
        }
    }
    return found;
}

/* Plain stacks tell names and load addresses but no UUIDs. The user has said by his arguments which
 * symbols belong to the report, so the name is enough, and it is noted. */
static void
name_images(const struct local_symbols *symbols, struct report *report, struct fz_arena *arena)
{
    for (size_t i = 0; i < report->n_images; i++) {
        struct report_image *image = &report->images[i];
        const char *arch = image->arch ? image->arch : report->arch;
        struct fz_uuid uuid;
        if (image->has_uuid || image->addr == 0 || !image->name ||
            !uuid_by_name(symbols, image, arch, &uuid))
            continue;
        image->uuid = uuid;
        image->has_uuid = true;
        report_note(report, arena,
                    "images: %s has no UUID in the report, the symbols given by that name are used",
                    image->name);
    }
}

enum fz_code
local_symbolicate(struct local_symbols *symbols, struct fz_span raw, const struct limits *limits,
                  struct fz_arena *arena, struct report *ret, struct fz_error *err)
{
    enum fz_code code = ingest_parse(raw, limits, arena, ret, err);
    if (code != FZ_OK)
        return code;
    name_images(symbols, ret, arena);
    return resolve_report(ret, find_index, symbols, NULL, arena, err);
}
