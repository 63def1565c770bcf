/*
 * Pieces to pages: the address space in order, cut at page boundaries, packed bit by bit. Parts of
 * it are packed by several threads.
 */
#include <stdatomic.h>
#include <string.h>

#include "symbolicator/index/builder.h"
#include "symbolicator/index/format.h"

enum {
    UNIT_SHIFT_MAX = 2,
    ROWS_PER_PART = 8 * 1024,
    ROW_BYTES = 4,
    LONG_RUN = 64, /* pages of one row, or of nothing, that are worth a region of their own */
    PAGE_BYTES_MAX =
        INDEX_PAGE_HEADER + INDEX_UNITS + (INDEX_UNITS * (32 + INDEX_ROW_BITS_MAX)) / 8 + 16,
};

struct state {
    uint32_t record, line_code, column;
};

struct packer {
    struct index_builder *b;
    struct index_page_part *part;
    unsigned page_shift;
    bool is_open; /* a region is open */
    uint64_t region_start;
    uint32_t first_page;
    uint64_t page_start; /* of the current page */
    struct state state;  /* at its last row */
    uint32_t n_rows;
    uint8_t units[INDEX_UNITS];
    struct state rows[INDEX_UNITS];
    uint32_t last_page_at, last_page_len; /* to write equal neighbours once */
};

struct bit_writer {
    uint8_t *at;
    uint64_t bits;
    unsigned n;
};

/* At most 56 bits at once: 7 may wait. Writes 8 bytes from w->at on, of which whole ones count. */
static inline void
put_bits(struct bit_writer *w, uint64_t value, unsigned n)
{
    w->bits |= value << w->n;
    w->n += n;
    /* Always 8 bytes: a store of fixed size is one instruction, and PAGE_BYTES_MAX has the room. */
    store64(w->at, w->bits);
    w->at += w->n / 8;
    w->bits >>= w->n & 56;
    w->n &= 7;
}

static unsigned
bits_of(uint32_t value)
{
    return value ? 32 - (unsigned)__builtin_clz(value) : 0;
}

/* The records of the page without repetition, and per row its place in there. */
static unsigned
make_palette(const struct packer *p, uint32_t palette[INDEX_UNITS], uint8_t index[INDEX_UNITS])
{
    unsigned n = 1;
    palette[0] = p->rows[0].record;
    index[0] = 0;
    for (uint32_t i = 1; i < p->n_rows; i++) {
        uint32_t record = p->rows[i].record;
        if (record == p->rows[i - 1].record) {
            index[i] = index[i - 1];
            continue;
        }
        /* From the newest: code comes back to a caller soon. */
        unsigned k = n;
        while (k > 0 && palette[k - 1] != record)
            k--;
        if (k == 0) {
            palette[n++] = record;
            k = n;
        }
        index[i] = (uint8_t)(k - 1);
    }
    return n;
}

static size_t
pack_page(const struct packer *p, uint8_t out[PAGE_BYTES_MAX])
{
    uint32_t palette[INDEX_UNITS], lines = 0, columns = 0, lowest = UINT32_MAX, highest = 0;
    uint8_t index[INDEX_UNITS];
    /* A page has few records and many rows: rows hold short numbers into the palette. */
    unsigned n = make_palette(p, palette, index);
    for (unsigned i = 0; i < n; i++) {
        /* 0 means no function: it would spoil the distance from the lowest. */
        if (palette[i] && palette[i] < lowest)
            lowest = palette[i];
        if (palette[i] > highest)
            highest = palette[i];
    }
    for (uint32_t i = 0; i < p->n_rows; i++) {
        /* The OR of all has as many bits as the largest. */
        lines |= p->rows[i].line_code;
        columns |= p->rows[i].column;
    }
    unsigned index_bits = bits_of(n - 1), line_bits = bits_of(lines),
             column_bits = bits_of(columns), palette_bits = bits_of(highest - lowest + 1);
    out[0] = (uint8_t)(p->n_rows - 1);
    out[1] = (uint8_t)(n - 1);
    out[2] = (uint8_t)index_bits;
    out[3] = (uint8_t)line_bits;
    out[4] = (uint8_t)column_bits;
    out[5] = (uint8_t)palette_bits;
    store32(out + 6, lowest);
    memcpy(out + INDEX_PAGE_HEADER, p->units + 1, p->n_rows - 1);
    struct bit_writer w = {.at = out + INDEX_PAGE_HEADER + p->n_rows - 1};
    for (unsigned i = 0; i < n; i++)
        put_bits(&w, palette[i] ? palette[i] - lowest + 1 : 0, palette_bits);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const struct state *row = &p->rows[i];
        put_bits(&w,
                 index[i] | (uint64_t)row->line_code << index_bits |
                     (uint64_t)row->column << (index_bits + line_bits),
                 index_bits + line_bits + column_bits);
    }
    /* Fill up the last byte, so that it is written. */
    put_bits(&w, 0, w.n ? 8 - w.n : 0);
    return (size_t)(w.at - out);
}

/* The place of the current page's rows; 0 if there is nothing in it. */
static bool
store_rows(struct packer *p, uint32_t *ret)
{
    struct index_bytes *rows = &p->part->rows;
    bool is_empty = true;
    for (uint32_t i = 0; i < p->n_rows && is_empty; i++)
        is_empty = p->rows[i].record == 0;
    /* Place 0 ends a lookup at once. */
    *ret = 0;
    if (is_empty)
        return true;
    uint8_t out[PAGE_BYTES_MAX];
    size_t len = pack_page(p, out);
    /* Long functions without inlined calls fill pages with the same row. */
    if (len == p->last_page_len && memcmp(rows->data + p->last_page_at, out, len) == 0) {
        *ret = p->last_page_at;
        return true;
    }
    /* The page table has 32 bits for the place of rows. */
    if (rows->n > UINT32_MAX - PAGE_BYTES_MAX) {
        p->b->budget.over = true;
        return false;
    }
    *ret = p->last_page_at = (uint32_t)rows->n;
    p->last_page_len = (uint32_t)len;
    return index_bytes_add(p->b, rows, out, len);
}

static bool
add_page(struct packer *p, uint32_t rows)
{
    uint8_t out[4];
    store32(out, rows);
    return index_bytes_add(p->b, &p->part->pages, out, sizeof(out));
}

static bool
add_region(struct packer *p, uint64_t start, uint64_t size, uint32_t first_page, bool is_same)
{
    uint8_t out[INDEX_REGION];
    store64(out, start);
    store64(out + 8, size);
    store32(out + 16, first_page);
    store32(out + 20, is_same);
    return size == 0 || index_bytes_add(p->b, &p->part->regions, out, sizeof(out));
}

static void
begin_page(struct packer *p, uint64_t page_start)
{
    p->page_start = page_start;
    p->n_rows = 1;
    p->units[0] = 0;
    /* Each page begins with the state before it, so that it can be read alone. */
    p->rows[0] = p->state;
}

/* Write the current page; the next one starts with the same state. */
static bool
end_page(struct packer *p)
{
    uint32_t rows;
    if (!store_rows(p, &rows) || !add_page(p, rows))
        return false;
    begin_page(p, p->page_start + ((uint64_t)1 << p->page_shift));
    return true;
}

static bool
close_region(struct packer *p)
{
    p->is_open = false;
    return add_region(p, p->region_start, p->page_start - p->region_start, p->first_page, false);
}

static void
open_region(struct packer *p, uint64_t start)
{
    p->is_open = true;
    p->region_start = start;
    p->first_page = (uint32_t)(p->part->pages.n / 4);
    begin_page(p, start);
}

/* Bring the packer to the page that holds `addr`. */
static bool
go_to(struct packer *p, uint64_t addr)
{
    uint64_t page = addr >> p->page_shift << p->page_shift;
    if (!p->is_open) {
        open_region(p, page);
        return true;
    }
    if (page == p->page_start)
        return true;
    if (!end_page(p))
        return false;
    uint64_t n = (page - p->page_start) >> p->page_shift;
    if (n > LONG_RUN) {
        if (!close_region(p))
            return false;
        uint64_t start = p->page_start;
        /* A long function without lines: all its pages are equal and share one entry. */
        if (p->state.record) {
            uint32_t only = (uint32_t)(p->part->pages.n / 4);
            if (!end_page(p) || !add_region(p, start, n << p->page_shift, only, true))
                return false;
        }
        open_region(p, page);
        return true;
    }
    for (; n > 0; n--) {
        if (!end_page(p))
            return false;
    }
    return true;
}

/* From `addr` on the state is this one. */
static inline bool
set_state(struct packer *p, uint64_t addr, struct state state)
{
    if (state.record == p->state.record && state.line_code == p->state.line_code &&
        state.column == p->state.column)
        return true;
    if (!(p->is_open && addr - p->page_start < (uint64_t)1 << p->page_shift) && !go_to(p, addr))
        return false;
    p->state = state;
    uint8_t unit = (uint8_t)((addr - p->page_start) >> p->b->unit_shift);
    /* A state in the same unit replaces the one before, which covers no instruction. */
    if (unit != p->units[p->n_rows - 1])
        p->n_rows++;
    p->units[p->n_rows - 1] = unit;
    p->rows[p->n_rows - 1] = state;
    return true;
}

static bool
pack_piece(struct packer *p, const struct index_piece *piece)
{
    const struct index_builder *b = p->b;
    const struct index_row *rows =
        (piece->unit == UNIT_NONE ? b->rows : b->blocks[piece->unit].rows) + piece->first_row;
    for (uint32_t i = 0; i < piece->n_rows; i++) {
        uint64_t low = piece->origin + rows[i].offset;
        uint64_t high = i + 1 < piece->n_rows ? piece->origin + rows[i + 1].offset : piece->end;
        /* Overlapping pieces have been cut, but their rows have not. */
        if (high <= piece->start || low >= piece->end)
            continue;
        struct state state = {
            .record = rows[i].record, .line_code = rows[i].line_code, .column = rows[i].column};
        if (!set_state(p, low < piece->start ? piece->start : low, state))
            return false;
    }
    return true;
}

/* The largest power of two that divides every address, so that a unit is an instruction. */
static unsigned
find_unit_shift(const struct index_builder *b)
{
    /* At most 4 bytes: no instruction set of Apple's has longer fixed instructions. */
    uint64_t all = (uint64_t)1 << UNIT_SHIFT_MAX;
    for (size_t i = 0; i < b->n_pieces; i++)
        all |= b->pieces[i].start | b->pieces[i].end | b->pieces[i].origin;
    all |= b->row_offsets;
    return (unsigned)__builtin_ctzll(all);
}

/* 128 instructions look up 8 % faster than 256 and cost 1 % in size. Where instructions have any
 * length, 256 bytes hold about as many rows, and 128 would cost 5 %. */
static unsigned
find_page_shift(unsigned unit_shift)
{
    return unit_shift == 0 ? 8 : unit_shift + 7;
}

static bool
pack_part(struct index_builder *b, struct index_page_part *part)
{
    static const uint8_t none = 0;
    struct packer p = {.b = b, .part = part, .page_shift = b->page_shift};
    /* That is about what it takes, and saves moving it as it grows. */
    uint8_t *rows = fz_list_grow(&b->budget, part->rows.data, &part->rows.room,
                                 part->n_rows * ROW_BYTES + PAGE_BYTES_MAX, 1);
    if (!rows)
        return false;
    part->rows.data = rows;
    bool ok = index_bytes_add(b, &part->rows, &none, 1); /* place 0 means nothing */
    for (size_t i = part->begin; i < part->end && ok; i++) {
        const struct index_piece *piece = &b->pieces[i];
        ok = pack_piece(&p, piece);
        /* After a piece that the next one does not follow at once there is no function. */
        if (ok && (i + 1 == part->end || b->pieces[i + 1].start != piece->end))
            ok = set_state(&p, piece->end, (struct state){0, 0, 0});
    }
    return ok && (!p.is_open || (end_page(&p) && close_region(&p)));
}

/* Cut the pieces where no page holds code of both sides, into parts of about as many rows. The
 * number of threads has no say: the index is the same for any. */
static void
cut_parts(struct index_builder *b)
{
    /* Small files are one part: a thread costs more than it saves. */
    size_t n_parts = 1 + b->n_all_rows / ROWS_PER_PART, rows = 0;
    if (n_parts > PAGE_PARTS_MAX)
        n_parts = PAGE_PARTS_MAX;
    b->n_parts = 1;
    for (size_t i = 0; i < b->n_pieces; i++) {
        uint64_t page = b->pieces[i].start >> b->page_shift << b->page_shift;
        if (i && rows >= b->n_parts * (b->n_all_rows / n_parts) && b->n_parts < n_parts &&
            b->pieces[i - 1].end <= page) {
            b->parts[b->n_parts - 1].end = i;
            b->parts[b->n_parts++].begin = i;
        }
        rows += b->pieces[i].n_rows;
        b->parts[b->n_parts - 1].n_rows += b->pieces[i].n_rows;
    }
    b->parts[b->n_parts - 1].end = b->n_pieces;
}

/* Count the places of rows and pages from the start of their sections. */
static bool
join_parts(struct index_builder *b)
{
    uint64_t rows_before = 0, pages_before = 0;
    for (size_t k = 0; k < b->n_parts; k++) {
        struct index_page_part *part = &b->parts[k];
        if (rows_before + part->rows.n > UINT32_MAX - PAGE_BYTES_MAX) {
            b->budget.over = true;
            return false;
        }
        /* The first part counts from the start already. */
        for (size_t i = 0; rows_before && i < part->pages.n; i += 4) {
            uint32_t place = load32(part->pages.data + i);
            if (place)
                store32(part->pages.data + i, place + (uint32_t)rows_before);
        }
        for (size_t i = 0; i < part->regions.n; i += INDEX_REGION) {
            uint8_t *first = part->regions.data + i + 16;
            /* Parts were packed before it was known how much is in front of them. */
            store32(first, load32(first) + (uint32_t)pages_before);
        }
        rows_before += part->rows.n;
        pages_before += part->pages.n / 4;
    }
    return true;
}

struct page_workers {
    struct index_builder *b;
    atomic_size_t next;
    atomic_bool failed;
};

static void *
pack_parts(void *user)
{
    struct page_workers *shared = user;
    for (size_t k; (k = atomic_fetch_add(&shared->next, 1)) < shared->b->n_parts;) {
        if (!pack_part(shared->b, &shared->b->parts[k]))
            /* The other parts are still packed: stopping early would save nothing in the normal
             * case. */
            shared->failed = true;
    }
    return NULL;
}

enum fz_code
index_pages_build(struct index_builder *b, struct fz_error *err)
{
    /* Both from all pieces together, since every page of a file has the same size. */
    b->unit_shift = find_unit_shift(b);
    b->page_shift = find_page_shift(b->unit_shift);
    cut_parts(b);
    struct page_workers shared = {.b = b};
    index_threads_run(b->n_threads < b->n_parts ? b->n_threads : b->n_parts, pack_parts, &shared,
                      0);
    return !shared.failed && join_parts(b) ? FZ_OK : fz_budget_fail(&b->budget, err);
}
