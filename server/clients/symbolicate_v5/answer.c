/*
 * The answer of the Symbolication API: the request's stacks again, with the names that the finished
 * report has for them.
 */
#include <stdio.h>

#include "base/json/walk.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/clients/symbolicate_v5/symbolicate_v5.h"

/* The finished report's frames, one after the other. They are read as text: a tree of a large
 * report takes a hundred times its bytes, and the needed parts are copied verbatim. */
struct results {
    struct fz_arena *arena; /* for copies */
    struct json_walk threads, frames;
    const struct fz_span *states; /* of the images: "found" with its quotes */
    size_t n_states;
};

static struct fz_span
member_of(struct fz_span object, const char *key)
{
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, key))
            return member.value;
    }
    return (struct fz_span){NULL, 0};
}

/* The symbols of the next frame, as JSON. */
static struct fz_span
next_result(struct results *results)
{
    struct json_member item;
    /* The end of a thread is not the end of a stack: threads were cut at the limit of frames. */
    while (!json_walk_next_item(&results->frames, &item)) {
        if (!json_walk_next_item(&results->threads, &item))
            return (struct fz_span){NULL, 0};
        results->frames = json_walk_items(member_of(item.value, "frames"));
    }
    return member_of(item.value, "symbols");
}

static enum fz_code
read_results(const struct v5_batch *batch, struct fz_span report, struct fz_arena *arena,
             struct results *ret, struct fz_error *err)
{
    struct fz_span *states = fz_arena_array(arena, batch->n_images, sizeof(*states));
    struct json_walk images = json_walk_items(member_of(report, "images"));
    struct json_member item;
    if (!states)
        return fz_arena_fail(arena, err);
    *ret = (struct results){.arena = arena, .states = states};
    /* Images are in the order of the report that was made of the request. */
    while (ret->n_states < batch->n_images && json_walk_next_item(&images, &item))
        states[ret->n_states++] = member_of(item.value, "symbols");
    ret->threads = json_walk_items(member_of(report, "threads"));
    /* Empty, so that the first frame begins with the first thread. */
    ret->frames = json_walk_items((struct fz_span){NULL, 0});
    return FZ_OK;
}

/* A member, verbatim from the report; nothing without it. */
static void
copy(struct json_write *w, struct results *results, struct fz_span object, const char *key)
{
    struct fz_span value = member_of(object, key);
    /* The writer needs a NUL at the end. */
    const char *text = value.len ? fz_arena_text(results->arena, value) : NULL;
    /* Checked once at the end: a copy that failed must not become a missing name. */
    if (value.len && !text)
        w->out->failed = true;
    json_write_raw(w, key, text);
}

static void
write_place(struct json_write *w, struct results *results, struct fz_span symbol)
{
    copy(w, results, symbol, "function");
    copy(w, results, symbol, "file");
    copy(w, results, symbol, "line");
}

/* The last symbol is the function that the frame belongs to, the others are inlined into it. */
static void
write_symbols(struct json_write *w, struct results *results)
{
    /* Also if it is empty: the frames of report and request must stay in step. */
    struct fz_span symbols = next_result(results), outer = {NULL, 0};
    struct json_walk walk = json_walk_items(symbols);
    struct json_member item;
    size_t n = 0;
    uint64_t offset = 0;
    while (json_walk_next_item(&walk, &item)) {
        /* The array is walked twice, since its last element is written first. */
        outer = item.value;
        n++;
    }
    if (n == 0)
        return;
    write_place(w, results, outer);
    (void)fz_text_u64(member_of(outer, "offset"), &offset);
    /* The profiler parses offsets as hex texts. */
    json_write_hex(w, "function_offset", offset);
    if (n == 1)
        return;
    json_write_open(w, "inlines", '[');
    walk = json_walk_items(symbols);
    while (n-- > 1 && json_walk_next_item(&walk, &item)) {
        json_write_open(w, NULL, '{');
        write_place(w, results, item.value);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static void
write_stack(struct json_write *w, const struct v5_job *job, const json_t *stack,
            struct results *results)
{
    json_write_open(w, NULL, '[');
    for (size_t i = 0; i < json_array_size(stack); i++) {
        struct v5_module *module = NULL;
        uint64_t offset = 0;
        (void)clients_v5_frame(job, json_array_get(stack, i), &module, &offset);
        json_write_open(w, NULL, '{');
        json_write_u64(w, "frame", i);
        /* The profiler refuses an answer whose frames lack one of these three. */
        json_write_text(w, "module", module ? module->name : "<unknown>");
        json_write_hex(w, "module_offset", offset);
        if (clients_v5_is_sent(module, offset))
            write_symbols(w, results);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static bool
is_state(const struct v5_module *module, const struct results *results, const char *state)
{
    return module->image < results->n_states && fz_span_is(results->states[module->image], state);
}

/* "Demo/4C4C...": found, not found, or null where no frame asked for it. */
static void
write_modules(struct json_write *w, const struct v5_job *job, const struct results *results)
{
    bool any_failed = false;
    char key[512];
    json_write_open(w, "found_modules", '{');
    for (size_t i = 0; i < job->n_modules; i++) {
        const struct v5_module *module = &job->modules[i];
        /* The profiler finds its modules by this key. */
        snprintf(key, sizeof(key), "%s/%s", module->name, module->id);
        any_failed = any_failed || is_state(module, results, "\"failed\"");
        /* null: not asked for, which is neither found nor missing. */
        if (module->image >= results->n_states)
            json_write_null(w, key);
        else
            json_write_bool(w, key, is_state(module, results, "\"found\""));
    }
    json_write_close(w, '}');
    if (!any_failed)
        return;
    json_write_open(w, "module_errors", '{');
    for (size_t i = 0; i < job->n_modules; i++) {
        const struct v5_module *module = &job->modules[i];
        snprintf(key, sizeof(key), "%s/%s", module->name, module->id);
        if (is_state(module, results, "\"failed\""))
            json_write_raw(w, key,
                           "[{\"name\":\"MalformedSymbolFile\",\"message\":\"its symbol file "
                           "cannot be read\"}]");
    }
    json_write_close(w, '}');
}

enum fz_code
clients_v5_answer(const struct v5_batch *batch, struct fz_span report, struct fz_arena *arena,
                  struct fz_buffer *out, struct fz_error *err)
{
    struct results results;
    enum fz_code code = read_results(batch, report, arena, &results, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "results", '[');
    for (size_t i = 0; i < batch->n_jobs; i++) {
        const struct v5_job *job = &batch->jobs[i];
        json_write_open(&w, NULL, '{');
        json_write_open(&w, "stacks", '[');
        for (size_t k = 0; k < json_array_size(job->stacks); k++)
            write_stack(&w, job, json_array_get(job->stacks, k), &results);
        json_write_close(&w, ']');
        write_modules(&w, job, &results);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    return fz_buffer_done(out, err);
}
