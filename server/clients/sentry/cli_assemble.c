/*
 * Files made of chunks: the client names a file by its SHA-1 and lists its chunks; the answer is
 * the state of each file.
 *
 *   not known, chunks missing        {"state":"not_found","missingChunks":[…]}
 *   not known, all chunks there      put together here and now, then as below
 *   known, its job not done          {"state":"assembling"}
 *   known, done                      {"state":"ok","dif":{…}} or {"state":"error","detail":"…"}
 *
 * "created" is never said (a client takes it for the end), nor "not_found" with nothing missing
 * (a client takes that for lost chunks). Source bundles, BCSymbolMaps and their plists are recognised
 * by their first bytes, stored, and "ok" at once; everything else is an upload as POST
 * /api/v1/symbols takes it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/clients/sentry/cli_files.h"

enum {
    /* A client that does not ask again still learns of a file that cannot be used. */
    WAIT_MS = 4000,
    WAIT_FILES = 32,
};

/* ---- the request ---------------------------------------------------------------------------- */

static enum fz_code
read_chunks(const json_t *list, struct sentry_file *file, struct fz_arena *arena,
            struct fz_error *err)
{
    /* None is allowed: a file that is known needs no chunks. */
    size_t n = json_array_size(list);
    file->chunks = fz_arena_array(arena, n + 1, sizeof(*file->chunks));
    if (!file->chunks)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        const char *sha1 = json_string_value(json_array_get(list, i));
        if (!fz_text_is_hex(sha1, FZ_SHA1_TEXT - 1))
            return fz_fail(err, FZ_E_MALFORMED, "file %.40s: chunk %zu is not a SHA-1", file->sha1,
                           i);
        file->chunks[i] = (struct store_chunk){0};
        memcpy(file->chunks[i].sha1, sha1, FZ_SHA1_TEXT);
    }
    file->n_chunks = n;
    return FZ_OK;
}

static enum fz_code
read_file(const char *sha1, const json_t *value, struct sentry_file *file, struct fz_arena *arena,
          struct fz_error *err)
{
    const char *name = sentry_cli_text(value, "name"), *id = sentry_cli_text(value, "debug_id");
    /* The name of a loose file is a path: "Contents/Resources/DWARF/Demo.arm64". */
    *file = (struct sentry_file){
        .sha1 = fz_arena_strdup(arena, sha1),
        .name = fz_text_clean_utf8(arena, fz_span_cstr(fz_text_base_name(name ? name : "")))};
    if (!file->sha1 || !file->name)
        return fz_arena_fail(arena, err);
    if (!fz_text_is_hex(sha1, FZ_SHA1_TEXT - 1))
        return fz_fail(err, FZ_E_MALFORMED, "'%.60s' is not the SHA-1 of a file", sha1);
    /* Not a refusal of the request: the other files of the list may be good. */
    file->has_bad_id = id && !fz_uuid_parse(fz_span_cstr(id), &file->uuid);
    return read_chunks(json_object_get(value, "chunks"), file, arena, err);
}

static enum fz_code
read_request(struct api_call *call, struct sentry_file **ret, size_t *ret_n, struct fz_error *err)
{
    json_auto_t *json = NULL;
    enum fz_code code = sentry_cli_body(call, &json, err);
    if (code != FZ_OK)
        return code;
    /* An array is JSON that sentry_cli_body() accepts for other paths. */
    if (!json_is_object(json))
        return fz_fail(err, FZ_E_MALFORMED, "an object with the files' SHA-1 as keys is wanted");
    size_t n = 0;
    struct sentry_file *files =
        fz_arena_array(call->arena, json_object_size(json) + 1, sizeof(*files));
    if (!files)
        return fz_arena_fail(call->arena, err);
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        code = read_file(key, value, &files[n++], call->arena, err);
        if (code != FZ_OK)
            return code;
    }
    *ret = files;
    *ret_n = n;
    return FZ_OK;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void
put_missing(struct json_write *w, const struct sentry_file *file)
{
    json_write_open(w, "missingChunks", '[');
    for (size_t i = 0; file->state == SENTRY_NOT_FOUND && i < file->n_chunks; i++)
        if (!file->chunks[i].is_there)
            json_write_text(w, NULL, file->chunks[i].sha1);
    json_write_close(w, ']');
}

static enum fz_code
answer(struct api_call *call, const struct sentry_file *files, size_t n, struct fz_error *err)
{
    static const char *const words[] = {[SENTRY_UNKNOWN] = "assembling",
                                        [SENTRY_NOT_FOUND] = "not_found",
                                        [SENTRY_ASSEMBLING] = "assembling",
                                        [SENTRY_OK] = "ok",
                                        [SENTRY_FAILED] = "error"};
    struct json_write w = api_begin(call, '{');
    for (size_t i = 0; i < n; i++) {
        json_write_open(&w, files[i].sha1, '{');
        json_write_text(&w, "state", words[files[i].state]);
        /* The client refuses an entry without this list, even an empty one. */
        put_missing(&w, &files[i]);
        sentry_cli_put_text(&w, "detail", files[i].detail);
        if (files[i].state == SENTRY_OK)
            sentry_cli_dif(&w, "dif", &files[i].dif);
        json_write_close(&w, '}');
    }
    return api_answer(call, 200, &w, '}', err);
}

/* Uploads that a request waits for. */
struct waiting {
    size_t n;
    char ids[WAIT_FILES][STORE_ID_TEXT];
};

static enum fz_code
check(struct api_call *call, void *user, bool is_late, bool *ret_done, struct fz_error *err)
{
    const struct waiting *waiting = user;
    struct sentry_file *files;
    size_t n = 0;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < waiting->n && !is_late; i++) {
        struct store_upload upload;
        code = store_upload_get(call->store, call->project_id, waiting->ids[i], call->arena,
                                &upload, err);
        /* One that is not done is reason enough to go on waiting. */
        if (code == FZ_OK && upload.state == STORE_UPLOAD_QUEUED)
            return FZ_OK;
    }
    /* The body is still there; what was parsed first ended with its call. */
    if (code == FZ_OK)
        code = read_request(call, &files, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = sentry_file_look(call, &files[i], err);
    if (code == FZ_OK)
        code = answer(call, files, n, err);
    *ret_done = code == FZ_OK;
    return code;
}

/* True if only a few jobs are left to wait for. */
static bool
is_worth_waiting(const struct sentry_file *files, size_t n, struct waiting *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (files[i].state != SENTRY_ASSEMBLING && files[i].state != SENTRY_OK)
            return false; /* the answer has news already */
        if (files[i].state == SENTRY_ASSEMBLING && !files[i].upload_id[0])
            return false; /* the client must ask again */
        if (files[i].state == SENTRY_ASSEMBLING)
            memcpy(ret->ids[ret->n++], files[i].upload_id, STORE_ID_TEXT);
    }
    return ret->n > 0;
}

enum fz_code
sentry_assemble(struct api_call *call, struct fz_error *err)
{
    struct sentry_file *files = NULL;
    size_t n = 0;
    uint64_t joined = 0;
    enum fz_code code = read_request(call, &files, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = sentry_file_step(call, &files[i], &joined, err);
    if (code != FZ_OK)
        return code;
    /* A client without --wait asks once more and then believes the state, so jobs that end soon
     * are worth waiting for. */
    struct waiting *waiting = n <= WAIT_FILES ? calloc(1, sizeof(*waiting)) : NULL;
    if (waiting && is_worth_waiting(files, n, waiting))
        return api_wait(call, check, waiting, WAIT_MS, err);
    /* Too many files, or the answer has news already. */
    free(waiting);
    return answer(call, files, n, err);
}
