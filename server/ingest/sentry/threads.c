/*
 * "threads": {"values":[{"id","name","crashed","current","main","state","stacktrace"}]}, and where
 * the exception's own stack belongs.
 *
 * A native crash carries the crashed thread's stack twice, in its thread and in the exception; one
 * of both may be missing. Two different stacks are two things: where the thread stood, and where
 * the exception was made.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/ingest/sentry/sentry.h"

/* The last one is known only while its frames hold nothing more. */
static const char *const known_thread[] = {"id",    "uuid",    "index",      "name",
                                           "state", "crashed", "stacktrace", NULL};

/* "id", which old SDKs called "uuid" (it was the number all the same). */
static int64_t
index_of(const json_t *object, size_t number)
{
    static const char *const keys[] = {"id", "uuid", "index"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);
        int64_t index;
        if (json_is_integer(value))
            return json_integer_value(value);
        if (json_is_string(value) &&
            fz_text_i64(fz_span_make(json_string_value(value), json_string_length(value)), &index))
            return index;
    }
    return (int64_t)number;
}

/* Members of a thread that the model has no place for, under the thread's number. */
static void
keep_rest(struct sentry *s, const json_t *object, int64_t index, bool has_more, json_t *rest)
{
    json_t *more = json_object();
    const char *key;
    json_t *value;
    char name[24];
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool known = json_is_null(value) || json_is_false(value);
        for (size_t i = 0; known_thread[i] && !known; i++)
            known = strcmp(key, known_thread[i]) == 0 && (known_thread[i + 1] || !has_more);
        if (!known && json_object_set(more, key, value) != 0)
            s->b.failed = true;
    }
    snprintf(name, sizeof(name), "%lld", (long long)index);
    if (!more || !rest || (json_object_size(more) && json_object_set(rest, name, more) != 0))
        s->b.failed = true;
    json_decref(more);
}

static void
take_thread(struct sentry *s, const json_t *object, size_t number, json_t *rest)
{
    struct ingest_builder *b = &s->b;
    struct report_thread *thread = &b->report->threads[b->report->n_threads++];
    struct sentry_stack stack;
    char where[INGEST_WHERE];
    snprintf(where, sizeof(where), "threads[%zu]", number);
    thread->index = index_of(object, number);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->state = ingest_json_text(b, object, where, "state");
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    if (!s->current && ingest_json_bool(b, object, where, "current", false))
        s->current = thread;
    sentry_take_stack(s, object, where, &stack);
    if (thread->crashed || (s->exception && thread->index == s->thread_id))
        sentry_adjust_crashed(s, &stack);
    thread->frames = stack.frames;
    thread->n_frames = stack.n_frames;
    thread->n_frames_cut = stack.n_frames_cut;
    thread->registers = stack.registers;
    thread->n_registers = stack.n_registers;
    keep_rest(s, object, thread->index, stack.has_more, rest);
}

/* The place of the thread that crashed in the list: the limit must not cut it off. */
static size_t
crashed_position(struct sentry *s, const json_t *list)
{
    size_t marked = 0;
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *object = json_array_get(list, i);
        if (!json_is_object(object))
            continue;
        if (s->thread_id >= 0 && index_of(object, i) == s->thread_id)
            return i;
        if (json_is_true(json_object_get(object, "crashed")))
            marked = i;
    }
    return marked;
}

static void
take_list(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct report *r = b->report;
    const json_t *list = s->threads;
    size_t max = ingest_limit(b, "threads", json_array_size(list), b->limits->threads);
    size_t crashed = crashed_position(s, list);
    /* One more: the exception's stack may be a thread that the list does not have. */
    r->threads = ingest_alloc(b, max + 1, sizeof(*r->threads));
    json_auto_t *rest = json_object();
    for (size_t i = 0; i < max && !b->failed; i++) {
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        const json_t *object = json_array_get(list, number);
        if (json_is_object(object))
            take_thread(s, object, number, rest);
        else
            report_note(r, b->arena, "threads[%zu]: not an object, left out", number);
    }
    ingest_add_extra(b, "threads", rest, NULL);
}

/* A number that no thread of the list has. */
static int64_t
free_index(const struct report *r)
{
    int64_t index = 0;
    for (size_t i = 0; i < r->n_threads; i++) {
        if (r->threads[i].index >= index && r->threads[i].index < INT64_MAX)
            index = r->threads[i].index + 1;
    }
    return index;
}

/* The thread that the exception is about. */
static struct report_thread *
thread_of_exception(const struct sentry *s)
{
    const struct report *r = s->b.report;
    struct report_thread *marked = NULL;
    for (size_t i = 0; i < r->n_threads; i++) {
        if (s->thread_id >= 0 && r->threads[i].index == s->thread_id)
            return &r->threads[i];
        if (r->threads[i].crashed && !marked)
            marked = &r->threads[i];
    }
    return marked ? marked : s->current;
}

static bool
is_same(const struct report_thread *thread, const struct sentry_stack *stack)
{
    bool same = thread->n_frames == stack->n_frames;
    for (size_t i = 0; same && i < stack->n_frames; i++)
        same = thread->frames[i].addr == stack->frames[i].addr;
    return same;
}

/* One stack that is told twice: each has what the other lacks. */
static void
merge(struct report_thread *thread, const struct sentry_stack *stack)
{
    for (size_t i = 0; i < stack->n_frames; i++) {
        struct report_frame *to = &thread->frames[i];
        const struct report_frame *from = &stack->frames[i];
        if (to->n_client)
            continue;
        to->client = from->client;
        to->n_client = from->n_client;
        to->client_start = from->client_start;
        to->has_client_start = from->has_client_start;
    }
    if (thread->n_registers < stack->n_registers) {
        thread->registers = stack->registers;
        thread->n_registers = stack->n_registers;
    }
    if (stack->n_frames && thread->frames[0].adjust == REPORT_ADJUST_AUTO)
        thread->frames[0].adjust = stack->frames[0].adjust;
}

static void
place_stack(struct sentry *s, const struct sentry_stack *stack)
{
    struct report *r = s->b.report;
    struct report_thread *thread = thread_of_exception(s);
    if (!thread) {
        thread = &r->threads[r->n_threads];
        thread->index = s->thread_id >= 0 ? s->thread_id : free_index(r);
        r->n_threads++;
    }
    if (s->thread_id >= 0 || thread->n_frames == 0)
        thread->crashed = true;
    if (thread->n_frames == 0) {
        thread->frames = stack->frames;
        thread->n_frames = stack->n_frames;
        thread->n_frames_cut = stack->n_frames_cut;
    }
    if (is_same(thread, stack)) {
        merge(thread, stack);
    } else if (stack->n_frames) {
        r->exception_frames = stack->frames;
        r->n_exception_frames = stack->n_frames;
        r->n_exception_frames_cut = stack->n_frames_cut;
    }
}

void
sentry_take_threads(struct sentry *s)
{
    struct report *r = s->b.report;
    struct sentry_stack stack = {0};
    take_list(s);
    /* Events of a bare message may have a stack of their own. */
    const json_t *owner = s->exception ? s->exception : s->root;
    sentry_take_stack(s, owner, s->exception ? "exception" : "event", &stack);
    sentry_adjust_crashed(s, &stack);
    if (!s->b.failed && (stack.n_frames || stack.n_registers))
        place_stack(s, &stack);
    if (s->thread_id >= 0)
        r->crash.thread = s->thread_id;
    else if (s->current && !thread_of_exception(s)->crashed)
        r->crash.thread = s->current->index;
    ingest_mark_crashed(r);
    sentry_take_chain(s, stack.has_more);
}
