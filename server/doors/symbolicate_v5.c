/*
 * Mozilla's Symbolication API, version 5, as the Firefox Profiler asks it.
 *
 *   {"jobs":[{"memoryMap":[["Demo","4C4C445B55553144A12988BEB9D5EB600"]],
 *             "stacks":[[[0,16456],[0,16428]]]}]}
 *
 * A frame is [number of the module or -1, offset from the module's start], and already points into
 * the call, not behind it. One job may stand without "jobs" around it. The answer has the same
 * shape, with a name where there is one; what is unknown is left out, since the profiler refuses
 * null.
 *
 * All frames become one report that nothing keeps: module i starts at (i + 1) * 4 GiB, and frames
 * are laid out one after the other in threads as long as a report may have them. The answer is then
 * read in the same order. Nothing has to be remembered meanwhile but the request itself.
 */
#include <stdio.h>
#include <string.h>

#include "server/doors/doors_private.h"
#include "server/json/json_scan.h"
#include "server/json/json_write.h"
#include "server/report/render.h"

enum {
    JOBS_MAX = 256,
    FRAMES_MAX =
        65536, /* the profiler asks for at most 10,000 at once, unless one module has more */
};

static const size_t NO_IMAGE = SIZE_MAX;
static const uint64_t MODULE_ROOM = UINT64_C(1) << 32;

struct module {
    const char *name, *id;
    size_t image; /* its number in the report; NO_IMAGE while no frame lies in it */
};

struct job {
    struct module *modules;
    size_t n_modules;
    const json_t *stacks; /* borrowed from the root */
};

struct batch {
    json_t *root; /* owned */
    struct job *jobs;
    size_t n_jobs;
    const struct module **images; /* the modules that frames lie in, in the order of the report */
    size_t n_images, n_frames;    /* of the report */
};

static void
end_batch(struct batch *batch)
{
    json_decref(batch->root);
}

static enum fz_code
read_modules(const json_t *map, size_t number, struct fz_arena *arena, struct job *job,
             struct fz_error *err)
{
    size_t n = json_array_size(map);
    if (!json_is_array(map))
        return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].memoryMap: not an array", number);
    job->modules = fz_arena_array(arena, n, sizeof(*job->modules));
    if (!job->modules)
        return fz_arena_fail(arena, err);
    for (job->n_modules = 0; job->n_modules < n; job->n_modules++) {
        const json_t *pair = json_array_get(map, job->n_modules);
        struct module *module = &job->modules[job->n_modules];
        module->name = json_string_value(json_array_get(pair, 0));
        module->id = json_string_value(json_array_get(pair, 1));
        module->image = NO_IMAGE;
        if (!module->name || !module->id)
            return fz_fail(err, FZ_E_MALFORMED,
                           "jobs[%zu].memoryMap[%zu]: not a pair of name and debug id", number,
                           job->n_modules);
    }
    return FZ_OK;
}

/* A frame's module, NULL for -1, and its offset. */
static bool
read_frame(const struct job *job, const json_t *pair, struct module **ret_module, uint64_t *ret)
{
    const json_t *index = json_array_get(pair, 0);
    json_int_t number = json_integer_value(index);
    if (!json_is_integer(index) || !json_scan_u64(json_array_get(pair, 1), ret) || number < -1 ||
        (number >= 0 && (uint64_t)number >= job->n_modules))
        return false;
    *ret_module = number < 0 ? NULL : &job->modules[number];
    return true;
}

static bool
is_sent(const struct module *module, uint64_t offset)
{
    return module && offset < MODULE_ROOM;
}

/* Checks every frame once, and numbers the modules that frames lie in. */
static enum fz_code
read_stacks(struct batch *batch, size_t number, struct fz_error *err)
{
    const struct job *job = &batch->jobs[number];
    if (!json_is_array(job->stacks))
        return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].stacks: not an array", number);
    for (size_t i = 0; i < json_array_size(job->stacks); i++) {
        const json_t *stack = json_array_get(job->stacks, i);
        if (!json_is_array(stack))
            return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].stacks[%zu]: not an array", number, i);
        for (size_t k = 0; k < json_array_size(stack); k++) {
            struct module *module;
            uint64_t offset;
            if (!read_frame(job, json_array_get(stack, k), &module, &offset))
                return fz_fail(err, FZ_E_MALFORMED,
                               "jobs[%zu].stacks[%zu][%zu]: not a pair of a module's number and "
                               "an offset",
                               number, i, k);
            if (!is_sent(module, offset))
                continue;
            batch->n_frames++;
            if (module->image != NO_IMAGE)
                continue;
            module->image = batch->n_images;
            batch->images[batch->n_images++] = module;
        }
    }
    return FZ_OK;
}

/* The request as jobs; borrows from batch->root, which the caller ends. */
static enum fz_code
read_batch(struct api_call *call, struct batch *ret, struct fz_error *err)
{
    const struct limits *limits = api_limits(call->api);
    struct json_scan_limits scan = {limits->json_depth, limits->report_memory,
                                    limits->report_memory};
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &ret->root, err);
    if (code)
        return code;
    const json_t *list = json_object_get(ret->root, "jobs");
    if (!json_is_object(ret->root) || (list && !json_is_array(list)))
        return fz_fail(err, FZ_E_MALFORMED, "%s: not an %s", list ? "jobs" : "the request",
                       list ? "array" : "object");
    ret->n_jobs = list ? json_array_size(list) : 1;
    if (ret->n_jobs > JOBS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "jobs: %zu, at most %d in one request", ret->n_jobs,
                       JOBS_MAX);
    ret->jobs = fz_arena_array(call->arena, ret->n_jobs, sizeof(*ret->jobs));
    if (!ret->jobs)
        return fz_arena_fail(call->arena, err);
    size_t n_modules = 0;
    for (size_t i = 0; i < ret->n_jobs && !code; i++) {
        const json_t *object = list ? json_array_get(list, i) : ret->root;
        ret->jobs[i].stacks = json_object_get(object, "stacks");
        code =
            read_modules(json_object_get(object, "memoryMap"), i, call->arena, &ret->jobs[i], err);
        n_modules += ret->jobs[i].n_modules;
    }
    ret->images = code ? NULL : fz_arena_array(call->arena, n_modules, sizeof(*ret->images));
    if (!code && !ret->images)
        code = fz_arena_fail(call->arena, err);
    for (size_t i = 0; i < ret->n_jobs && !code; i++)
        code = read_stacks(ret, i, err);
    if (!code && ret->n_frames > FRAMES_MAX)
        code = fz_fail(err, FZ_E_LIMIT, "stacks: %zu frames, at most %d in one request",
                       ret->n_frames, FRAMES_MAX);
    if (!code &&
        (ret->n_images > limits->images || ret->n_frames / limits->frames >= limits->threads))
        code = fz_fail(err, FZ_E_LIMIT, "%zu frames in %zu modules: more than a report may have",
                       ret->n_frames, ret->n_images);
    return code;
}

/* ---- the report ----------------------------------------------------------------------------- */

static uint64_t
address_of(const struct module *module, uint64_t offset)
{
    return (module->image + 1) * MODULE_ROOM + offset;
}

/* One frame more; a thread takes as many as a report may have in one. */
static void
write_frame(struct json_write *w, size_t *n, size_t max, uint64_t addr)
{
    if (*n % max == 0) {
        if (*n) {
            json_write_close(w, ']');
            json_write_close(w, '}');
        }
        json_write_open(w, NULL, '{');
        json_write_open(w, "frames", '[');
    }
    ++*n;
    json_write_open(w, NULL, '{');
    json_write_hex(w, "address", addr);
    json_write_bool(w, "adjusted", true);
    json_write_close(w, '}');
}

static void
write_threads(struct json_write *w, const struct batch *batch, size_t max)
{
    size_t n = 0;
    json_write_open(w, "threads", '[');
    for (size_t i = 0; i < batch->n_jobs; i++) {
        const json_t *stacks = batch->jobs[i].stacks;
        for (size_t k = 0; k < json_array_size(stacks); k++) {
            const json_t *stack = json_array_get(stacks, k);
            for (size_t f = 0; f < json_array_size(stack); f++) {
                struct module *module;
                uint64_t offset;
                if (read_frame(&batch->jobs[i], json_array_get(stack, f), &module, &offset) &&
                    is_sent(module, offset))
                    write_frame(w, &n, max, address_of(module, offset));
            }
        }
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
    json_write_close(w, ']');
}

static enum fz_code
write_report(struct api_call *call, const struct batch *batch, struct fz_span *ret,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text;
    fz_buffer_init(&text, 0);
    struct json_write w = json_write_start(&text);
    json_write_open(&w, NULL, '{');
    json_write_u64(&w, "framezero", 1);
    json_write_open(&w, "images", '[');
    for (size_t i = 0; i < batch->n_images; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "uuid", batch->images[i]->id);
        json_write_text(&w, "name", batch->images[i]->name);
        json_write_hex(&w, "address", address_of(batch->images[i], 0));
        json_write_u64(&w, "size", MODULE_ROOM);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    write_threads(&w, batch, api_limits(call->api)->frames);
    json_write_close(&w, '}');
    const char *copy = text.failed ? NULL : fz_arena_text(call->arena, fz_buffer_span(&text));
    if (!copy)
        return fz_arena_fail(call->arena, err);
    *ret = fz_span_make(copy, text.len);
    return FZ_OK;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* The frames of the finished report, one after the other. */
struct results {
    const struct report *report;
    size_t thread, frame;
};

static const struct report_frame *
next_result(struct results *results)
{
    const struct report *report = results->report;
    while (report && results->thread < report->n_threads) {
        const struct report_thread *thread = &report->threads[results->thread];
        if (results->frame < thread->n_frames)
            return &thread->frames[results->frame++];
        results->thread++;
        results->frame = 0;
    }
    return NULL;
}

static void
write_place(struct json_write *w, const struct report_symbol *symbol)
{
    json_write_text(w, "file", symbol->file);
    if (symbol->file && symbol->line)
        json_write_u64(w, "line", symbol->line);
}

/* The last symbol is the function that the frame belongs to, the others are inlined into it. */
static void
write_symbols(struct json_write *w, const struct report_frame *frame)
{
    if (!frame || frame->n_symbols == 0)
        return;
    const struct report_symbol *outer = &frame->symbols[frame->n_symbols - 1];
    json_write_text(w, "function", outer->function);
    json_write_hex(w, "function_offset", outer->has_offset ? outer->offset : 0);
    write_place(w, outer);
    if (frame->n_symbols == 1)
        return;
    json_write_open(w, "inlines", '[');
    for (size_t i = 0; i + 1 < frame->n_symbols; i++) {
        json_write_open(w, NULL, '{');
        json_write_text(w, "function", frame->symbols[i].function);
        write_place(w, &frame->symbols[i]);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static void
write_stack(struct json_write *w, const struct job *job, const json_t *stack,
            struct results *results)
{
    json_write_open(w, NULL, '[');
    for (size_t i = 0; i < json_array_size(stack); i++) {
        struct module *module = NULL;
        uint64_t offset = 0;
        (void)read_frame(job, json_array_get(stack, i), &module, &offset);
        json_write_open(w, NULL, '{');
        json_write_u64(w, "frame", i);
        json_write_text(w, "module", module ? module->name : "<unknown>");
        json_write_hex(w, "module_offset", offset);
        if (is_sent(module, offset))
            write_symbols(w, next_result(results));
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static enum report_image_state
state_of(const struct module *module, const struct report *report)
{
    return report && module->image < report->n_images ? report->images[module->image].state
                                                      : REPORT_IMAGE_UNUSED;
}

/* "Demo/4C4C...": found, not found, or null where no frame asked for it. */
static void
write_modules(struct json_write *w, const struct job *job, const struct report *report)
{
    bool any_failed = false;
    char key[512];
    json_write_open(w, "found_modules", '{');
    for (size_t i = 0; i < job->n_modules; i++) {
        enum report_image_state state = state_of(&job->modules[i], report);
        snprintf(key, sizeof(key), "%s/%s", job->modules[i].name, job->modules[i].id);
        any_failed = any_failed || state == REPORT_IMAGE_FAILED;
        if (state == REPORT_IMAGE_UNUSED)
            json_write_raw(w, key, "null");
        else
            json_write_bool(w, key, state == REPORT_IMAGE_FOUND);
    }
    json_write_close(w, '}');
    if (!any_failed)
        return;
    json_write_open(w, "module_errors", '{');
    for (size_t i = 0; i < job->n_modules; i++) {
        if (state_of(&job->modules[i], report) != REPORT_IMAGE_FAILED)
            continue;
        snprintf(key, sizeof(key), "%s/%s", job->modules[i].name, job->modules[i].id);
        json_write_raw(w, key,
                       "[{\"name\":\"MalformedSymbolFile\",\"message\":\"its symbol file cannot "
                       "be read\"}]");
    }
    json_write_close(w, '}');
}

/* `report` is NULL where no frame asks for a name. */
static enum fz_code
answer(struct api_call *call, const struct batch *batch, const struct report *report,
       struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text;
    fz_buffer_init(&text, 0);
    struct json_write w = json_write_start(&text);
    struct results results = {.report = report};
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "results", '[');
    for (size_t i = 0; i < batch->n_jobs; i++) {
        const struct job *job = &batch->jobs[i];
        json_write_open(&w, NULL, '{');
        json_write_open(&w, "stacks", '[');
        for (size_t k = 0; k < json_array_size(job->stacks); k++)
            write_stack(&w, job, json_array_get(job->stacks, k), &results);
        json_write_close(&w, ']');
        write_modules(&w, job, report);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    return api_answer(call, 200, &text, err);
}

static enum fz_code
finish(struct api_call *call, struct fz_span json, struct fz_error *err)
{
    FZ_CLEANUP(end_batch) struct batch batch = {0};
    struct report report;
    struct report_envelope envelope;
    enum fz_code code = read_batch(call, &batch, err);
    if (!code)
        code = report_load_json(json, call->arena, &report, &envelope, err);
    return code ? code : answer(call, &batch, &report, err);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* A token of the project, or none where the operator opened one project to all. */
static enum fz_code
find_project(struct api_call *call, int *ret_status, struct fz_error *err)
{
    const char *header = http_header(call->request, "Authorization");
    const char *key = http_header(call->request, "X-Framezero-Key");
    const char *token = header && strncmp(header, "Bearer ", 7) == 0 ? header + 7 : key;
    const char *open_to_all = api_open_symbols_project(call->api);
    struct api_grant grant;
    struct store_project project;
    enum fz_code code;
    if (token || !open_to_all) {
        code = api_authorize_token(call->api, call->request, token, STORE_SCOPE_READ, &grant,
                                   ret_status, err);
        if (!code)
            call->project_id = grant.project_id;
        return code;
    }
    code = store_project_find(call->store, open_to_all, call->arena, &project, err);
    if (!code)
        call->project_id = project.id;
    return code ? fz_wrap(err, "symbolicate-v5-project") : FZ_OK;
}

static enum fz_code
work(struct api_call *call, struct fz_error *err)
{
    FZ_CLEANUP(end_batch) struct batch batch = {0};
    struct fz_span report;
    int status = 0;
    enum fz_code code = find_project(call, &status, err);
    if (code && status) {
        http_respond_error_status(call->request, status, err, NULL);
        return FZ_OK;
    }
    if (!code)
        code = read_batch(call, &batch, err);
    if (!code && batch.n_frames == 0)
        return answer(call, &batch, NULL, err);
    if (!code)
        code = write_report(call, &batch, &report, err);
    return code ? code : api_symbolicate_body(call, report, finish, err);
}

static void
handle(void *app, struct http_request *request)
{
    api_run(app, request, work);
}

/* `error` is what the profiler shows. */
static void
write_error(const struct fz_error *err, int status, const char *detail_json, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    (void)status;
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "error", err->text);
    json_write_text(&w, "code", fz_code_name(err->code));
    json_write_raw(&w, "detail", detail_json);
    json_write_close(&w, '}');
}

static const struct api_route rows[] = {
    {.method = "POST",
     .pattern = "/symbolicate/v5",
     .body = API_BODY_REPORT,
     .name = "symbolicate_v5",
     .handle = handle,
     .flags = HTTP_ROUTE_CORS | HTTP_ROUTE_LOOSE,
     .write_error = write_error},
    {.method = "OPTIONS",
     .pattern = "/symbolicate/v5",
     .body = API_BODY_NONE,
     .name = "symbolicate_v5_options",
     .handle = api_cors_options,
     .flags = HTTP_ROUTE_CORS | HTTP_ROUTE_LOOSE},
};

const struct api_routes doors_symbolicate_v5 = {rows, FZ_ARRAY_LEN(rows)};
