/*
 * Opening an index: header, section table and checks.
 *
 * Opening reads the header only, so it costs the same for any size: blocks are checked when a
 * lookup first touches them, and lookups check every offset against its section.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/reader.h"
#include "symbolicator/index/reader.h"

static enum fz_code
malformed(struct fz_error *err, const char *what)
{
    return fz_fail(err, FZ_E_MALFORMED, "symbol index: %s", what);
}

static enum fz_code
read_header(struct sym_index *index, struct fz_error *err)
{
    struct fz_span bytes = index->bytes;
    if (bytes.len < sizeof(INDEX_MAGIC) || memcmp(bytes.data, INDEX_MAGIC, sizeof(INDEX_MAGIC)))
        return malformed(err, "wrong magic");
    struct fz_reader r = fz_reader_make(bytes, "symbol index");
    fz_read_seek(&r, sizeof(INDEX_MAGIC));
    struct sym_index_info *info = &index->info;
    info->version = fz_read_u32(&r);
    if (!r.failed && info->version != INDEX_VERSION)
        return fz_fail(err, FZ_E_UNSUPPORTED, "symbol index: version %u, this program reads %d",
                       (unsigned)info->version, INDEX_VERSION);
    if (bytes.len < INDEX_HEADER)
        return malformed(err, "truncated header");
    uint8_t header[INDEX_HEADER];
    memcpy(header, bytes.data, sizeof(header));
    /* The check covers the header with 0 in its own place. */
    store32(header + 12, 0);
    if (fz_read_u32(&r) != index_check(header, sizeof(header)))
        return malformed(err, "the header is damaged");
    /* A copy that was cut off has a good header. */
    if (fz_read_u64(&r) != bytes.len)
        return malformed(err, "truncated");
    memcpy(info->uuid.bytes, fz_read_bytes(&r, 16).data, 16);
    uint32_t flags = fz_read_u32(&r);
    info->has_uuid = flags & INDEX_FLAG_UUID;
    index->addr_mask = flags & INDEX_FLAG_THUMB ? ~(uint64_t)1 : UINT64_MAX;
    info->cputype = fz_read_u32(&r);
    info->cpusubtype = fz_read_u32(&r);
    index->unit_shift = fz_read_u8(&r);
    index->page_shift = fz_read_u8(&r);
    fz_read_u16(&r);
    info->text_vmaddr = fz_read_u64(&r);
    info->text_vmsize = fz_read_u64(&r);
    index->base = fz_read_u64(&r);
    struct sym_build_stats *stats = &info->stats;
    stats->n_functions = fz_read_u64(&r);
    stats->n_inlines = fz_read_u64(&r);
    stats->n_ranges = fz_read_u64(&r);
    stats->n_symbols = fz_read_u64(&r);
    stats->n_lines = fz_read_u64(&r);
    stats->n_units = fz_read_u64(&r);
    stats->n_bad_units = fz_read_u64(&r);
    stats->n_bad_line_programs = fz_read_u64(&r);
    stats->min_dwarf_version = fz_read_u32(&r);
    stats->max_dwarf_version = fz_read_u32(&r);
    stats->bytes = bytes.len;
    index->info_size = load64(bytes.data + INDEX_INFO_SIZE);
    /* A page has at most 256 units, whose numbers are bytes. */
    if (index->unit_shift > 8 || index->page_shift < index->unit_shift ||
        index->page_shift > index->unit_shift + 8)
        return malformed(err, "impossible page size");
    return FZ_OK;
}

static enum fz_code
read_sections(struct sym_index *index, struct fz_error *err)
{
    uint64_t checked_end = 0;
    for (int id = 0; id < INDEX_N_SECTIONS; id++) {
        const uint8_t *entry = index->bytes.data + INDEX_SECTIONS + 16 * (size_t)id;
        uint64_t offset = load64(entry), size = load64(entry + 8);
        /* Nothing may overlap the header, which is checked on its own. */
        if (offset < INDEX_HEADER || offset % 8 != 0 ||
            !fz_span_sub(index->bytes, offset, size, &index->sections[id]))
            return malformed(err, "a section is outside the file");
        if (id != INDEX_CHECKS && offset + size > checked_end)
            checked_end = offset + size;
    }
    const struct fz_span *strings = &index->sections[INDEX_STRINGS];
    const struct fz_span *checks = &index->sections[INDEX_CHECKS];
    /* So that every string of the pool ends, wherever it begins. */
    if (strings->len == 0 || strings->data[strings->len - 1] != 0)
        return malformed(err, "strings do not end");
    if (index->sections[INDEX_RECORDS].len < INDEX_RECORDS_SPARE ||
        index->sections[INDEX_ROWS].len < INDEX_ROWS_SPARE)
        return malformed(err, "a section is too short");
    uint64_t checks_at = load64(index->bytes.data + INDEX_SECTIONS + 16 * INDEX_CHECKS);
    index->n_regions = index->sections[INDEX_REGIONS].len / INDEX_REGION;
    index->n_blocks = checks->len / 4;
    /* Every section must be in front of the checks, or a part of it would be read unchecked. */
    if (checked_end > checks_at ||
        index->n_blocks !=
            (checks_at - INDEX_HEADER + (1 << INDEX_BLOCK_SHIFT) - 1) >> INDEX_BLOCK_SHIFT)
        return malformed(err, "checks do not cover it");
    /* calloc() of 0 bytes may return NULL, which would look like a lack of memory. */
    index->blocks = calloc(index->n_blocks + 1, sizeof(*index->blocks));
    index->trust = calloc(1, sizeof(*index->trust));
    if (!index->blocks || !index->trust)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    return FZ_OK;
}

bool
index_block_check(const struct sym_index *index, size_t block)
{
    size_t from = INDEX_HEADER + (block << INDEX_BLOCK_SHIFT);
    size_t checked = (size_t)(index->sections[INDEX_CHECKS].data - index->bytes.data);
    /* The last block ends where the checks begin. */
    size_t len = checked - from;
    if (len > 1 << INDEX_BLOCK_SHIFT)
        len = 1 << INDEX_BLOCK_SHIFT;
    bool is_good = index_check(index->bytes.data + from, len) ==
                   load32(index->sections[INDEX_CHECKS].data + 4 * block);
    /* Several threads may come to the same result; one of them counts it. */
    unsigned before = atomic_exchange_explicit(
        &index->blocks[block], is_good ? BLOCK_GOOD : BLOCK_BAD, memory_order_relaxed);
    if (is_good && before == 0 &&
        atomic_fetch_add_explicit(&index->trust->n_good, 1, memory_order_relaxed) + 1 ==
            index->n_blocks)
        atomic_store_explicit(&index->trust->is_good, true, memory_order_relaxed);
    if (!is_good)
        atomic_store_explicit(&index->trust->is_damaged, true, memory_order_relaxed);
    return is_good;
}

bool
sym_index_is_damaged(const struct sym_index *index)
{
    return atomic_load_explicit(&index->trust->is_damaged, memory_order_relaxed);
}

enum fz_code
index_open_bytes(struct fz_span bytes, struct sym_index **ret, struct fz_error *err)
{
    FZ_CLEANUP(sym_index_closep) struct sym_index *index = calloc(1, sizeof(*index));
    if (!index)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    index->bytes = bytes;
    enum fz_code code = read_header(index, err);
    if (code == FZ_OK)
        code = read_sections(index, err);
    if (code != FZ_OK)
        return code;
    *ret = fz_take(&index);
    return FZ_OK;
}

enum fz_code
sym_index_open_fd(int fd, struct sym_index **ret, struct fz_error *err)
{
    struct fz_map map;
    enum fz_code code = fz_map_open_fd(fd, &map, err);
    if (code != FZ_OK)
        return code;
    code = index_open_bytes(map.bytes, ret, err);
    if (code != FZ_OK)
        fz_map_close(&map);
    else
        (*ret)->map = map;
    return code;
}

enum fz_code
sym_index_open(const char *path, struct sym_index **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fz_fail_errno(err, "%s", path);
    struct fz_error why;
    enum fz_code code = sym_index_open_fd(fd, ret, &why);
    return code == FZ_OK ? FZ_OK : fz_fail(err, code, "%s: %s", path, why.text);
}

void
sym_index_close(struct sym_index *index)
{
    if (!index)
        return;
    free(index->blocks);
    free(index->trust);
    fz_map_close(&index->map);
    free(index);
}

void
sym_index_closep(struct sym_index **index)
{
    sym_index_close(*index);
    *index = NULL;
}

uint32_t
sym_index_version(void)
{
    return INDEX_VERSION;
}

void
sym_index_info(const struct sym_index *index, struct sym_index_info *ret)
{
    *ret = index->info;
}
