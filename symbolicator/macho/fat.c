/*
 * Fat headers (Mach-O fat.h): several architectures in one file.
 *
 *   bytes   32-bit fat (0xcafebabe)   64-bit fat (0xcafebabf)
 *   0       magic                     magic
 *   4       number of slices          number of slices
 *   8       cputype, cpusubtype       cputype, cpusubtype
 *   16      offset:4 size:4 align:4   offset:8 size:8 align:4 reserved:4
 *   28/40   the next slice            the next slice
 *
 * Always big-endian on disk; the swapped magic is read too.
 */
#include "symbolicator/symbolicator.h"

#include "base/reader.h"
#include "symbolicator/macho/format.h"

enum {
    FAT_HEADER_SIZE = 8,
    FAT_ARCH_SIZE = 20,
    FAT_ARCH_64_SIZE = 32,
};

static bool
read_fat_magic(struct fz_span file, uint32_t *ret_magic)
{
    struct fz_reader r = fz_reader_make(file, "file");
    r.big_endian = true;
    uint32_t magic = fz_read_u32(&r);
    bool is_fat = !r.failed && (magic == MACHO_FAT_MAGIC || magic == MACHO_FAT_MAGIC_64 ||
                                magic == MACHO_FAT_CIGAM || magic == MACHO_FAT_CIGAM_64);
    /* A Java class has the same magic. */
    if (!is_fat || macho_is_java_class(file))
        return false;
    *ret_magic = magic;
    return true;
}

bool
macho_read_magic(struct fz_span bytes, bool *ret_is_64, bool *ret_big_endian)
{
    struct fz_reader r = fz_reader_make(bytes, "macho");
    uint32_t magic = fz_read_u32(&r);
    if (r.failed)
        return false;
    /* Read little-endian: the swapped magic says that the file is big-endian (PowerPC). */
    bool is_64 = magic == MACHO_MAGIC_64 || magic == MACHO_CIGAM_64;
    if (!is_64 && magic != MACHO_MAGIC_32 && magic != MACHO_CIGAM_32)
        return false;
    *ret_is_64 = is_64;
    *ret_big_endian = magic == MACHO_CIGAM_64 || magic == MACHO_CIGAM_32;
    return true;
}

bool
sym_macho_has_magic(struct fz_span file)
{
    bool is_64, big_endian;
    uint32_t magic;
    return macho_read_magic(file, &is_64, &big_endian) || read_fat_magic(file, &magic);
}

static enum fz_code
thin_slice(struct fz_span file, bool is_64, bool big_endian, struct sym_slice *ret,
           struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(file, "macho");
    r.big_endian = big_endian;
    if (!fz_read_fits(&r, 1, is_64 ? MACHO_HEADER_64_SIZE : MACHO_HEADER_32_SIZE))
        return fz_fail_at(err, FZ_E_MALFORMED, file.len, "macho: header truncated at byte %zu",
                          file.len);
    fz_read_skip(&r, 4);
    uint32_t cputype = fz_read_u32(&r);
    *ret = (struct sym_slice){cputype, fz_read_u32(&r), 0, file.len};
    return FZ_OK;
}

static bool
overlaps_earlier(const struct sym_slice *slices, size_t n, const struct sym_slice *slice)
{
    for (size_t i = 0; i < n; i++) {
        /* No sum overflows: both slices have been cut to the file. */
        if (slice->offset < slices[i].offset + slices[i].size &&
            slices[i].offset < slice->offset + slice->size)
            return true;
    }
    return false;
}

/* True if the slice can be used; it is cut to the file where it reaches beyond. */
static bool
check_slice(struct fz_span file, uint64_t headers_end, const struct sym_slice *earlier,
            size_t n_earlier, struct sym_slice *slice, struct sym_problems *problems)
{
    const char *arch = fz_arch_name(slice->cputype, slice->cpusubtype);
    unsigned long long offset = slice->offset;
    /* Before the slice is cut: a slice that begins outside has nothing left. */
    if (slice->offset < headers_end || slice->offset >= file.len) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SLICE,
                        "slice %s: offset %llu is outside the file's %zu", arch, offset, file.len);
        return false;
    }
    if (slice->size > file.len - slice->offset) {
        sym_problem_add(problems, SYM_PROBLEM_TRUNCATED,
                        "slice %s: %llu bytes at %llu, but the file ends at %zu; was it copied "
                        "whole?",
                        arch, (unsigned long long)slice->size, offset, file.len);
        slice->size = file.len - slice->offset;
    }
    if (overlaps_earlier(earlier, n_earlier, slice)) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SLICE, "slice %s at %llu overlaps an earlier one",
                        arch, offset);
        return false;
    }
    struct fz_span bytes = {NULL, 0};
    bool is_64, big_endian;
    if (!fz_span_sub(file, slice->offset, slice->size, &bytes) ||
        !macho_read_magic(bytes, &is_64, &big_endian)) {
        sym_problem_add(problems, SYM_PROBLEM_BAD_SLICE, "slice %s at %llu is not a Mach-O but %s",
                        arch, offset, sym_macho_looks_like(bytes));
        return false;
    }
    return true;
}

static enum fz_code
fat_slices(struct fz_span file, bool is_64, bool big_endian, struct sym_slice ret[SYM_SLICES_MAX],
           size_t *ret_n, struct sym_problems *problems, struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(file, "fat header");
    r.big_endian = big_endian;
    fz_read_skip(&r, 4);
    uint32_t n_archs = fz_read_u32(&r);
    /* Few files have more than four; the limit keeps the slices on the stack. */
    if (n_archs > SYM_SLICES_MAX)
        return fz_fail_at(err, FZ_E_MALFORMED, 4, "fat header: %u slices, at most %d", n_archs,
                          SYM_SLICES_MAX);
    size_t record = is_64 ? FAT_ARCH_64_SIZE : FAT_ARCH_SIZE;
    uint64_t headers_end = FAT_HEADER_SIZE + (uint64_t)n_archs * record;
    size_t n = 0;
    for (uint32_t i = 0; i < n_archs; i++) {
        struct sym_slice slice = {.cputype = fz_read_u32(&r)};
        slice.cpusubtype = fz_read_u32(&r);
        slice.offset = fz_read_uint(&r, is_64 ? 8 : 4);
        slice.size = fz_read_uint(&r, is_64 ? 8 : 4);
        fz_read_skip(&r, is_64 ? 8 : 4);
        enum fz_code code = fz_read_done(&r, err);
        if (code != FZ_OK)
            return code;
        if (check_slice(file, headers_end, ret, n, &slice, problems))
            ret[n++] = slice;
    }
    if (n == 0)
        return fz_fail(err, FZ_E_MALFORMED, "fat header: no slice of %u is a Mach-O", n_archs);
    *ret_n = n;
    return FZ_OK;
}

enum fz_code
sym_macho_slices(struct fz_span file, struct sym_slice ret[SYM_SLICES_MAX], size_t *ret_n,
                 struct sym_problems *problems, struct fz_error *err)
{
    bool is_64, big_endian;
    if (macho_read_magic(file, &is_64, &big_endian)) {
        enum fz_code code = thin_slice(file, is_64, big_endian, &ret[0], err);
        if (code == FZ_OK)
            *ret_n = 1;
        return code;
    }
    uint32_t magic;
    if (!read_fat_magic(file, &magic))
        return fz_fail(err, FZ_E_UNSUPPORTED, "not a Mach-O file but %s",
                       sym_macho_looks_like(file));
    bool fat_64 = magic == MACHO_FAT_MAGIC_64 || magic == MACHO_FAT_CIGAM_64;
    bool swapped = magic == MACHO_FAT_CIGAM || magic == MACHO_FAT_CIGAM_64;
    return fat_slices(file, fat_64, !swapped, ret, ret_n, problems, err);
}
