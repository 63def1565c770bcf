#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "server/worker/damage.h"
#include "server/worker/job.h"
#include "server/worker/upload_file.h"

/* A file that the child got, by its number. */
struct handed_file {
    int fd;
    bool used; /* a slice claims it */
};

struct upload {
    struct worker *worker;
    struct child_process child; /* a fresh one for each upload */
    struct fz_arena *arena;
    struct handed_file *files;
    size_t n_files, max_files;
    struct proto_slice *slices;
    size_t n_slices;
    struct sym_problems problems; /* of the upload as a whole */
};

/* Renew the leases, and see that the child does not fill the disk: what it writes is bounded by
 * what an archive may unpack to, and as much again for the indexes. */
static enum fz_code
tick(void *user, struct fz_error *err)
{
    struct upload *u = user;
    uint64_t sum = 0, max = u->worker->config->limits->archive_bytes;
    for (size_t i = 0; i < u->n_files; i++) {
        struct stat st;
        /* RLIMIT_FSIZE limits each file; nothing but this limits their sum. */
        if (fstat(u->files[i].fd, &st) == 0)
            sum += (uint64_t)st.st_blocks * 512; /* holes cost nothing */
    }
    if (sum / 2 > max)
        return fz_fail(err, FZ_E_LIMIT, "reading it wrote more than twice %llu bytes",
                       (unsigned long long)max);
    return job_beat(u->worker, err);
}

/* FILE: a new file for the child to write to. */
static enum fz_code
answer_file(void *user, struct child_process *child, struct fz_error *err)
{
    struct upload *u = user;
    uint8_t refusal = FZ_OK;
    int fd = -1;
    /* An answer and not a violation: the archive may have more slices than the limit. */
    if (u->n_files == u->max_files) {
        refusal = FZ_E_LIMIT;
    } else {
        enum fz_code code = blob_temp(u->worker->blobs, &fd, err);
        if (code != FZ_OK)
            return code;
        u->files[u->n_files] = (struct handed_file){.fd = fd};
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    proto_put_u8(&body, refusal);
    proto_put_u32(&body, (uint32_t)u->n_files);
    if (fd >= 0)
        u->n_files++;
    return child_process_send(child, PROTO_FILE_IS, &body, &fd, fd >= 0 ? 1 : 0, err);
}

static bool
claim_file(struct upload *u, uint32_t number)
{
    /* A child that was taken over may name one file twice, as a slice and as an index. */
    if (number >= u->n_files || u->files[number].used)
        return false;
    u->files[number].used = true;
    return true;
}

/* SLICE: remembered until the child is gone; only then no other process can write to its files. */
static enum fz_code
add_slice(void *user, struct child_process *child, struct fz_error *err)
{
    struct upload *u = user;
    if (u->n_slices == u->worker->config->limits->slices)
        return child_process_violation(child, err);
    struct proto_slice *slice = &u->slices[u->n_slices];
    enum fz_code code = proto_slice_decode(child->inbox.body, u->arena, slice, err);
    if (code != FZ_OK || !claim_file(u, slice->file) ||
        (slice->has_index && !claim_file(u, slice->index_file)))
        return child_process_violation(child, err);
    u->n_slices++;
    return FZ_OK;
}

/* JSON for a row of storage, in the arena. NULL: no memory. */
static const char *
arena_json(struct upload *u, struct fz_buffer *text)
{
    return text->failed ? NULL : fz_arena_text(u->arena, fz_buffer_span(text));
}

/* Blobs first, rows after them: a row names only what is durable. */
static enum fz_code
store_slice(struct upload *u, const struct proto_slice *slice, struct upload_file *ret_file,
            struct store_symbol *ret, struct fz_error *err)
{
    char sha[2][FZ_SHA256_TEXT] = {"", ""};
    uint64_t index_size = 0;
    struct blob_store *blobs = u->worker->blobs;
    /* Blobs of gigabytes take time to copy and sync. */
    enum fz_code code = job_beat(u->worker, err);
    if (code == FZ_OK)
        code = worker_upload_file(slice, u->arena, ret_file, err);
    if (code == FZ_OK)
        code = blob_put_fd(blobs, u->files[slice->file].fd, sha[0], &ret_file->size, err);
    if (code == FZ_OK && slice->has_index)
        code = blob_put_fd(blobs, u->files[slice->index_file].fd, sha[1], &index_size, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer features = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer problems = fz_buffer_make(PROTO_PACKET_MAX * 4);
    struct json_write w = json_write_start(&features), v = json_write_start(&problems);
    upload_features_write(&w, NULL, &ret_file->features);
    upload_problems_write(&v, NULL, &ret_file->problems);
    bool is_cut = worker_upload_has_problem(slice, SYM_PROBLEM_TRUNCATED) ||
                  worker_upload_has_problem(slice, SYM_PROBLEM_BAD_MEMBER);
    bool is_usable = slice->has_index || worker_upload_is_map(slice);
    *ret = (struct store_symbol){
        .uuid = ret_file->uuid,
        .arch = ret_file->arch,
        .kind = ret_file->kind,
        .name = ret_file->name,
        .size = ret_file->size,
        .state = is_usable ? STORE_SYMBOL_READY : STORE_SYMBOL_FAILED,
        .has_map = slice->has_map,
        .map_uuid = slice->map_uuid,
        .map_applied = slice->map_applied,
        .file_sha256 = fz_arena_strdup(u->arena, sha[0]),
        .index_sha256 = slice->has_index ? fz_arena_strdup(u->arena, sha[1]) : NULL,
        .index_version = slice->has_index ? slice->index_version : 0,
        .features_json = arena_json(u, &features),
        .problems_json = arena_json(u, &problems),
        /* What storage prefers: a file that was cut or damaged must not win against a whole one. */
        .has_dwarf = slice->features.dwarf && !is_cut,
    };
    if (!ret->features_json || !ret->problems_json || !ret->file_sha256 ||
        (slice->has_index && !ret->index_sha256))
        return fz_arena_fail(u->arena, err);
    return FZ_OK;
}

/* The same slice may be in an archive twice: as the binary in a bundle and beside it. */
static bool
is_stored(const struct store_symbol *symbols, size_t n, const struct store_symbol *symbol)
{
    for (size_t i = 0; i < n; i++) {
        if (fz_uuid_equal(&symbols[i].uuid, &symbol->uuid) &&
            strcmp(symbols[i].file_sha256, symbol->file_sha256) == 0)
            return true;
    }
    return false;
}

static enum fz_code
store_result(struct upload *u, const struct store_job *job, const struct upload_result *result,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    upload_result_write(&w, NULL, result);
    enum fz_code code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    return store_job_finish_upload(u->worker->store, job, fz_buffer_cstr(&out), err);
}

/* Does the upload or the project have the binary of this dSYM? */
static enum fz_code
has_binary(struct upload *u, const struct store_job *job, const struct upload_result *result,
           const struct fz_uuid *uuid, bool *ret, struct fz_error *err)
{
    *ret = false;
    for (size_t i = 0; i < result->n_files && !*ret; i++)
        *ret = result->files[i].kind == STORE_SYMBOL_BINARY &&
               fz_uuid_equal(&result->files[i].uuid, uuid);
    for (unsigned rank = 0; !*ret; rank++) {
        const struct store_symbol_key key = {job->project_id, *uuid, rank};
        struct store_symbol symbol;
        enum fz_code code = store_symbol_find(u->worker->store, &key, u->arena, &symbol, NULL, err);
        if (code != FZ_OK)
            return code == FZ_E_NOT_FOUND ? FZ_OK : code;
        *ret = symbol.kind == STORE_SYMBOL_BINARY;
    }
    return FZ_OK;
}

/* Say it of dSYMs that describe variables: dsymutil leaves the unwind information in the binary. */
static enum fz_code
ask_for_binaries(struct upload *u, const struct store_job *job, struct upload_result *result,
                 struct fz_error *err)
{
    for (size_t i = 0; i < result->n_files; i++) {
        struct upload_file *file = &result->files[i];
        if (file->kind != STORE_SYMBOL_DSYM || file->verdict != UPLOAD_OK ||
            !file->features.variables || file->features.unwind)
            continue;
        bool is_there;
        enum fz_code code = has_binary(u, job, result, &file->uuid, &is_there, err);
        if (code != FZ_OK)
            return code;
        file->wants_binary = !is_there;
    }
    return FZ_OK;
}

static enum fz_code
finish(struct upload *u, const struct store_job *job, struct job_result *ret, struct fz_error *err)
{
    struct store_symbol *symbols = fz_arena_array(u->arena, u->n_slices, sizeof(*symbols));
    struct upload_result result = {.files =
                                       fz_arena_array(u->arena, u->n_slices, sizeof(*result.files)),
                                   .problems = worker_upload_problems(&u->problems, u->arena)};
    if (!symbols || !result.files || !result.problems.list)
        return fz_arena_fail(u->arena, err);
    size_t n = 0;
    for (size_t i = 0; i < u->n_slices; i++) {
        enum fz_code code = store_slice(u, &u->slices[i], &result.files[n], &symbols[n], err);
        if (code != FZ_OK)
            return code;
        /* The place is used again for the next slice. */
        if (!is_stored(symbols, n, &symbols[n]))
            n++;
    }
    /* The rows and the jobs of waiting reports in one transaction: no report can miss them. */
    enum fz_code code = store_job_register_symbols(u->worker->store, job, symbols, n, u->arena,
                                                   &result.n_unblocked, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        result.files[i].is_new = symbols[i].is_new;
    result.n_files = n;
    code = ask_for_binaries(u, job, &result, err);
    if (code != FZ_OK)
        return code;
    ret->n_files = n;
    ret->n_unblocked = result.n_unblocked;
    return store_result(u, job, &result, err);
}

static enum fz_code
send_upload(struct upload *u, const struct store_job *job, struct fz_error *err)
{
    struct store_upload row;
    FZ_CLEANUP(fz_closep) int fd = -1;
    FZ_CLEANUP(fz_closep) int map_fd = -1;
    enum fz_code code =
        store_upload_get(u->worker->store, job->project_id, job->subject, u->arena, &row, err);
    if (code == FZ_OK) {
        code = blob_get_fd(u->worker->blobs, row.blob_sha256, &fd, err);
    }
    /* A child cannot know that what it reads is not what was sent. */
    if (code == FZ_OK || code == FZ_E_NOT_FOUND)
        code = worker_upload_check(u->worker, &row, err);
    if (code == FZ_OK && row.map_sha256) {
        code = blob_get_fd(u->worker->blobs, row.map_sha256, &map_fd, err);
        if (code == FZ_E_NOT_FOUND)
            code = FZ_OK; /* built without it, as if it had not come */
    }
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
    /* Only for messages and the name in lists; an upload by curl has none. */
    proto_put_text(&body, row.name ? row.name : "", PROTO_NAME_MAX);
    const int fds[] = {fd, map_fd};
    return child_process_send(&u->child, PROTO_READ_SYMBOLS, &body, fds, map_fd >= 0 ? 2 : 1, err);
}

static enum fz_code
run(struct upload *u, const struct store_job *job, struct job_result *ret, struct fz_error *err)
{
    static const struct child_process_answer answers[] = {
        {PROTO_FILE, answer_file}, {PROTO_SLICE, add_slice}, {0}};
    const struct limits *limits = u->worker->config->limits;
    const struct child_process_plan plan = {.role = PROTO_ROLE_SYMBOLS,
                                            .project_id = job->project_id,
                                            .requests_max = 1,
                                            .limits = limits,
                                            .metrics = u->worker->config->metrics,
                                            .backoff = &u->worker->backoff};
    /* Two for each slice, and one in which the child unpacks members that give none. */
    u->max_files = 2 * limits->slices + 1;
    u->files = fz_arena_array(u->arena, u->max_files, sizeof(*u->files));
    u->slices = fz_arena_array(u->arena, limits->slices, sizeof(*u->slices));
    if (!u->files || !u->slices)
        return fz_arena_fail(u->arena, err);
    enum fz_code code = child_process_ensure(&u->child, &plan, err);
    if (code != FZ_OK)
        return code;
    child_process_begin(&u->child, limits->child_wall_s * JOB_SYMBOLS_WALL_FACTOR);
    code = send_upload(u, job, err);
    if (code == FZ_OK)
        code = child_process_converse(&u->child, answers, u, err);
    if (code == FZ_OK &&
        proto_problems_decode(u->child.inbox.body, u->arena, &u->problems, err) != FZ_OK)
        code = child_process_violation(&u->child, err);
    /* Before its files are stored: it could still write to them. */
    child_process_stop(&u->child);
    return code == FZ_OK ? finish(u, job, ret, err) : code;
}

enum fz_code
job_upload(struct worker *worker, const struct store_job *job, struct job_result *ret,
           bool *ret_died, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(worker->config->limits->report_memory);
    struct upload u = {.worker = worker, .arena = &arena, .child = {.sock = -1}};
    u.child.tick = tick;
    u.child.tick_user = &u;
    *ret = (struct job_result){.status = ""};
    enum fz_code code = run(&u, job, ret, err);
    *ret_died = code != FZ_OK && u.child.died;
    child_process_stop(&u.child);
    ret->used = u.child.used;
    for (size_t i = 0; i < u.n_files; i++)
        fz_closep(&u.files[i].fd);
    return code;
}
