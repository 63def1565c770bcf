/*
 * The stored form of a stack: what identifies it, without addresses and lines.
 *
 *   u8 version, u8 source
 *   texts     uleb n, n × (uleb length, bytes)
 *   class     refs of kind, exception, trap, termination, message, fingerprint, app
 *   images    uleb n, n × (ref name, ref path, u8 origin)
 *   frames    uleb n, n × (u8 flags, uleb image + 1, refs of name, module, file;
 *                          with PLACE also 16 bytes UUID, uleb offset)
 *
 * A ref is the uleb number of a text from 1, 0 for none. Each text is written once, in the order of
 * its first use, so the bytes depend on the stack only.
 */
#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "server/group/group.h"

enum { VERSION = 1, CLASS_TEXTS = 7, TEXTS_MAX = 6 * GROUP_FRAMES_MAX, TEXT_BYTES = 4096 };
enum { INLINED = 1, ARTIFICIAL = 2, AWAITS = 4, PLACE = 8, FLAGS = 16 };

/* ---- texts ---- */

struct texts {
    const char *list[TEXTS_MAX];
    uint32_t hashes[TEXTS_MAX];
    size_t n;
    bool failed; /* more than a decoder takes */
};

static void
put_uleb(struct fz_buffer *out, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)(value & 0x7f);
        value >>= 7;
        fz_buffer_char(out, (char)(value ? byte | 0x80 : byte));
    } while (value);
}

/* FNV-1a: most texts differ in it, so that few are compared. */
static uint32_t
text_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

/* The number of the text from 1; 0 for NULL. */
static size_t
text_ref(struct texts *texts, const char *text)
{
    if (!text)
        return 0;
    uint32_t hash = text_hash(text);
    for (size_t i = 0; i < texts->n; i++) {
        if (texts->hashes[i] == hash && strcmp(texts->list[i], text) == 0)
            return i + 1;
    }
    if (texts->n == TEXTS_MAX) {
        texts->failed = true;
        return 0;
    }
    texts->list[texts->n] = text;
    texts->hashes[texts->n++] = hash;
    return texts->n;
}

/* ---- encoding ---- */

static void
put_frame(struct fz_buffer *out, struct texts *texts, const struct group_frame *frame)
{
    unsigned flags = (frame->is_inlined ? INLINED : 0) | (frame->is_artificial ? ARTIFICIAL : 0) |
                     (frame->awaits_symbols ? AWAITS : 0) | (frame->has_place ? PLACE : 0);
    const char *refs[] = {frame->name, frame->module, frame->file};
    fz_buffer_char(out, (char)flags);
    put_uleb(out, (uint64_t)(frame->image + 1));
    for (size_t i = 0; i < FZ_ARRAY_LEN(refs); i++)
        put_uleb(out, text_ref(texts, refs[i]));
    if (!frame->has_place)
        return;
    fz_buffer_append(out, frame->uuid.bytes, sizeof(frame->uuid.bytes));
    put_uleb(out, frame->offset);
}

void
group_stack_encode(const struct group_stack *stack, struct fz_buffer *out)
{
    struct texts texts = {.n = 0};
    const char *of_class[CLASS_TEXTS] = {stack->kind,        stack->exception, stack->trap,
                                         stack->termination, stack->message,   stack->fingerprint,
                                         stack->app};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(GROUP_STACK_BYTES);
    for (size_t i = 0; i < CLASS_TEXTS; i++)
        put_uleb(&body, text_ref(&texts, of_class[i]));
    put_uleb(&body, stack->n_images);
    for (size_t i = 0; i < stack->n_images; i++) {
        put_uleb(&body, text_ref(&texts, stack->images[i].name));
        put_uleb(&body, text_ref(&texts, stack->images[i].path));
        fz_buffer_char(&body, (char)stack->images[i].origin);
    }
    put_uleb(&body, stack->n_frames);
    for (size_t i = 0; i < stack->n_frames; i++)
        put_frame(&body, &texts, &stack->frames[i]);
    fz_buffer_char(out, VERSION);
    fz_buffer_char(out, (char)stack->source);
    put_uleb(out, texts.n);
    for (size_t i = 0; i < texts.n; i++) {
        size_t len = strnlen(texts.list[i], TEXT_BYTES);
        while (texts.list[i][len] && ((uint8_t)texts.list[i][len] & 0xc0) == 0x80)
            len--; /* not inside a character */
        put_uleb(out, len);
        fz_buffer_append(out, texts.list[i], len);
    }
    fz_buffer_append(out, body.data, body.len);
    out->failed = out->failed || body.failed || texts.failed;
}

/* ---- decoding ---- */

struct decoder {
    struct fz_reader in;
    struct fz_arena *arena;
    const char **texts;
    size_t n_texts;
    bool is_out_of_memory;
};

static void
expect(struct decoder *d, bool holds)
{
    if (d->in.failed || holds)
        return;
    d->in.failed = true;
    d->in.bad_offset = d->in.pos;
}

/* n zeroed records of which each has at least `record` bytes; NULL if they cannot be. */
static void *
room(struct decoder *d, uint64_t n, size_t record, size_t size)
{
    if (!fz_read_fits(&d->in, n, record))
        return NULL;
    void *list = fz_arena_array(d->arena, (size_t)n, size);
    d->is_out_of_memory = d->is_out_of_memory || !list;
    expect(d, list != NULL);
    return list;
}

static void
get_texts(struct decoder *d)
{
    uint64_t n = fz_read_uleb(&d->in);
    expect(d, n <= TEXTS_MAX);
    d->texts = room(d, n, 1, sizeof(*d->texts));
    for (size_t i = 0; i < n && !d->in.failed; i++) {
        uint64_t len = fz_read_uleb(&d->in);
        expect(d, len <= TEXT_BYTES);
        struct fz_span bytes = fz_read_bytes(&d->in, d->in.failed ? 0 : len);
        expect(d, fz_text_is_utf8(bytes) && !(bytes.len && memchr(bytes.data, 0, bytes.len)));
        if (d->in.failed)
            return;
        d->texts[d->n_texts++] = fz_arena_text(d->arena, bytes);
        d->is_out_of_memory = d->is_out_of_memory || !d->texts[i];
        expect(d, d->texts[i] != NULL);
    }
}

static const char *
get_ref(struct decoder *d)
{
    uint64_t ref = fz_read_uleb(&d->in);
    expect(d, ref <= d->n_texts);
    return d->in.failed || ref == 0 ? NULL : d->texts[ref - 1];
}

static void
get_images(struct decoder *d, struct group_stack *stack)
{
    uint64_t n = fz_read_uleb(&d->in);
    expect(d, n <= GROUP_FRAMES_MAX);
    stack->images = room(d, n, 3, sizeof(*stack->images));
    stack->n_images = d->in.failed ? 0 : (size_t)n;
    for (size_t i = 0; i < stack->n_images && !d->in.failed; i++) {
        struct group_image *image = &stack->images[i];
        image->name = get_ref(d);
        image->path = get_ref(d);
        unsigned origin = fz_read_u8(&d->in);
        expect(d, origin < GROUP_ORIGINS);
        image->origin = (enum group_origin)origin;
    }
}

static void
get_frame(struct decoder *d, const struct group_stack *stack, struct group_frame *frame)
{
    unsigned flags = fz_read_u8(&d->in);
    uint64_t image = fz_read_uleb(&d->in);
    expect(d, flags < FLAGS && image <= stack->n_images);
    *frame = (struct group_frame){.image = d->in.failed ? -1 : (int)image - 1,
                                  .is_inlined = flags & INLINED,
                                  .is_artificial = flags & ARTIFICIAL,
                                  .awaits_symbols = flags & AWAITS,
                                  .has_place = flags & PLACE};
    frame->name = get_ref(d);
    frame->module = get_ref(d);
    frame->file = get_ref(d);
    if (!frame->has_place)
        return;
    struct fz_span uuid = fz_read_bytes(&d->in, sizeof(frame->uuid.bytes));
    if (!d->in.failed)
        memcpy(frame->uuid.bytes, uuid.data, sizeof(frame->uuid.bytes));
    frame->offset = fz_read_uleb(&d->in);
}

static void
get_stack(struct decoder *d, struct group_stack *stack)
{
    unsigned version = fz_read_u8(&d->in), source = fz_read_u8(&d->in);
    expect(d, version == VERSION && source < GROUP_SOURCES);
    stack->source = (enum group_source)source;
    get_texts(d);
    const char **of_class[CLASS_TEXTS] = {
        &stack->kind,    &stack->exception,   &stack->trap, &stack->termination,
        &stack->message, &stack->fingerprint, &stack->app};
    for (size_t i = 0; i < CLASS_TEXTS; i++)
        *of_class[i] = get_ref(d);
    expect(d, stack->kind != NULL);
    get_images(d, stack);
    uint64_t n = fz_read_uleb(&d->in);
    expect(d, n <= GROUP_FRAMES_MAX);
    stack->frames = room(d, n, 5, sizeof(*stack->frames));
    stack->n_frames = d->in.failed ? 0 : (size_t)n;
    for (size_t i = 0; i < stack->n_frames && !d->in.failed; i++)
        get_frame(d, stack, &stack->frames[i]);
    expect(d, fz_read_left(&d->in) == 0);
}

enum fz_code
group_stack_decode(struct fz_span bytes, struct fz_arena *arena, struct group_stack *ret,
                   struct fz_error *err)
{
    struct decoder d = {.in = fz_reader_make(bytes, "stack"), .arena = arena};
    struct group_stack stack = {.n_frames = 0};
    if (bytes.len > GROUP_STACK_BYTES)
        return fz_fail(err, FZ_E_MALFORMED, "stack: %zu bytes, at most %d", bytes.len,
                       GROUP_STACK_BYTES);
    get_stack(&d, &stack);
    if (d.is_out_of_memory)
        return fz_arena_fail(arena, err);
    enum fz_code code = fz_read_done(&d.in, err);
    if (code == FZ_OK)
        *ret = stack;
    return code;
}
