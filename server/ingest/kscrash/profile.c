/*
 * A profile: a table of frames, and samples that are lists of numbers into it.
 *
 *   "profile":{"frames":[{"instruction_addr":...},...],
 *              "threads":[{"index":0,"primary":true,"name":"main","samples":[{"frames":[0,2]},...]}]}
 *
 * Or `samples` at the top, of one thread. Samples of the same stack become one thread of the model
 * that counts them.
 */
#include <stdio.h>
#include <string.h>

#include "server/ingest/kscrash/kscrash.h"

enum { SLOTS_PER_THREAD = 2, FRAMES_HASHED = 1024 };

struct profile {
    struct ingest_builder *b;
    struct report_frame *frames;
    size_t n_frames;
    bool *sound; /* frames that have an address */
    /* Which thread of the model (number + 1, 0 = none) holds a stack, by its hash. */
    size_t *slots;
    size_t n_slots;
    size_t first; /* of the model's threads, those of this profile's thread */
};

/* The frames of a sample by number; other values are skipped. */
static size_t
numbers_of(const struct profile *p, const json_t *sample, size_t *ret, size_t max)
{
    const json_t *list = json_object_get(sample, "frames");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list) && n < max; i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
        /* A frame without an address would make all stacks through it one. */
        if (number >= 0 && (size_t)number < p->n_frames && p->sound[number])
            ret[n++] = (size_t)number;
    }
    return n;
}

static bool
is_same(const struct profile *p, const struct report_thread *thread, const size_t *numbers,
        size_t n)
{
    if (thread->n_frames != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (thread->frames[i].addr != p->frames[numbers[i]].addr)
            return false;
    }
    return true;
}

static void
add_stack(struct profile *p, const struct report_thread *origin, const size_t *numbers, size_t n)
{
    struct report *r = p->b->report;
    /* The step of FNV-1a: samples are short lists of small numbers, and a profile has thousands
     * of them. */
    uint64_t hash = 1469598103934665603ULL;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ numbers[i]) * 1099511628211ULL;
    size_t at = (size_t)(hash ^ hash >> 32) % p->n_slots;
    /* There are twice as many slots as threads can come: one is empty. */
    for (; p->slots[at]; at = (at + 1) % p->n_slots) {
        size_t number = p->slots[at] - 1;
        /* The slots are shared by all threads of the profile: the same stack in another one is
         * another. */
        if (number >= p->first && is_same(p, &r->threads[number], numbers, n)) {
            r->threads[number].samples++;
            return;
        }
    }
    struct report_frame *frames = ingest_alloc(p->b, n, sizeof(*frames));
    struct report_thread *thread = frames ? ingest_add_thread(p->b) : NULL;
    if (!thread)
        return;
    for (size_t i = 0; i < n; i++)
        frames[i] = p->frames[numbers[i]];
    p->slots[at] = r->n_threads;
    *thread = *origin;
    thread->index = (int64_t)r->n_threads - 1;
    thread->samples = 1;
    thread->frames = frames;
    thread->n_frames = n;
}

static void
read_samples(struct profile *p, const json_t *samples, const struct report_thread *origin)
{
    size_t max = p->b->limits->frames < FRAMES_HASHED ? p->b->limits->frames : FRAMES_HASHED;
    size_t *numbers = ingest_alloc(p->b, max, sizeof(*numbers));
    p->first = p->b->report->n_threads;
    for (size_t i = 0; i < json_array_size(samples) && !p->b->failed; i++) {
        size_t n = numbers_of(p, json_array_get(samples, i), numbers, max);
        if (n)
            add_stack(p, origin, numbers, n);
    }
}

static void
read_profile_threads(struct profile *p, const json_t *profile)
{
    const json_t *threads = json_object_get(profile, "threads");
    /* Of one thread only: the samples are at the top. */
    if (!json_is_array(threads)) {
        struct report_thread origin = {.crashed = false};
        read_samples(p, json_object_get(profile, "samples"), &origin);
        return;
    }
    for (size_t i = 0; i < json_array_size(threads) && !p->b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "profile.threads[%zu]", i);
        const json_t *object = json_array_get(threads, i);
        struct report_thread origin = {.name = ingest_json_text(p->b, object, where, "name")};
        read_samples(p, json_object_get(object, "samples"), &origin);
    }
}

static bool
read_table(struct profile *p, const json_t *list)
{
    size_t n = json_array_size(list);
    p->frames = ingest_alloc(p->b, n, sizeof(*p->frames));
    p->sound = ingest_alloc(p->b, n, sizeof(*p->sound));
    for (size_t i = 0; i < n && !p->b->failed; i++) {
        char where[INGEST_WHERE];
        snprintf(where, sizeof(where), "profile.frames[%zu]", i);
        /* Also those without an address: samples name frames by their place in this table. */
        p->frames[i] = (struct report_frame){.image = -1};
        p->sound[i] =
            ingest_kscrash_read_frame(p->b, json_array_get(list, i), where, &p->frames[i]);
    }
    p->n_frames = n;
    return !p->b->failed;
}

void
ingest_kscrash_read_profile(const struct ingest_kscrash *k)
{
    static const char *const known[] = {"frames", "samples", "threads", NULL};
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    const json_t *profile = ingest_json_member(b, k->error, "crash.error", "profile", JSON_OBJECT);
    const json_t *table = json_object_get(profile, "frames");
    if (!profile)
        return;
    ingest_add_extra(b, "profile", profile, known);
    /* The crash comes first: its threads are not replaced by samples. */
    if (!json_is_array(table) || r->n_threads >= b->limits->threads)
        return;
    struct profile p = {.b = b, .n_slots = b->limits->threads * SLOTS_PER_THREAD + 1};
    p.slots = ingest_alloc(b, p.n_slots, sizeof(*p.slots));
    if (!p.slots || !read_table(&p, table))
        return;
    read_profile_threads(&p, profile);
    if (b->n_threads_cut)
        ingest_note(b, "profile: %zu samples of other stacks than the first %zu are left out",
                    b->n_threads_cut, r->n_threads);
}
