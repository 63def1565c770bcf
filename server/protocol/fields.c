/* The fields of messages: see protocol.h. Decoders trust nothing that a child sends. */
#include "server/protocol/protocol.h"

#include <string.h>

#include "base/text.h"

enum { KIND_MAX = 64, ARCH_MAX = 32 };
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

/* A text that has to be there. */
static const char *
get_name(struct fz_reader *in, size_t max, struct fz_arena *arena)
{
    const char *text = proto_get_text(in, max, arena);
    if (!text)
        in->failed = true;
    return text;
}

static enum fz_code
finish(struct fz_reader *in, struct fz_error *err)
{
    if (!in->failed && fz_read_left(in) > 0)
        return fz_fail_at(err, FZ_E_MALFORMED, in->pos, "%s: %zu bytes too many", in->what,
                          fz_read_left(in));
    return fz_read_done(in, err);
}

static void
put_problems(const struct sym_problems *problems, struct fz_buffer *out)
{
    size_t n = problems->n < SYM_PROBLEMS_MAX ? problems->n : SYM_PROBLEMS_MAX;
    proto_put_u32(out, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        proto_put_text(out, sym_problem_kind_name(problems->list[i].kind), KIND_MAX);
        proto_put_text(out, problems->list[i].text, SYM_PROBLEM_TEXT - 1);
        proto_put_u64(out, problems->list[i].count);
    }
}

static void
get_problems(struct fz_reader *in, struct fz_arena *arena, struct sym_problems *ret)
{
    uint32_t n = fz_read_u32(in);
    ret->n = 0;
    if (n > SYM_PROBLEMS_MAX)
        in->failed = true;
    for (uint32_t i = 0; i < n && !in->failed; i++) {
        struct sym_problem *to = &ret->list[i];
        const char *kind = get_name(in, KIND_MAX, arena);
        const char *text = get_name(in, SYM_PROBLEM_TEXT - 1, arena);
        to->count = fz_read_u64(in);
        if (in->failed || !sym_problem_kind_parse(kind, &to->kind)) {
            in->failed = true;
            return;
        }
        memcpy(to->text, text, strlen(text) + 1);
        ret->n = i + 1;
    }
}

void
proto_problems_encode(const struct sym_problems *problems, struct fz_buffer *out)
{
    put_problems(problems, out);
}

enum fz_code
proto_problems_decode(struct fz_span body, struct fz_arena *arena, struct sym_problems *ret,
                      struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(body, "problems");
    get_problems(&in, arena, ret);
    return finish(&in, err);
}

enum { /* bits of the features byte */
       HAS_SYMTAB = 1,
       HAS_STARTS = 2,
       HAS_DWARF = 4,
       HAS_LINES = 8,
       HAS_INLINES = 16,
       HAS_VARIABLES = 32,
       HAS_UNWIND = 64
};

static void
put_features(const struct sym_features *f, struct fz_buffer *out)
{
    unsigned bits = (f->symtab ? HAS_SYMTAB : 0U) | (f->function_starts ? HAS_STARTS : 0U) |
                    (f->dwarf ? HAS_DWARF : 0U) | (f->lines ? HAS_LINES : 0U) |
                    (f->inlines ? HAS_INLINES : 0U) | (f->variables ? HAS_VARIABLES : 0U) |
                    (f->unwind ? HAS_UNWIND : 0U);
    proto_put_u8(out, (uint8_t)bits);
    proto_put_u32(out, f->dwarf_min);
    proto_put_u32(out, f->dwarf_max);
    proto_put_u64(out, f->n_symbols);
    proto_put_u64(out, f->n_functions);
    proto_put_u64(out, f->n_inlines);
    proto_put_u64(out, f->n_lines);
    proto_put_u64(out, f->n_units);
}

static void
get_features(struct fz_reader *in, struct sym_features *ret)
{
    unsigned bits = fz_read_u8(in);
    *ret = (struct sym_features){
        .symtab = (bits & HAS_SYMTAB) != 0,
        .function_starts = (bits & HAS_STARTS) != 0,
        .dwarf = (bits & HAS_DWARF) != 0,
        .lines = (bits & HAS_LINES) != 0,
        .inlines = (bits & HAS_INLINES) != 0,
        .variables = (bits & HAS_VARIABLES) != 0,
        .unwind = (bits & HAS_UNWIND) != 0,
    };
    ret->dwarf_min = fz_read_u32(in);
    ret->dwarf_max = fz_read_u32(in);
    ret->n_symbols = fz_read_u64(in);
    ret->n_functions = fz_read_u64(in);
    ret->n_inlines = fz_read_u64(in);
    ret->n_lines = fz_read_u64(in);
    ret->n_units = fz_read_u64(in);
}

void
proto_slice_encode(const struct proto_slice *slice, struct fz_buffer *out)
{
    fz_buffer_append(out, slice->uuid.bytes, sizeof(slice->uuid.bytes));
    proto_put_text(out, slice->arch, ARCH_MAX);
    proto_put_u8(out, (uint8_t)slice->kind);
    proto_put_text(out, slice->name, PROTO_NAME_MAX);
    proto_put_u32(out, slice->file);
    proto_put_u8(out, slice->has_index);
    proto_put_u32(out, slice->index_file);
    proto_put_u32(out, slice->index_version);
    proto_put_u8(out, slice->has_map);
    fz_buffer_append(out, slice->map_uuid.bytes, sizeof(slice->map_uuid.bytes));
    proto_put_u8(out, slice->map_applied);
    put_features(&slice->features, out);
    put_problems(&slice->problems, out);
}

static void
get_uuid(struct fz_reader *in, struct fz_uuid *ret)
{
    struct fz_span bytes = fz_read_bytes(in, sizeof(ret->bytes));
    if (bytes.len == sizeof(ret->bytes))
        memcpy(ret->bytes, bytes.data, sizeof(ret->bytes));
}

enum fz_code
proto_slice_decode(struct fz_span body, struct fz_arena *arena, struct proto_slice *ret,
                   struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(body, "slice");
    struct proto_slice slice = {.file = 0};
    get_uuid(&in, &slice.uuid);
    slice.arch = get_name(&in, ARCH_MAX, arena);
    uint8_t kind = fz_read_u8(&in);
    slice.name = get_name(&in, PROTO_NAME_MAX, arena);
    slice.file = fz_read_u32(&in);
    slice.has_index = fz_read_u8(&in) != 0;
    slice.index_file = fz_read_u32(&in);
    slice.index_version = fz_read_u32(&in);
    slice.has_map = fz_read_u8(&in) != 0;
    get_uuid(&in, &slice.map_uuid);
    slice.map_applied = fz_read_u8(&in) != 0;
    get_features(&in, &slice.features);
    get_problems(&in, arena, &slice.problems);
    enum fz_code code = finish(&in, err);
    if (code != FZ_OK)
        return code;
    uint32_t cputype, subtype;
    if (kind == 0 || kind >= PROTO_SLICE_KINDS)
        return fz_fail(err, FZ_E_MALFORMED, "slice: unknown kind");
    slice.kind = (enum proto_slice_kind)kind;
    bool is_link = slice.kind == PROTO_SLICE_UUIDMAP;
    bool is_image = slice.kind == PROTO_SLICE_DSYM || slice.kind == PROTO_SLICE_BINARY;
    if (!is_image && (slice.has_index || *slice.arch || slice.has_map != is_link))
        return fz_fail(err, FZ_E_MALFORMED, "slice: a symbol map with what it cannot have");
    if (is_image && strcmp(slice.arch, "unknown") != 0 &&
        !fz_arch_parse(slice.arch, &cputype, &subtype))
        return fz_fail(err, FZ_E_MALFORMED, "slice: unknown architecture");
    if (fz_uuid_is_nil(&slice.uuid))
        return fz_fail(err, FZ_E_MALFORMED, "slice: no UUID");
    *ret = slice;
    return FZ_OK;
}

static void
put_values(const struct fz_columns *columns, const union fz_value *values, struct fz_buffer *out)
{
    for (size_t i = 0; i < columns->n; i++) {
        if (columns->list[i].is_fixed)
            continue;
        if (fz_column_is_text(&columns->list[i]))
            proto_put_text(out, values[i].text, PROTO_TEXT_MAX);
        else
            proto_put_u64(out, (uint64_t)values[i].number);
    }
}

static const union fz_value *
get_values(struct fz_reader *in, const struct fz_columns *columns, struct fz_arena *arena)
{
    union fz_value *values = fz_arena_array(arena, columns->n, sizeof(*values));
    for (size_t i = 0; values && i < columns->n; i++) {
        if (columns->list[i].is_fixed)
            continue;
        if (fz_column_is_text(&columns->list[i]))
            values[i].text = proto_get_text(in, PROTO_TEXT_MAX, arena);
        else
            values[i].number = (int64_t)fz_read_u64(in);
    }
    return values;
}

static void
put_learned(const struct proto_info *info, struct fz_buffer *out)
{
    proto_put_u32(out, (uint32_t)info->n_learned);
    for (size_t i = 0; i < info->n_learned; i++) {
        const struct proto_learned *one = &info->learned[i];
        fz_buffer_append(out, one->uuid.bytes, sizeof(one->uuid.bytes));
        proto_put_u32(out, one->start);
        proto_put_u32(out, one->reach);
        proto_put_text(out, one->name, PROTO_NAME_MAX);
    }
}

void
proto_info_encode(const struct proto_info *info, const struct fz_columns *columns,
                  struct fz_buffer *out)
{
    proto_put_u8(out, (uint8_t)info->status);
    proto_put_text(out, info->format, PROTO_TEXT_MAX);
    proto_put_u64(out, (uint64_t)info->timestamp_ms);
    put_values(columns, info->values, out);
    proto_put_u64(out, info->n_frames_named);
    proto_put_u64(out, info->n_frames_unnamed);
    proto_put_u64(out, info->n_frames_learned);
    proto_put_u64(out, info->n_cache_hits);
    proto_put_u64(out, info->n_cache_misses);
    proto_put_u32(out, (uint32_t)info->n_waits);
    for (size_t i = 0; i < info->n_waits; i++) {
        fz_buffer_append(out, info->waits[i].uuid.bytes, sizeof(info->waits[i].uuid.bytes));
        proto_put_text(out, info->waits[i].name, PROTO_NAME_MAX);
        proto_put_text(out, info->waits[i].arch, ARCH_MAX);
    }
    proto_put_u32(out, (uint32_t)info->n_images);
    for (size_t i = 0; i < info->n_images; i++) {
        fz_buffer_append(out, info->images[i].uuid.bytes, sizeof(info->images[i].uuid.bytes));
        proto_put_text(out, info->images[i].name, PROTO_NAME_MAX);
    }
    put_learned(info, out);
}

/* A count of records, checked against the limit and the bytes that are left. */
static size_t
get_count(struct fz_reader *in, size_t max, size_t record, bool *ret_over)
{
    uint32_t n = fz_read_u32(in);
    if (n > max)
        *ret_over = true;
    return n <= max && fz_read_fits(in, n, record) ? n : 0;
}

/* Names in rising order, each of a function that may be there. */
static enum fz_code
get_learned(struct fz_reader *in, struct fz_arena *arena, struct proto_info *info,
            struct fz_error *err)
{
    bool over = false;
    size_t n = get_count(in, PROTO_LEARNED_MAX, sizeof(struct fz_uuid) + 12, &over);
    struct proto_learned *list = fz_arena_array(arena, n, sizeof(*list));
    if (!list)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n && !in->failed; i++) {
        struct proto_learned *one = &list[i];
        get_uuid(in, &one->uuid);
        one->start = fz_read_u32(in);
        one->reach = fz_read_u32(in);
        one->name = get_name(in, PROTO_NAME_MAX, arena);
        int order = i ? memcmp(list[i - 1].uuid.bytes, one->uuid.bytes, sizeof(one->uuid)) : -1;
        if (!in->failed &&
            (!*one->name || one->reach > PROTO_REACH_MAX || fz_uuid_is_nil(&one->uuid) ||
             order > 0 || (order == 0 && list[i - 1].start >= one->start)))
            return fz_fail(err, FZ_E_MALFORMED, "report info: learned name %zu cannot be", i);
    }
    if (over)
        return fz_fail(err, FZ_E_LIMIT, "report info: more than %d learned names",
                       (int)PROTO_LEARNED_MAX);
    info->learned = list;
    info->n_learned = n;
    return FZ_OK;
}

enum fz_code
proto_info_decode(struct fz_span body, const struct fz_columns *columns, size_t max_images,
                  struct fz_arena *arena, struct proto_info *ret, struct fz_error *err)
{
    struct fz_reader in = fz_reader_make(body, "report info");
    struct proto_info info = {.n_waits = 0};
    bool over = false;
    uint8_t status = fz_read_u8(&in);
    info.format = proto_get_text(&in, PROTO_TEXT_MAX, arena);
    info.timestamp_ms = (int64_t)fz_read_u64(&in);
    info.values = get_values(&in, columns, arena);
    if (!info.values)
        return fz_arena_fail(arena, err);
    info.n_frames_named = fz_read_u64(&in);
    info.n_frames_unnamed = fz_read_u64(&in);
    info.n_frames_learned = fz_read_u64(&in);
    info.n_cache_hits = fz_read_u64(&in);
    info.n_cache_misses = fz_read_u64(&in);

    size_t n_waits = get_count(&in, max_images, sizeof(struct fz_uuid) + 8, &over);
    struct proto_wait *waits = fz_arena_array(arena, n_waits, sizeof(*waits));
    if (!waits)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n_waits && !in.failed; i++) {
        get_uuid(&in, &waits[i].uuid);
        waits[i].name = proto_get_text(&in, PROTO_NAME_MAX, arena);
        waits[i].arch = proto_get_text(&in, ARCH_MAX, arena);
    }
    size_t n_images = get_count(&in, max_images, sizeof(struct fz_uuid) + 4, &over);
    struct proto_image *images = fz_arena_array(arena, n_images, sizeof(*images));
    if (!images)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n_images && !in.failed; i++) {
        get_uuid(&in, &images[i].uuid);
        images[i].name = proto_get_text(&in, PROTO_NAME_MAX, arena);
    }

    if (over)
        return fz_fail(err, FZ_E_LIMIT, "report info: more than %zu images", max_images);
    enum fz_code code = get_learned(&in, arena, &info, err);
    if (code == FZ_OK)
        code = finish(&in, err);
    if (code != FZ_OK)
        return code;
    if (status < PROTO_SYMBOLICATED || status > PROTO_UNSYMBOLICATED)
        return fz_fail(err, FZ_E_MALFORMED, "report info: unknown status");
    info.status = (enum proto_status)status;
    info.waits = waits;
    info.n_waits = n_waits;
    info.images = images;
    info.n_images = n_images;
    *ret = info;
    return FZ_OK;
}
