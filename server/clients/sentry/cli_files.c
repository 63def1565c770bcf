#include "server/clients/sentry/cli_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "server/clients/sentry/cli_chunks.h"

enum {
    COPY_BYTES = 1024 * 1024,
    JOIN_BYTES = 256 * 1024 * 1024, /* per request, but one file at least */
    UUID_FILES = 100,               /* of one UUID that are looked at */
    /* A failed file is tried again after this time, since a newer version may succeed. */
    RETRY_MS = 10 * 60 * 1000,
};

/* ---- what is known -------------------------------------------------------------------------- */

static enum fz_code
fail_file(struct api_call *call, struct sentry_file *file, const char *detail, struct fz_error *err)
{
    file->state = SENTRY_FAILED;
    file->detail = fz_arena_strdup(call->arena, detail);
    return file->detail ? FZ_OK : fz_arena_fail(call->arena, err);
}

/* Whether a file of this UUID and kind is still there: it can be deleted, and sent again. */
static enum fz_code
is_there(struct api_call *call, const struct fz_uuid *uuid, enum store_symbol_kind kind, bool *ret,
         struct fz_error *err)
{
    struct store_symbol *symbols = NULL;
    struct store_page page = {.limit = UUID_FILES};
    enum fz_code code =
        store_symbol_list(call->store, call->project_id, uuid, &page, call->arena, &symbols, err);
    *ret = false;
    for (size_t i = 0; code == FZ_OK && i < page.n && !*ret; i++)
        *ret = symbols[i].kind == kind;
    return code;
}

/* The text of the problem for which no names can be read from a file; NULL without one. */
static const char *
fatal_problem(const struct upload_file *file)
{
    /* All other problems still leave names. */
    for (size_t i = 0; i < file->problems.n; i++) {
        if (strcmp(file->problems.list[i].kind, "no_index") == 0)
            return file->problems.list[i].text;
    }
    return NULL;
}

/* The file that the client means: that of its UUID, the first if it named none. */
static const struct upload_file *
find_file(const struct upload_result *result, const struct fz_uuid *uuid)
{
    /* A fat file has several slices, and the client asks for one of them. */
    for (size_t i = 0; i < result->n_files; i++) {
        if (fz_uuid_is_nil(uuid) || fz_uuid_equal(uuid, &result->files[i].uuid))
            return &result->files[i];
    }
    return NULL;
}

static enum fz_code
judge_done(struct api_call *call, struct sentry_file *file, const struct store_upload *upload,
           struct fz_error *err)
{
    struct upload_result result;
    enum fz_code code = upload_result_read(upload->result, call->arena, &result, err);
    if (code != FZ_OK)
        return code;
    const struct upload_file *found = find_file(&result, &file->uuid);
    char text[160], uuid[2][FZ_UUID_DASHED];
    if (!found) {
        /* The client named a UUID that no file has; the message shows one that is there. */
        if (result.n_files)
            fz_uuid_format_dashed(&result.files[result.n_files - 1].uuid, uuid[0]);
        fz_uuid_format_dashed(&file->uuid, uuid[1]);
        snprintf(text, sizeof(text), "the file's UUID is %s, the client says %s",
                 result.n_files ? uuid[0] : "unknown", uuid[1]);
        return fail_file(call, file, text, err);
    }
    /* The result stays when the symbol file itself is deleted. */
    bool there = false;
    code = is_there(call, &found->uuid, found->kind, &there, err);
    if (code != FZ_OK)
        return code;
    if (!there)
        return FZ_OK; /* still UNKNOWN */
    const char *problem = fatal_problem(found);
    if (problem)
        return fail_file(call, file, problem, err);
    /* The texts are in the arena of the call, as the answer is. */
    sentry_cli_dif_of(found, &file->dif);
    file->dif.id = fz_arena_strdup(call->arena, upload->id);
    file->state = SENTRY_OK;
    return file->dif.id ? FZ_OK : fz_arena_fail(call->arena, err);
}

/* A time in the future comes from a clock that was set back since. */
static bool
is_recent(int64_t created_ms)
{
    int64_t age_ms = fz_time_now_ms() - created_ms;
    return age_ms >= 0 && age_ms < RETRY_MS;
}

static enum fz_code
judge_upload(struct api_call *call, struct sentry_file *file, const struct store_assembled *known,
             struct fz_error *err)
{
    struct store_upload upload;
    enum fz_code code = store_upload_get(call->store, call->project_id, known->upload_id,
                                         call->arena, &upload, err);
    if (code != FZ_OK)
        return code;
    memcpy(file->upload_id, upload.id, sizeof(file->upload_id));
    switch (upload.state) {
    case STORE_UPLOAD_QUEUED:
        file->state = SENTRY_ASSEMBLING;
        return FZ_OK;
    case STORE_UPLOAD_DONE:
        return judge_done(call, file, &upload, err);
    case STORE_UPLOAD_FAILED:
        break;
    }
    /* Still UNKNOWN: it is put together and read again. */
    if (!is_recent(known->created_ms))
        return FZ_OK;
    return fail_file(call, file,
                     upload.error ? api_stored_error(upload.error) : "it could not be read", err);
}

enum fz_code
sentry_file_look(struct api_call *call, struct sentry_file *file, struct fz_error *err)
{
    struct store_assembled known;
    file->state = SENTRY_UNKNOWN;
    if (file->has_bad_id)
        return fail_file(call, file,
                         "its debug id is not a UUID: only files of Apple's platforms are taken",
                         err);
    enum fz_code code =
        store_assembled_get(call->store, call->project_id, file->sha1, call->arena, &known, err);
    /* Nothing was put together under this name yet. */
    if (code == FZ_E_NOT_FOUND)
        return FZ_OK;
    if (code != FZ_OK)
        return code;
    if (known.upload_id[0]) {
        code = judge_upload(call, file, &known, err);
    } else {
        file->state = SENTRY_OK;
        file->dif = (struct sentry_dif){.id = file->sha1,
                                        .name = known.name,
                                        .type = "src",
                                        .uuid = known.uuid,
                                        .size = known.size,
                                        .has_sources = true};
    }
    /* By which the client has named it. */
    file->dif.sha1 = file->sha1;
    file->dif.created_ms = known.created_ms;
    return code;
}

/* ---- putting together ----------------------------------------------------------------------- */

struct joining {
    int fd;
    struct fz_hash *hash;
    uint64_t size;
    uint8_t *piece; /* COPY_BYTES */
};

/* Zeros become a hole, which takes no space on the disk. */
static enum fz_code
append_bytes(struct joining *to, struct fz_span bytes, struct fz_error *err)
{
    bool is_zero = bytes.data[0] == 0 && memcmp(bytes.data, bytes.data + 1, bytes.len - 1) == 0;
    if (!is_zero)
        return fz_file_write_fd(to->fd, bytes, err);
    /* A hole at the very end becomes part of the file by join()'s ftruncate(). */
    if (lseek(to->fd, (off_t)bytes.len, SEEK_CUR) < 0)
        return fz_fail_errno(err, "cannot write a file");
    return FZ_OK;
}

/* Append the bytes of one chunk. NOT_FOUND: its blob is gone. */
static enum fz_code
append_chunk(struct api_call *call, const struct store_chunk *chunk, struct joining *to,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int from = -1;
    uint64_t at = 0;
    enum fz_code code = blob_get_fd(api_blobs(call->api), chunk->blob_sha256, &from, err);
    while (code == FZ_OK && at < chunk->size) {
        uint64_t left = chunk->size - at;
        ssize_t n = pread(from, to->piece, left < COPY_BYTES ? (size_t)left : COPY_BYTES,
                          (off_t)(SENTRY_CHUNK_HEAD + at));
        if (n < 0 && errno == EINTR)
            continue;
        /* A blob shorter than its row says. */
        if (n <= 0)
            return fz_fail(err, FZ_E_INTERNAL, "chunk %s cannot be read", chunk->sha1);
        struct fz_span bytes = fz_span_make(to->piece, (size_t)n);
        fz_hash_update(to->hash, bytes);
        code = append_bytes(to, bytes, err);
        at += (uint64_t)n;
    }
    to->size += at;
    return code;
}

/* Sources are only kept; everything else is read by a worker's child. */
static const char *
kind_of(int fd)
{
    char head[4];
    /* Source bundles begin with these bytes, before their zip. */
    bool is_bundle = pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
                     memcmp(head, "SYSB", sizeof(head)) == 0;
    return is_bundle ? "sources" : "symbols";
}

static enum fz_code
store_file(struct api_call *call, struct sentry_file *file, int fd, struct fz_error *err)
{
    struct store_assembled made = {.project_id = call->project_id,
                                   .kind = kind_of(fd),
                                   .uuid = file->uuid,
                                   .name = file->name};
    struct metrics *metrics = api_metrics_of(call->api);
    memcpy(made.sha1, file->sha1, sizeof(made.sha1));
    if (strcmp(made.kind, "symbols") == 0) {
        /* Sources need no job, so they have no upload. */
        struct fz_uuid id = fz_uuid_new();
        fz_uuid_format(&id, made.upload_id);
    }
    enum fz_code code = blob_put_fd(api_blobs(call->api), fd, made.blob_sha256, &made.size, err);
    /* A known file here failed long ago, or its symbols were deleted. */
    if (code == FZ_OK)
        code = store_assembled_forget(call->store, call->project_id, file->sha1, err);
    if (code == FZ_OK)
        code = store_assembled_insert(call->store, &made, err);
    if (code == FZ_OK && metrics && made.upload_id[0])
        metrics->uploads_accepted++;
    if (code == FZ_E_CONFLICT) /* another request did it first */
        return FZ_OK;
    if (code == FZ_OK) /* other files may share a chunk, but only for a short time */
        code = store_chunk_find(call->store, http_token_id(call->request), file->chunks,
                                file->n_chunks, STORE_CHUNK_USED_MS, call->arena, err);
    return code;
}

static void
free_piece(void **piece)
{
    free(*piece);
}

static enum fz_code
join(struct api_call *call, struct sentry_file *file, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = -1;
    FZ_CLEANUP(fz_hash_destroyp) struct fz_hash *hash = NULL;
    char sha1[FZ_SHA1_TEXT];
    enum fz_code code = blob_temp(api_blobs(call->api), &fd, err);
    if (code == FZ_OK)
        code = fz_hash_create(FZ_HASH_SHA1, &hash, err);
    FZ_CLEANUP(free_piece) void *piece = malloc(COPY_BYTES);
    struct joining to = {.fd = fd, .hash = hash, .piece = piece};
    if (code == FZ_OK && !piece)
        code = fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; code == FZ_OK && i < file->n_chunks; i++) {
        code = append_chunk(call, &file->chunks[i], &to, err);
        if (code == FZ_E_NOT_FOUND) { /* a row without its blob: have the chunk sent again */
            file->chunks[i].is_there = false;
            file->state = SENTRY_NOT_FOUND;
            return store_chunk_drop(call->store, &file->chunks[i], err);
        }
    }
    if (code == FZ_OK && ftruncate(fd, (off_t)to.size) != 0) /* it may end with a hole */
        code = fz_fail_errno(err, "cannot write a file");
    if (code != FZ_OK)
        return code;
    fz_hash_finish(hash, sha1);
    if (strcmp(sha1, file->sha1) != 0) {
        char text[160];
        snprintf(text, sizeof(text), "the chunks make a file with the SHA-1 %s, not %s", sha1,
                 file->sha1);
        return fail_file(call, file, text, err);
    }
    code = store_file(call, file, fd, err);
    return code != FZ_OK ? code : sentry_file_look(call, file, err);
}

/* Chunks are lent out: for each time it was sent, files may take so many bytes of a chunk. */
static enum fz_code
reserve_and_join(struct api_call *call, struct sentry_file *file, uint64_t size, uint64_t *joined,
                 struct fz_error *err)
{
    bool all = false;
    enum fz_code code =
        store_chunk_take(call->store, file->chunks, file->n_chunks, &all, call->arena, err);
    /* It concerns this file only; the others of the request go on. */
    if (code == FZ_E_LIMIT)
        return fail_file(call, file, err->text, err);
    if (code != FZ_OK)
        return code;
    if (!all) {
        file->state = SENTRY_NOT_FOUND;
        return FZ_OK;
    }
    /* Counted before the work, which may fail half-way. */
    *joined += size;
    return join(call, file, err);
}

enum fz_code
sentry_file_step(struct api_call *call, struct sentry_file *file, uint64_t *joined,
                 struct fz_error *err)
{
    uint64_t size = 0;
    enum fz_code code = sentry_file_look(call, file, err);
    if (code != FZ_OK || file->state != SENTRY_UNKNOWN)
        return code;
    if (file->n_chunks == 0)
        return fail_file(call, file, "it is not known, and no chunks of it are named", err);
    code = store_chunk_find(call->store, http_token_id(call->request), file->chunks, file->n_chunks,
                            STORE_CHUNK_LIFE_MS, call->arena, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < file->n_chunks; i++) {
        if (!file->chunks[i].is_there)
            file->state = SENTRY_NOT_FOUND;
        /* The sum decides before anything is copied. */
        size += file->chunks[i].size;
    }
    if (file->state == SENTRY_NOT_FOUND)
        return FZ_OK;
    if (size > sentry_file_max(call))
        return fail_file(call, file, "it is larger than the server takes", err);
    /* The rest is joined in later requests, since the client asks again. */
    if (*joined > 0 && *joined + size > JOIN_BYTES) {
        file->state = SENTRY_ASSEMBLING;
        return FZ_OK;
    }
    return reserve_and_join(call, file, size, joined, err);
}
