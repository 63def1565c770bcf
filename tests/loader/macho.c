#include "macho.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAGIC_64 = 0xfeedfacf,
    LC_REQ = 0x80000000u,
    LC_SEGMENT_64 = 0x19,
    LC_SYMTAB = 2,
    LC_UUID = 0x1b,
    LC_MAIN = 0x28,
    LC_DYLD_INFO = 0x22,
    LC_DYLD_CHAINED_FIXUPS = 0x34,
    PAGE = 0x4000,
    SMALL_PAGE = 0x1000,
    N_TYPE = 0x0e,
    N_SECT = 0x0e,
    N_STAB = 0xe0,
    NLIST_SIZE = 16,
};

static void
die(const struct macho *image, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "loader: %s: ", image->path);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(125);
}

static uint32_t
u32_at(const struct macho *image, size_t off)
{
    uint32_t value;
    if (off + 4 > image->file_size)
        die(image, "ends before offset %zu", off);
    memcpy(&value, image->file + off, 4);
    return value;
}

static uint64_t
u64_at(const struct macho *image, size_t off)
{
    return u32_at(image, off) | (uint64_t)u32_at(image, off + 4) << 32;
}

/* ---- load commands --------------------------------------------------------------------------- */

static void
read_segment(struct macho *image, size_t off)
{
    if (image->n_segments == MACHO_SEGMENTS)
        die(image, "too many segments");
    struct macho_segment *segment = &image->segments[image->n_segments++];
    memcpy(segment->name, image->file + off + 8, 16);
    segment->addr = u64_at(image, off + 24);
    segment->size = u64_at(image, off + 32);
    segment->file_off = u64_at(image, off + 40);
    segment->file_size = u64_at(image, off + 48);
    segment->protection = u32_at(image, off + 60);
    if (!strcmp(segment->name, "__TEXT")) {
        image->vmaddr = segment->addr;
        image->text_size = segment->size;
    }
    /* __PAGEZERO takes the number of a segment but no memory. */
    if (segment->protection == 0 && segment->file_size == 0)
        segment->size = 0;
}

static void
read_commands(struct macho *image)
{
    if (u32_at(image, 0) != MAGIC_64)
        die(image, "not a thin 64-bit Mach-O file");
    uint32_t n = u32_at(image, 16);
    size_t off = 32;
    uint64_t entry_off = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t command = u32_at(image, off) & ~LC_REQ, size = u32_at(image, off + 4);
        if (command == LC_SEGMENT_64)
            read_segment(image, off);
        else if (command == LC_UUID)
            memcpy(image->uuid, image->file + off + 8, 16);
        else if (command == LC_MAIN)
            entry_off = u64_at(image, off + 8);
        else if (command == LC_SYMTAB) {
            image->symtab_off = u32_at(image, off + 8);
            image->n_symbols = u32_at(image, off + 12);
            image->strtab_off = u32_at(image, off + 16);
            image->strtab_size = u32_at(image, off + 20);
        } else if (command == LC_DYLD_INFO) {
            for (size_t k = 0; k < 10; k++)
                image->dyld_info[k] = u32_at(image, off + 8 + 4 * k);
        } else if (command == LC_DYLD_CHAINED_FIXUPS) {
            image->chains_off = u32_at(image, off + 8);
            image->chains_size = u32_at(image, off + 12);
        }
        off += size;
    }
    image->entry = entry_off ? image->vmaddr + entry_off + image->slide : 0;
}

static void
map_segments(struct macho *image)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (unsigned i = 0; i < image->n_segments; i++) {
        struct macho_segment *segment = &image->segments[i];
        if (segment->size == 0)
            continue;
        segment->addr += image->slide;
        low = segment->addr < low ? segment->addr : low;
        high = segment->addr + segment->size > high ? segment->addr + segment->size : high;
    }
    high = (high + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    /* A hint without MAP_FIXED: what is already there stays, and the result shows it. */
    void *at =
        mmap((void *)low, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != (void *)low)
        die(image, "no room at 0x%llx", (unsigned long long)low);
    for (unsigned i = 0; i < image->n_segments; i++) {
        struct macho_segment *segment = &image->segments[i];
        if (segment->size)
            memcpy((void *)segment->addr, image->file + segment->file_off, segment->file_size);
    }
    image->addr = image->vmaddr + image->slide;
    image->end = high;
}

static void
protect_segments(const struct macho *image, bool writable_text)
{
    for (unsigned i = 0; i < image->n_segments; i++) {
        const struct macho_segment *segment = &image->segments[i];
        if (segment->size == 0)
            continue;
        /* VM_PROT_* has the bits of PROT_*. */
        size_t size = (segment->size + SMALL_PAGE - 1) & ~(size_t)(SMALL_PAGE - 1);
        int protection = (int)segment->protection | (writable_text ? PROT_WRITE : 0);
        if (mprotect((void *)segment->addr, size, protection) != 0)
            die(image, "mprotect of %s", segment->name);
        if (segment->protection & PROT_EXEC)
            __builtin___clear_cache((char *)segment->addr, (char *)segment->addr + size);
    }
}

/* ---- symbols --------------------------------------------------------------------------------- */

uint64_t
macho_symbol(const struct macho *image, const char *name)
{
    for (uint32_t i = 0; i < image->n_symbols; i++) {
        size_t off = image->symtab_off + (size_t)NLIST_SIZE * i;
        uint32_t string = u32_at(image, off), type = image->file[off + 4];
        if ((type & N_STAB) || (type & N_TYPE) != N_SECT || string >= image->strtab_size)
            continue;
        if (!strcmp((const char *)image->file + image->strtab_off + string, name))
            return u64_at(image, off + 8) + image->slide;
    }
    return 0;
}

uint64_t
macho_section(const struct macho *image, const char *segment, const char *section,
              uint64_t *ret_size)
{
    size_t off = 32;
    for (uint32_t i = 0, n = u32_at(image, 16); i < n; i++) {
        if (u32_at(image, off) == LC_SEGMENT_64) {
            for (uint32_t k = 0, n_sections = u32_at(image, off + 64); k < n_sections; k++) {
                const char *at = (const char *)image->file + off + 72 + 80 * (size_t)k;
                if (strncmp(at, section, 16) || strncmp(at + 16, segment, 16))
                    continue;
                *ret_size = u64_at(image, off + 72 + 80 * (size_t)k + 40);
                return u64_at(image, off + 72 + 80 * (size_t)k + 32) + image->slide;
            }
        }
        off += u32_at(image, off + 4);
    }
    return 0;
}

static uint64_t
resolve_import(const struct macho *image, const char *name, bool weak, macho_resolve_fn resolve)
{
    uint64_t value = macho_symbol(image, name);
    if (!value)
        value = resolve(name);
    if (!value && !weak)
        die(image, "nothing provides %s", name);
    return value;
}

/* ---- chained fixups -------------------------------------------------------------------------- */

static uint64_t
chained_import(const struct macho *image, uint32_t ordinal, macho_resolve_fn resolve)
{
    size_t off = image->chains_off;
    uint32_t imports_off = u32_at(image, off + 8), symbols_off = u32_at(image, off + 12);
    if (u32_at(image, off + 20) != 1)
        die(image, "chained imports have format %u, only 1 is read", u32_at(image, off + 20));
    uint32_t import = u32_at(image, off + imports_off + (size_t)4 * ordinal);
    const char *name = (const char *)image->file + off + symbols_off + (import >> 9);
    return resolve_import(image, name, import >> 8 & 1, resolve);
}

static void
follow_chain(const struct macho *image, uint64_t at, uint32_t format, macho_resolve_fn resolve)
{
    for (;;) {
        uint64_t pointer;
        memcpy(&pointer, (void *)at, 8);
        uint64_t next = pointer >> 51 & 0xfff, value;
        if (pointer >> 63) {
            value = chained_import(image, pointer & 0xffffff, resolve) + (pointer >> 24 & 0xff);
        } else {
            value = (pointer & 0xfffffffffull) | (pointer >> 36 & 0xff) << 56;
            /* Format 2 has an address, 6 an offset from the header. */
            value += format == 6 ? image->addr : image->slide;
        }
        memcpy((void *)at, &value, 8);
        if (next == 0)
            return;
        at += next * 4;
    }
}

static void
fix_chains(const struct macho *image, macho_resolve_fn resolve)
{
    size_t starts = image->chains_off + u32_at(image, image->chains_off + 4);
    for (uint32_t i = 0, n = u32_at(image, starts); i < n; i++) {
        uint32_t info = u32_at(image, starts + 4 + (size_t)4 * i);
        if (info == 0)
            continue;
        size_t off = starts + info;
        uint32_t page_size = u32_at(image, off + 4) & 0xffff, format = u32_at(image, off + 4) >> 16;
        uint64_t segment_off = u64_at(image, off + 8);
        uint32_t n_pages = u32_at(image, off + 20) & 0xffff;
        if (format != 2 && format != 6)
            die(image, "chained pointers have format %u, only 2 and 6 are read", format);
        for (uint32_t page = 0; page < n_pages; page++) {
            uint16_t start;
            memcpy(&start, image->file + off + 22 + (size_t)2 * page, 2);
            if (start != 0xffff)
                follow_chain(image, image->addr + segment_off + (uint64_t)page * page_size + start,
                             format, resolve);
        }
    }
}

/* ---- classic fixups: LC_DYLD_INFO ------------------------------------------------------------ */

static uint64_t
uleb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    do
        value |= (uint64_t)(**at & 0x7f) << shift, shift += 7;
    while (*(*at)++ & 0x80);
    return value;
}

static uint64_t
rebase_run(const struct macho *image, uint64_t at, uint64_t count, uint64_t skip)
{
    while (count--) {
        uint64_t pointer;
        memcpy(&pointer, (void *)at, 8);
        pointer += image->slide;
        memcpy((void *)at, &pointer, 8);
        at += 8 + skip;
    }
    return at;
}

static void
fix_rebases(const struct macho *image)
{
    const uint8_t *p = image->file + image->dyld_info[0], *end = p + image->dyld_info[1];
    uint64_t at = 0, count;
    while (p < end) {
        uint8_t op = *p & 0xf0, immediate = *p & 0x0f;
        p++;
        switch (op) {
        case 0x00:
            return;
        case 0x10:
            break;
        case 0x20:
            at = image->segments[immediate].addr + uleb(&p);
            break;
        case 0x30:
            at += uleb(&p);
            break;
        case 0x40:
            at += (uint64_t)immediate * 8;
            break;
        case 0x50:
            at = rebase_run(image, at, immediate, 0);
            break;
        case 0x60:
            at = rebase_run(image, at, uleb(&p), 0);
            break;
        case 0x70:
            at = rebase_run(image, at, 1, uleb(&p));
            break;
        case 0x80:
            count = uleb(&p);
            at = rebase_run(image, at, count, uleb(&p));
            break;
        default:
            die(image, "rebase opcode 0x%x", op);
        }
    }
}

static void
fix_binds(const struct macho *image, uint32_t off, uint32_t size, macho_resolve_fn resolve)
{
    const uint8_t *p = image->file + off, *end = p + size;
    uint64_t at = 0, value = 0, addend = 0, count, skip;
    while (p < end) {
        uint8_t op = *p & 0xf0, immediate = *p & 0x0f;
        p++;
        switch (op) {
        case 0x00: /* done; in a lazy list, between two entries */
        case 0x10:
        case 0x30:
        case 0x50:
            break;
        case 0x20:
            (void)uleb(&p);
            break;
        case 0x40:
            value = resolve_import(image, (const char *)p, immediate & 1, resolve);
            p += strlen((const char *)p) + 1;
            break;
        case 0x60:
            addend = uleb(&p);
            break;
        case 0x70:
            at = image->segments[immediate].addr + uleb(&p);
            break;
        case 0x80:
            at += uleb(&p);
            break;
        case 0x90:
        case 0xa0:
        case 0xb0:
        case 0xc0:
            count = op == 0xc0 ? uleb(&p) : 1;
            skip = op == 0xa0 || op == 0xc0 ? uleb(&p) : op == 0xb0 ? (uint64_t)immediate * 8 : 0;
            while (count--) {
                uint64_t pointer = value + addend;
                memcpy((void *)at, &pointer, 8);
                at += 8 + skip;
            }
            break;
        default:
            die(image, "bind opcode 0x%x", op);
        }
    }
}

struct macho *
macho_load(const char *path, uint64_t slide, macho_resolve_fn resolve, bool writable_text)
{
    struct macho *image = calloc(1, sizeof(*image));
    image->path = path;
    image->slide = slide;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        die(image, "cannot be opened");
    image->file_size = (size_t)status.st_size;
    image->file = mmap(NULL, image->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image->file == MAP_FAILED)
        die(image, "cannot be mapped");
    read_commands(image);
    map_segments(image);
    if (image->chains_off)
        fix_chains(image, resolve);
    fix_rebases(image);
    fix_binds(image, image->dyld_info[2], image->dyld_info[3], resolve);
    fix_binds(image, image->dyld_info[6], image->dyld_info[7], resolve);
    protect_segments(image, writable_text);
    return image;
}
