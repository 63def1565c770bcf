/*
 * How sentry-cli and its plugins sent debug files before chunks existed: in one zip, with a few
 * calls around it. Also what 1.x and early 2.x request after an upload in chunks.
 */
#include <string.h>

#include "base/form.h"
#include "server/clients/sentry/cli.h"
#include "storage/store_chunks.h"

enum { CHECKSUMS_MAX = 128, LIST_MAX = 100 };

/* ?checksums=<sha1>&checksums=…: which of them have to be sent. Known are those that came in
 * chunks; the hashes of files in a zip are not stored. */
enum fz_code
sentry_dsyms_unknown(struct api_call *call, struct fz_error *err)
{
    struct json_write w = api_begin(call, '{');
    const char *name;
    json_write_open(&w, "missing", '[');
    for (size_t i = 0; (name = http_query_name(call->request, i)) != NULL && i < CHECKSUMS_MAX;
         i++) {
        struct store_assembled file;
        const char *sha1 = http_query_value(call->request, i);
        /* The client repeats the parameter for each file. */
        if (strcmp(name, "checksums") != 0)
            continue;
        enum fz_code code =
            store_assembled_get(call->store, call->project_id, sha1, call->arena, &file, err);
        if (code == FZ_E_NOT_FOUND)
            json_write_text(&w, NULL, sha1);
        else if (code != FZ_OK)
            return code;
    }
    json_write_close(&w, ']');
    return api_answer(call, 200, &w, '}', err);
}

/* The upload's files as debug files: [] while it is not done. */
static enum fz_code
answer_files(struct api_call *call, const struct store_upload *upload, struct fz_error *err)
{
    struct upload_result result;
    enum fz_code code = upload_result_read(upload->result, call->arena, &result, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '[');
    for (size_t i = 0; i < result.n_files; i++) {
        struct sentry_dif dif;
        sentry_cli_dif_of(&result.files[i], &dif);
        /* The client only wants one; no path of this server takes it back. */
        dif.id = upload->id;
        sentry_cli_dif(&w, NULL, &dif);
    }
    return api_answer(call, 201, &w, ']', err);
}

static enum fz_code
check(struct api_call *call, void *user, bool is_late, bool *ret_done, struct fz_error *err)
{
    struct store_upload upload;
    enum fz_code code =
        store_upload_get(call->store, call->project_id, user, call->arena, &upload, err);
    if (code != FZ_OK || (upload.state == STORE_UPLOAD_QUEUED && !is_late))
        return code;
    if (upload.state == STORE_UPLOAD_FAILED)
        return fz_fail(err, FZ_E_MALFORMED, "%s",
                       upload.error ? api_stored_error(upload.error) : "it failed");
    code = answer_files(call, &upload, err);
    *ret_done = code == FZ_OK;
    return code;
}

enum fz_code
sentry_dsyms_post(struct api_call *call, struct fz_error *err)
{
    const char *type = http_header(call->request, "Content-Type");
    char boundary[FZ_FORM_BOUNDARY];
    struct fz_form_part *parts = NULL;
    size_t n = 0, i = 0;
    uint64_t size = 0;
    struct store_upload upload;
    int body = http_body_fd(call->request, &size);
    enum fz_code code = fz_form_boundary(type ? type : "", boundary, err);
    if (code == FZ_OK)
        code = fz_form_parse_fd(body, boundary, call->arena, &parts, &n, err);
    /* The client sends one file; browsers and scripts add fields of their own. */
    while (code == FZ_OK && i < n && (strcmp(parts[i].name, "file") != 0 || parts[i].len == 0))
        i++;
    if (code == FZ_OK && i == n)
        code = fz_fail(err, FZ_E_MALFORMED, "the form holds no part 'file', or an empty one");
    if (code == FZ_OK) /* the client's file name is a random UUID */
        code = api_upload_add(call, body, parts[i].offset, parts[i].len, "", &upload, err);
    if (code != FZ_OK)
        return code;
    /* It outlives the call. */
    char *id = strdup(upload.id);
    if (!id)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    http_drop_body(call->request);
    return api_wait(call, check, id, -1, err);
}

enum fz_code
sentry_dsyms(struct api_call *call, struct fz_error *err)
{
    struct store_symbol *symbols = NULL;
    struct store_page page = {.limit = LIST_MAX};
    enum fz_code code =
        store_symbol_list(call->store, call->project_id, NULL, &page, call->arena, &symbols, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '[');
    for (size_t i = 0; i < page.n; i++) {
        const struct store_symbol *s = &symbols[i];
        const struct sentry_dif dif = {
            .id = s->file_sha256,
            /* The client requires the key, but the SHA-1 of a file in a zip is not stored. */
            .sha1 = "",
            .name = s->name,
            /* A symbol map is for every architecture. */
            .arch = s->arch && *s->arch ? s->arch : NULL,
            .type = sentry_cli_type(s->kind),
            .uuid = s->uuid,
            .size = s->size,
            .created_ms = s->uploaded_ms,
            .has_dwarf = s->has_dwarf,
        };
        sentry_cli_dif(&w, NULL, &dif);
    }
    return api_answer(call, 200, &w, ']', err);
}
