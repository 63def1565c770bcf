/*
 * Frames are most of a report, and most of them are like the one before: what a frame has in common with it is copied from there, and
 * the keys that all of them have are made once.
 */
#include "server/report/render_frames.h"

#include "server/report/variables.h"

void
report_write_uuid(struct json_write *w, const char *key, const struct report_image *image)
{
    char text[FZ_UUID_TEXT];
    if (!image->has_uuid)
        return;
    /* Hexadecimal digits alone, as all UUIDs in the API. */
    fz_uuid_format(&image->uuid, text);
    json_write_text(w, key, text);
}

void
report_write_list(struct json_write *w, const char *key, const char *const *texts, size_t n)
{
    if (n == 0)
        return;
    json_write_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        json_write_text(w, NULL, texts[i]);
    json_write_close(w, ']');
}

static void
write_symbol(struct json_write *w, const struct report_symbol *symbol)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "function", symbol->function);
    /* C and most Objective-C names are not mangled: the same text twice helps no reader. */
    if (symbol->mangled && (!symbol->function || strcmp(symbol->mangled, symbol->function) != 0))
        json_write_text(w, "mangled", symbol->mangled);
    if (symbol->has_offset)
        json_write_u64(w, "offset", symbol->offset);
    json_write_text(w, "file", symbol->file);
    if (symbol->line)
        json_write_u64(w, "line", symbol->line);
    if (symbol->column)
        json_write_u64(w, "column", symbol->column);
    json_write_bool(w, "inlined", symbol->inlined);
    json_write_text(w, "source", symbol->source);
    report_write_list(w, "also", symbol->also, symbol->n_also);
    report_write_variables(w, symbol);
    json_write_close(w, '}');
}

/* The keys that all frames have. */
struct keys {
    struct json_key index, address, lookup_address, image_offset, symbols;
};

static struct keys
make_keys(void)
{
    return (struct keys){.index = json_key_make("index"),
                         .address = json_key_make("address"),
                         .lookup_address = json_key_make("lookup_address"),
                         .image_offset = json_key_make("image_offset"),
                         .symbols = json_key_make("symbols")};
}

/* What frames have in common with the frame before, which most have: pieces of the text that was written for it. */
struct shared {
    int image;
    struct json_piece of_image;
    enum report_frame_status status;
    enum report_trust trust;
    struct json_piece how;
    bool in_app;
    const char *rule;
    struct json_piece whose;
    struct json_piece plain; /* all from `status` on, of a frame without a name */
};

static void
write_image(struct json_write *w, const struct report *r, const struct report_frame *frame,
            struct shared *shared)
{
    /* Before it is resolved, a frame may have the number of an image that a limit cut. */
    if (frame->image < 0 || (size_t)frame->image >= r->n_images)
        return;
    if (shared->of_image.len && shared->image == frame->image) {
        json_write_again(w, &shared->of_image);
        return;
    }
    const struct report_image *image = &r->images[frame->image];
    size_t start = w->out->len;
    json_write_text(w, "image", image->name);
    report_write_uuid(w, "image_uuid", image);
    shared->image = frame->image;
    shared->of_image = json_write_piece(w, start);
}

static void
write_how(struct json_write *w, const struct report_frame *frame, struct shared *shared)
{
    if (shared->how.len && shared->status == frame->status && shared->trust == frame->trust) {
        json_write_again(w, &shared->how);
        return;
    }
    size_t start = w->out->len;
    json_write_text(w, "status", report_frame_status_names[frame->status]);
    json_write_text(w, "trust", report_trust_names[frame->trust]);
    shared->status = frame->status;
    shared->trust = frame->trust;
    shared->how = json_write_piece(w, start);
}

static void
write_whose(struct json_write *w, const struct report_frame *frame, struct shared *shared)
{
    if (shared->whose.len && shared->in_app == frame->in_app && shared->rule == frame->rule) {
        json_write_again(w, &shared->whose);
        return;
    }
    size_t start = w->out->len;
    json_write_bool(w, "in_app", frame->in_app);
    json_write_text(w, "rule", frame->rule);
    shared->in_app = frame->in_app;
    shared->rule = frame->rule;
    shared->whose = json_write_piece(w, start);
}

static bool
is_like_plain(const struct report_frame *frame, const struct shared *shared)
{
    return shared->plain.len && shared->status == frame->status && shared->trust == frame->trust &&
           shared->in_app == frame->in_app && shared->rule == frame->rule;
}

/* From `status` on. */
static void
write_rest(struct json_write *w, const struct report_frame *frame, const struct keys *keys,
           struct shared *shared)
{
    bool is_plain = frame->n_symbols == 0 && !frame->has_client_start && !frame->samples;
    if (is_plain && is_like_plain(frame, shared)) {
        json_write_again(w, &shared->plain);
        return;
    }
    size_t start = w->out->len;
    write_how(w, frame, shared);
    if (frame->n_symbols == 0) {
        json_write_key_empty(w, &keys->symbols);
    } else {
        json_write_open(w, "symbols", '[');
        for (size_t i = 0; i < frame->n_symbols; i++)
            write_symbol(w, &frame->symbols[i]);
        json_write_close(w, ']');
    }
    /* Without a name it still says which function it is. */
    if (frame->n_symbols == 0 && frame->has_client_start)
        json_write_hex(w, "symbol_address", frame->client_start);
    if (frame->samples)
        json_write_u64(w, "samples", frame->samples);
    write_whose(w, frame, shared);
    shared->plain = is_plain ? json_write_piece(w, start) : (struct json_piece){.len = 0};
}

static void
write_frame(struct json_write *w, const struct report *r, const struct report_frame *frame,
            size_t index, const struct keys *keys, struct shared *shared)
{
    json_write_open(w, NULL, '{');
    json_write_key_u64(w, &keys->index, index);
    json_write_key_hex(w, &keys->address, frame->addr);
    if (frame->status != REPORT_FRAME_UNRESOLVED)
        json_write_key_hex(w, &keys->lookup_address, frame->lookup_addr);
    write_image(w, r, frame, shared);
    if (frame->has_image_offset)
        json_write_key_hex(w, &keys->image_offset, frame->image_offset);
    write_rest(w, frame, keys, shared);
    if (frame->is_anchor)
        json_write_bool(w, "anchor", true);
    json_write_close(w, '}');
}

void
report_write_frames(struct json_write *w, const struct report *r, const struct report_frame *frames,
                    size_t n, size_t n_cut)
{
    struct shared shared = {.image = -1};
    const struct keys keys = make_keys();
    json_write_open(w, "frames", '[');
    for (size_t i = 0; i < n; i++)
        write_frame(w, r, &frames[i], i, &keys, &shared);
    json_write_close(w, ']');
    if (n_cut)
        json_write_u64(w, "frames_cut", n_cut);
}
