/* Images of Apple's crash text: those that it lists, and those that only frames tell of. */
#include "server/ingest/text/image.h"
#include "server/ingest/text/parts.h"

void
ingest_text_add_image(struct ingest_text *c, const struct report_image *image)
{
    if (c->n_images == c->b->limits->images) {
        c->n_images_cut++;
        return;
    }
    c->images = ingest_text_grow(c->b, c->images, c->n_images, &c->room_images, sizeof(*c->images));
    if (c->images)
        c->images[c->n_images++] = *image;
}

bool
ingest_text_take_image(struct ingest_text *c, struct fz_span line)
{
    struct report_image image;
    if (!ingest_text_image_parse(c->b, line, &image))
        return false;
    if (ingest_text_image_is_nothing(&image))
        return true;
    ingest_text_add_image(c, &image);
    return true;
}

/* "...rameworkWithALongName": Apple's text cuts names of more than 30 characters in frames. */
static bool
is_cut_name(struct fz_span cut, const char *name)
{
    struct fz_span all = fz_span_cstr(name), tail;
    if (!fz_span_begins(cut, "...") || all.len < cut.len)
        return false;
    tail = fz_span_from(cut, 3);
    return tail.len && fz_span_equal(fz_span_from(all, all.len - tail.len), tail);
}

static bool
is_listed(const struct report *r, const struct ingest_text_hint *hint)
{
    for (size_t i = 0; i < r->n_images && hint->has_load; i++) {
        uint64_t addr = r->images[i].addr;
        if (addr <= hint->load && (addr == hint->load || hint->load - addr < r->images[i].size))
            return true;
    }
    for (size_t i = 0; i < r->n_images && hint->name.len && !hint->has_load; i++) {
        if (fz_span_is(hint->name, r->images[i].name ? r->images[i].name : "") ||
            fz_span_is(hint->name, r->images[i].bundle_id ? r->images[i].bundle_id : "") ||
            is_cut_name(hint->name, r->images[i].name))
            return true;
    }
    return false;
}

static void
number_frames(struct report_frame *frames, size_t n, const int *numbers)
{
    for (size_t i = 0; i < n; i++) {
        if (frames[i].image >= 0)
            frames[i].image = numbers[frames[i].image];
    }
}

/* Images that no list names are added, and the frames get numbers of images for those of hints. */
static void
settle_hints(struct ingest_builder *b, const struct ingest_text_hints *hints)
{
    struct report *r = b->report;
    size_t n_listed = r->n_images, n_added = 0;
    if (hints->n == 0 || b->failed)
        return;
    int *numbers = ingest_alloc(b, hints->n, sizeof(*numbers));
    struct report_image *images = ingest_alloc(b, n_listed + hints->n, sizeof(*images));
    if (!numbers || !images)
        return;
    if (n_listed)
        memcpy(images, r->images, n_listed * sizeof(*images));
    for (size_t i = 0; i < hints->n; i++) {
        const struct ingest_text_hint *hint = &hints->items[i];
        numbers[i] = -1; /* by its address, among those that the report lists */
        if (is_listed(r, hint) || n_listed + n_added == b->limits->images)
            continue;
        numbers[i] = (int)(n_listed + n_added);
        /* Without a load address it has a name only, and no address lies in it. */
        images[n_listed + n_added++] = (struct report_image){
            .name = ingest_text_copy(b, hint->name), .addr = hint->has_load ? hint->load : 0};
    }
    r->images = images;
    r->n_images = n_listed + n_added;
    for (size_t i = 0; i < r->n_threads; i++)
        number_frames(r->threads[i].frames, r->threads[i].n_frames, numbers);
    number_frames(r->exception_frames, r->n_exception_frames, numbers);
    if (n_added)
        report_note(r, b->arena, "images: %zu are known from the frames only, without a UUID",
                    n_added);
}

void
ingest_text_settle_images(struct ingest_text *c)
{
    struct report *r = c->b->report;
    if (c->b->failed)
        return;
    r->images = c->images;
    r->n_images = c->n_images;
    if (c->n_images_cut)
        report_note(r, c->b->arena, "images: %zu, of which %zu are kept",
                    c->n_images + c->n_images_cut, c->n_images);
    size_t n_without = 0;
    for (size_t i = 0; i < r->n_images; i++)
        n_without += !r->images[i].has_uuid;
    if (n_without)
        report_note(r, c->b->arena, "images: %zu of %zu have no UUID", n_without, r->n_images);
    settle_hints(c->b, &c->hints);
}
