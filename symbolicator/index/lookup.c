/*
 * Lookup: address to region, page, row, record, and from record to caller.
 *
 * Nothing is allocated or decoded ahead; a row is found by searching the page's first units, which
 * are plain bytes, and read out of the middle of the bits after them. What runs per frame is
 * inlined into two copies of the lookup: one for an index whose blocks are all known to be good,
 * and one that asks block by block.
 */
#include <stdio.h>

#include "symbolicator/index/reader.h"
#include "symbolicator/index/record.h"

enum { STRING_GLANCE = 256 };

struct found_row {
    uint32_t record, line_code, column;
};

const char *
sym_source_name(enum sym_source source)
{
    switch (source) {
    case SYM_SOURCE_DWARF:
        return "dwarf";
    case SYM_SOURCE_SYMTAB:
        return "symtab";
    case SYM_SOURCE_EXPORTS:
        return "exports";
    case SYM_SOURCE_FUNCTION_STARTS:
        return "function_starts";
    }
    return "unknown";
}

/* Where the rows of the page of `addr` are; 0 = nothing there. */
static FZ_INLINE uint32_t
find_page(struct index_view view, uint64_t addr)
{
    size_t low = 0, high = view.index->n_regions;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint8_t *region = index_at(view, INDEX_REGIONS, middle * INDEX_REGION, INDEX_REGION);
        if (!region)
            return 0;
        if (load64(region) <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const uint8_t *region = index_at(view, INDEX_REGIONS, (low - 1) * INDEX_REGION, INDEX_REGION);
    /* Between two regions there is nothing. */
    if (!region || addr - load64(region) >= load64(region + 8))
        return 0;
    /* The pages of a region of equal pages share one entry. */
    uint64_t page = load32(region + 20) ? 0 : (addr - load64(region)) >> view.index->page_shift;
    const uint8_t *entry = index_at(view, INDEX_PAGES, (load32(region + 16) + page) * 4, 4);
    return entry ? load32(entry) : 0;
}

static inline uint64_t
get_bits(const uint8_t *bits, size_t at, unsigned n)
{
    return load64(bits + at / 8) >> at % 8 & (((uint64_t)1 << n) - 1);
}

/* The row of the page at `place` that holds `unit`. */
static FZ_INLINE bool
find_row(struct index_view view, uint32_t place, unsigned unit, struct found_row *ret)
{
    const uint8_t *page = index_at(view, INDEX_ROWS, place, INDEX_ROWS_SPARE);
    if (!page)
        return false;
    /* The search and the bits it leads to are in the next lines: fetch them at once. */
    __builtin_prefetch(page + 64);
    __builtin_prefetch(page + 128);
    __builtin_prefetch(page + 192);
    unsigned n_rows = page[0] + 1u, n_palette = page[1] + 1u, index_bits = page[2],
             line_bits = page[3], column_bits = page[4], palette_bits = page[5];
    uint32_t lowest = load32(page + 6);
    unsigned row_bits = index_bits + line_bits + column_bits;
    if (row_bits > INDEX_ROW_BITS_MAX || palette_bits > 32)
        return false;
    size_t rows_at = (size_t)n_palette * palette_bits;
    size_t len = INDEX_PAGE_HEADER + n_rows - 1 + (rows_at + (size_t)n_rows * row_bits) / 8 + 9;
    /* Only the header says how long the page is; this checks the other blocks that it reaches
     * into. */
    page = index_at(view, INDEX_ROWS, place, len);
    if (!page)
        return false;
    /* The last row that begins at or before the unit; the first begins at 0 and is not written. */
    const uint8_t *units = page + INDEX_PAGE_HEADER;
    unsigned row = 0, left = n_rows - 1;
    while (left > 0) {
        unsigned half = (left + 1) / 2;
        row += units[row + half - 1] <= unit ? half : 0;
        left -= half;
    }
    const uint8_t *bits = units + n_rows - 1;
    size_t at = rows_at + (size_t)row * row_bits;
    uint64_t value = get_bits(bits, at, row_bits);
    unsigned slot = (unsigned)(value & (((uint64_t)1 << index_bits) - 1));
    if (slot >= n_palette)
        return false;
    value >>= index_bits;
    ret->line_code = (uint32_t)(value & (((uint64_t)1 << line_bits) - 1));
    ret->column = (uint32_t)(value >> line_bits);
    uint32_t entry = (uint32_t)get_bits(bits, (size_t)slot * palette_bits, palette_bits);
    ret->record = entry ? lowest + entry - 1 : 0;
    return ret->record != 0;
}

static FZ_INLINE bool
read_record(struct index_view view, uint32_t place, struct index_record *ret)
{
    const uint8_t *at = index_at(view, INDEX_RECORDS, place, RECORD_BYTES_MAX);
    return at && index_record_decode(at, place, ret);
}

/* Strings end inside their section, since its last byte is a NUL. */
static FZ_INLINE const char *
get_string(struct index_view view, uint32_t offset)
{
    const struct fz_span *strings = &view.index->sections[INDEX_STRINGS];
    if (offset >= strings->len)
        return "";
    size_t left = strings->len - offset;
    const uint8_t *at =
        index_at(view, INDEX_STRINGS, offset, left < STRING_GLANCE ? left : STRING_GLANCE);
    return at ? (const char *)at : "";
}

static FZ_INLINE void
set_names(struct index_view view, const struct index_record *record, struct sym_frame *frame)
{
    frame->name = get_string(view, record->name);
    frame->inlined = record->is_inlined;
    frame->source = record->source;
    /* An inlined call has no start of its own. */
    frame->function_start = record->is_inlined ? 0 : view.index->base + record->start;
    frame->function_size = record->size;
}

static FZ_INLINE void
set_file(struct index_view view, uint32_t file, struct sym_frame *frame)
{
    const uint8_t *entry =
        file ? index_at(view, INDEX_FILES, (uint64_t)file * INDEX_FILE, INDEX_FILE) : NULL;
    frame->directory = entry ? get_string(view, load32(entry)) : "";
    frame->file = entry ? get_string(view, load32(entry + 4)) : "";
}

static inline unsigned
unit_of(const struct sym_index *index, uint64_t addr)
{
    return (unsigned)(addr >> index->unit_shift &
                      ((1u << (index->page_shift - index->unit_shift)) - 1));
}

/* From the record of a row up to the function. */
static FZ_INLINE size_t
follow(struct index_view view, const struct found_row *row, struct sym_frame *ret, size_t max)
{
    struct index_record record;
    uint32_t file = 0, line = 0, column = row->column;
    if (!read_record(view, row->record, &record))
        return 0;
    file = record.file;
    /* 0 says that the compiler gave no line. */
    if (row->line_code)
        line = record.base_line + row->line_code - 1;
    /* No build writes longer chains; a damaged index may hold one. */
    for (size_t n = 0; n < SYM_FRAMES_MAX; n++) {
        /* A chain that is too long keeps its innermost frames and the outermost. */
        struct sym_frame *frame = &ret[n < max ? n : max - 1];
        set_names(view, &record, frame);
        set_file(view, file, frame);
        frame->line = line;
        frame->column = column;
        if (!record.is_inlined)
            return n < max ? n + 1 : max;
        bool has_call_file = record.has_call_file;
        file = record.call_file;
        line = record.call_line;
        column = record.call_column;
        if (!read_record(view, record.caller, &record))
            return 0;
        /* Mostly the call is in the file of its caller, so only exceptions are stored. */
        if (!has_call_file)
            file = record.file;
    }
    return 0;
}

static FZ_INLINE size_t
look_up(struct index_view view, uint64_t addr, struct sym_frame *ret, size_t max)
{
    addr &= view.index->addr_mask;
    uint32_t place = find_page(view, addr);
    struct found_row row;
    if (!place || max == 0 || !find_row(view, place, unit_of(view.index, addr), &row))
        return 0;
    return follow(view, &row, ret, max);
}

/* Kept apart: the compiler then makes each copy for itself. */
static FZ_NOINLINE size_t
look_up_checked(const struct sym_index *index, uint64_t addr, struct sym_frame *ret, size_t max)
{
    return look_up((struct index_view){.index = index, .is_trusted = false}, addr, ret, max);
}

size_t
sym_index_lookup(const struct sym_index *index, uint64_t addr, struct sym_frame *ret, size_t max)
{
    if (!index_is_trusted(index))
        return look_up_checked(index, addr, ret, max);
    return look_up((struct index_view){.index = index, .is_trusted = true}, addr, ret, max);
}

bool
sym_index_function_die(const struct sym_index *index, uint64_t addr, struct sym_function_die *ret)
{
    struct index_view view = {.index = index, .is_trusted = index_is_trusted(index)};
    unsigned len = index_die_len(index->info_size);
    struct found_row row;
    struct index_record record;
    addr &= index->addr_mask;
    uint32_t page = find_page(view, addr);
    if (len == 0 || !page || !find_row(view, page, unit_of(index, addr), &row))
        return false;
    uint32_t place = row.record;
    /* As far up as a lookup follows. */
    for (size_t n = 0; n < SYM_FRAMES_MAX; n++, place = record.caller) {
        if (!read_record(view, place, &record))
            return false;
        if (!record.is_inlined)
            break;
    }
    if (record.is_inlined || record.source != SYM_SOURCE_DWARF)
        return false;
    const uint8_t *at = index_at(view, INDEX_RECORDS, place, RECORD_BYTES_MAX);
    *ret = (struct sym_function_die){.die = at ? index_record_die(at, len) : UINT64_MAX,
                                     .info_size = index->info_size,
                                     .start = index->base + record.start,
                                     .size = record.size};
    return ret->die < ret->info_size;
}

static inline void
prefetch(struct index_view view, enum index_section id, size_t offset)
{
    const struct fz_span *section = &view.index->sections[id];
    if (offset < section->len)
        __builtin_prefetch(section->data + offset);
}

static FZ_INLINE size_t
look_up_many(struct index_view view, const uint64_t *addrs, size_t n, struct sym_frame *ret,
             size_t max, size_t *ret_n_frames)
{
    uint64_t mask = view.index->addr_mask;
    uint32_t places[SYM_LOOKUPS_MAX];
    struct found_row rows[SYM_LOOKUPS_MAX];
    for (size_t i = 0; i < n; i++) {
        /* One step of all lookups before the next step: their waits for memory then overlap. */
        places[i] = find_page(view, addrs[i] & mask);
        prefetch(view, INDEX_ROWS, places[i]);
        prefetch(view, INDEX_ROWS, (size_t)places[i] + 64);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned unit = unit_of(view.index, addrs[i] & mask);
        if (!places[i] || !find_row(view, places[i], unit, &rows[i]))
            rows[i].record = 0;
        else
            prefetch(view, INDEX_RECORDS, rows[i].record);
    }
    size_t done = 0, used = 0;
    /* A chain must fit whole; the caller comes back with the rest. */
    for (; done < n && max - used >= SYM_FRAMES_MAX; done++) {
        ret_n_frames[done] =
            rows[done].record ? follow(view, &rows[done], ret + used, SYM_FRAMES_MAX) : 0;
        used += ret_n_frames[done];
    }
    return done;
}

static FZ_NOINLINE size_t
look_up_many_checked(const struct sym_index *index, const uint64_t *addrs, size_t n,
                     struct sym_frame *ret, size_t max, size_t *ret_n_frames)
{
    struct index_view view = {.index = index, .is_trusted = false};
    return look_up_many(view, addrs, n, ret, max, ret_n_frames);
}

size_t
sym_index_lookup_many(const struct sym_index *index, const uint64_t *addrs, size_t n,
                      struct sym_frame *ret, size_t max, size_t *ret_n_frames)
{
    struct index_view view = {.index = index, .is_trusted = true};
    if (n > SYM_LOOKUPS_MAX)
        /* The caller comes back with the rest. */
        n = SYM_LOOKUPS_MAX;
    return index_is_trusted(index) ? look_up_many(view, addrs, n, ret, max, ret_n_frames)
                                   : look_up_many_checked(index, addrs, n, ret, max, ret_n_frames);
}

void
sym_frame_path(const struct sym_frame *frame, char *ret, size_t size)
{
    size_t len = strlen(frame->directory);
    const char *slash = len == 0 || frame->directory[len - 1] == '/' ? "" : "/";
    snprintf(ret, size, "%s%s%s", frame->directory, slash, frame->file);
}

/* The first entry of a table of addresses and names that is not before `addr` (relative to the
 * base); the end of the table if there is none or it is damaged. */
static size_t
find_name(struct index_view view, enum index_section id, uint64_t addr)
{
    size_t low = 0, total = view.index->sections[id].len / INDEX_ALIAS, high = total;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint8_t *entry = index_at(view, id, middle * INDEX_ALIAS, INDEX_ALIAS);
        if (!entry)
            return total;
        if (load64(entry) < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The name of entry `i` if it is there and of this address, else NULL. */
static const char *
name_of(struct index_view view, enum index_section id, size_t i, uint64_t addr)
{
    const uint8_t *entry = index_at(view, id, (uint64_t)i * INDEX_ALIAS, INDEX_ALIAS);
    return entry && load64(entry) == addr ? get_string(view, load32(entry + 8)) : NULL;
}

size_t
sym_index_aliases(const struct sym_index *index, uint64_t addr, const char **ret, size_t max)
{
    struct sym_frame frames[2];
    size_t n = sym_index_lookup(index, addr, frames, 2);
    if (n == 0)
        return 0;
    /* Two frames are enough: a longer chain keeps the outermost, the function itself, in the
     * last. */
    const struct sym_frame *function = &frames[n - 1];
    struct index_view view = {.index = index, .is_trusted = index_is_trusted(index)};
    uint64_t start = function->function_start - index->base;
    size_t found = 0;
    const char *name;
    for (size_t i = find_name(view, INDEX_ALIASES, start);
         (name = name_of(view, INDEX_ALIASES, i, start)); i++) {
        if (strcmp(name, function->name) == 0)
            continue;
        if (found < max)
            ret[found] = name;
        found++;
    }
    return found;
}

const char *
sym_index_find_alias(const struct sym_index *index, uint64_t addr, const char *name)
{
    struct sym_frame frames[2];
    size_t n = sym_index_lookup(index, addr, frames, 2);
    if (n == 0)
        return NULL;
    struct index_view view = {.index = index, .is_trusted = index_is_trusted(index)};
    uint64_t start = frames[n - 1].function_start - index->base;
    const char *alias;
    for (size_t i = find_name(view, INDEX_ALIASES, start);
         (alias = name_of(view, INDEX_ALIASES, i, start)); i++) {
        /* DWARF has names without the underscore that symbols have. */
        if (strcmp(alias, name) == 0 || (*alias == '_' && strcmp(alias + 1, name) == 0))
            return alias;
    }
    return NULL;
}

const char *
sym_index_call_target(const struct sym_index *index, uint64_t return_addr)
{
    struct index_view view = {.index = index, .is_trusted = index_is_trusted(index)};
    uint64_t addr = (return_addr & index->addr_mask) - index->base;
    const char *name = name_of(view, INDEX_CALLS, find_name(view, INDEX_CALLS, addr), addr);
    /* A damaged block of strings gives an empty name. */
    return name && *name ? name : NULL;
}
