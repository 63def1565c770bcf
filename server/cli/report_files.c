#include "server/cli/report_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/list.h"
#include "base/text.h"
#include "server/ingest/ingest.h"
#include "symbolicator/symbolicator.h"

enum { DEPTH_MAX = 16, NEST_MAX = 2 };

/* ---- the list ---------------------------------------------------------------------------- */

void
report_files_deinit(struct report_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->list[i].path);
    free(files->list);
    *files = report_files_make();
}

static enum fz_code
append(struct report_files *files, const char *path, bool is_named, const struct stat *st,
       struct fz_error *err)
{
    struct report_file *list =
        fz_list_grow(NULL, files->list, &files->room, files->n + 1, sizeof(*list));
    if (!list)
        return fz_budget_fail(NULL, err);
    files->list = list;
    char *copy = strdup(path);
    if (!copy)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* Which file it is, so that the output does not overwrite it under another name. */
    files->list[files->n++] = (struct report_file){
        .path = copy, .is_named = is_named, .device = st->st_dev, .inode = st->st_ino};
    return FZ_OK;
}

/* Folders of files of which no one is a report. */
static bool
is_bundle(const char *name)
{
    static const char *const suffixes[] = {".dSYM", ".app", ".framework", ".xcarchive", ".git"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(suffixes); i++) {
        if (fz_text_has_suffix(name, suffixes[i]))
            return true;
    }
    return false;
}

struct folder {
    struct report_files *files;
    unsigned depth;
};

static enum fz_code add_entry(void *user, const char *path, const struct stat *st,
                              struct fz_error *err);

/* Recursion over the user's own folders, bounded by DEPTH_MAX; links to folders are not followed. */
static enum fz_code
add_folder(struct report_files *files, const char *path, unsigned depth, struct fz_error *err)
{
    struct folder folder = {files, depth};
    /* Folders cannot be circular, but a mounted file system may pretend to be. */
    if (depth > DEPTH_MAX)
        return fz_fail(err, FZ_E_LIMIT, "%.150s: more than %d folder levels", path, DEPTH_MAX);
    return fz_file_list(path, add_entry, &folder, err);
}

static enum fz_code
add_entry(void *user, const char *path, const struct stat *st, struct fz_error *err)
{
    const struct folder *folder = user;
    const char *name = fz_text_base_name(path);
    struct stat target;
    /* Hidden files: .DS_Store, and the "._x" that macOS leaves beside each x on other file
     * systems. */
    if (name[0] == '.')
        return FZ_OK;
    if (S_ISDIR(st->st_mode))
        return is_bundle(name) ? FZ_OK : add_folder(folder->files, path, folder->depth + 1, err);
    /* A link to a file counts as the file; one to a folder could lead in circles. */
    if (S_ISLNK(st->st_mode) && stat(path, &target) == 0)
        st = &target;
    return S_ISREG(st->st_mode) ? append(folder->files, path, false, st, err) : FZ_OK;
}

enum fz_code
report_files_add(struct report_files *files, const char *path, struct fz_error *err)
{
    struct stat st = {.st_dev = 0};
    size_t n = files->n;
    if (strcmp(path, "-") == 0)
        return append(files, path, true, &st, err);
    if (stat(path, &st) != 0)
        return fz_fail_errno(err, "%.150s", path);
    if (!S_ISDIR(st.st_mode))
        return append(files, path, true, &st, err);
    enum fz_code code = add_folder(files, path, 0, err);
    /* Most likely the wrong folder; an empty answer would hide that. */
    if (code == FZ_OK && files->n == n)
        code = fz_fail(err, FZ_E_UNSUPPORTED, "%.150s: no files in this folder", path);
    return code;
}

/* ---- one file ---------------------------------------------------------------------------- */

struct reading {
    const struct limits *limits;
    const struct report_files_sink *sink;
    bool is_named;
    unsigned depth; /* archives around */
    size_t n_found;
    char name[PATH_MAX];   /* of the member in hand, with that of its archives */
    size_t name_len;       /* of the archive's part */
    struct fz_buffer body; /* of the member in hand */
};

static void read_body(struct reading *r, struct fz_span body);

/* What sym_archive_walk() reads. */
static bool
is_archive(struct fz_span body)
{
    /* By its first bytes: names say little, and reports come as .gz without saying so. */
    enum sym_archive_kind kind = sym_archive_kind(body);
    return kind != SYM_ARCHIVE_NONE && kind != SYM_ARCHIVE_BZIP2;
}

/* A name that says "report": if such a file is broken, that is reported. */
static bool
has_report_name(const char *name)
{
    static const char *const suffixes[] = {".crash", ".ips", ".dmp", ".plcrash", ".mdmp"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(suffixes); i++) {
        size_t len = strlen(name), n = strlen(suffixes[i]);
        if (len > n && strcasecmp(name + len - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static enum fz_code
begin_member(void *user, const char *name, struct fz_error *err FZ_UNUSED)
{
    struct reading *r = user;
    /* One buffer for all members: it grows to the largest and stays. */
    fz_buffer_clear(&r->body);
    r->name[r->name_len] = '\0';
    if (*name)
        snprintf(r->name + r->name_len, sizeof(r->name) - r->name_len, ":%s", name);
    return FZ_OK;
}

static enum fz_code
write_member(void *user, uint64_t offset, struct fz_span bytes, struct fz_error *err)
{
    struct reading *r = user;
    while (r->body.len < offset && !r->body.failed) /* a gap of a sparse file */
        fz_buffer_char(&r->body, '\0');
    fz_buffer_append(&r->body, bytes.data, bytes.len);
    return fz_buffer_done(&r->body, err);
}

static enum fz_code
end_member(void *user, enum sym_member_state state, struct fz_error *err FZ_UNUSED)
{
    struct reading *r = user;
    if (state == SYM_MEMBER_CUT)
        return FZ_OK; /* it is among the archive's problems */
    /* Taken out: a member that is an archive needs the buffer for its own members. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = r->body;
    r->body = fz_buffer_make(0);
    read_body(r, fz_buffer_span(&body));
    return FZ_OK;
}

/* Members of the archive; what is in an archive need not be reports, but one must be. */
static void
read_archive(struct reading *r, struct fz_span body)
{
    size_t name_len = r->name_len, n_found = r->n_found;
    bool is_named = r->is_named;
    struct sym_problems problems = {0};
    struct sym_archive_summary summary;
    struct fz_error err;
    const struct sym_archive_sink sink = {
        .begin = begin_member, .write = write_member, .end = end_member, .user = r};
    /* One member is one report. No limit on the ratio: an archive of the user's own that is packed
     * well is not an attack. */
    const struct sym_archive_limits limits = {.bytes = r->limits->archive_bytes,
                                              .member_bytes = r->limits->report_inflated_bytes,
                                              .entries = r->limits->archive_entries};
    r->name_len = strlen(r->name);
    /* Members are judged by their content, whatever the archive is called. */
    r->is_named = false;
    r->depth++;
    enum fz_code code = sym_archive_walk(body, &limits, &sink, &summary, &problems, &err);
    r->depth--;
    r->is_named = is_named;
    r->name[r->name_len] = '\0';
    r->name_len = name_len;
    if (code != FZ_OK) {
        r->sink->failed(r->sink->user, r->name, err.text);
        return;
    }
    for (size_t i = 0; i < problems.n; i++)
        r->sink->failed(r->sink->user, r->name, problems.list[i].text);
    if (is_named && r->n_found == n_found && problems.n == 0)
        r->sink->failed(r->sink->user, r->name, "it contains no crash report");
}

static void
read_body(struct reading *r, struct fz_span body)
{
    /* Compressed reports in an archive are common; deeper nesting is not, and need not end: there
     * are archives that contain themselves. */
    if (is_archive(body) && r->depth < NEST_MAX) {
        read_archive(r, body);
        return;
    }
    /* What a person names must be a report, and is reported if it is not. */
    if (!r->is_named && !has_report_name(r->name) && !ingest_detect(body))
        return;
    r->n_found++;
    r->sink->found(r->sink->user, r->name, body);
}

void
report_files_read(const struct report_file *file, const struct limits *limits,
                  const struct report_files_sink *sink)
{
    struct reading r = {.limits = limits, .sink = sink, .is_named = file->is_named};
    bool is_stdin = strcmp(file->path, "-") == 0;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer raw = fz_buffer_make(0);
    struct fz_error err;
    snprintf(r.name, sizeof(r.name), "%s", is_stdin ? "standard input" : file->path);
    r.body = fz_buffer_make(0);
    struct fz_map map = {.bytes = {NULL, 0}};
    struct stat st;
    /* Pipes and devices cannot be mapped. */
    bool is_regular = !is_stdin && stat(file->path, &st) == 0 && S_ISREG(st.st_mode);
    enum fz_code code = is_regular
                            ? fz_map_open(file->path, &map, &err)
                            : fz_file_read(file->path, limits->report_inflated_bytes, &raw, &err);
    struct fz_span body = is_regular ? map.bytes : fz_buffer_span(&raw);
    /* The limit is one report's. An archive of many may be larger: its members are checked one by
     * one. */
    if (code == FZ_OK && !is_archive(body) && body.len > limits->report_inflated_bytes)
        code = fz_fail(&err, FZ_E_LIMIT, "larger than the limit of %zu bytes",
                       limits->report_inflated_bytes);
    if (code != FZ_OK) {
        /* The name comes first in every message, and files put it there too. */
        size_t len = strlen(file->path);
        bool has_name = strncmp(err.text, file->path, len) == 0 && err.text[len] == ':';
        sink->failed(sink->user, r.name, has_name ? err.text + len + 2 : err.text);
    } else {
        read_body(&r, body);
    }
    fz_buffer_deinit(&r.body);
    if (is_regular && code == FZ_OK)
        fz_map_close(&map);
}
