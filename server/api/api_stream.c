#include "server/api/api_stream.h"

#include <stdlib.h>

#include "server/api/api_object.h"
#include "storage/store_request.h"

struct run {
    struct api *api;
    struct http_request *request; /* readable until the stream ends */
    int64_t project_id;
    struct api_stream stream;
    struct fz_arena arena; /* of the stream's state */
};

static enum fz_code
produce(void *user, struct http_stream *http FZ_UNUSED, struct fz_buffer *out,
        enum http_stream_step *ret_step, struct fz_error *err)
{
    struct run *run = user;
    struct api *api = run->api;
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(api->config.limits->report_memory);
    struct api_call call = {
        .api = api,
        .request = run->request,
        .arena = &arena,
        .out = fz_buffer_make(0),
        .project_id = run->project_id,
    };
    /* It may last for hours, which a token that was revoked must not. */
    if (!api_still_may(api, run->request, STORE_SCOPE_READ))
        return fz_fail(err, FZ_E_DENIED, "the token was revoked, or the session has ended");
    enum fz_code code = api_store_get(api, run->project_id, &call.store, err);
    if (code == FZ_OK)
        api_limit_time(&call);
    if (code == FZ_OK)
        code = run->stream.piece(&call, run->stream.state, out, ret_step, err);
    api_store_put(api, call.store);
    api_gate_leave(&call);
    fz_buffer_deinit(&call.out);
    return code;
}

static void
destroy(void *user)
{
    struct run *run = user;
    if (run->stream.end)
        run->stream.end(run->stream.state);
    fz_arena_deinit(&run->arena);
    free(run);
}

enum fz_code
api_stream_answer(struct api_call *call, const struct api_stream *stream, struct fz_error *err)
{
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *run = (struct run){
        .api = call->api,
        .request = call->request,
        .project_id = call->project_id,
        .stream = *stream,
        .arena = *call->arena,
    };
    fz_arena_init(call->arena, call->arena->cap);
    /* The first piece takes one, too. */
    api_store_put(call->api, call->store);
    call->store = NULL;
    struct http_source source = {.produce = produce, .destroy = destroy, .user = run};
    http_respond_stream(call->request, stream->content_type, &source);
    return FZ_OK;
}
