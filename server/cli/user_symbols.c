#include "server/cli/user_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/arch/arch.h"
#include "base/attr.h"
#include "base/list.h"
#include "server/cli/slice_index.h"
#include "server/cli/user_symbols_named.h"
#include "server/group/group.h"
#include "server/ingest/ingest.h"
#include "server/resolve/resolve.h"
#include "symbolicator/symbolicator.h"

struct user_symbols {
    struct sym_file **files;
    size_t n_files, files_room;
    struct kept_index {
        const struct sym_file_slice *slice;
        struct sym_index *index;
    } * indexes;
    size_t n_indexes, indexes_room;
    const char *arch; /* static, NULL = any */
    bool has_variables;
};

enum fz_code
user_symbols_create(struct user_symbols **ret, struct fz_error *err)
{
    struct user_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = symbols;
    return FZ_OK;
}

void
user_symbols_destroy(struct user_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->n_indexes; i++)
        sym_index_close(symbols->indexes[i].index);
    for (size_t i = 0; i < symbols->n_files; i++)
        sym_file_close(symbols->files[i]);
    free(symbols->indexes);
    free(symbols->files);
    free(symbols);
}

enum fz_code
user_symbols_add(struct user_symbols *symbols, const char *path, struct fz_error *err)
{
    struct sym_file **files = fz_list_grow(NULL, symbols->files, &symbols->files_room,
                                           symbols->n_files + 1, sizeof(struct sym_file *));
    if (!files)
        return fz_budget_fail(NULL, err);
    symbols->files = files;
    enum fz_code code = sym_file_open(path, &files[symbols->n_files], err);
    if (code == FZ_OK)
        symbols->n_files++;
    return code;
}

enum fz_code
user_symbols_set_arch(struct user_symbols *symbols, const char *arch, struct fz_error *err)
{
    uint32_t type, subtype;
    if (!fz_arch_parse(arch, &type, &subtype))
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "'%s' is not an architecture; known are arm64, arm64e, arm64_32, armv7, "
                       "armv7s, armv7k, x86_64, x86_64h, i386",
                       arch);
    symbols->arch = fz_arch_name(type, subtype);
    return FZ_OK;
}

void
user_symbols_want_variables(struct user_symbols *symbols)
{
    symbols->has_variables = true;
}

static enum fz_code
keep_index(struct user_symbols *symbols, const struct sym_file_slice *slice,
           struct sym_index *index, struct fz_error *err)
{
    struct kept_index *indexes = fz_list_grow(NULL, symbols->indexes, &symbols->indexes_room,
                                              symbols->n_indexes + 1, sizeof(*indexes));
    if (!indexes)
        return fz_budget_fail(NULL, err);
    symbols->indexes = indexes;
    indexes[symbols->n_indexes++] = (struct kept_index){slice, index};
    return FZ_OK;
}

static enum fz_code
build(struct user_symbols *symbols, const struct sym_file_slice *slice, struct sym_index **ret,
      struct fz_error *err)
{
    for (size_t i = 0; i < symbols->n_indexes; i++) { /* made for a report before */
        if (symbols->indexes[i].slice == slice) {
            *ret = symbols->indexes[i].index;
            return FZ_OK;
        }
    }
    struct sym_index *index = NULL;
    enum fz_code code = slice_index_build(slice, &index, NULL, NULL, err);
    if (code == FZ_OK)
        code = keep_index(symbols, slice, index, err);
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
find_slice(const struct user_symbols *symbols, const struct fz_uuid *uuid, unsigned rank)
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
    /* resolve asks with rising ranks until there is none. */
    if (!slice)
        return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file");
    ret->file = (struct report_symbol_file){
        .kind = sym_file_slice_has_dwarf(slice) ? "dsym" : "binary", .name = slice->path};
    return build(user, slice, &ret->index, err);
}

/* A resolve_files_fn: what the user gave for the image; a program with its own DWARF is both. */
static enum fz_code
find_files(void *user, const struct report_image *image, struct sym_process_files *ret,
           struct fz_error *err FZ_UNUSED)
{
    const struct sym_file_slice *slice;
    for (unsigned rank = 0; (slice = find_slice(user, &image->uuid, rank)); rank++) {
        if (!ret->dsym && sym_file_slice_has_dwarf(slice))
            ret->dsym = &slice->macho;
        if (!ret->binary && !sym_macho_is_dsym(&slice->macho))
            ret->binary = &slice->macho;
    }
    return FZ_OK;
}

struct naming {
    const struct sym_index *index;
    uint64_t load, vmaddr;
    bool is_thumb;
};

/* Does a function cover the call before the address, or the address itself if it may be exact? */
static bool
has_name(void *user, const struct report_frame *frame, bool may_be_exact)
{
    const struct naming *naming = user;
    struct sym_frame found[SYM_FRAMES_MAX];
    /* Bit 0 is the instruction set, not a part of the address. */
    uint64_t addr = naming->is_thumb ? frame->addr & ~(uint64_t)1 : frame->addr;
    if (addr < naming->load || addr - naming->load > UINT64_MAX - naming->vmaddr)
        return false;
    addr = addr - naming->load + naming->vmaddr;
    return (may_be_exact && sym_index_lookup(naming->index, addr, found, SYM_FRAMES_MAX) > 0) ||
           (addr > 0 && sym_index_lookup(naming->index, addr - 1, found, SYM_FRAMES_MAX) > 0);
}

/* Keep the slices that have a name for every frame, if there are such. */
static void
keep_naming(struct user_symbols *symbols, const struct report *report, size_t number,
            struct user_symbols_named *named)
{
    struct user_symbols_named naming = {.n = 0};
    for (size_t i = 0; named->n > 1 && i < named->n; i++) {
        const struct sym_file_slice *slice = named->slices[i];
        struct sym_index *index;
        struct sym_index_info info;
        struct fz_error ignored; /* resolve reports it for the slice that is chosen */
        if (build(symbols, slice, &index, &ignored) != FZ_OK)
            continue;
        sym_index_info(index, &info);
        struct naming lookup = {index, report->images[number].addr, info.text_vmaddr,
                                fz_arch_has_thumb(info.cputype)};
        if (user_symbols_named_each(report, number, has_name, &lookup))
            naming.slices[naming.n++] = slice;
    }
    /* If not one names every frame, the test says nothing and all of them stay. */
    if (naming.n)
        *named = naming;
}

static void
keep_arch(const struct user_symbols *symbols, const struct report *report,
          const struct report_image *image, struct user_symbols_named *named)
{
    const char *of_report = image->arch ? image->arch : report->arch;
    user_symbols_named_keep_arch(named, symbols->arch ? symbols->arch : of_report);
}

/* The symbol files that have the image's name and may hold its frames. */
static struct user_symbols_named
candidates(struct user_symbols *symbols, const struct report *report, size_t number)
{
    const struct report_image *image = &report->images[number];
    struct user_symbols_named named =
        user_symbols_named_find(symbols->files, symbols->n_files, image);
    keep_arch(symbols, report, image, &named);
    /* Cheap tests first: the next one builds an index of each that is left. */
    user_symbols_named_keep_fitting(&named, report, number);
    keep_naming(symbols, report, number, &named);
    return named;
}

/* Plain stacks have names and load addresses but no UUIDs. The arguments say which
 * symbols belong to the report, so the name is enough, and it is noted. */
static void
name_images(struct user_symbols *symbols, struct report *report, struct fz_arena *arena)
{
    for (size_t i = 0; i < report->n_images; i++) {
        struct report_image *image = &report->images[i];
        /* Without a load address no frame could be mapped into the file. */
        if (image->has_uuid || image->addr == 0 || !image->name)
            continue;
        struct user_symbols_named named = candidates(symbols, report, i);
        if (named.n > 1) {
            FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
            user_symbols_named_write(&named, NULL, &text);
            report_note(report, arena, "images: %s has no UUID in the report, and %s", image->name,
                        fz_buffer_cstr(&text));
        }
        /* Names from another build would be wrong, which is worse than none. */
        if (named.n != 1)
            continue;
        image->uuid = named.slices[0]->macho.uuid;
        image->has_uuid = true;
        if (!image->arch)
            image->arch = named.slices[0]->arch;
        if (!report->arch)
            report->arch = image->arch;
        size_t n_all = user_symbols_named_find(symbols->files, symbols->n_files, image).n;
        /* The reader of the report has to see that a choice was made. */
        if (n_all > 1)
            report_note(report, arena,
                        "images: %s has no UUID in the report; of %zu symbol files with that name "
                        "the one of %s is used",
                        image->name, n_all, named.slices[0]->arch);
        else
            report_note(report, arena,
                        "images: %s has no UUID in the report, the symbols given by that name are "
                        "used",
                        image->name);
    }
}

void
user_symbols_explain(struct user_symbols *symbols, const struct report *report, size_t number,
                     struct fz_buffer *out)
{
    const struct report_image *image = &report->images[number];
    struct user_symbols_named named =
        user_symbols_named_find(symbols->files, symbols->n_files, image);
    struct user_symbols_named fitting = named;
    if (image->has_uuid) {
        user_symbols_named_write(&named, "; none has this UUID", out);
        return;
    }
    keep_arch(symbols, report, image, &fitting);
    user_symbols_named_keep_fitting(&fitting, report, number);
    if (fitting.n)
        user_symbols_named_write(&fitting, NULL, out);
    else
        user_symbols_named_write(&named, "; none has the wanted architecture", out);
}

enum fz_code
user_symbols_resolve(struct user_symbols *symbols, struct fz_span raw, const struct limits *limits,
                     struct fz_arena *arena, struct report *ret, struct fz_error *err)
{
    enum fz_code code = ingest_parse(raw, limits, arena, ret, err);
    if (code != FZ_OK)
        return code;
    name_images(symbols, ret, arena);
    const struct resolve_options options = {.files = find_files, .values = symbols->has_variables};
    code = resolve_report(ret, find_index, symbols, &options, arena, err);
    if (code != FZ_OK)
        return code;
    /* A project's rules are on its server. */
    const struct group_rules rules = group_rules_builtin();
    struct group_result grouped;
    return group_report(ret, &rules, arena, &grouped, err);
}
