/* The finished sections to a file, with a check for each block of it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbolicator/index/builder.h"
#include "symbolicator/index/format.h"

enum { BLOCK = 1 << INDEX_BLOCK_SHIFT };

struct writer {
    struct index_builder *b;
    int fd;
    uint64_t at; /* in the file */
    struct index_bytes checks;
    size_t n; /* bytes in the block */
    uint8_t block[BLOCK];
    uint8_t header[INDEX_HEADER];
};

static enum fz_code
flush(struct writer *w, struct fz_error *err)
{
    uint8_t check[4];
    if (w->n == 0)
        return FZ_OK;
    store32(check, index_check(w->block, w->n));
    if (!index_bytes_add(w->b, &w->checks, check, sizeof(check)))
        return fz_budget_fail(&w->b->budget, err);
    enum fz_code code = fz_file_write_fd(w->fd, fz_span_make(w->block, w->n), err);
    w->n = 0;
    return code;
}

/* Whole blocks are written without a copy. */
static enum fz_code
put_blocks(struct writer *w, const uint8_t *from, size_t len, struct fz_error *err)
{
    for (size_t i = 0; i < len; i += BLOCK) {
        uint8_t check[4];
        store32(check, index_check(from + i, BLOCK));
        if (!index_bytes_add(w->b, &w->checks, check, sizeof(check)))
            return fz_budget_fail(&w->b->budget, err);
    }
    return fz_file_write_fd(w->fd, fz_span_make(from, len), err);
}

static enum fz_code
put(struct writer *w, const void *data, size_t len, struct fz_error *err)
{
    const uint8_t *from = data;
    w->at += len;
    while (len > 0) {
        if (w->n == 0 && len >= BLOCK) {
            size_t whole = len / BLOCK * BLOCK;
            enum fz_code code = put_blocks(w, from, whole, err);
            if (code != FZ_OK)
                return code;
            from += whole;
            len -= whole;
            continue;
        }
        /* Blocks do not follow the borders of sections, so that each check covers the same size. */
        size_t part = len < BLOCK - w->n ? len : BLOCK - w->n;
        memcpy(w->block + w->n, from, part);
        w->n += part;
        from += part;
        len -= part;
        if (w->n == BLOCK) {
            enum fz_code code = flush(w, err);
            if (code != FZ_OK)
                return code;
        }
    }
    return FZ_OK;
}

/* What was put since `begin` is the section: `spare` zeros that belong to it follow, and padding. */
static enum fz_code
end_section(struct writer *w, enum index_section id, uint64_t begin, size_t spare,
            struct fz_error *err)
{
    static const uint8_t zeros[INDEX_RECORDS_SPARE + 8];
    uint8_t *entry = w->header + INDEX_SECTIONS + 16 * (size_t)id;
    /* The spare bytes let readers load whole words at the end; they belong to the section, so that
     * they are checked with it. */
    uint64_t len = w->at - begin + spare;
    store64(entry, begin);
    store64(entry + 8, len);
    return put(w, zeros, spare + ((0 - len) & 7), err);
}

/* One section from the bytes of its parts. */
static enum fz_code
put_parts(struct writer *w, enum index_section id, const struct fz_span *parts, size_t n_parts,
          size_t spare, struct fz_error *err)
{
    uint64_t begin = w->at;
    enum fz_code code = FZ_OK;
    for (size_t i = 0; i < n_parts && code == FZ_OK; i++) {
        if (parts[i].len)
            code = put(w, parts[i].data, parts[i].len, err);
    }
    return code == FZ_OK ? end_section(w, id, begin, spare, err) : code;
}

static enum fz_code
put_bytes(struct writer *w, enum index_section id, const struct index_bytes *bytes, size_t spare,
          struct fz_error *err)
{
    struct fz_span part = fz_span_make(bytes->data, bytes->n);
    return put_parts(w, id, &part, 1, spare, err);
}

/* The three sections that come in parts. */
static enum fz_code
put_pages(struct writer *w, struct fz_error *err)
{
    const struct index_builder *b = w->b;
    struct fz_span regions[PAGE_PARTS_MAX], pages[PAGE_PARTS_MAX], rows[PAGE_PARTS_MAX];
    for (size_t i = 0; i < b->n_parts; i++) {
        const struct index_page_part *part = &b->parts[i];
        regions[i] = fz_span_make(part->regions.data, part->regions.n);
        pages[i] = fz_span_make(part->pages.data, part->pages.n);
        rows[i] = fz_span_make(part->rows.data, part->rows.n);
    }
    enum fz_code code = put_parts(w, INDEX_REGIONS, regions, b->n_parts, 0, err);
    if (code == FZ_OK)
        code = put_parts(w, INDEX_PAGES, pages, b->n_parts, 0, err);
    if (code == FZ_OK)
        code = put_parts(w, INDEX_ROWS, rows, b->n_parts, INDEX_ROWS_SPARE, err);
    return code;
}

static enum fz_code
put_files(struct writer *w, struct fz_error *err)
{
    const struct index_builder *b = w->b;
    uint64_t begin = w->at;
    for (size_t i = 0; i < b->n_files; i++) {
        uint8_t entry[INDEX_FILE];
        store32(entry, b->files[i].directory);
        store32(entry + 4, b->files[i].name);
        enum fz_code code = put(w, entry, sizeof(entry), err);
        if (code != FZ_OK)
            return code;
    }
    return end_section(w, INDEX_FILES, begin, 0, err);
}

/* The sections that are tables of an address and a name: aliases and calls. */
static enum fz_code
put_names(struct writer *w, enum index_section id, const struct index_name *names, size_t n,
          struct fz_error *err)
{
    uint64_t begin = w->at;
    for (size_t i = 0; i < n; i++) {
        uint8_t entry[INDEX_ALIAS];
        store64(entry, names[i].addr - w->b->code_low);
        store32(entry + 8, names[i].name);
        enum fz_code code = put(w, entry, sizeof(entry), err);
        if (code != FZ_OK)
            return code;
    }
    return end_section(w, id, begin, 0, err);
}

static enum fz_code
put_sections(struct writer *w, struct fz_error *err)
{
    const struct index_builder *b = w->b;
    enum fz_code code = put_pages(w, err);
    if (code == FZ_OK)
        code = put_bytes(w, INDEX_RECORDS, &b->records, INDEX_RECORDS_SPARE, err);
    if (code == FZ_OK)
        code = put_bytes(w, INDEX_STRINGS, &b->strings, 0, err);
    if (code == FZ_OK)
        code = put_files(w, err);
    if (code == FZ_OK)
        code = put_names(w, INDEX_ALIASES, b->aliases, b->n_aliases, err);
    if (code == FZ_OK)
        code = put_names(w, INDEX_CALLS, b->calls, b->n_calls, err);
    if (code == FZ_OK)
        code = flush(w, err);
    if (code != FZ_OK)
        return code;
    uint8_t *entry = w->header + INDEX_SECTIONS + 16 * INDEX_CHECKS;
    /* The checks are not checked themselves: a damaged one only makes its block fail. */
    store64(entry, w->at);
    store64(entry + 8, w->checks.n);
    w->at += w->checks.n;
    return fz_file_write_fd(w->fd, fz_span_make(w->checks.data, w->checks.n), err);
}

static void
fill_header(struct writer *w)
{
    const struct index_builder *b = w->b;
    const struct sym_macho *macho = b->macho;
    const struct sym_build_stats *stats = &b->stats;
    uint8_t *h = w->header;
    memcpy(h, INDEX_MAGIC, sizeof(INDEX_MAGIC));
    store32(h + 8, INDEX_VERSION);
    store64(h + 16, w->at);
    memcpy(h + 24, macho->uuid.bytes, 16);
    store32(h + 40, (macho->has_uuid ? (uint32_t)INDEX_FLAG_UUID : 0) |
                        (fz_arch_has_thumb(macho->cputype) ? (uint32_t)INDEX_FLAG_THUMB : 0));
    store32(h + 44, macho->cputype);
    store32(h + 48, macho->cpusubtype);
    h[52] = (uint8_t)b->unit_shift;
    h[53] = (uint8_t)b->page_shift;
    store64(h + 56, macho->text_vmaddr);
    store64(h + 64, macho->text_vmsize);
    store64(h + 72, b->code_low);
    const uint64_t counts[] = {
        stats->n_functions, stats->n_inlines, stats->n_ranges,    stats->n_symbols,
        stats->n_lines,     stats->n_units,   stats->n_bad_units, stats->n_bad_line_programs};
    for (size_t i = 0; i < FZ_ARRAY_LEN(counts); i++)
        store64(h + INDEX_COUNTS + 8 * i, counts[i]);
    store32(h + 144, stats->min_dwarf_version);
    store32(h + 148, stats->max_dwarf_version);
    store64(h + INDEX_INFO_SIZE, b->info_size);
    /* The check covers the header with 0 in this place, so it comes last. */
    store32(h + 12, index_check(h, INDEX_HEADER));
}

enum fz_code
index_write(struct index_builder *b, int fd, struct fz_error *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    if (!w)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    w->b = b;
    w->fd = fd;
    w->at = INDEX_HEADER;
    /* The header is known last: its place is kept, and blocks are counted after it. */
    enum fz_code code = fz_file_write_fd(fd, fz_span_make(w->header, INDEX_HEADER), err);
    if (code == FZ_OK)
        code = put_sections(w, err);
    if (code == FZ_OK) {
        fill_header(w);
        /* Last, so that a file that was not finished has no magic. */
        if (lseek(fd, 0, SEEK_SET) != 0)
            code = fz_fail_errno(err, "cannot write the index");
        else
            code = fz_file_write_fd(fd, fz_span_make(w->header, INDEX_HEADER), err);
        b->stats.bytes = w->at;
    }
    fz_list_free(&b->budget, w->checks.data, w->checks.room, 1);
    free(w);
    return code;
}
