/*
 * Symbol files in: POST /symbols, and the state of an upload that took too long to wait for.
 *
 * The file is copied unread: it becomes a blob, and a worker's child reads it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/form.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "server/api/api_watch.h"
#include "storage/store_blobs.h"

enum {
    COPY_BYTES = 1024 * 1024,
    NAME_MAX_LEN = 255,
    PUT_TRIES = 3,
    LIST_DEFAULT = 50,
    LIST_MAX = 500
};

/* To a new file of the blob store's, for blob_put_fd(). */
static enum fz_code
copy_range(struct api_call *call, int fd, uint64_t offset, uint64_t len, int *ret_fd,
           struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int to = -1;
    enum fz_code code = blob_temp(call->api->blobs, &to, err);
    if (code != FZ_OK)
        return code;
    uint8_t *piece = malloc(COPY_BYTES);
    if (!piece)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    while (len > 0 && code == FZ_OK) {
        ssize_t n = pread(fd, piece, len < COPY_BYTES ? (size_t)len : COPY_BYTES, (off_t)offset);
        /* A signal came before any byte was read. */
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            code = n < 0 ? fz_fail_errno(err, "read the upload")
                         : fz_fail(err, FZ_E_INTERNAL, "the upload ended before its part");
            break;
        }
        code = fz_file_write_fd(to, fz_span_make(piece, (size_t)n), err);
        offset += (uint64_t)n;
        len -= (uint64_t)n;
    }
    free(piece);
    if (code == FZ_OK) {
        *ret_fd = to;
        to = -1;
    }
    return code;
}

/* A label for people: the last path component, without control characters. */
static const char *
clean_name(struct fz_arena *arena, const char *name)
{
    if (!name)
        return "";
    name = fz_text_base_name(name);
    char *copy = fz_text_clean_utf8(arena, fz_span_make(name, strnlen(name, NAME_MAX_LEN)));
    for (char *c = copy; c && *c; c++) {
        /* Names are shown in terminals and logs. */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    return copy ? copy : "";
}

/* filename="..." of a Content-Disposition header, for raw bodies; NULL without one. */
static const char *
disposition_name(const struct api_call *call)
{
    static const char key[] = "filename=";
    const char *at = http_header(call->request, "Content-Disposition");
    while (at && *at && strncasecmp(at, key, strlen(key)) != 0)
        at++;
    if (!at || !*at)
        return NULL;
    at += strlen(key);
    /* RFC 6266: in quotes, or a token. */
    size_t len = *at == '"' ? strcspn(++at, "\"") : strcspn(at, "; \t");
    return fz_arena_text(call->arena, fz_span_make(at, len));
}

enum fz_code
api_upload_add(struct api_call *call, int fd, uint64_t offset, uint64_t len, const char *name,
               struct store_upload *ret, struct fz_error *err)
{
    struct store_upload upload = {.project_id = call->project_id,
                                  .name = clean_name(call->arena, name)};
    struct fz_uuid uuid = fz_uuid_new();
    fz_uuid_format(&uuid, upload.id);
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fz_fail_errno(err, "the upload");
    FZ_CLEANUP(fz_closep) int file = -1;
    /* A part of a form is copied first: a blob is a whole file. */
    bool is_whole = offset == 0 && len == (uint64_t)info.st_size; /* is a file of its own */
    enum fz_code code = is_whole ? FZ_OK : copy_range(call, fd, offset, len, &file, err);
    /* The blob of an equal file may have been deleted between the two steps: put it again. */
    for (int i = 0; code == FZ_OK && i < PUT_TRIES; i++) {
        code = blob_put_fd(call->api->blobs, is_whole ? fd : file, upload.blob_sha256, &upload.size,
                           err);
        if (code == FZ_OK)
            code = store_upload_insert(call->store, &upload, err);
        /* Any other failure would only repeat itself. */
        if (code != FZ_E_UNAVAILABLE || !store_blob_is_gone(call->store))
            break;
        code = i + 1 < PUT_TRIES ? FZ_OK : code;
    }
    if (code == FZ_OK)
        code = api_count_upload(call, upload.size, err);
    if (code != FZ_OK)
        return code;
    /* The file is on disk and its job is queued. */
    if (call->api->config.metrics)
        call->api->config.metrics->uploads_accepted++;
    http_log_note(call->request, "upload", upload.id);
    *ret = upload;
    return FZ_OK;
}

/* The first part with a file name, else the first: as `curl -F file=@Demo.zip` sends it. */
static enum fz_code
choose_part(struct api_call *call, int body, const char *boundary, struct fz_form_part *ret,
            struct fz_error *err)
{
    struct fz_form_part *parts = NULL;
    size_t n = 0, chosen = 0;
    enum fz_code code = fz_form_parse_fd(body, boundary, call->arena, &parts, &n, err);
    if (code != FZ_OK)
        return code;
    while (chosen < n && !parts[chosen].filename)
        chosen++;
    if (chosen == n)
        chosen = 0;
    if (n == 0 || parts[chosen].len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "the form holds no file, or an empty one");
    *ret = parts[chosen];
    return FZ_OK;
}

/* The file of the request becomes an upload: the body itself, or a part of a form. */
static enum fz_code
add_body(struct api_call *call, struct store_upload *ret, struct fz_error *err)
{
    const char *name = http_query(call->request, "name");
    const char *type = http_header(call->request, "Content-Type");
    char boundary[FZ_FORM_BOUNDARY];
    struct fz_form_part part = {.offset = 0};
    int body = http_body_fd(call->request, &part.len);
    if (!name)
        name = disposition_name(call);
    if (part.len == 0)
        return fz_fail(err, FZ_E_MALFORMED,
                       "the body is empty; send a Mach-O, or a zip or tar.gz with dSYMs");
    enum fz_code code =
        type ? fz_form_boundary(type, boundary, err) : (enum fz_code)FZ_E_UNSUPPORTED;
    if (code == FZ_OK)
        code = choose_part(call, body, boundary, &part, err);
    else if (code == FZ_E_UNSUPPORTED) /* any other type is a raw body */
        code = FZ_OK;
    if (code == FZ_OK)
        code = api_upload_add(call, body, part.offset, part.len,
                              name && *name ? name : part.filename, ret, err);
    return code;
}

static enum fz_code
add_wait(struct api_call *call, const struct store_upload *upload, struct fz_error *err)
{
    struct api_wait *wait = NULL, like = {.watcher = call->api->watcher,
                                          .kind = API_WAIT_UPLOAD,
                                          .request = call->request,
                                          .project_id = call->project_id};
    memcpy(like.id, upload->id, sizeof(like.id));
    enum fz_code code =
        api_wait_create(&like, (int64_t)call->api->config.upload_wait_s * 1000, &wait, err);
    if (code != FZ_OK)
        return code;
    /* It may wait for minutes, and the upload has a copy of its own in the blob store. */
    http_drop_body(call->request);
    api_wait_begin(wait);
    return FZ_OK;
}

enum fz_code
api_symbol_post(struct api_call *call, struct fz_error *err)
{
    struct store_upload upload;
    enum fz_code code = add_body(call, &upload, err);
    return code != FZ_OK ? code : add_wait(call, &upload, err);
}

enum fz_code
api_upload_get(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    struct store_upload upload;
    enum fz_code code = api_param_uuid(call->request, "id", "upload", id, err);
    if (code == FZ_OK)
        code = store_upload_get(call->store, call->project_id, id, call->arena, &upload, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = json_write_start(&call->out);
    code = api_upload_json(&upload, call->arena, &w, err);
    return code != FZ_OK ? code : api_answer_written(call, 200, err);
}

enum fz_code
api_upload_list(struct api_call *call, struct fz_error *err)
{
    struct store_upload *uploads = NULL;
    struct store_page page = {.cursor = http_query(call->request, "cursor")};
    const char *status = http_query(call->request, "status");
    if (!status || strcmp(status, "failed") != 0)
        return fz_fail(err, FZ_E_MALFORMED, "status: this lists uploads with status=failed");
    enum fz_code code = api_query_limit(call->request, LIST_DEFAULT, LIST_MAX, &page.limit, err);
    if (code == FZ_OK)
        code = store_upload_list_failed(call->store, call->project_id, &page, call->arena, &uploads,
                                        err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_open(&w, "uploads", '[');
    for (size_t i = 0; i < page.n && code == FZ_OK; i++)
        code = api_upload_json(&uploads[i], call->arena, &w, err);
    json_write_close(&w, ']');
    json_write_text(&w, "next_cursor", page.next);
    return code == FZ_OK ? api_answer(call, 200, &w, '}', err) : code;
}

enum fz_code
api_upload_reprocess(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT];
    enum fz_code code = api_param_uuid(call->request, "id", "upload", id, err);
    if (code == FZ_OK)
        code = store_upload_reprocess(call->store, call->project_id, id, err);
    if (code == FZ_OK)
        api_answer_upload_queued(call->request, id);
    return code;
}
