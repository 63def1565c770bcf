#include "base/list.h"
#include "base/platform.h"
#include "symbolicator/symbolicator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "symbolicator/macho/compressed.h"
#include "symbolicator/macho/symbol_map.h"

enum { SLICES_MAX = 16384, DEPTH_MAX = 16 };
static const struct sym_archive_limits archive_limits = {
    .bytes = (uint64_t)16 << 30, .member_bytes = (uint64_t)16 << 30, .entries = 100000};
static const size_t ARENA_CAP = (size_t)1 << 30; /* load commands only; the files are mapped */

struct mapped {
    struct fz_map map;
    struct mapped *next;
};

/* A symbol map, or a property list that says which map an image has. */
struct names {
    struct fz_uuid uuid, original; /* of its file name; original only of a property list */
    bool is_plist, is_read;
    const char *path;
    struct fz_span bytes; /* of a map, mapped */
    struct sym_symbol_map map;
    struct names *next;
};

struct opened {
    struct sym_file out; /* first: the caller's pointer is to it */
    size_t room;         /* in out.slices */
    struct fz_arena arena;
    struct mapped *maps;
    struct names *names;
};

static enum fz_code
append_slice(struct opened *file, struct sym_file_slice *slice, struct fz_error *err)
{
    if (file->out.n_slices == SLICES_MAX)
        return fz_fail(err, FZ_E_LIMIT, "more than %d Mach-O slices", SLICES_MAX);
    struct sym_file_slice **slices = fz_list_grow_in(&file->arena, file->out.slices, &file->room,
                                                     file->out.n_slices + 1, sizeof(slices[0]));
    if (!slices)
        return fz_arena_fail(&file->arena, err);
    file->out.slices = slices;
    file->out.slices[file->out.n_slices++] = slice;
    return FZ_OK;
}

/* Take the map over and add every slice in it. Fails for memory and limits; a broken slice is
 * among the problems, and *ret_broken holds why. */
static enum fz_code
add_mapped(struct opened *file, const char *path, struct fz_map map, struct fz_error *ret_broken,
           struct fz_error *err)
{
    struct mapped *node = fz_arena_alloc(&file->arena, sizeof(*node));
    if (!node) {
        fz_map_close(&map);
        return fz_arena_fail(&file->arena, err);
    }
    *node = (struct mapped){map, file->maps};
    file->maps = node;
    struct sym_slice slices[SYM_SLICES_MAX];
    size_t n = 0;
    enum fz_code code = sym_macho_slices(map.bytes, slices, &n, &file->out.problems, ret_broken);
    if (code != FZ_OK)
        sym_problem_add(&file->out.problems, SYM_PROBLEM_UNREADABLE, "%s: %s", path,
                        ret_broken->text);
    const char *kept_path = fz_arena_strdup(&file->arena, path);
    for (size_t i = 0; i < n && kept_path; i++) {
        struct sym_file_slice *slice = fz_arena_alloc(&file->arena, sizeof(*slice));
        struct fz_span bytes;
        if (!slice)
            return fz_arena_fail(&file->arena, err);
        if (!fz_span_sub(map.bytes, slices[i].offset, slices[i].size, &bytes))
            continue; /* sym_macho_slices() has checked it */
        code = sym_macho_open(bytes, &file->arena, &slice->macho, &slice->problems, ret_broken);
        if (code == FZ_E_LIMIT || code == FZ_E_NO_MEMORY)
            return fz_fail(err, code, "%s: %s", path, ret_broken->text);
        if (code != FZ_OK) {
            sym_problem_add(&file->out.problems, SYM_PROBLEM_UNREADABLE, "%s: %s", path,
                            ret_broken->text);
            continue;
        }
        slice->path = kept_path;
        slice->arch = fz_arch_name(slice->macho.cputype, slice->macho.cpusubtype);
        code = append_slice(file, slice, err);
        if (code != FZ_OK)
            return code;
    }
    return kept_path ? FZ_OK : fz_arena_fail(&file->arena, err);
}

/* Take the map over and remember it if it is a symbol map or a property list of one. */
static enum fz_code
add_names(struct opened *file, const char *path, struct fz_map map, struct fz_error *err)
{
    struct names names = {.is_read = false};
    /* By content and name: a map does not say which image it is for. */
    bool is_map = sym_symbol_map_has_magic(map.bytes) &&
                  sym_symbol_map_path_uuid(path, ".bcsymbolmap", &names.uuid);
    names.is_plist = !is_map && sym_symbol_map_path_uuid(path, ".plist", &names.uuid) &&
                     sym_symbol_map_original(map.bytes, &names.original);
    struct mapped *node = is_map ? fz_arena_alloc(&file->arena, sizeof(*node)) : NULL;
    if (node) {
        *node = (struct mapped){map, file->maps};
        file->maps = node;
        names.bytes = map.bytes;
    } else {
        fz_map_close(&map);
    }
    if (!is_map && !names.is_plist)
        return FZ_OK;
    struct names *kept = fz_arena_alloc(&file->arena, sizeof(*kept));
    names.path = fz_arena_strdup(&file->arena, path);
    if (!kept || !names.path || (is_map && !node))
        return fz_arena_fail(&file->arena, err);
    *kept = names;
    kept->next = file->names;
    file->names = kept;
    return FZ_OK;
}

static struct names *
find_names(const struct opened *file, const struct fz_uuid *uuid, bool is_plist)
{
    for (struct names *at = file->names; at; at = at->next) {
        if (at->is_plist == is_plist && fz_uuid_equal(&at->uuid, uuid))
            return at;
    }
    return NULL;
}

/* Give each slice its symbol map. A map is read when the first slice wants it. */
static void
attach_symbol_maps(struct opened *file)
{
    for (size_t i = 0; file->names && i < file->out.n_slices; i++) {
        struct sym_file_slice *slice = file->out.slices[i];
        struct fz_error why;
        if (!slice->macho.has_uuid)
            continue;
        const struct names *plist = find_names(file, &slice->macho.uuid, true);
        struct names *map = find_names(file, plist ? &plist->original : &slice->macho.uuid, false);
        if (!map)
            continue;
        /* A broken map is reported once, not for each slice. */
        if (!map->is_read &&
            sym_symbol_map_read(map->bytes, &file->arena, &map->map, &why) != FZ_OK)
            sym_problem_add(&file->out.problems, SYM_PROBLEM_UNREADABLE, "%s: %s", map->path,
                            why.text);
        map->is_read = true;
        if (map->map.n) {
            slice->symbol_map = &map->map;
            slice->symbol_map_bytes = map->bytes;
        }
    }
}

/* The members of an archive, each in a memory file while it is read. */
struct archive_reading {
    struct opened *file;
    const char *archive;
    char path[PATH_MAX]; /* of the member */
    int fd;              /* -1 = none */
};

static enum fz_code
begin_member(void *user, const char *name, struct fz_error *err)
{
    struct archive_reading *r = user;
    snprintf(r->path, sizeof(r->path), "%s%s%s", r->archive, *name ? ":" : "", name);
    r->fd = fz_platform_memory_file("framezero-member");
    return r->fd >= 0 ? FZ_OK : fz_fail_errno(err, "cannot make a memory file");
}

static enum fz_code
write_member(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err)
{
    const struct archive_reading *r = user;
    return fz_file_write_at(r->fd, offset, bytes, err);
}

static enum fz_code
end_member(void *user, enum sym_member_state state, struct fz_error *err)
{
    struct archive_reading *r = user;
    struct fz_map map;
    struct fz_error broken = {FZ_OK, "", -1};
    FZ_CLEANUP(fz_closep) int fd = r->fd;
    r->fd = -1;
    /* sym_archive_walk() has reported the member. */
    if (state != SYM_MEMBER_WHOLE)
        return FZ_OK;
    enum fz_code code = fz_map_open_fd(fd, &map, err);
    if (code != FZ_OK)
        return code;
    if (!sym_macho_has_magic(map.bytes))
        return add_names(r->file, r->path, map, err);
    return add_mapped(r->file, r->path, map, &broken, err);
}

/* Every member of the archive; the map is closed. A person who names an archive expects all of it,
 * so one broken member makes the archive unreadable, unlike in an upload. */
static enum fz_code
add_archive(struct opened *file, const char *path, struct fz_map map, struct fz_error *err)
{
    struct archive_reading r = {.file = file, .archive = path, .fd = -1};
    const struct sym_archive_sink sink = {.wants = sym_archive_wants_symbols,
                                          .begin = begin_member,
                                          .write = write_member,
                                          .end = end_member,
                                          .user = &r};
    struct sym_archive_summary summary;
    struct sym_problems problems = {0};
    struct fz_error why;
    enum fz_code code =
        sym_archive_walk(map.bytes, &archive_limits, &sink, &summary, &problems, &why);
    fz_map_close(&map);
    /* Open if the walk ended within a member. */
    fz_closep(&r.fd);
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED)
        return fz_fail(err, FZ_E_MALFORMED, "%.100s: broken archive: %.120s", path, why.text);
    if (code == FZ_OK && problems.n > 0)
        return fz_fail(err, FZ_E_MALFORMED, "%.100s: broken archive: %.120s", path,
                       problems.list[0].text);
    return code == FZ_OK ? FZ_OK : fz_fail(err, code, "%.100s: %.150s", path, why.text);
}

/* Archives that a file may be; an empty zip has nothing to read, and its message says so. */
static bool
is_archive(struct fz_span file)
{
    enum sym_archive_kind kind = sym_archive_kind(file);
    return kind != SYM_ARCHIVE_NONE && kind != SYM_ARCHIVE_EMPTY_ZIP;
}

/* Shop.app.dSYM.zip, appDsyms.zip, Shop.xcarchive.zip: other archives in a folder are skipped.
 */
static bool
has_symbols_in_name(const char *path)
{
    const char *name = fz_text_base_name(path);
    for (; *name; name++) {
        if (strncasecmp(name, "dsym", 4) == 0 || strncasecmp(name, "xcarchive", 9) == 0)
            return true;
    }
    return false;
}

/* One regular file found in a folder: added if it is a Mach-O, has its names, or is an archive of
 * dSYMs. */
static enum fz_code
add_found(struct opened *file, const char *path, struct fz_error *err)
{
    struct fz_map map;
    struct fz_error broken = {FZ_OK, "", -1};
    /* One file that cannot be read must not hide the others of a folder. */
    if (fz_map_open(path, &map, &broken) != FZ_OK) {
        sym_problem_add(&file->out.problems, SYM_PROBLEM_UNREADABLE, "%s", broken.text);
        return FZ_OK;
    }
    /* By name first: other archives in a project folder can be large. */
    if (has_symbols_in_name(path) && is_archive(map.bytes)) {
        enum fz_code code = add_archive(file, path, map, err);
        if (code != FZ_E_MALFORMED)
            return code;
        sym_problem_add(&file->out.problems, SYM_PROBLEM_UNREADABLE, "%s", err->text);
        return FZ_OK;
    }
    if (!sym_macho_has_magic(map.bytes))
        return add_names(file, path, map, err);
    return add_mapped(file, path, map, &broken, err);
}

struct folder {
    struct opened *file;
    unsigned depth;
};

static enum fz_code add_entry(void *user, const char *path, const struct stat *st,
                              struct fz_error *err);

/* Recursion over the user's own folders, bounded by DEPTH_MAX. */
static enum fz_code
add_folder(struct opened *file, const char *path, unsigned depth, struct fz_error *err)
{
    struct folder folder = {file, depth};
    if (depth > DEPTH_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%.150s: more than %d folder levels", path, DEPTH_MAX);
    return fz_file_list(path, add_entry, &folder, err);
}

static enum fz_code
add_entry(void *user, const char *path, const struct stat *st, struct fz_error *err)
{
    const struct folder *folder = user;
    /* AppleDouble files, in which macOS keeps attributes on foreign file systems. */
    if (fz_text_has_prefix(fz_text_base_name(path), "._"))
        return FZ_OK;
    if (S_ISDIR(st->st_mode))
        return add_folder(folder->file, path, folder->depth + 1, err);
    return S_ISREG(st->st_mode) ? add_found(folder->file, path, err) : FZ_OK;
}

static enum fz_code
add_file(struct opened *file, const char *path, struct fz_error *err)
{
    struct fz_map map;
    size_t n_before = file->out.n_slices;
    enum fz_code code = fz_map_open(path, &map, err);
    if (code != FZ_OK)
        return code;
    if (is_archive(map.bytes))
        return add_archive(file, path, map, err);
    if (sym_symbol_map_has_magic(map.bytes))
        return add_names(file, path, map, err);
    struct fz_error broken = {FZ_OK, "", -1};
    code = add_mapped(file, path, map, &broken, err);
    if (code != FZ_OK)
        return code;
    return file->out.n_slices > n_before ? FZ_OK
                                         : fz_fail(err, broken.code, "%s: %s", path, broken.text);
}

enum fz_code
sym_file_create(struct sym_file **ret_file, struct fz_error *err)
{
    struct opened *file = calloc(1, sizeof(*file));
    if (!file)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    fz_arena_init(&file->arena, ARENA_CAP);
    *ret_file = &file->out;
    return FZ_OK;
}

static uint64_t
count_problems(const struct sym_file *file)
{
    uint64_t n = 0;
    for (size_t i = 0; i < file->problems.n; i++)
        n += file->problems.list[i].count;
    return n;
}

enum fz_code
sym_file_add(struct sym_file *out, const char *path, struct fz_error *err)
{
    struct opened *file = (struct opened *)out;
    struct stat st;
    size_t n_slices = out->n_slices;
    uint64_t n_problems = count_problems(out);
    const struct names *names = file->names;
    if (stat(path, &st) != 0)
        return fz_fail_errno(err, "%s", path);
    enum fz_code code =
        S_ISDIR(st.st_mode) ? add_folder(file, path, 0, err) : add_file(file, path, err);
    if (code != FZ_OK)
        return code;
    attach_symbol_maps(file);
    /* A folder of maps alone is fine: its dSYMs may be in another path. */
    if (out->n_slices > n_slices || file->names != names)
        return FZ_OK;
    if (count_problems(out) == n_problems)
        return fz_fail(err, FZ_E_UNSUPPORTED, "%s: holds no Mach-O file, dSYM or archive of dSYMs",
                       path);
    /* The first problem is about this path only if there were none before. */
    return n_problems ? fz_fail(err, FZ_E_MALFORMED, "%s: nothing in it can be read", path)
                      : fz_fail(err, FZ_E_MALFORMED, "%s", out->problems.list[0].text);
}

enum fz_code
sym_file_open(const char *path, struct sym_file **ret_file, struct fz_error *err)
{
    FZ_CLEANUP(sym_file_closep) struct sym_file *file = NULL;
    enum fz_code code = sym_file_create(&file, err);
    if (code == FZ_OK)
        code = sym_file_add(file, path, err);
    if (code != FZ_OK)
        return code;
    if (file->n_slices == 0)
        return fz_fail(err, FZ_E_UNSUPPORTED, "%s: holds no Mach-O file, dSYM or archive of dSYMs",
                       path);
    *ret_file = fz_take(&file);
    return FZ_OK;
}

void
sym_file_close(struct sym_file *out)
{
    struct opened *file = (struct opened *)out;
    if (!file)
        return;
    for (struct mapped *node = file->maps; node; node = node->next)
        fz_map_close(&node->map);
    fz_arena_deinit(&file->arena);
    free(file);
}

void
sym_file_closep(struct sym_file **file)
{
    sym_file_close(*file);
    *file = NULL;
}

bool
sym_file_slice_has_dwarf(const struct sym_file_slice *slice)
{
    bool is_compressed;
    return macho_debug_bytes(&slice->macho, "__debug_info", &is_compressed).len > 0;
}

const struct sym_file_slice *
sym_file_find(const struct sym_file *file, const struct fz_uuid *uuid)
{
    const struct sym_file_slice *best = NULL;
    for (size_t i = 0; i < file->n_slices; i++) {
        const struct sym_file_slice *slice = file->slices[i];
        if (!slice->macho.has_uuid || !fz_uuid_equal(&slice->macho.uuid, uuid))
            continue;
        /* A dSYM and its binary have the same UUID; only the dSYM gives files and lines. */
        if (!best || (sym_file_slice_has_dwarf(slice) && !sym_file_slice_has_dwarf(best)))
            best = slice;
    }
    return best;
}

/* "arm64 4c4c..., armv7 50fc..." of all slices, cut to what an error message can hold. */
static void
list_slices(const struct sym_file *file, char *ret, size_t size)
{
    size_t len = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < file->n_slices && len + 64 < size; i++) {
        const struct sym_file_slice *slice = file->slices[i];
        char uuid[FZ_UUID_TEXT] = "without UUID";
        if (slice->macho.has_uuid)
            fz_uuid_format(&slice->macho.uuid, uuid);
        len += (size_t)snprintf(ret + len, size - len, "%s%s %s", i ? ", " : "", slice->arch, uuid);
    }
}

enum fz_code
sym_file_choose(const struct sym_file *file, const char *arch, const struct fz_uuid *uuid,
                const struct sym_file_slice **ret, struct fz_error *err)
{
    char there[200];
    const struct sym_file_slice *chosen = NULL;
    uint32_t cputype, cpusubtype;
    if (arch && fz_arch_parse(arch, &cputype, &cpusubtype))
        arch = fz_arch_name(cputype, cpusubtype); /* "ARM-64" and "aarch64" find arm64 */
    /* Before the choice, because either message may need it. */
    list_slices(file, there, sizeof(there));
    for (size_t i = 0; i < file->n_slices; i++) {
        const struct sym_file_slice *slice = file->slices[i];
        const struct sym_macho *macho = &slice->macho;
        if ((arch && strcmp(arch, slice->arch) != 0) ||
            (uuid && !(macho->has_uuid && fz_uuid_equal(uuid, &macho->uuid))))
            continue;
        if (!chosen) {
            chosen = slice;
        } else if (macho->has_uuid && chosen->macho.has_uuid &&
                   fz_uuid_equal(&macho->uuid, &chosen->macho.uuid)) {
            if (!sym_file_slice_has_dwarf(chosen) && sym_file_slice_has_dwarf(slice))
                chosen = slice;
        } else {
            return fz_fail(err, FZ_E_CONFLICT, "several slices fit, choose one: %s", there);
        }
    }
    if (!chosen)
        return fz_fail(err, FZ_E_NOT_FOUND, "no such slice; there is: %s", there);
    *ret = chosen;
    return FZ_OK;
}
