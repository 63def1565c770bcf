/*
 * Mozilla's Symbolication API, version 5, as the Firefox Profiler asks it.
 *
 *   {"jobs":[{"memoryMap":[["Demo","4C4C445B55553144A12988BEB9D5EB600"]],
 *             "stacks":[[[0,16456],[0,16428]]]}]}
 *
 * A frame is [number of the module or -1, offset from the module's start], and points into
 * the call, not after it. One job may be sent without "jobs" around it. The answer has the same
 * shape, with a name where one is known; unknown members are left out, since the profiler refuses
 * null.
 *
 * All frames become one report that is not stored. When it is done, the request is parsed again and
 * answered from it, so nothing is kept in memory meanwhile.
 */
#include "server/clients/symbolicate_v5/symbolicate_v5.h"

#include <string.h>

#include "base/json/write.h"
#include "server/api/api_client.h"

/* A token of the project, or none where the operator opened one project to all. */
static enum fz_code
find_project(struct api_call *call, int *ret_status, struct fz_error *err)
{
    /* The route is open, so the token is looked for here. */
    const char *token = api_bearer(call->request);
    if (!token)
        token = http_header(call->request, "X-Framezero-Key");
    const char *open_to_all = api_open_symbols_project(call->api);
    struct api_grant grant;
    struct store_project project;
    enum fz_code code;
    if (token || !open_to_all) {
        code = api_authorize_token(call->api, call->request, token, STORE_SCOPE_READ, &grant,
                                   ret_status, err);
        if (code == FZ_OK)
            api_call_enter(call, grant.project_id);
        return code;
    }
    code = api_open_project(call, open_to_all, &project, err);
    if (code != FZ_OK)
        return fz_wrap(err, "symbolicate-v5-project");
    api_call_enter(call, project.id);
    grant = (struct api_grant){.project_id = project.id}; /* all without a token are one sender */
    return api_admit(call->api, call->request, &grant, API_TAKES_PASSING, ret_status, err);
}

static enum fz_code
read_request(struct api_call *call, struct v5_batch *ret, struct fz_error *err)
{
    return clients_v5_read(http_body(call->request), api_limits(call->api), call->arena, ret, err);
}

static enum fz_code
answer(struct api_call *call, const struct v5_batch *batch, struct fz_span report,
       struct fz_error *err)
{
    enum fz_code code = clients_v5_answer(batch, report, call->arena, &call->out, err);
    return code != FZ_OK ? code : api_answer_written(call, 200, err);
}

static enum fz_code
finish(struct api_call *call, struct fz_span report, struct fz_error *err)
{
    FZ_CLEANUP(clients_v5_end) struct v5_batch batch = {0};
    enum fz_code code = read_request(call, &batch, err);
    return code != FZ_OK ? code : answer(call, &batch, report, err);
}

static enum fz_code
ask(struct api_call *call, const struct v5_batch *batch, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer report = fz_buffer_make(0);
    clients_v5_report(batch, api_limits(call->api), &report);
    /* The report must outlive this function. */
    const char *copy = report.failed ? NULL : fz_arena_text(call->arena, fz_buffer_span(&report));
    if (!copy)
        return fz_arena_fail(call->arena, err);
    return api_symbolicate_body(call, fz_span_make(copy, report.len), finish, err);
}

static enum fz_code
work(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(clients_v5_end) struct v5_batch batch = {0};
    int status = 0;
    enum fz_code code = find_project(call, &status, err);
    /* A refusal of the token has its own status; other failures have that of their code. */
    if (code != FZ_OK && status) {
        http_respond_error_status(call->request, status, err, NULL);
        return FZ_OK;
    }
    if (code == FZ_OK)
        code = read_request(call, &batch, err);
    if (code == FZ_OK && batch.n_frames == 0)
        return answer(call, &batch, (struct fz_span){NULL, 0}, err);
    return code != FZ_OK ? code : ask(call, &batch, err);
}

/* `error` is what the profiler shows. */
static void
write_error(const struct fz_error *err, int status FZ_UNUSED, const char *detail_json,
            struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "error", err->text);
    json_write_text(&w, "code", fz_code_name(err->code));
    json_write_raw(&w, "detail", detail_json);
    json_write_close(&w, '}');
}

/* clang-format off */
static const struct api_route rows[] = {
    {"POST", "/symbolicate/v5", "symbolicate_v5", .body = API_BODY_REPORT, .takes = API_TAKES_PASSING, .run = work},
    {"OPTIONS", "/symbolicate/v5", "symbolicate_v5_options", .handle = api_cors_options},
};
/* clang-format on */

const struct api_routes clients_symbolicate_v5 = {
    .rows = rows,
    .n = FZ_ARRAY_LEN(rows),
    .defaults =
        {
            .flags = HTTP_ROUTE_CORS | HTTP_ROUTE_LOOSE,
            .write_error = write_error,
        },
};
