/* One person: what is stored about a user of the app, its export, and its erasure. */
#include <string.h>

#include "base/json/walk.h"
#include "base/text.h"
#include "base/time.h"
#include "server/api/api_fetch.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"
#include "storage/store_person.h"

enum {
    LIMIT_DEFAULT = 50,
    LIMIT_MAX = 200,
    PAGE_BYTES = 16 * 1024 * 1024,
    ERASE_MS = 3000,
    BUSY_MAX = 3
};

/* ---- what there is --------------------------------------------------------------------------- */

static enum fz_code
read_person(const struct api_call *call, const char **ret, struct fz_error *err)
{
    const char *id = http_param(call->request, "person");
    size_t len = id ? strlen(id) : 0;
    /* As long as storage keeps them. */
    if (len == 0 || len > STORE_PERSON_ID_MAX || !fz_text_is_utf8(fz_span_make(id, len)))
        return fz_fail(err, FZ_E_NOT_FOUND, "nothing is known of this user");
    *ret = id;
    return FZ_OK;
}

enum fz_code
api_person_get(struct api_call *call, struct fz_error *err)
{
    struct store_person person = {0};
    const char *id = NULL;
    enum fz_code code = read_person(call, &id, err);
    if (code == FZ_OK)
        code = store_person_get(call->store, call->project_id, id, &person, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_text(&w, "id", id);
    json_write_u64(&w, "reports", person.n_reports);
    json_write_u64(&w, "counted", person.n_facts);
    json_write_time(&w, "first", person.first_ms);
    json_write_time(&w, "last", person.last_ms);
    return api_answer(call, 200, &w, '}', err);
}

/* ---- export ---------------------------------------------------------------------------------- */

/* A line: the report, and its body with all that is kept of it. */
static enum fz_code
append_line(struct api_call *call, const char *id, struct fz_buffer *out, struct fz_error *err)
{
    struct fz_span json = {NULL, 0}, body = {NULL, 0};
    enum fz_code code = api_fetch(call, id, STORE_REPORT_RESULT, 2, &json, err);
    /* Not processed yet, or failed. */
    if (code == FZ_E_NOT_FOUND)
        code = FZ_OK;
    if (code == FZ_OK)
        code = api_fetch(call, id, STORE_REPORT_FULL_BODY, 2, &body, err);
    /* Deleted since the list was read, or its body alone. */
    if (code == FZ_E_NOT_FOUND && json.len == 0)
        return FZ_OK;
    if (code != FZ_OK && code != FZ_E_NOT_FOUND)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer report = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer raw = fz_buffer_make(0);
    struct json_write w = json_write_start(out);
    /* Parts of it are as the client sent them, with line breaks. */
    json_walk_compact(json, &report);
    fz_text_base64_append(&raw, body);
    code = fz_buffer_done(&report, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&raw, err);
    if (code != FZ_OK)
        return code;
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "id", id);
    json_write_raw(&w, "report", fz_buffer_cstr(&report));
    if (raw.len)
        json_write_text(&w, "raw", fz_buffer_cstr(&raw));
    json_write_close(&w, '}');
    fz_buffer_char(out, '\n');
    return FZ_OK;
}

enum fz_code
api_person_export(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct store_person person = {0};
    const char *id = NULL, **ids = NULL;
    size_t limit = 0, n = 0, i = 0;
    enum fz_code code = read_person(call, &id, err);
    if (code == FZ_OK)
        code = api_query_limit(call->request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err);
    if (code == FZ_OK)
        code = store_person_get(call->store, call->project_id, id, &person, err);
    /* One more, to know whether it is the last page. */
    if (code == FZ_OK)
        code = store_person_reports(
            call->store,
            &(struct store_person_query){call->project_id, id, http_query(call->request, "cursor"),
                                         limit + 1},
            call->arena, &ids, &n, err);
    while (code == FZ_OK && i < n && i < limit && out.len < PAGE_BYTES)
        code = append_line(call, ids[i++], &out, err);
    if (code == FZ_OK)
        code = fz_buffer_done(&out, err);
    if (code != FZ_OK)
        return code;
    if (i < n)
        http_add_header(call->request, "X-Next-Cursor", ids[i - 1]);
    http_add_header(call->request, "Content-Disposition", "attachment; filename=\"person.jsonl\"");
    http_respond(call->request, 200, "application/x-ndjson", fz_buffer_span(&out));
    return FZ_OK;
}

/* ---- erasure --------------------------------------------------------------------------------- */

static enum fz_code
answer_erasure(struct api_call *call, int64_t id, struct fz_error *err)
{
    struct store_erasure erasure;
    enum fz_code code = store_erasure_get(call->store, call->project_id, id, &erasure, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_i64(&w, "erasure", erasure.id);
    json_write_text(&w, "state", erasure.finished_ms ? "done" : "running");
    json_write_u64(&w, "reports", erasure.n_reports);
    json_write_time(&w, "created", erasure.created_ms);
    json_write_time(&w, "finished", erasure.finished_ms);
    return api_answer(call, erasure.finished_ms ? 200 : 202, &w, '}', err);
}

enum fz_code
api_person_delete(struct api_call *call, struct fz_error *err)
{
    const char *id = NULL;
    int64_t erasure = 0, until_ms = fz_time_monotonic_ms() + ERASE_MS;
    bool is_more = true;
    enum fz_code code = read_person(call, &id, err);
    if (code == FZ_OK)
        code = store_erasure_begin(call->store, call->project_id, id, &erasure, err);
    if (code != FZ_OK)
        return code;
    /* It is stored, so a worker goes on with what takes longer, or fails here. */
    for (int n_busy = 0; is_more && n_busy < BUSY_MAX && fz_time_monotonic_ms() < until_ms;) {
        if (store_erasure_step(call->store, &is_more, NULL) != FZ_OK)
            n_busy++;
    }
    return answer_erasure(call, erasure, err);
}

enum fz_code
api_erasure_get(struct api_call *call, struct fz_error *err)
{
    int64_t id = 0;
    if (!fz_text_i64(fz_span_cstr(http_param(call->request, "id")), &id))
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such erasure");
    return answer_erasure(call, id, err);
}
