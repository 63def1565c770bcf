/*
 * "threads": {"values":[{"id","name","crashed","current","main","state","stacktrace"}]}, and where
 * the exception's own stack belongs.
 *
 * A native crash has the crashed thread's stack twice, in its thread and in the exception; either
 * may be missing. Two different stacks are two facts: where the thread was, and where the exception
 * was created.
 */
#include <stdio.h>
#include <string.h>

#include "server/ingest/sentry/sentry.h"

/* The last one only while its frames have no unknown members. */
static const char *const known_thread[] = {"id",    "uuid",    "index",      "name",
                                           "state", "crashed", "stacktrace", NULL};

/* "id", which old SDKs called "uuid" (it was the number all the same). */
static const char *const index_keys[] = {"id", "uuid", "index", NULL};

/* Members of a thread that the model has no place for, under the thread's number. */
static void
add_rest(struct sentry *s, const json_t *object, int64_t index, json_t *rest)
{
    json_auto_t *more = json_object();
    const char *key;
    json_t *value;
    char name[24];
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        /* false is what a member means if it is absent: `main`, `current`. */
        bool known = json_is_null(value) || json_is_false(value);
        for (size_t i = 0; known_thread[i] && !known; i++)
            known = strcmp(key, known_thread[i]) == 0 && (known_thread[i + 1] || !s->has_more);
        if (!known)
            ingest_json_set(&s->b, more, key, json_incref(value));
    }
    snprintf(name, sizeof(name), "%lld", (long long)index);
    if (!more || json_object_size(more))
        ingest_json_set(&s->b, rest, name, json_incref(more));
}

static void
read_thread(struct sentry *s, const struct ingest_json_list *list, json_t *rest)
{
    struct ingest_builder *b = &s->b;
    const json_t *object = list->item;
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    /* Ids are KSCrash's indexes; they need not be the places in the list. */
    thread->index = ingest_json_thread_index(object, index_keys, list->number);
    thread->name = ingest_json_text(b, object, list->where, "name");
    thread->state = ingest_json_text(b, object, list->where, "state");
    thread->crashed = ingest_json_bool(b, object, list->where, "crashed", false);
    if (s->current < 0 && ingest_json_bool(b, object, list->where, "current", false))
        s->current = (int)b->report->n_threads - 1;
    sentry_read_stack(s, object, list->where, thread);
    if (thread->crashed || (s->exception && thread->index == s->thread_id))
        sentry_adjust_crashed(s, thread);
    add_rest(s, object, thread->index, rest);
}

static void
read_list(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct ingest_json_list list =
        ingest_json_list_start(b, s->threads, "threads", b->limits->threads);
    list.must = ingest_json_crashed(s->threads, index_keys, "crashed", s->thread_id);
    json_auto_t *rest = json_object();
    while (ingest_json_list_next_object(&list))
        read_thread(s, &list, rest);
    ingest_add_extra(b, "threads", rest, NULL);
}

/* The thread of the exception. */
static struct report_thread *
thread_of_exception(const struct sentry *s)
{
    const struct report *r = s->b.report;
    struct report_thread *marked = NULL;
    for (size_t i = 0; i < r->n_threads; i++) {
        /* An id is certain; the mark may be of the thread that reported. */
        if (s->thread_id >= 0 && r->threads[i].index == s->thread_id)
            return &r->threads[i];
        if (r->threads[i].crashed && !marked)
            marked = &r->threads[i];
    }
    return marked || s->current < 0 ? marked : &r->threads[s->current];
}

/* One stack that is there twice: each has what the other lacks. */
static void
merge(struct report_thread *thread, const struct report_thread *other)
{
    for (size_t i = 0; i < other->n_frames; i++) {
        struct report_frame *to = &thread->frames[i];
        const struct report_frame *from = &other->frames[i];
        /* The thread's own names count; the exception has the same ones or none. */
        if (to->n_client)
            continue;
        to->client = from->client;
        to->n_client = from->n_client;
        to->client_start = from->client_start;
        to->has_client_start = from->has_client_start;
    }
    /* Registers may be with one of both stacks only. */
    if (thread->n_registers < other->n_registers) {
        thread->registers = other->registers;
        thread->n_registers = other->n_registers;
    }
    if (other->n_frames && thread->frames[0].adjust == REPORT_ADJUST_AUTO)
        thread->frames[0].adjust = other->frames[0].adjust;
}

static void
place_stack(struct sentry *s, const struct report_thread *own)
{
    struct report *r = s->b.report;
    const struct ingest_stack stack = {
        .frames = own->frames, .n = own->n_frames, .n_cut = own->n_frames_cut};
    struct report_thread *thread = thread_of_exception(s);
    int64_t index = s->thread_id >= 0 ? s->thread_id : ingest_free_index(r);
    if (!thread && (thread = ingest_add_thread(&s->b)))
        thread->index = index;
    if (!thread) { /* beyond the limit */
        ingest_set_exception_stack(r, &stack);
        return;
    }
    /* Without an id the exception may be of another thread than the one that sent the event. */
    if (s->thread_id >= 0 || thread->n_frames == 0)
        thread->crashed = true;
    if (thread->n_frames == 0)
        ingest_set_stack(thread, &stack);
    if (ingest_same_stack(thread->frames, thread->n_frames, own->frames, own->n_frames))
        /* sentry-cocoa sends a crashed thread's stack in both places. */
        merge(thread, own);
    else if (own->n_frames)
        ingest_set_exception_stack(r, &stack);
}

void
sentry_read_threads(struct sentry *s)
{
    struct report *r = s->b.report;
    struct report_thread own = {0}; /* the stack of the exception */
    read_list(s);
    /* An event with a message only may have a stack of its own. */
    const json_t *owner = s->exception ? s->exception : s->root;
    sentry_read_stack(s, owner, s->exception ? "exception" : "event", &own);
    sentry_adjust_crashed(s, &own);
    if (!s->b.failed && (own.n_frames || own.n_registers))
        place_stack(s, &own);
    if (s->thread_id >= 0)
        r->crash.thread = s->thread_id;
    else if (s->current >= 0 && !thread_of_exception(s)->crashed)
        r->crash.thread = r->threads[s->current].index;
    ingest_mark_crashed(r);
    /* Last: has_more is known once the exception's frames are read. */
    sentry_read_chain(s, s->has_more);
}
