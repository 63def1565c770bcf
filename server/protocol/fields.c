/* The fields of messages: see protocol.h and coder.h. */
#include "server/protocol/coder.h"

#include <string.h>

#include "base/text.h"

enum { ARCH_MAX = 32 };
static const uint32_t NO_TEXT = UINT32_MAX; /* the length that means NULL */

void
proto_put_u8(struct fz_buffer *out, uint8_t value)
{
    fz_buffer_append(out, &value, 1);
}

static void
put_uint(struct fz_buffer *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    /* Byte by byte: a packet has no alignment, and the order is little-endian on every machine. */
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    fz_buffer_append(out, bytes, size);
}

void
proto_put_u32(struct fz_buffer *out, uint32_t value)
{
    put_uint(out, value, 4);
}

void
proto_put_u64(struct fz_buffer *out, uint64_t value)
{
    put_uint(out, value, 8);
}

void
proto_put_text(struct fz_buffer *out, const char *text, size_t max)
{
    if (!text) {
        proto_put_u32(out, NO_TEXT);
        return;
    }
    /* The limit is the reader's, too: it rejects longer texts, so a long one is cut here. */
    size_t len = strlen(text);
    if (len > max) {
        len = max;
        while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80) /* not inside a character */
            len--;
    }
    proto_put_u32(out, (uint32_t)len);
    /* A name in an archive, or a library's message about it, is in any encoding or none. */
    for (size_t at = 0; at < len;) {
        size_t good = fz_text_utf8_len(fz_span_make(text + at, len - at));
        if (good)
            fz_buffer_append(out, text + at, good);
        else
            fz_buffer_append(out, "?", 1);
        at += good ? good : 1;
    }
}

const char *
proto_get_text(struct fz_reader *in, size_t max, struct fz_arena *arena)
{
    uint32_t len = fz_read_u32(in);
    if (len == NO_TEXT || in->failed)
        return NULL;
    struct fz_span bytes = fz_read_bytes(in, len);
    if (in->failed)
        return NULL;
    /* A NUL would end the text early for whoever reads it, and PostgreSQL stores only UTF-8. */
    if (len > max || (len && memchr(bytes.data, 0, len)) || !fz_text_is_utf8(bytes)) {
        in->failed = true;
        in->bad_offset = in->pos - len;
        return NULL;
    }
    char *text = fz_arena_text(arena, bytes);
    if (!text)
        in->failed = true;
    return text;
}

/* ---- both directions ---- */

struct proto_coder
proto_writer(struct fz_buffer *out)
{
    return (struct proto_coder){.out = out};
}

struct proto_coder
proto_reader(struct fz_span bytes, const char *what, struct fz_arena *arena)
{
    return (struct proto_coder){.in = fz_reader_make(bytes, what), .arena = arena};
}

enum fz_code
proto_reader_done(const struct proto_coder *c, struct fz_error *err)
{
    if (c->is_out_of_memory)
        return fz_arena_fail(c->arena, err);
    /* Bytes that no field claims show that both sides do not agree on the message. */
    if (!c->in.failed && fz_read_left(&c->in) > 0)
        return fz_fail_at(err, FZ_E_MALFORMED, c->in.pos, "%s: %zu bytes too many", c->in.what,
                          fz_read_left(&c->in));
    return fz_read_done(&c->in, err);
}

void
proto_expect(struct proto_coder *c, bool holds)
{
    if (c->out || c->in.failed || holds)
        return;
    c->in.failed = true;
    c->in.bad_offset = c->in.pos;
}

static uint64_t
code_uint(struct proto_coder *c, uint64_t value, size_t size)
{
    if (c->out) {
        put_uint(c->out, value, size);
        return value;
    }
    return size == 1 ? fz_read_u8(&c->in) : size == 4 ? fz_read_u32(&c->in) : fz_read_u64(&c->in);
}

void
proto_u32(struct proto_coder *c, uint32_t *value)
{
    *value = (uint32_t)code_uint(c, *value, 4);
}

void
proto_u64(struct proto_coder *c, uint64_t *value)
{
    *value = code_uint(c, *value, 8);
}

void
proto_i64(struct proto_coder *c, int64_t *value)
{
    *value = (int64_t)code_uint(c, (uint64_t)*value, 8);
}

void
proto_flag(struct proto_coder *c, bool *value)
{
    uint64_t flag = code_uint(c, *value, 1);
    proto_expect(c, flag <= 1);
    *value = flag != 0;
}

unsigned
proto_choice(struct proto_coder *c, unsigned value, unsigned first, unsigned end)
{
    /* Checked before it becomes an enum: tables are indexed by it without a further check. */
    value = (unsigned)code_uint(c, value, 1);
    proto_expect(c, value >= first && value < end);
    return value;
}

void
proto_bytes(struct proto_coder *c, uint8_t *bytes, size_t n)
{
    if (c->out) {
        fz_buffer_append(c->out, bytes, n);
        return;
    }
    struct fz_span read = fz_read_bytes(&c->in, n);
    if (n && read.len == n)
        memcpy(bytes, read.data, n);
}

void
proto_uuid(struct proto_coder *c, struct fz_uuid *value)
{
    proto_bytes(c, value->bytes, sizeof(value->bytes));
}

/* n zeroed records for what is read; NULL fails the reader. */
static void *
room_for(struct proto_coder *c, size_t n, size_t size)
{
    /* A reader that has failed gives zeros: nothing is allocated for them. */
    void *room = c->in.failed ? NULL : fz_arena_array(c->arena, n, size);
    c->is_out_of_memory = c->is_out_of_memory || (!room && !c->in.failed);
    proto_expect(c, room != NULL);
    return room;
}

void
proto_blob(struct proto_coder *c, struct fz_span *value, size_t max)
{
    uint32_t len = (uint32_t)value->len;
    proto_u32(c, &len);
    if (c->out) {
        fz_buffer_append(c->out, value->data, value->len);
        return;
    }
    /* Before the allocation: a length of four bytes may ask for gigabytes. */
    proto_expect(c, len <= max && fz_read_fits(&c->in, len, 1));
    uint8_t *room = room_for(c, len, 1);
    if (room)
        proto_bytes(c, room, len);
    *value = fz_span_make(room, room ? len : 0);
}

void
proto_text(struct proto_coder *c, const char **value, size_t max)
{
    if (c->out)
        proto_put_text(c->out, *value, max);
    else
        *value = proto_get_text(&c->in, max, c->arena);
}

void
proto_name(struct proto_coder *c, const char **value, size_t max)
{
    proto_text(c, value, max);
    proto_expect(c, *value != NULL);
}

void *
proto_records(struct proto_coder *c, const struct proto_list *list, void *records, size_t *n)
{
    uint32_t count = (uint32_t)*n;
    proto_u32(c, &count);
    if (!c->out) {
        /* Before the allocation: a count of four bytes may ask for gigabytes. */
        proto_expect(c, count <= list->max && fz_read_fits(&c->in, count, list->record));
        records = room_for(c, count, list->size);
        *n = records ? count : 0;
    }
    for (size_t i = 0; i < *n && !c->in.failed; i++)
        list->fields(c, (char *)records + i * list->size);
    return records;
}

/* ---- symbol files ---- */

static void
code_problems(struct proto_coder *c, struct sym_problems *problems)
{
    uint32_t n = problems->n < SYM_PROBLEMS_MAX ? (uint32_t)problems->n : SYM_PROBLEMS_MAX;
    proto_u32(c, &n);
    proto_expect(c, n <= SYM_PROBLEMS_MAX);
    for (uint32_t i = 0; i < n && !c->in.failed; i++) {
        struct sym_problem *one = &problems->list[i];
        /* The text is an array in the struct; a field is a pointer. */
        const char *text = one->text;
        one->kind = (enum sym_problem_kind)proto_choice(c, one->kind, 0, SYM_PROBLEM_KINDS);
        proto_name(c, &text, SYM_PROBLEM_TEXT - 1);
        proto_u64(c, &one->count);
        if (c->out || c->in.failed)
            continue;
        memcpy(one->text, text, strlen(text) + 1);
        problems->n = i + 1;
    }
}

void
proto_problems_encode(const struct sym_problems *problems, struct fz_buffer *out)
{
    struct proto_coder c = proto_writer(out);
    struct sym_problems copy = *problems;
    code_problems(&c, &copy);
}

enum fz_code
proto_problems_decode(struct fz_span body, struct fz_arena *arena, struct sym_problems *ret,
                      struct fz_error *err)
{
    struct proto_coder c = proto_reader(body, "problems", arena);
    ret->n = 0;
    code_problems(&c, ret);
    return proto_reader_done(&c, err);
}

static void
code_features(struct proto_coder *c, struct sym_features *f)
{
    bool *flags[] = {&f->symtab,  &f->function_starts, &f->dwarf, &f->lines,
                     &f->inlines, &f->variables,       &f->unwind};
    uint64_t *counts[] = {&f->n_symbols, &f->n_functions, &f->n_inlines, &f->n_lines, &f->n_units};
    for (size_t i = 0; i < FZ_ARRAY_LEN(flags); i++)
        proto_flag(c, flags[i]);
    proto_u32(c, &f->dwarf_min);
    proto_u32(c, &f->dwarf_max);
    for (size_t i = 0; i < FZ_ARRAY_LEN(counts); i++)
        proto_u64(c, counts[i]);
}

static void
code_slice(struct proto_coder *c, struct proto_slice *slice)
{
    proto_uuid(c, &slice->uuid);
    proto_name(c, &slice->arch, ARCH_MAX);
    slice->kind = (enum proto_slice_kind)proto_choice(c, slice->kind, 1, PROTO_SLICE_KINDS);
    proto_name(c, &slice->name, PROTO_NAME_MAX);
    proto_u32(c, &slice->file);
    proto_flag(c, &slice->has_index);
    proto_u32(c, &slice->index_file);
    proto_u32(c, &slice->index_version);
    proto_flag(c, &slice->has_map);
    proto_uuid(c, &slice->map_uuid);
    proto_flag(c, &slice->map_applied);
    code_features(c, &slice->features);
    code_problems(c, &slice->problems);
}

void
proto_slice_encode(const struct proto_slice *slice, struct fz_buffer *out)
{
    struct proto_coder c = proto_writer(out);
    struct proto_slice copy = *slice;
    code_slice(&c, &copy);
}

enum fz_code
proto_slice_decode(struct fz_span body, struct fz_arena *arena, struct proto_slice *ret,
                   struct fz_error *err)
{
    struct proto_coder c = proto_reader(body, "slice", arena);
    struct proto_slice slice = {.file = 0};
    code_slice(&c, &slice);
    enum fz_code code = proto_reader_done(&c, err);
    if (code != FZ_OK)
        return code;
    uint32_t cputype, subtype;
    /* Below, what the types allow but the worker must never store. */
    bool is_link = slice.kind == PROTO_SLICE_UUIDMAP;
    bool is_image = slice.kind == PROTO_SLICE_DSYM || slice.kind == PROTO_SLICE_BINARY;
    /* A map has no code: with an index it would win lookups for the image. */
    if (!is_image && (slice.has_index || *slice.arch || slice.has_map != is_link))
        return fz_fail(err, FZ_E_MALFORMED, "slice: a symbol map with what it cannot have");
    /* The name goes into lists and messages; "unknown" is what the symbolicator says. */
    if (is_image && strcmp(slice.arch, "unknown") != 0 &&
        !fz_arch_parse(slice.arch, &cputype, &subtype))
        return fz_fail(err, FZ_E_MALFORMED, "slice: unknown architecture");
    /* Files without a UUID would all be stored as one. */
    if (fz_uuid_is_nil(&slice.uuid))
        return fz_fail(err, FZ_E_MALFORMED, "slice: no UUID");
    *ret = slice;
    return FZ_OK;
}

/* ---- reports ---- */

static void
code_image(struct proto_coder *c, void *record)
{
    struct proto_image *image = record;
    proto_uuid(c, &image->uuid);
    proto_text(c, &image->name, PROTO_NAME_MAX);
    proto_text(c, &image->arch, ARCH_MAX);
    proto_flag(c, &image->is_waiting);
    proto_flag(c, &image->is_damaged);
}

static void
code_learned(struct proto_coder *c, void *record)
{
    struct proto_learned *one = record;
    proto_uuid(c, &one->uuid);
    proto_u32(c, &one->start);
    proto_u32(c, &one->reach);
    proto_name(c, &one->name, PROTO_NAME_MAX);
    proto_expect(c, one->name && *one->name && one->reach <= PROTO_REACH_MAX &&
                        !fz_uuid_is_nil(&one->uuid));
}

static void
code_issue(struct proto_coder *c, struct proto_issue *issue)
{
    proto_blob(c, &issue->stack, PROTO_STACK_MAX);
    proto_bytes(c, issue->key, sizeof(issue->key));
    proto_bytes(c, issue->variant, sizeof(issue->variant));
    proto_flag(c, &issue->is_placeholder);
    proto_text(c, &issue->title, PROTO_TEXT_MAX);
    proto_text(c, &issue->label, PROTO_TEXT_MAX);
}

static void
code_values(struct proto_coder *c, const struct fz_columns *columns, struct proto_info *info)
{
    if (!c->out)
        /* Zeroed, so that the columns that do not travel are unknown and not garbage. */
        info->values = room_for(c, columns->n, sizeof(*info->values));
    for (size_t i = 0; info->values && i < columns->n; i++) {
        /* The worker knows these itself: when the report came is not for a child to decide. */
        if (columns->list[i].is_fixed)
            continue;
        if (fz_column_is_text(&columns->list[i]))
            proto_text(c, &info->values[i].text, PROTO_TEXT_MAX);
        else
            proto_i64(c, &info->values[i].number);
    }
}

static void
code_info(struct proto_coder *c, const struct fz_columns *columns, size_t max_images,
          struct proto_info *info)
{
    const struct proto_list images = {.max = max_images,
                                      .record = sizeof(struct fz_uuid) + 9,
                                      .size = sizeof(*info->images),
                                      .fields = code_image};
    static const struct proto_list learned = {.max = PROTO_LEARNED_MAX,
                                              .record = sizeof(struct fz_uuid) + 12,
                                              .size = sizeof(*info->learned),
                                              .fields = code_learned};
    uint64_t *counts[] = {&info->n_frames_named, &info->n_frames_unnamed, &info->n_frames_learned,
                          &info->n_cache_hits, &info->n_cache_misses};
    info->status =
        (enum proto_status)proto_choice(c, info->status, PROTO_SYMBOLICATED, PROTO_STATUSES);
    proto_text(c, &info->format, PROTO_TEXT_MAX);
    proto_i64(c, &info->timestamp_ms);
    code_values(c, columns, info);
    for (size_t i = 0; i < FZ_ARRAY_LEN(counts); i++)
        proto_u64(c, counts[i]);
    info->images = proto_records(c, &images, info->images, &info->n_images);
    info->learned = proto_records(c, &learned, info->learned, &info->n_learned);
    code_issue(c, &info->issue);
}

void
proto_info_encode(const struct proto_info *info, const struct fz_columns *columns,
                  struct fz_buffer *out)
{
    struct proto_coder c = proto_writer(out);
    struct proto_info copy = *info;
    code_info(&c, columns, 0, &copy);
}

enum fz_code
proto_info_decode(struct fz_span body, const struct fz_columns *columns, size_t max_images,
                  struct fz_arena *arena, struct proto_info *ret, struct fz_error *err)
{
    struct proto_coder c = proto_reader(body, "report info", arena);
    struct proto_info info = {.n_images = 0};
    code_info(&c, columns, max_images, &info);
    enum fz_code code = proto_reader_done(&c, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 1; i < info.n_learned; i++) {
        const struct proto_learned *a = &info.learned[i - 1], *b = &info.learned[i];
        int order = memcmp(a->uuid.bytes, b->uuid.bytes, sizeof(a->uuid));
        /* In order, a second record of one function is the next one; storage takes each once. */
        if (order > 0 || (order == 0 && a->start >= b->start))
            return fz_fail(err, FZ_E_MALFORMED, "report info: learned name %zu is out of order", i);
    }
    *ret = info;
    return FZ_OK;
}

void
proto_issue_encode(const struct proto_issue *issue, struct fz_buffer *out)
{
    struct proto_coder c = proto_writer(out);
    struct proto_issue copy = *issue;
    code_issue(&c, &copy);
}

enum fz_code
proto_issue_decode(struct fz_span body, struct fz_arena *arena, struct proto_issue *ret,
                   struct fz_error *err)
{
    struct proto_coder c = proto_reader(body, "issue", arena);
    struct proto_issue issue = {.is_placeholder = false};
    code_issue(&c, &issue);
    enum fz_code code = proto_reader_done(&c, err);
    if (code == FZ_OK)
        *ret = issue;
    return code;
}
