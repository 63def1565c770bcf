#include "server/resolve/learned.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

struct unnamed {
    struct report_frame *frame;
    uint32_t offset;
};

static bool
is_unnamed(const struct report *report, const struct report_frame *frame)
{
    return frame->n_symbols == 0 && !frame->in_app && frame->image >= 0 &&
           report->images[frame->image].has_uuid && frame->has_image_offset &&
           frame->lookup_offset <= UINT32_MAX;
}

/* Count them, and note them if there is a list. */
static size_t
gather(const struct report *report, struct report_frame *frames, size_t n_frames,
       struct unnamed *list)
{
    size_t n = 0;
    for (size_t i = 0; i < n_frames; i++) {
        if (!is_unnamed(report, &frames[i]))
            continue;
        if (list)
            list[n] = (struct unnamed){&frames[i], (uint32_t)frames[i].lookup_offset};
        n++;
    }
    return n;
}

static size_t
gather_all(const struct report *report, struct unnamed *list)
{
    /* Counted with list NULL first, since the arena cannot grow an array. */
    size_t n = gather(report, report->exception_frames, report->n_exception_frames, list);
    for (size_t i = 0; i < report->n_threads; i++)
        n += gather(report, report->threads[i].frames, report->threads[i].n_frames,
                    list ? list + n : NULL);
    return n;
}

static int
compare(const void *a, const void *b)
{
    const struct unnamed *x = a, *y = b;
    if (x->frame->image != y->frame->image)
        return x->frame->image < y->frame->image ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The frames of one image, of which the first `n_asked` different offsets were asked for. */
static enum fz_code
apply(struct resolve_names *names, const struct unnamed *list, size_t n, const uint32_t *offsets,
      const struct resolve_learned *found, size_t n_asked, struct fz_error *err)
{
    for (size_t i = 0, at = 0; i < n; i++) {
        /* Both are in rising order: one pass over both. */
        while (at < n_asked && offsets[at] < list[i].offset)
            at++;
        if (at == n_asked)
            break;
        enum fz_code code = FZ_OK;
        /* A start after the address would give a negative offset. */
        if (found[at].name && found[at].start <= list[i].offset)
            code = resolve_names_found(names, found[at].name, found[at].start, list[i].frame, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* Ask for one image's frames, as far as `room` different offsets go. */
static enum fz_code
ask(struct resolve_names *names, const struct report *report, void *user,
    const struct unnamed *list, size_t n, size_t *room, struct fz_error *err)
{
    size_t n_asked = 0, max = n < *room ? n : *room;
    uint32_t *offsets = fz_arena_array(names->arena, max, sizeof(*offsets));
    struct resolve_learned *found = fz_arena_array(names->arena, max, sizeof(*found));
    if (!offsets || !found)
        return fz_arena_fail(names->arena, err);
    for (size_t i = 0; i < n && n_asked < max; i++) {
        /* Frames of several threads are at the same place, waiting: each offset once. */
        if (n_asked == 0 || offsets[n_asked - 1] != list[i].offset)
            offsets[n_asked++] = list[i].offset;
    }
    *room -= n_asked;
    enum fz_code code = names->options->learned(user, &report->images[list->frame->image], offsets,
                                                n_asked, found, err);
    return code == FZ_OK ? apply(names, list, n, offsets, found, n_asked, err) : code;
}

enum fz_code
resolve_names_learned(struct resolve_names *names, struct report *report, void *user,
                      struct fz_error *err)
{
    if (!names->options || !names->options->learned)
        return FZ_OK;
    size_t n = gather_all(report, NULL), room = RESOLVE_LEARNED_MAX;
    struct unnamed *list = fz_arena_array(names->arena, n, sizeof(*list));
    if (!list)
        return fz_arena_fail(names->arena, err);
    gather_all(report, list);
    if (n > 1)
        qsort(list, n, sizeof(*list), compare);
    /* By image: a question is about one image. */
    for (size_t i = 0, end; i < n && room > 0; i = end) {
        for (end = i + 1; end < n && list[end].frame->image == list[i].frame->image;)
            end++;
        enum fz_code code = ask(names, report, user, list + i, end - i, &room, err);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}
