/*
 * The request of the Symbolication API, and the report that is made of it.
 *
 * `serve` itself reads the request, with jansson after the checked scan: it is the JSON of an API
 * call, like the body of PUT /api/v1/project, and not a report that a device sent.
 *
 * Module i of the report starts at (i + 1) * 4 GiB, and frames are laid out one after the other in
 * threads as long as a report may have them; the answer is read in the same order.
 */
#include "server/clients/symbolicate_v5/symbolicate_v5.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/json/write.h"

static const uint64_t MODULE_ROOM = UINT64_C(1) << 32;

void
clients_v5_end(struct v5_batch *batch)
{
    json_decref(batch->root);
}

static enum fz_code
read_modules(const json_t *map, size_t number, struct fz_arena *arena, struct v5_job *job,
             struct fz_error *err)
{
    size_t n = json_array_size(map);
    if (!json_is_array(map))
        return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].memoryMap: not an array", number);
    job->modules = fz_arena_array(arena, n, sizeof(*job->modules));
    if (!job->modules)
        return fz_arena_fail(arena, err);
    for (job->n_modules = 0; job->n_modules < n; job->n_modules++) {
        /* ["Demo", "4C4C…0"]: what else a client adds is ignored. */
        const json_t *pair = json_array_get(map, job->n_modules);
        struct v5_module *module = &job->modules[job->n_modules];
        module->name = json_string_value(json_array_get(pair, 0));
        module->id = json_string_value(json_array_get(pair, 1));
        /* Numbered when its first frame is seen. */
        module->image = SIZE_MAX;
        if (!module->name || !module->id)
            return fz_fail(err, FZ_E_MALFORMED,
                           "jobs[%zu].memoryMap[%zu]: not a pair of name and debug id", number,
                           job->n_modules);
    }
    return FZ_OK;
}

/* A frame's module, NULL for -1, and its offset. */
bool
clients_v5_frame(const struct v5_job *job, const json_t *pair, struct v5_module **ret_module,
                 uint64_t *ret)
{
    const json_t *index = json_array_get(pair, 0);
    json_int_t number = json_integer_value(index);
    /* Offsets above 2^63 come as texts from the scanner, which json_scan_u64() reads. */
    if (!json_is_integer(index) || !json_scan_u64(json_array_get(pair, 1), ret) || number < -1 ||
        (number >= 0 && (uint64_t)number >= job->n_modules))
        return false;
    *ret_module = number < 0 ? NULL : &job->modules[number];
    return true;
}

bool
clients_v5_is_sent(const struct v5_module *module, uint64_t offset)
{
    return module && offset < MODULE_ROOM;
}

/* Checks every frame once, and numbers the modules that have frames. */
static enum fz_code
read_stacks(struct v5_batch *batch, size_t number, struct fz_error *err)
{
    const struct v5_job *job = &batch->jobs[number];
    if (!json_is_array(job->stacks))
        return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].stacks: not an array", number);
    for (size_t i = 0; i < json_array_size(job->stacks); i++) {
        const json_t *stack = json_array_get(job->stacks, i);
        if (!json_is_array(stack))
            return fz_fail(err, FZ_E_MALFORMED, "jobs[%zu].stacks[%zu]: not an array", number, i);
        for (size_t k = 0; k < json_array_size(stack); k++) {
            struct v5_module *module;
            uint64_t offset;
            if (!clients_v5_frame(job, json_array_get(stack, k), &module, &offset))
                return fz_fail(err, FZ_E_MALFORMED,
                               "jobs[%zu].stacks[%zu][%zu]: not a pair of a module's number and "
                               "an offset",
                               number, i, k);
            if (!clients_v5_is_sent(module, offset))
                continue;
            batch->n_frames++;
            if (module->image != SIZE_MAX)
                continue;
            /* Only modules with frames: a process has hundreds, and a report has a limit of images.
             */
            module->image = batch->n_images;
            batch->images[batch->n_images++] = module;
        }
    }
    return FZ_OK;
}

/* The request as jobs; borrows from batch->root, which the caller ends. */
enum fz_code
clients_v5_read(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
                struct v5_batch *ret, struct fz_error *err)
{
    struct json_scan_limits scan = {limits->json_depth, limits->report_memory,
                                    limits->report_memory};
    enum fz_code code = json_scan_load(body, &scan, NULL, &ret->root, err);
    if (code != FZ_OK)
        return code;
    /* One job may come without "jobs", as the specification of v5 allows. */
    const json_t *list = json_object_get(ret->root, "jobs");
    if (!json_is_object(ret->root) || (list && !json_is_array(list)))
        return fz_fail(err, FZ_E_MALFORMED, "%s: not an %s", list ? "jobs" : "the request",
                       list ? "array" : "object");
    ret->n_jobs = list ? json_array_size(list) : 1;
    if (ret->n_jobs > V5_JOBS_MAX)
        return fz_fail(err, FZ_E_LIMIT, "jobs: %zu, at most %d in one request", ret->n_jobs,
                       V5_JOBS_MAX);
    ret->jobs = fz_arena_array(arena, ret->n_jobs, sizeof(*ret->jobs));
    if (!ret->jobs)
        return fz_arena_fail(arena, err);
    size_t n_modules = 0;
    for (size_t i = 0; i < ret->n_jobs && code == FZ_OK; i++) {
        const json_t *object = list ? json_array_get(list, i) : ret->root;
        ret->jobs[i].stacks = json_object_get(object, "stacks");
        code = read_modules(json_object_get(object, "memoryMap"), i, arena, &ret->jobs[i], err);
        n_modules += ret->jobs[i].n_modules;
    }
    ret->images = code != FZ_OK ? NULL : fz_arena_array(arena, n_modules, sizeof(*ret->images));
    if (code == FZ_OK && !ret->images)
        code = fz_arena_fail(arena, err);
    for (size_t i = 0; i < ret->n_jobs && code == FZ_OK; i++)
        code = read_stacks(ret, i, err);
    if (code == FZ_OK && ret->n_frames > V5_FRAMES_MAX)
        code = fz_fail(err, FZ_E_LIMIT, "stacks: %zu frames, at most %d in one request",
                       ret->n_frames, V5_FRAMES_MAX);
    /* The report would be refused later, in words about a report that the client never saw. */
    if (code == FZ_OK &&
        (ret->n_images > limits->images || ret->n_frames / limits->frames >= limits->threads))
        code = fz_fail(err, FZ_E_LIMIT, "%zu frames in %zu modules: more than a report may have",
                       ret->n_frames, ret->n_images);
    return code;
}

/* ---- the report ----------------------------------------------------------------------------- */

static uint64_t
address_of(const struct v5_module *module, uint64_t offset)
{
    return (module->image + 1) * MODULE_ROOM + offset;
}

/* One frame more; a thread takes as many as a report may have in one. */
static void
write_frame(struct json_write *w, size_t *n, size_t max, uint64_t addr)
{
    /* A new thread begins where the last one is full. */
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
    /* The profiler has subtracted 1 from return addresses; a second time could name another
     * line. */
    json_write_bool(w, "adjusted", true);
    json_write_close(w, '}');
}

static void
write_threads(struct json_write *w, const struct v5_batch *batch, size_t max)
{
    size_t n = 0;
    json_write_open(w, "threads", '[');
    for (size_t i = 0; i < batch->n_jobs; i++) {
        const json_t *stacks = batch->jobs[i].stacks;
        for (size_t k = 0; k < json_array_size(stacks); k++) {
            const json_t *stack = json_array_get(stacks, k);
            for (size_t f = 0; f < json_array_size(stack); f++) {
                struct v5_module *module;
                uint64_t offset;
                if (clients_v5_frame(&batch->jobs[i], json_array_get(stack, f), &module, &offset) &&
                    clients_v5_is_sent(module, offset))
                    write_frame(w, &n, max, address_of(module, offset));
            }
        }
    }
    if (n) { /* the last thread */
        json_write_close(w, ']');
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

void
clients_v5_report(const struct v5_batch *batch, const struct limits *limits, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_u64(&w, "framezero", 1);
    json_write_open(&w, "images", '[');
    for (size_t i = 0; i < batch->n_images; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "uuid", batch->images[i]->id);
        json_write_text(&w, "name", batch->images[i]->name);
        json_write_hex(&w, "address", address_of(batch->images[i], 0));
        /* The real size is not known, and offsets up to 4 GiB must be inside. */
        json_write_u64(&w, "size", MODULE_ROOM);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    write_threads(&w, batch, limits->frames);
    json_write_close(&w, '}');
}
