#include "server/lookup_print.h"

#include <stdlib.h>

#include "base/text.h"
#include "symbolicator/demangle.h"

/* Four numbers and what stands between them. */
enum { PATH_ROOM = 8192, DIGITS = 20, ROOM_PER_FRAME = 4 * DIGITS + 32 };

/* Text made before, found by the places in the mapped index that it was made from. */
struct piece {
    const char *key[2];
    size_t len;
    char text[];
};

enum { SLOTS_FIRST = 1024, CHUNK = 256 * 1024, PIECES_BYTES = 64 * 1024 * 1024 };

/* Where pieces lie. */
struct chunk {
    struct chunk *next;
    char bytes[]; /* aligned as the pointer before them is */
};

struct lookup_printer {
    const struct sym_index *index;
    bool is_json;
    struct sym_demangle_options demangling;
    struct piece **slots; /* a power of two of them, at most half of them taken */
    size_t n_slots, n_pieces;
    struct chunk *chunks;
    char *room; /* in the newest chunk, */
    size_t room_len, n_bytes;
    struct fz_buffer made, name;
    struct sym_frame frames[SYM_FRAMES_MAX];
};

/* ---- pieces ------------------------------------------------------------------------------ */

static struct piece **
slot_of(struct piece **slots, size_t n_slots, const char *first, const char *second)
{
    uint64_t hash = ((uint64_t)(uintptr_t)first ^ (uint64_t)(uintptr_t)second << 20) *
                    UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (n_slots - 1);
    while (slots[at] && (slots[at]->key[0] != first || slots[at]->key[1] != second))
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bool
grow(struct lookup_printer *printer)
{
    size_t n = printer->n_slots ? 2 * printer->n_slots : SLOTS_FIRST;
    struct piece **slots = calloc(n, sizeof(struct piece *));
    if (!slots)
        return false;
    for (size_t i = 0; i < printer->n_slots; i++) {
        struct piece *piece = printer->slots[i];
        if (piece)
            *slot_of(slots, n, piece->key[0], piece->key[1]) = piece;
    }
    free(printer->slots);
    printer->slots = slots;
    printer->n_slots = n;
    return true;
}

/* Room for a piece of that many bytes of text, NULL when there is none left. */
static struct piece *
take_piece(struct lookup_printer *printer, size_t len)
{
    size_t need = (sizeof(struct piece) + len + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    if (len > PIECES_BYTES || need > PIECES_BYTES - printer->n_bytes)
        return NULL;
    if (need > printer->room_len) {
        size_t room = need > CHUNK ? need : CHUNK;
        struct chunk *chunk = malloc(sizeof(*chunk) + room);
        if (!chunk)
            return NULL;
        chunk->next = printer->chunks;
        printer->chunks = chunk;
        printer->room = chunk->bytes;
        printer->room_len = room;
    }
    struct piece *piece = (struct piece *)(void *)printer->room;
    printer->room += need;
    printer->room_len -= need;
    printer->n_bytes += need;
    return piece;
}

/* Keep printer->made under its keys. Where memory ends it is given once and not kept. */
static struct fz_span
keep(struct lookup_printer *printer, const char *first, const char *second)
{
    struct fz_span made = fz_buffer_span(&printer->made);
    bool has_slot = 2 * (printer->n_pieces + 1) <= printer->n_slots || grow(printer);
    struct piece *piece = has_slot && made.len ? take_piece(printer, made.len) : NULL;
    if (!piece)
        return made;
    piece->key[0] = first;
    piece->key[1] = second;
    piece->len = made.len;
    memcpy(piece->text, made.data, made.len);
    *slot_of(printer->slots, printer->n_slots, first, second) = piece;
    printer->n_pieces++;
    return fz_span_make(piece->text, piece->len);
}

/* What was made of these keys before; an empty span, and printer->made empty, if nothing was. */
static inline struct fz_span
find(struct lookup_printer *printer, const char *first, const char *second)
{
    const struct piece *piece = *slot_of(printer->slots, printer->n_slots, first, second);
    if (piece)
        return fz_span_make(piece->text, piece->len);
    fz_buffer_clear(&printer->made);
    return fz_span_make(NULL, 0);
}

/* ---- names and paths --------------------------------------------------------------------- */

static void
append_member(struct fz_buffer *out, const char *key, const char *text)
{
    fz_buffer_text(out, key);
    fz_text_json_append(out, fz_span_cstr(text));
    fz_buffer_char(out, ',');
}

/* The readable name; in JSON the members "function" and "mangled". */
static struct fz_span
name_piece(struct lookup_printer *printer, const struct sym_frame *frame)
{
    static const char symbol[] = "symbol", debug[] = "debug"; /* their addresses are keys */
    bool is_symbol = frame->source != SYM_SOURCE_DWARF;
    const char *second = is_symbol ? symbol : debug;
    struct fz_span piece = find(printer, frame->name, second);
    if (piece.len || !frame->name[0])
        return piece;
    struct fz_buffer *made = &printer->made, *name = printer->is_json ? &printer->name : made;
    fz_buffer_clear(name);
    sym_demangle(frame->name, is_symbol, &printer->demangling, name);
    if (printer->is_json) {
        append_member(made, "\"function\":", fz_buffer_cstr(name));
        append_member(made, "\"mangled\":", frame->name);
    }
    return keep(printer, frame->name, second);
}

/* " (" path ":"; in JSON the member "file". The frame has a file. */
static struct fz_span
path_piece(struct lookup_printer *printer, const struct sym_frame *frame)
{
    struct fz_span piece = find(printer, frame->directory, frame->file);
    if (piece.len)
        return piece;
    char path[PATH_ROOM];
    sym_frame_path(frame, path, sizeof(path));
    if (printer->is_json) {
        append_member(&printer->made, "\"file\":", path);
    } else {
        fz_buffer_text(&printer->made, " (");
        fz_buffer_text(&printer->made, path);
        fz_buffer_char(&printer->made, ':');
    }
    return keep(printer, frame->directory, frame->file);
}

/* ---- one address ------------------------------------------------------------------------- */

static inline void
append_span(struct fz_buffer *out, struct fz_span text)
{
    fz_buffer_append(out, text.data, text.len);
}

/* The digits at `at`, which has room for DIGITS; returns the byte behind them. */
static inline char *
put_u64(char *at, uint64_t value)
{
    /* Nearly all are of lines, columns and offsets, and short. */
    char *end = at + 1 + (value > 9) + (value > 99) + (value > 999) + (value > 9999);
    for (uint64_t rest = value / 100000; rest; rest /= 10)
        end++;
    for (at = end; *--at = (char)('0' + value % 10), value >= 10;)
        value /= 10;
    return end;
}

static inline char *
put_hex(char *at, uint64_t value)
{
    *at++ = '0';
    *at++ = 'x';
    for (int shift = (63 - __builtin_clzll(value | 1)) & ~3; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}

static inline char *
put_span(char *at, struct fz_span text)
{
    if (text.len)
        memcpy(at, text.data, text.len);
    return at + text.len;
}

static void
print_text(struct lookup_printer *printer, uint64_t addr, size_t n, struct fz_buffer *out)
{
    static const char next[] = "\n    inlined into ";
    char *at = fz_buffer_room(out, ROOM_PER_FRAME);
    if (!at)
        return;
    at = put_hex(at, addr);
    *at++ = ' ';
    if (n == 0)
        *at++ = '?';
    for (size_t i = 0; i < n; i++) {
        const struct sym_frame *frame = &printer->frames[i];
        struct fz_span name = name_piece(printer, frame);
        fz_buffer_grow_to(out, at);
        if ((at = fz_buffer_room(out, name.len + ROOM_PER_FRAME)) == NULL)
            return;
        at = put_span(at, name);
        if (!frame->inlined) {
            memcpy(at, " + ", 3);
            at = put_u64(at + 3, addr - frame->function_start);
        }
        if (frame->file[0]) {
            struct fz_span path = path_piece(printer, frame);
            fz_buffer_grow_to(out, at);
            if ((at = fz_buffer_room(out, path.len + ROOM_PER_FRAME)) == NULL)
                return;
            at = put_u64(put_span(at, path), frame->line);
            *at++ = ':';
            at = put_u64(at, frame->column);
            *at++ = ')';
        }
        if (i + 1 < n) {
            memcpy(at, next, sizeof(next) - 1);
            at += sizeof(next) - 1;
        }
    }
    *at++ = '\n';
    fz_buffer_grow_to(out, at);
}

static void
append_u64(struct fz_buffer *out, const char *before, uint64_t value)
{
    char digits[DIGITS];
    fz_buffer_text(out, before);
    fz_buffer_append(out, digits, (size_t)(put_u64(digits, value) - digits));
}

static void
print_symbol(struct lookup_printer *printer, uint64_t addr, const struct sym_frame *frame,
             struct fz_buffer *out)
{
    fz_buffer_char(out, '{');
    append_span(out, name_piece(printer, frame));
    if (frame->file[0])
        append_span(out, path_piece(printer, frame));
    if (frame->line)
        append_u64(out, "\"line\":", frame->line);
    if (frame->column)
        append_u64(out, frame->line ? ",\"column\":" : "\"column\":", frame->column);
    if (frame->line || frame->column)
        fz_buffer_char(out, ',');
    if (!frame->inlined) {
        append_u64(out, "\"offset\":", addr - frame->function_start);
        fz_buffer_char(out, ',');
    }
    fz_buffer_text(out, frame->inlined ? "\"inlined\":true,\"source\":\""
                                       : "\"inlined\":false,\"source\":\"");
    fz_buffer_text(out, sym_source_name(frame->source));
    fz_buffer_text(out, "\"}");
}

static void
print_json(struct lookup_printer *printer, uint64_t addr, size_t n, struct fz_buffer *out)
{
    char hex[DIGITS];
    fz_buffer_text(out, "{\"address\":\"");
    fz_buffer_append(out, hex, (size_t)(put_hex(hex, addr) - hex));
    fz_buffer_text(out, "\",\"symbols\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            fz_buffer_char(out, ',');
        print_symbol(printer, addr, &printer->frames[i], out);
    }
    fz_buffer_char(out, ']');
    const char *aliases[16];
    size_t n_aliases =
        n ? sym_index_aliases(printer->index, addr, aliases, FZ_ARRAY_LEN(aliases)) : 0;
    for (size_t i = 0; i < n_aliases && i < FZ_ARRAY_LEN(aliases); i++) {
        fz_buffer_text(out, i ? "," : ",\"aliases\":[");
        fz_text_json_append(out, fz_span_cstr(aliases[i]));
    }
    fz_buffer_text(out, n_aliases ? "]}\n" : "}\n");
}

void
lookup_print(struct lookup_printer *printer, uint64_t addr, struct fz_buffer *out)
{
    size_t n = sym_index_lookup(printer->index, addr, printer->frames, SYM_FRAMES_MAX);
    if (printer->is_json)
        print_json(printer, addr, n, out);
    else
        print_text(printer, addr, n, out);
}

/* ---- life -------------------------------------------------------------------------------- */

struct lookup_printer *
lookup_printer_create(const struct sym_index *index, bool is_json, size_t stack_room)
{
    struct lookup_printer *printer = calloc(1, sizeof(*printer));
    if (!printer)
        return NULL;
    printer->index = index;
    printer->is_json = is_json;
    printer->demangling.stack_room = stack_room;
    fz_buffer_init(&printer->made, 0);
    fz_buffer_init(&printer->name, 0);
    if (!grow(printer)) {
        lookup_printer_destroy(printer);
        return NULL;
    }
    return printer;
}

void
lookup_printer_destroy(struct lookup_printer *printer)
{
    if (!printer)
        return;
    for (struct chunk *next, *chunk = printer->chunks; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(printer->slots);
    fz_buffer_deinit(&printer->made);
    fz_buffer_deinit(&printer->name);
    free(printer);
}
