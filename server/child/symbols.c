/* READ_SYMBOLS: an upload → its Mach-O slices, each with its bytes, index, features and problems.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "server/child/parts.h"
#include "symbolicator/symbolicator.h"

static const char hint[] = "upload a Mach-O binary or dSYM, or a zip or tar.gz of .dSYM bundles, "
                           "binaries or an .xcarchive";

enum { WAITING_MAX = 32 };

/* A file that the worker has handed out. */
struct out_file {
    int fd; /* -1 = none */
    uint32_t number;
};

/* A slice whose names are hidden: its symbol map may come later in the archive. */
struct waiting_slice {
    struct out_file file; /* its bytes */
    char name[PROTO_NAME_MAX];
    bool is_damaged; /* the member that it is from */
};

struct reading {
    struct child *child;
    struct out_file
        member; /* receives the member of the archive; kept for the next one if unused */
    char name[PROTO_NAME_MAX];
    bool is_damaged;              /* the member: its checksum in the archive is another */
    struct sym_problems problems; /* of the upload as a whole */
    size_t n_slices, n_machos;
    struct sym_maps *maps;
    bool can_wait; /* more of the archive is to come */
    struct waiting_slice waiting[WAITING_MAX];
    size_t n_waiting;
};

/* The name for messages: an upload may have come without one. */
static const char *
shown_name(const struct reading *r)
{
    const char *name = fz_text_base_name(r->name);
    return *name ? name : "the file";
}

/* The slice's bytes in a file of their own. */
static enum fz_code
store_slice(struct reading *r, struct fz_span bytes, bool is_whole_member, struct out_file *ret,
            struct fz_error *err)
{
    if (is_whole_member && r->member.fd >= 0) { /* its bytes are in that file already */
        *ret = r->member;
        r->member.fd = -1;
        return FZ_OK;
    }
    enum fz_code code = child_new_file(r->child, &ret->fd, &ret->number, err);
    if (code == FZ_OK)
        code = fz_file_write_fd(ret->fd, bytes, err);
    return code;
}

/* Build the index and open it again, which checks it. A slice without an index is registered too:
 * reports then say that the file is there and broken. */
static enum fz_code
index_slice(struct reading *r, const struct sym_macho *macho, struct proto_slice *slice,
            struct sym_build_stats *stats, struct fz_error *err)
{
    struct out_file file = {.fd = -1};
    enum fz_code code = child_new_file(r->child, &file.fd, &file.number, err);
    if (code != FZ_OK)
        return code;
    /* Checked while it builds, so that a large file fails with a message and not by a signal. */
    struct sym_build_options options = {.memory_cap = r->child->limits.child_memory,
                                        .symbol_map = sym_maps_find(r->maps, &slice->uuid)};
    struct sym_index *index = NULL;
    code = sym_index_build(macho, &options, file.fd, stats, &slice->problems, err);
    if (code == FZ_OK)
        code = sym_index_open_fd(file.fd, &index, err);
    if (code == FZ_OK) {
        struct sym_index_info info;
        sym_index_info(index, &info);
        slice->has_index = true;
        slice->index_file = file.number;
        slice->index_version = info.version;
    }
    sym_index_close(index);
    fz_closep(&file.fd);
    if (code == FZ_E_MALFORMED || code == FZ_E_UNSUPPORTED || code == FZ_E_LIMIT ||
        code == FZ_E_NO_MEMORY) {
        sym_problem_add(&slice->problems, SYM_PROBLEM_NO_INDEX, "no names can be read from it: %s",
                        err->text);
        return FZ_OK;
    }
    return code;
}

static enum fz_code
send_slice(struct reading *r, const struct proto_slice *slice, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_slice_encode(slice, &body);
    return child_send(r->child, PROTO_SLICE, &body, err);
}

/* Index a slice whose bytes are in a file, and report it to the worker. */
static enum fz_code
finish_slice(struct reading *r, const struct sym_macho *macho, struct proto_slice *slice,
             struct fz_arena *arena, struct fz_error *err)
{
    struct sym_build_stats stats = {.n_functions = 0};
    slice->uuid = macho->uuid;
    slice->arch = fz_arch_name(macho->cputype, macho->cpusubtype);
    slice->kind = sym_macho_is_dsym(macho) ? PROTO_SLICE_DSYM : PROTO_SLICE_BINARY;
    slice->name = fz_text_base_name(r->name);
    slice->has_map = sym_macho_has_hidden_names(macho);
    if (slice->has_map)
        slice->map_uuid = sym_maps_wanted(r->maps, &macho->uuid);
    slice->map_applied = slice->has_map && sym_maps_find(r->maps, &macho->uuid);
    /* What can be read of it is used until it is uploaded again. */
    if (r->is_damaged)
        sym_problem_add(&slice->problems, SYM_PROBLEM_BAD_MEMBER,
                        "damaged: its bytes are not those that the archive has a checksum of");
    enum fz_code code = index_slice(r, macho, slice, &stats, err);
    if (code != FZ_OK)
        return code;
    /* After the index, whose statistics say what the lookups will find. */
    code = sym_inspect(macho, slice->has_index ? &stats : NULL, arena, &slice->features,
                       &slice->problems, err);
    if (code != FZ_OK)
        sym_problem_add(&slice->problems, SYM_PROBLEM_NOT_INSPECTED, "%s", err->text);
    return send_slice(r, slice, err);
}

/* A symbol map, or the property list that names one, is kept for files that are stored already or
 * come later. Its bytes are those of the current member, or of the upload. */
static enum fz_code
store_map(struct reading *r, struct fz_span bytes, bool is_whole_member, struct fz_error *err)
{
    struct sym_map_file map;
    /* Most members of an archive are neither; that is not a problem of the upload. */
    if (!sym_maps_add(r->maps, r->name, bytes, &map, &r->problems))
        return FZ_OK;
    /* Counted before the work: an archive of tiny slices costs one file for each. */
    if (++r->n_slices > r->child->limits.slices)
        return fz_fail(err, FZ_E_LIMIT, "the upload holds more than %zu files",
                       r->child->limits.slices);
    struct out_file file = {.fd = -1};
    enum fz_code code = store_slice(r, bytes, is_whole_member, &file, err);
    if (code != FZ_OK)
        return code;
    struct proto_slice slice = {.uuid = map.uuid,
                                .arch = "",
                                .kind = map.is_map ? PROTO_SLICE_BCSYMBOLMAP : PROTO_SLICE_UUIDMAP,
                                .name = fz_text_base_name(r->name),
                                .file = file.number,
                                .has_map = !map.is_map,
                                .map_uuid = map.map};
    fz_closep(&file.fd);
    return send_slice(r, &slice, err);
}

static bool
must_wait(struct reading *r, const struct sym_macho *macho)
{
    /* At most 32 wait, since each holds a descriptor, of which a child has 64. */
    return r->can_wait && r->n_waiting < WAITING_MAX && sym_macho_has_hidden_names(macho) &&
           !sym_maps_find(r->maps, &macho->uuid);
}

static enum fz_code
read_slice(struct reading *r, struct fz_span bytes, bool is_whole_member, struct fz_arena *arena,
           struct fz_error *err)
{
    struct sym_macho macho;
    struct proto_slice slice = {.file = 0};
    const char *name = shown_name(r);
    enum fz_code code = sym_macho_open(bytes, arena, &macho, &slice.problems, err);
    if (code != FZ_OK) {
        sym_problem_add(&r->problems, SYM_PROBLEM_BAD_MACHO, "%s: %s", name, err->text);
        return FZ_OK;
    }
    if (!macho.has_uuid || fz_uuid_is_nil(&macho.uuid)) {
        sym_problem_add(&r->problems, SYM_PROBLEM_NO_UUID,
                        "%s (%s): it has no UUID, so no report can refer to it; link it without "
                        "-no_uuid",
                        name, fz_arch_name(macho.cputype, macho.cpusubtype));
        return FZ_OK;
    }
    if (++r->n_slices > r->child->limits.slices)
        return fz_fail(err, FZ_E_LIMIT, "the upload holds more than %zu Mach-O slices",
                       r->child->limits.slices);
    struct out_file file = {.fd = -1};
    code = store_slice(r, bytes, is_whole_member, &file, err);
    slice.file = file.number;
    if (code == FZ_OK && must_wait(r, &macho)) {
        struct waiting_slice *waiting = &r->waiting[r->n_waiting++];
        waiting->file = file;
        memcpy(waiting->name, r->name, sizeof(waiting->name));
        waiting->is_damaged = r->is_damaged;
        return FZ_OK;
    }
    fz_closep(&file.fd);
    return code == FZ_OK ? finish_slice(r, &macho, &slice, arena, err) : code;
}

/* The archive has been read: slices that waited get their symbol map, or are indexed without. */
static enum fz_code
read_waiting(struct reading *r, struct waiting_slice *waiting, struct fz_error *err)
{
    struct proto_slice slice = {.file = waiting->file.number};
    struct sym_macho macho;
    struct fz_map map;
    /* Messages name the member that is read, not the last one of the archive. */
    memcpy(r->name, waiting->name, sizeof(r->name));
    r->is_damaged = waiting->is_damaged;
    enum fz_code code = fz_map_open_fd(waiting->file.fd, &map, err);
    if (code != FZ_OK)
        return code;
    /* An arena for each slice: its tables may be as large as the file. */
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make((size_t)r->child->limits.child_memory);
    code = sym_macho_open(map.bytes, &arena, &macho, &slice.problems, err);
    if (code == FZ_OK)
        code = finish_slice(r, &macho, &slice, &arena, err);
    fz_map_close(&map);
    return code;
}

/* All slices of one Mach-O file; its name is in r->name. */
static enum fz_code
read_macho(struct reading *r, struct fz_span file, struct fz_error *err)
{
    struct sym_slice slices[SYM_SLICES_MAX];
    size_t n = 0;
    enum fz_code code = sym_macho_slices(file, slices, &n, &r->problems, err);
    if (code == FZ_E_UNSUPPORTED) /* a Java class begins like a fat Mach-O */
        return FZ_OK;
    /* Counted also if it is broken: then the upload did hold what was wanted. */
    r->n_machos++;
    if (code != FZ_OK) {
        sym_problem_add(&r->problems, SYM_PROBLEM_BAD_MACHO, "%s: %s", shown_name(r), err->text);
        return FZ_OK;
    }
    for (size_t i = 0; i < n; i++) {
        struct fz_span bytes;
        if (!fz_span_sub(file, slices[i].offset, slices[i].size, &bytes))
            continue; /* sym_macho_slices() cuts them to the file */
        FZ_CLEANUP(fz_arena_deinit)
        struct fz_arena arena = fz_arena_make((size_t)r->child->limits.child_memory);
        code = read_slice(r, bytes, bytes.len == file.len, &arena, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* Only a label. */
static void
set_name(struct reading *r, const char *name)
{
    fz_text_visible(fz_span_cstr(name), r->name, sizeof(r->name));
}

static enum fz_code
begin_member(void *user, const char *name, struct fz_error *err)
{
    struct reading *r = user;
    if (*name) /* else it is that of the upload */
        set_name(r, name);
    /* The file of a member that gave no slice is used for the next one: no file is wasted. */
    if (r->member.fd >= 0 && ftruncate(r->member.fd, 0) != 0)
        return fz_fail_errno(err, "cannot use a file again");
    return r->member.fd >= 0 ? FZ_OK
                             : child_new_file(r->child, &r->member.fd, &r->member.number, err);
}

static enum fz_code
write_member(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err)
{
    const struct reading *r = user;
    return fz_file_write_at(r->member.fd, offset, bytes, err);
}

static enum fz_code
end_member(void *user, enum sym_member_state state, struct fz_error *err)
{
    struct reading *r = user;
    struct fz_map map;
    /* A limit cut it, which the archive's problems say. */
    if (state == SYM_MEMBER_CUT)
        return FZ_OK;
    r->is_damaged = state == SYM_MEMBER_DAMAGED;
    enum fz_code code = fz_map_open_fd(r->member.fd, &map, err);
    if (code != FZ_OK)
        return code;
    if (sym_macho_has_magic(map.bytes))
        code = read_macho(r, map.bytes, err);
    else
        code = store_map(r, map.bytes, true, err);
    fz_map_close(&map);
    return code;
}

/* Nothing in the upload can be used: say what it looks like and what is wanted instead. */
static enum fz_code
nothing_usable(const struct reading *r, const struct sym_archive_summary *archive,
               struct fz_span upload, struct fz_error *err)
{
    /* The most useful sentence first: the response of a rejected upload has only one. */
    const struct sym_problem *first = r->problems.n ? &r->problems.list[0] : NULL;
    if (archive->format && archive->n_entries == 0)
        return fz_fail(err, FZ_E_UNSUPPORTED, "an empty %s archive; %s", archive->format, hint);
    /* libarchive lists the members of such an archive but cannot read them. */
    if (archive->n_encrypted > 0 && r->n_machos == 0)
        return fz_fail(err, FZ_E_UNSUPPORTED, "a %s archive that is encrypted with a password; %s",
                       archive->format, hint);
    if (first)
        return fz_fail(err, FZ_E_MALFORMED, "%s", first->text);
    if (archive->format)
        return fz_fail(err, FZ_E_UNSUPPORTED, "a %s archive with %llu %s, none a Mach-O; %s",
                       archive->format, (unsigned long long)archive->n_entries,
                       archive->n_entries == 1 ? "entry" : "entries", hint);
    return fz_fail(err, FZ_E_UNSUPPORTED, "%s, no symbol file; %s", sym_macho_looks_like(upload),
                   hint);
}

static enum fz_code
read_upload(struct reading *r, struct fz_span upload, struct fz_error *err)
{
    const struct limits *limits = &r->child->limits;
    const struct sym_archive_limits archive_limits = {.bytes = limits->archive_bytes,
                                                      .member_bytes = limits->symbol_bytes,
                                                      .entries = limits->archive_entries,
                                                      .ratio = limits->archive_ratio};
    struct sym_archive_summary archive = {.format = NULL};
    struct sym_archive_sink sink = {.wants = sym_archive_wants_symbols,
                                    .begin = begin_member,
                                    .write = write_member,
                                    .end = end_member,
                                    .user = r};
    enum fz_code code;
    if (sym_macho_has_magic(upload)) {
        code = read_macho(r, upload, err);
    } else if (sym_maps_wants(r->name, upload)) {
        code = store_map(r, upload, false, err);
    } else if (sym_archive_kind(upload) == SYM_ARCHIVE_BZIP2) {
        code = FZ_OK; /* not accepted from the network; nothing_usable() names it */
    } else {
        /* With a map from the worker, the file is one that waited for it: nothing else is to
         * come. */
        r->can_wait = !sym_maps_is_given(r->maps);
        code = sym_archive_walk(upload, &archive_limits, &sink, &archive, &r->problems, err);
        if (code == FZ_E_UNSUPPORTED && !archive.format)
            code = FZ_OK; /* nothing_usable() says what it looks like */
    }
    /* All are closed, also after a failure. */
    for (size_t i = 0; i < r->n_waiting; i++) {
        if (code == FZ_OK)
            code = read_waiting(r, &r->waiting[i], err);
        fz_closep(&r->waiting[i].file.fd);
    }
    sym_maps_report_unused(r->maps, &r->problems);
    if (code == FZ_OK && r->n_slices == 0)
        code = nothing_usable(r, &archive, upload, err);
    return code;
}

/* The symbol map that the worker sends with a file which it stored earlier. A broken one is
 * reported as a problem, and the file is read without it. */
static enum fz_code
read_map(struct reading *r, int fd, struct fz_error *err)
{
    struct fz_map file;
    struct fz_error why;
    enum fz_code code = fz_map_open_fd(fd, &file, err);
    if (code != FZ_OK)
        return code;
    if (sym_maps_give(r->maps, file.bytes, &why) != FZ_OK)
        sym_problem_add(&r->problems, SYM_PROBLEM_BAD_SYMBOL_MAP, "%s", why.text);
    fz_map_close(&file);
    return FZ_OK;
}

enum fz_code
child_read_symbols(struct child *child, struct fz_error *err)
{
    FZ_CLEANUP(sym_maps_destroyp) struct sym_maps *maps = NULL;
    enum fz_code code = sym_maps_create((size_t)child->limits.child_memory, &maps, err);
    if (code != FZ_OK)
        return code;
    struct reading r = {.child = child, .member = {.fd = -1}, .maps = maps};
    struct fz_arena arena;
    fz_arena_init(&arena, PROTO_PACKET_MAX * 2);
    FZ_CLEANUP(fz_closep) int upload_fd = proto_take_fd(&child->inbox, 0);
    /* Only for a file that waited for its map: the worker stored both earlier. */
    FZ_CLEANUP(fz_closep) int map_fd = proto_take_fd(&child->inbox, 1);
    struct fz_reader in = fz_reader_make(child->inbox.body, "request");
    const char *name = proto_get_text(&in, PROTO_TEXT_MAX, &arena);
    set_name(&r, name ? name : "");
    fz_arena_deinit(&arena);
    struct fz_map upload = {.bytes = {NULL, 0}};
    code = fz_read_done(&in, err);
    if (code == FZ_OK && map_fd >= 0)
        code = read_map(&r, map_fd, err);
    if (code == FZ_OK)
        code = fz_map_open_fd(upload_fd, &upload, err);
    if (code == FZ_OK)
        code = read_upload(&r, upload.bytes, err);
    fz_map_close(&upload);
    fz_closep(&r.member.fd);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_problems_encode(&r.problems, &body);
    return child_send(child, PROTO_DONE, &body, err);
}
