#include "server/ingest/apple/metrickit.h"

#include "base/json/scan.h"

/* The frames from a root down to the current one. */
struct path {
    const json_t *frames[JSON_SCAN_DEPTH_MAX];
    size_t next[JSON_SCAN_DEPTH_MAX]; /* which of its subFrames is visited next */
    size_t depth;
};

struct stacks {
    struct ingest_builder *b;
    struct ingest_image_map images;
    bool sampled, root_is_oldest;
    size_t n_cut, n_bad;
    int64_t next_index; /* for stacks of a crash that branch after all */
};

/* Step to the next frame of the tree in order; false when the root has been left. */
static bool
advance(struct path *path)
{
    while (path->depth > 0) {
        const json_t *top = path->frames[path->depth - 1];
        const json_t *below = ingest_metrickit_below(top);
        const json_t *frame = json_array_get(below, path->next[path->depth - 1]++);
        if (frame && path->depth < JSON_SCAN_DEPTH_MAX) {
            path->frames[path->depth] = frame;
            path->next[path->depth++] = 0;
            return true;
        }
        /* Its callees are done: back to the caller's next one. */
        path->depth--;
    }
    return false;
}

static uint32_t
samples_of(const json_t *frame)
{
    uint64_t count;
    if (!json_scan_u64(json_object_get(frame, "sampleCount"), &count) || count > UINT32_MAX)
        return 0;
    return (uint32_t)count;
}

static bool
read_frame(struct stacks *s, const json_t *value, struct report_frame *ret)
{
    uint64_t offset;
    int image = ingest_metrickit_image_of(&s->images, value, &offset);
    bool has_addr = json_scan_u64(json_object_get(value, "address"), &ret->addr);
    if (!has_addr && image < 0)
        return false;
    if (image >= 0) {
        const struct report_image *in = &s->b->report->images[image];
        /* Frames without an address are found by UUID and offset alone. */
        if (!has_addr && __builtin_add_overflow(in->addr, offset, &ret->addr))
            return false;
        ret->image = image;
        ret->has_image_offset = true;
        ret->image_offset = offset;
    }
    ret->samples = s->sampled ? samples_of(value) : 0;
    return true;
}

/* One path from root to leaf as a thread, newest frame first. `index` in a crash: the stack's. */
static void
read_path(struct stacks *s, const struct path *path, int64_t index, bool attributed)
{
    struct ingest_builder *b = s->b;
    size_t n = path->depth;
    struct ingest_stack stack = ingest_stack_make(b, NULL, n);
    for (size_t i = 0; i < n - stack.n_cut && !b->failed; i++) {
        struct report_frame frame = {.image = -1};
        if (read_frame(s, path->frames[s->root_is_oldest ? n - 1 - i : i], &frame)) {
            ingest_stack_add(b, &stack, &frame);
        } else {
            s->n_bad++;
            /* What follows is a caller: its address is a return address. */
            stack.has_gap = true;
        }
    }
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    thread->index = s->sampled ? (int64_t)b->report->n_threads - 1 : index;
    thread->crashed = attributed;
    thread->samples = s->sampled ? samples_of(path->frames[n - 1]) : 0;
    ingest_set_stack(thread, &stack);
}

/* All paths of a tree. */
static void
read_tree(struct stacks *s, struct path *path, const json_t *root, int64_t index, bool attributed,
          size_t room)
{
    path->frames[0] = root;
    path->next[0] = 0;
    path->depth = 1;
    do {
        if (ingest_metrickit_below(path->frames[path->depth - 1]))
            continue;
        if (s->b->report->n_threads >= room) {
            s->n_cut++;
            continue;
        }
        read_path(s, path, index, attributed);
        /* A stack of a crash does not branch; if one does, only its first path is the thread. */
        attributed = false;
        index = s->next_index++;
    } while (!s->b->failed && advance(path));
}

/* What all paths have in common, from which follows how the trees are to be read. */
struct survey {
    size_t n_root, n_leaf; /* paths with that end where threads begin */
    bool branches;         /* some stack has more than one path */
};

static struct survey
survey_of(struct path *path, const json_t *stacks)
{
    struct survey survey = {0};
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        const json_t *roots = json_object_get(json_array_get(stacks, i), "callStackRootFrames");
        survey.branches = survey.branches || json_array_size(roots) > 1;
        for (size_t k = 0; k < json_array_size(roots); k++) {
            const json_t *root = path->frames[0] = json_array_get(roots, k);
            path->next[0] = 0;
            path->depth = 1;
            do {
                const json_t *frame = path->frames[path->depth - 1];
                const json_t *below = ingest_metrickit_below(frame);
                survey.branches = survey.branches || json_array_size(below) > 1;
                /* A stack of one frame has both ends in one: it says nothing of the direction. */
                if (below || frame == root)
                    continue;
                survey.n_root += ingest_metrickit_is_thread_start(root);
                survey.n_leaf += ingest_metrickit_is_thread_start(frame);
            } while (advance(path));
        }
    }
    return survey;
}

static void
read_all(struct stacks *s, struct path *path, const json_t *stacks)
{
    size_t max = s->b->limits->threads,
           crashed = ingest_json_crashed(stacks, NULL, "threadAttributed", -1);
    for (size_t i = 0; i < json_array_size(stacks) && !s->b->failed; i++) {
        const json_t *stack = json_array_get(stacks, i);
        const json_t *roots = json_object_get(stack, "callStackRootFrames");
        bool attributed = !s->sampled && i == crashed;
        if (json_array_size(roots) == 0)
            ingest_note(s->b, "callStacks[%zu]: no frames, left out", i);
        for (size_t k = 0; k < json_array_size(roots) && !s->b->failed; k++) {
            const json_t *root = json_array_get(roots, k);
            int64_t index = k == 0 ? (int64_t)i : s->next_index++;
            s->n_bad += !json_is_object(root);
            if (json_is_object(root))
                /* One place is kept for the crashed thread as long as it has not come. */
                read_tree(s, path, root, index, attributed && k == 0, i < crashed ? max - 1 : max);
        }
    }
}

void
ingest_metrickit_read_stacks(struct ingest_builder *b, const json_t *stacks,
                             enum ingest_metrickit_stacks kind)
{
    struct report *r = b->report;
    struct stacks s = {.b = b};
    struct path *path = ingest_alloc(b, 1, sizeof(*path));
    s.images = ingest_metrickit_images_make(b, stacks);
    if (b->failed)
        return;
    struct survey survey = survey_of(path, stacks);
    s.sampled = kind == METRICKIT_SAMPLED || (kind == METRICKIT_BY_LOOKING && survey.branches);
    s.next_index = (int64_t)json_array_size(stacks);
    /* Where neither end says it: trees of samples branch at the callers, which are shared. */
    if (s.sampled)
        /* Real payloads have trees in both directions. */
        s.root_is_oldest =
            survey.n_root != survey.n_leaf ? survey.n_root > survey.n_leaf : survey.branches;
    read_all(&s, path, stacks);
    if (s.n_cut)
        ingest_note(b, "callStacks: %zu stacks, of which %zu are kept", r->n_threads + s.n_cut,
                    r->n_threads);
    if (s.n_bad)
        ingest_note(b, "callStacks: %zu frames without an address, left out", s.n_bad);
    ingest_mark_crashed(r);
}
