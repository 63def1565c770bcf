/*
 * Files that came with a report, cut out of its raw body.
 *
 * They are foreign bytes and the reader may be a browser, so they are sent as a download with a
 * type that nothing runs or shows, whatever type the client named.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/api/api_download.h"
#include "server/api/api_handlers.h"
#include "server/api/api_hide.h"
#include "server/api/api_query.h"
#include "server/report/render.h"

static enum fz_code
find_attachment(struct api_call *call, const char *id, uint64_t number,
                struct report_attachment *ret, struct fz_error *err)
{
    struct fz_span result;
    struct report report;
    struct report_envelope envelope;
    enum fz_code code =
        store_report_result(call->store, call->project_id, id, call->arena, &result, err);
    /* 409, not 404: the attachment may be there once a worker has read the report. */
    if (code == FZ_E_NOT_FOUND)
        return fz_fail(err, FZ_E_CONFLICT, "report %s was not read yet, or could not be", id);
    if (code == FZ_OK)
        code = report_load_json(result, call->arena, &report, &envelope, err);
    if (code != FZ_OK)
        return code;
    if (number >= report.n_attachments)
        return fz_fail(err, FZ_E_NOT_FOUND, "report %s has %zu attachments, counted from 0", id,
                       report.n_attachments);
    *ret = report.attachments[number];
    return FZ_OK;
}

enum fz_code
api_attachment_get(struct api_call *call, struct fz_error *err)
{
    char id[STORE_ID_TEXT], own_name[40];
    uint64_t number = 0;
    struct store_report columns;
    struct report_attachment file = {0};
    struct fz_span body, bytes;
    const char *text = http_param(call->request, "n");
    enum fz_code code = api_param_uuid(call->request, "id", "report", id, err);
    if (code == FZ_OK)
        code = store_report_get(call->store, call->project_id, id, call->arena, &columns, err);
    if (code == FZ_OK && !fz_text_u64(fz_span_cstr(text), &number))
        return fz_fail(err, FZ_E_NOT_FOUND, "no attachment '%.40s': they are counted from 0", text);
    if (code == FZ_OK)
        code = find_attachment(call, id, number, &file, err);
    if (code == FZ_OK)
        /* A minidump is an attachment of its envelope. */
        code = api_fetch_body(call, &columns, 2, &body, err);
    if (code != FZ_OK)
        return code;
    /* The offset is from a stored result, and is checked like any number from outside. */
    if (!fz_span_sub(body, file.offset, file.size, &bytes))
        return fz_fail(err, FZ_E_NOT_FOUND, "attachment %llu is outside the report's body",
                       (unsigned long long)number);
    /* A path in the name must not choose the folder where a browser saves the file. */
    const char *name = file.name ? fz_text_base_name(file.name) : "";
    /* "." and ".." are folders: a browser could not save the file under them. */
    if (*name == '\0' || strspn(name, ".") == strlen(name)) {
        snprintf(own_name, sizeof(own_name), "attachment-%llu", (unsigned long long)number);
        name = own_name;
    }
    api_download_name(call->request, true, name, "");
    http_respond(call->request, 200, "application/octet-stream", bytes);
    return FZ_OK;
}
