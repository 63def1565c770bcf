/*
 * Compact unwind information: one 32-bit encoding for each function.
 *
 * __unwind_info has two levels. The first is sorted by offset from the start of the image and leads
 * to pages; a page is regular (pairs of offset and encoding) or compressed (24 bits of offset and
 * 8 bits that number an encoding, first those common to all pages, then the page's own). The linker
 * merges neighbours of equal encoding, so an entry's start is not that of a function. Example, of
 * arm64: 0x04000001 is a function with a frame record that saves x19 and x20 below it.
 * Source: mach-o/compact_unwind_encoding.h.
 */
#include "symbolicator/unwind/step.h"

#include "base/reader.h"
#include "symbolicator/unwind/encoding.h"

enum { PAGE_REGULAR = 2, PAGE_COMPRESSED = 3, INDEX_ENTRY = 12, OFFSET_MASK = 0xffffff };

struct table {
    struct fz_span bytes;
    uint32_t common_at, n_common, index_at, n_index;
};

static uint32_t
u32_at(struct fz_span bytes, uint64_t at, bool *failed)
{
    struct fz_reader r = fz_reader_make(bytes, "unwind_info");
    fz_read_seek(&r, at);
    uint32_t value = fz_read_u32(&r);
    *failed = *failed || r.failed;
    return value;
}

static bool
open_table(struct fz_span bytes, struct table *ret)
{
    struct fz_reader r = fz_reader_make(bytes, "unwind_info");
    struct table table = {.bytes = bytes};
    uint32_t version = fz_read_u32(&r);
    table.common_at = fz_read_u32(&r);
    table.n_common = fz_read_u32(&r);
    fz_read_skip(&r, 8); /* personalities */
    table.index_at = fz_read_u32(&r);
    table.n_index = fz_read_u32(&r);
    if (r.failed || version != 1)
        return false;
    fz_read_seek(&r, table.index_at);
    if (!fz_read_fits(&r, table.n_index, INDEX_ENTRY))
        return false;
    fz_read_seek(&r, table.common_at);
    if (!fz_read_fits(&r, table.n_common, 4))
        return false;
    *ret = table;
    return true;
}

/* The last of `n` entries of `size` bytes from `at` on whose offset is not above `offset`; `n` if
 * there is none. */
static uint32_t
find_entry(const struct table *table, uint64_t at, uint32_t n, unsigned size, uint32_t mask,
           uint32_t offset)
{
    uint32_t low = 0, high = n;
    bool failed = false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((u32_at(table->bytes, at + (uint64_t)middle * size, &failed) & mask) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return failed || low == 0 ? n : low - 1;
}

static bool
look_in_page(const struct table *table, uint32_t page, uint32_t base, uint32_t offset,
             uint32_t *ret)
{
    struct fz_reader r = fz_reader_make(table->bytes, "unwind_info");
    bool failed = false;
    fz_read_seek(&r, page);
    uint32_t kind = fz_read_u32(&r);
    uint64_t entries = (uint64_t)page + fz_read_u16(&r);
    uint32_t n = fz_read_u16(&r);
    if (r.failed)
        return false;
    if (kind == PAGE_REGULAR) {
        uint32_t i = find_entry(table, entries, n, 8, UINT32_MAX, offset);
        if (i == n)
            return false;
        *ret = u32_at(table->bytes, entries + (uint64_t)i * 8 + 4, &failed);
        return !failed;
    }
    uint64_t encodings = (uint64_t)page + fz_read_u16(&r);
    uint32_t n_encodings = fz_read_u16(&r);
    uint32_t i = find_entry(table, entries, n, 4, OFFSET_MASK, offset - base);
    if (r.failed || kind != PAGE_COMPRESSED || i == n)
        return false;
    uint32_t number = u32_at(table->bytes, entries + (uint64_t)i * 4, &failed) >> 24;
    if (number < table->n_common)
        *ret = u32_at(table->bytes, table->common_at + (uint64_t)number * 4, &failed);
    else if (number - table->n_common < n_encodings)
        *ret = u32_at(table->bytes, encodings + (uint64_t)(number - table->n_common) * 4, &failed);
    else
        return false;
    return !failed;
}

bool
unwind_encoding_find(struct fz_span unwind_info, uint32_t offset, uint32_t *ret)
{
    struct table table;
    bool failed = false;
    if (!open_table(unwind_info, &table) || table.n_index < 2)
        return false;
    uint32_t i = find_entry(&table, table.index_at, table.n_index, INDEX_ENTRY, UINT32_MAX, offset);
    /* The last one has no page: it says where the code ends. */
    if (i >= table.n_index - 1)
        return false;
    uint64_t at = table.index_at + (uint64_t)i * INDEX_ENTRY;
    uint32_t base = u32_at(table.bytes, at, &failed), page = u32_at(table.bytes, at + 4, &failed);
    return !failed && page != 0 && look_in_page(&table, page, base, offset, ret);
}

bool
unwind_compact(struct unwind_step *step, struct unwind_row *ret)
{
    uint32_t encoding;
    if (!step->image || !step->image->files->binary)
        return false;
    uint64_t offset = step->addr - step->image->files->binary->text_vmaddr;
    if (offset > UINT32_MAX ||
        !unwind_encoding_find(unwind_image_compact(step->image), (uint32_t)offset, &encoding) ||
        encoding == 0)
        return false;
    switch (step->cpu) {
    case FZ_CPU_ARM64:
        return unwind_encoding_arm64(encoding, ret);
    case FZ_CPU_ARM:
        return unwind_encoding_arm(encoding, ret);
    case FZ_CPU_X86_64:
    case FZ_CPU_X86:
        return unwind_encoding_x86(step, encoding, ret);
    case FZ_CPU_UNKNOWN:
        break;
    }
    return false;
}
