/*
 * Writes names into the frames of an .ips; all other bytes stay as they are:
 *
 *   {"imageOffset":16488,"imageIndex":0}
 *   {"imageOffset":16488,"imageIndex":0,"symbol":"work_step","symbolLocation":8,
 *    "sourceFile":"work.c","sourceLine":5}
 *
 * Inlined calls become objects before their caller's, as Apple's tools write them. An object is
 * matched with a frame of the model by its thread, its order and its offset.
 */
#include "server/report/annotate/parts.h"

#include "base/json/walk.h"
#include "base/json/write.h"
#include "base/text.h"
#include "server/report/annotate/line.h"
#include "server/report/apple.h"

enum { STARTS_MAX = 16 };

struct writer {
    const struct report *r;
    struct fz_span raw;
    size_t copied; /* bytes of raw that are written or left out */
    struct fz_buffer *out;
    size_t n_found;
};

/* One object of "frames". */
struct element {
    struct fz_span all;
    uint64_t offset, index;
    bool has_offset, has_index, inlined;
    bool broken; /* a member has no value: nothing can be written after it */
    struct annotate_named named;
};

static size_t
place_of(const struct writer *w, struct fz_span part)
{
    return (size_t)(part.data - w->raw.data);
}

/* Copy the bytes up to `at` that are not written yet. */
static void
copy_until(struct writer *w, size_t at)
{
    if (at > w->copied)
        fz_buffer_append(w->out, w->raw.data + w->copied, at - w->copied);
    w->copied = at > w->copied ? at : w->copied;
}

static bool
is_text(struct fz_span value)
{
    /* Apple writes these two where it does not know or hides a name. */
    return value.len > 2 && *value.data == '"' && !fz_span_is(value, "\"<redacted>\"") &&
           !fz_span_is(value, "\"???\"");
}

static struct element
read_element(struct fz_span all)
{
    struct element e = {.all = all};
    struct json_walk walk = json_walk_start(all);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* A file that was cut ends inside an object. */
        e.broken = e.broken || !member.value.len;
        if (fz_span_is(member.key, "imageOffset"))
            e.has_offset = fz_text_u64(member.value, &e.offset);
        else if (fz_span_is(member.key, "imageIndex"))
            e.has_index = fz_text_u64(member.value, &e.index);
        else if (fz_span_is(member.key, "inline"))
            e.inlined = fz_span_is(member.value, "true");
        else if (fz_span_is(member.key, "symbol"))
            e.named.has_name = is_text(member.value);
        else if (fz_span_is(member.key, "sourceFile"))
            e.named.has_place = is_text(member.value);
    }
    return e;
}

/* The members of a symbol; each is written only if it is known. */
enum { N_KEYS = 4 };
static const char *const keys[N_KEYS] = {"symbol", "symbolLocation", "sourceFile", "sourceLine"};

/* Append the value of keys[i]; false if the symbol has none. */
static bool
put_value(struct fz_buffer *out, const struct report_symbol *symbol, size_t i)
{
    switch (i) {
    case 0:
        fz_text_json_append(out, fz_span_cstr(report_apple_function(symbol)));
        return true;
    case 1:
        /* Apple's tools write 0 for inlined calls. */
        if (!symbol->has_offset && !symbol->inlined)
            return false;
        fz_buffer_printf(out, "%llu",
                         (unsigned long long)(symbol->has_offset ? symbol->offset : 0));
        return true;
    case 2:
        if (symbol->file)
            fz_text_json_append(out, fz_span_cstr(fz_text_base_name(symbol->file)));
        return symbol->file != NULL;
    default:
        if (symbol->file)
            fz_buffer_printf(out, "%u", symbol->line);
        return symbol->file != NULL;
    }
}

static int
key_number(struct fz_span key)
{
    for (int i = 0; i < N_KEYS; i++) {
        if (fz_span_is(key, keys[i]))
            return i;
    }
    return -1;
}

/* The object with the values of the symbol: they replace its own, or follow its last member. */
static void
put_element(struct writer *w, const struct element *e, const struct report_symbol *symbol)
{
    struct json_walk walk = json_walk_start(e->all);
    struct json_member member;
    bool written[N_KEYS] = {false};
    size_t end = 0; /* of the last member */
    copy_until(w, place_of(w, e->all));
    while (json_walk_next(&walk, &member)) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer value = fz_buffer_make(0);
        int key = key_number(member.key);
        end = place_of(w, member.value) + member.value.len;
        /* Members that are not about the name stay, also unknown ones. */
        if (key < 0 || !put_value(&value, symbol, (size_t)key))
            continue;
        written[key] = true;
        copy_until(w, place_of(w, member.value));
        fz_buffer_append(w->out, value.data, value.len);
        w->copied = end;
    }
    copy_until(w, end);
    for (size_t i = 0; i < N_KEYS; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer value = fz_buffer_make(0);
        if (!written[i] && put_value(&value, symbol, i)) {
            fz_buffer_char(w->out, ',');
            fz_text_json_append(w->out, fz_span_cstr(keys[i]));
            fz_buffer_char(w->out, ':');
            fz_buffer_append(w->out, value.data, value.len);
        }
    }
    copy_until(w, place_of(w, e->all) + e->all.len);
}

static void
put_inlined(struct writer *w, const struct element *e, const struct report_symbol *symbol)
{
    struct json_write json = json_write_start(w->out);
    json_write_open(&json, NULL, '{');
    json_write_u64(&json, "imageOffset", e->offset);
    for (size_t i = 0; i < N_KEYS; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer value = fz_buffer_make(0);
        if (put_value(&value, symbol, i))
            json_write_raw(&json, keys[i], fz_buffer_cstr(&value));
    }
    if (e->has_index)
        json_write_u64(&json, "imageIndex", e->index);
    json_write_bool(&json, "inline", true);
    json_write_close(&json, '}');
}

/* `first` to `last` are the objects of one frame: its inlined calls, then itself. Objects of
 * inlined calls that came are replaced. */
static void
put_frame(struct writer *w, const struct element *first, const struct element *last,
          const struct report_frame *frame)
{
    /* The objects of the inlined calls that came are left out: those of the symbol file replace
     * them. */
    size_t start = place_of(w, first->all), space = start;
    copy_until(w, start);
    /* Added objects get the white space of the first one: a file that was formatted stays so. */
    while (space > 0 && (w->raw.data[space - 1] == ' ' || w->raw.data[space - 1] == '\n' ||
                         w->raw.data[space - 1] == '\r' || w->raw.data[space - 1] == '\t'))
        space--;
    for (size_t k = 0; k + 1 < frame->n_symbols; k++) {
        put_inlined(w, last, &frame->symbols[k]);
        fz_buffer_char(w->out, ',');
        fz_buffer_append(w->out, w->raw.data + space, start - space);
    }
    w->copied = place_of(w, last->all);
    put_element(w, last, &frame->symbols[frame->n_symbols - 1]);
}

static bool
is_of(const struct report_frame *frame, const struct element *e)
{
    return (frame->has_image_offset && frame->image_offset == e->offset) ||
           frame->addr == e->offset;
}

static void
annotate_frames(struct writer *w, struct fz_span list, const struct report_frame *frames, size_t n)
{
    struct json_walk walk = json_walk_items(list);
    struct json_member item;
    struct element first = {.has_offset = false};
    bool open = false; /* `first` is an inlined call of the frame that is read */
    size_t number = 0;
    bool more = json_walk_next_item(&walk, &item) && item.complete;
    while (more && number < n) {
        struct element e = read_element(item.value), next = {.has_offset = false};
        more = json_walk_next_item(&walk, &item) && item.complete;
        if (more)
            next = read_element(item.value);
        /* ingest leaves objects without an offset out, so the model has no frame for them. */
        if (!e.has_offset)
            continue;
        /* A file that was symbolicated before has objects for inlined calls already. */
        bool joins = e.inlined && next.has_offset && next.offset == e.offset &&
                     next.index == e.index && next.has_index == e.has_index;
        if (!open)
            first = e;
        first.named.has_name = first.named.has_name || e.named.has_name;
        first.named.has_place = first.named.has_place || e.named.has_place;
        open = joins;
        if (joins)
            continue;
        const struct report_frame *frame = &frames[number++];
        /* The model and the text differ here: writing a name could name the wrong call. */
        if (!is_of(frame, &e))
            continue;
        w->n_found++;
        if (!e.broken && annotate_is_better(frame, first.named))
            put_frame(w, &first, &e, frame);
    }
}

static void
annotate_threads(struct writer *w, struct fz_span list)
{
    const struct report *r = w->r;
    struct json_walk walk = json_walk_items(list);
    struct json_member item, member;
    size_t next = 0;
    /* Threads of an .ips have no number of their own: they are counted. */
    for (int64_t number = 0; json_walk_next_item(&walk, &item) && next < r->n_threads; number++) {
        /* A limit may have cut threads from the model; those left are in the order of the file. */
        const struct report_thread *thread = &r->threads[next];
        if (thread->index != number)
            continue;
        next++;
        struct json_walk members = json_walk_start(item.value);
        while (json_walk_next(&members, &member)) {
            if (fz_span_is(member.key, "frames"))
                annotate_frames(w, member.value, thread->frames, thread->n_frames);
        }
    }
}

/* Is this the object that the frames are in? *ret_header: it has the keys of a header. */
static bool
is_body(struct fz_span text, bool *ret_header)
{
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    bool threads = false, images = false;
    *ret_header = false;
    while (json_walk_next(&walk, &member)) {
        threads = threads || fz_span_is(member.key, "threads");
        images = images || fz_span_is(member.key, "usedImages");
        /* Some tools send the body alone, others both objects. */
        *ret_header = *ret_header || fz_span_is(member.key, "bug_type") ||
                      fz_span_is(member.key, "incident_id");
    }
    return threads && images;
}

/* The start of the .ips, and of its body; false without one. A text may precede it. */
static bool
find_body(struct fz_span raw, size_t *ret_start, size_t *ret_body)
{
    size_t header = SIZE_MAX;
    unsigned n = 0;
    for (size_t at = 0; at < raw.len && n < STARTS_MAX; at++) {
        /* At 3: after a byte order mark. */
        bool is_header, starts_line = at == 0 || raw.data[at - 1] == '\n' || at == 3;
        if (raw.data[at] == '{' && starts_line) {
            n++;
            if (is_body(fz_span_from(raw, at), &is_header)) {
                *ret_start = header != SIZE_MAX ? header : at;
                *ret_body = at;
                return true;
            }
            if (is_header)
                header = at;
        }
        /* Only at the start of lines, so that a long text before costs one pass. */
        const uint8_t *line = memchr(raw.data + at, '\n', raw.len - at);
        if (at > 3 || !line) /* a byte order mark may be before the first brace */
            at = line ? (size_t)(line - raw.data) : raw.len;
    }
    return false;
}

size_t
annotate_ips(const struct report *report, struct fz_span raw, struct fz_buffer *out)
{
    struct writer w = {.r = report, .raw = raw, .out = out};
    struct json_member member;
    size_t start, body;
    if (!find_body(raw, &start, &body))
        return 0;
    /* A byte order mark is kept, a text before the report is not: Console copies both. */
    w.copied = start <= 3 ? 0 : start;
    /* Walked and not parsed: only the places of the values are needed, and all bytes stay. */
    struct json_walk walk = json_walk_start(fz_span_from(raw, body));
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "threads"))
            annotate_threads(&w, member.value);
        else if (fz_span_is(member.key, "lastExceptionBacktrace"))
            annotate_frames(&w, member.value, report->exception_frames, report->n_exception_frames);
    }
    copy_until(&w, raw.len);
    return w.n_found;
}
