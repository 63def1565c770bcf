#include "symbolicator/process/process.h"

#include <stdlib.h>

#include "symbolicator/macho/macho.h"

static const uint64_t UNKNOWN_SIZE_MAX = 256 * 1024 * 1024;

struct image {
    struct sym_process_image at;
    uint64_t end;
    struct sym_process_files files;
    bool asked;
    void *kept;
    void (*destroy)(void *object);
};

struct sym_process {
    enum fz_arch_cpu cpu;
    unsigned pointer_size;
    struct sym_process_region *regions; /* ascending, no two overlap */
    size_t n_regions;
    struct image *images; /* as in the source */
    size_t n_images;
    uint32_t *by_addr; /* numbers of images, ascending by address */
    uint64_t *reach;   /* the highest end of the images up to there */
    sym_process_files_fn files;
    void *user;
};

static bool
is_register(int number)
{
    return number >= 0 && number < FZ_REGISTER_NUMBERS;
}

bool
sym_registers_get(const struct sym_registers *registers, int number, uint64_t *ret)
{
    if (!is_register(number) || !registers->known[number])
        return false;
    *ret = registers->value[number];
    return true;
}

void
sym_registers_set(struct sym_registers *registers, int number, uint64_t value)
{
    if (!is_register(number))
        return;
    registers->value[number] = value;
    registers->known[number] = true;
}

static int
compare_regions(const void *a, const void *b)
{
    const struct sym_process_region *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Copy what the limits allow. In the caller's order, so that stacks, which come first, are never cut
 * because of many small pieces of memory. */
static size_t
copy_regions(const struct sym_process_source *source, struct sym_process_region *list)
{
    size_t n = 0, left = SYM_PROCESS_BYTES_MAX;
    for (size_t i = 0; i < source->n_regions && n < SYM_PROCESS_REGIONS_MAX; i++) {
        struct sym_process_region region = source->regions[i];
        /* Without the last byte of the address space every end fits into 64 bits. */
        uint64_t to_top = UINT64_MAX - region.addr;
        region.bytes = fz_span_until(region.bytes, SYM_PROCESS_REGION_BYTES_MAX);
        if (region.bytes.len > to_top)
            region.bytes = fz_span_until(region.bytes, (size_t)to_top);
        region.bytes = fz_span_until(region.bytes, left);
        if (region.bytes.len == 0)
            continue;
        left -= region.bytes.len;
        list[n++] = region;
    }
    return n;
}

/* Apply the limits, sort, let the earlier one win where two overlap. */
static enum fz_code
add_regions(struct sym_process *process, const struct sym_process_source *source,
            struct fz_arena *arena, struct fz_error *err)
{
    struct sym_process_region *list = fz_arena_array(arena, source->n_regions, sizeof(*list));
    uint64_t end = 0;
    size_t n = 0;
    if (!list)
        return fz_arena_fail(arena, err);
    size_t n_copied = copy_regions(source, list);
    qsort(list, n_copied, sizeof(*list), compare_regions);
    for (size_t i = 0; i < n_copied; i++) {
        struct sym_process_region region = list[i];
        uint64_t covered = end > region.addr ? end - region.addr : 0;
        if (region.bytes.len <= covered)
            continue;
        region.bytes = fz_span_from(region.bytes, (size_t)covered);
        region.addr += covered;
        end = region.addr + region.bytes.len;
        list[n++] = region;
    }
    process->regions = list;
    process->n_regions = n;
    return FZ_OK;
}

struct place {
    uint64_t addr;
    uint32_t image;
};

static int
compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->image < y->image ? -1 : 1;
}

static enum fz_code
add_images(struct sym_process *process, const struct sym_process_source *source,
           struct fz_arena *arena, struct fz_error *err)
{
    size_t n = source->n_images < UINT32_MAX ? source->n_images : UINT32_MAX;
    struct place *places = fz_arena_array(arena, n, sizeof(*places));
    process->images = fz_arena_array(arena, n, sizeof(*process->images));
    process->by_addr = fz_arena_array(arena, n, sizeof(*process->by_addr));
    process->reach = fz_arena_array(arena, n, sizeof(*process->reach));
    if (!places || !process->images || !process->by_addr || !process->reach)
        return fz_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        process->images[i].at = source->images[i];
        places[i] = (struct place){.addr = source->images[i].addr, .image = (uint32_t)i};
    }
    qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++) {
        struct image *image = &process->images[places[i].image];
        uint64_t size = image->at.size, to_top = UINT64_MAX - image->at.addr;
        if (size == 0) {
            size = UNKNOWN_SIZE_MAX;
            if (i + 1 < n && places[i + 1].addr - image->at.addr < size)
                size = places[i + 1].addr - image->at.addr;
        }
        image->end = image->at.addr + (size < to_top ? size : to_top);
        process->by_addr[i] = places[i].image;
        process->reach[i] = image->end;
        if (i > 0 && process->reach[i - 1] > image->end)
            process->reach[i] = process->reach[i - 1];
    }
    process->n_images = n;
    return FZ_OK;
}

enum fz_code
sym_process_create(const struct sym_process_source *source, struct fz_arena *arena,
                   struct sym_process **ret, struct fz_error *err)
{
    struct sym_process *process = fz_arena_alloc(arena, sizeof(*process));
    if (!process)
        return fz_arena_fail(arena, err);
    process->cpu = source->cpu;
    process->pointer_size = source->is_arm64_32 ? 4 : fz_arch_pointer_bits(source->cpu) / 8;
    process->files = source->files;
    process->user = source->user;
    enum fz_code code = add_regions(process, source, arena, err);
    if (code == FZ_OK)
        code = add_images(process, source, arena, err);
    if (code == FZ_OK)
        *ret = process;
    return code;
}

void
sym_process_destroy(struct sym_process *process)
{
    for (size_t i = 0; process && i < process->n_images; i++)
        sym_process_keep(process, (int)i, NULL, NULL);
}

enum fz_arch_cpu
sym_process_cpu(const struct sym_process *process)
{
    return process->cpu;
}

unsigned
sym_process_pointer_size(const struct sym_process *process)
{
    return process->pointer_size;
}

int
sym_process_image_at(const struct sym_process *process, uint64_t addr)
{
    size_t low = 0, high = process->n_images;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->images[process->by_addr[middle]].at.addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    /* Reports give some sizes too large, so a smaller image may be inside a larger one. */
    for (; low > 0 && process->reach[low - 1] > addr; low--) {
        if (process->images[process->by_addr[low - 1]].end > addr)
            return (int)process->by_addr[low - 1];
    }
    return -1;
}

const struct sym_process_files *
sym_process_files(struct sym_process *process, int image)
{
    static const struct sym_process_files none = {0};
    if (image < 0 || (size_t)image >= process->n_images)
        return &none;
    struct image *asked = &process->images[image];
    if (!asked->asked) {
        struct sym_process_files files = {0};
        asked->asked = true;
        if (process->files && process->files(process->user, (size_t)image, &files, NULL) == FZ_OK)
            asked->files = files;
    }
    return &asked->files;
}

/* How far the image is from where its files say; false without files. */
static bool
find_slide(struct sym_process *process, int image, uint64_t *ret)
{
    const struct sym_process_files *files = sym_process_files(process, image);
    uint64_t vmaddr;
    if (files->binary) {
        vmaddr = files->binary->text_vmaddr;
    } else if (files->dsym) {
        vmaddr = files->dsym->text_vmaddr;
    } else if (files->index) {
        struct sym_index_info info;
        sym_index_info(files->index, &info);
        vmaddr = info.text_vmaddr;
    } else {
        return false;
    }
    *ret = process->images[image].at.addr - vmaddr;
    return true;
}

bool
sym_process_to_file(struct sym_process *process, int image, uint64_t addr, uint64_t *ret)
{
    uint64_t slide;
    if (!find_slide(process, image, &slide))
        return false;
    *ret = addr - slide;
    return true;
}

bool
sym_process_from_file(struct sym_process *process, int image, uint64_t vmaddr, uint64_t *ret)
{
    uint64_t slide;
    if (!find_slide(process, image, &slide))
        return false;
    *ret = vmaddr + slide;
    return true;
}

bool
sym_process_code(const struct sym_process *process, uint64_t pointer, uint64_t *ret)
{
    static const unsigned bits[] = {64, 47, 39, 36};
    size_t n = process->cpu == FZ_CPU_ARM64 ? FZ_ARRAY_LEN(bits) : 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t addr = bits[i] == 64 ? pointer : pointer & ((UINT64_C(1) << bits[i]) - 1);
        if (process->cpu == FZ_CPU_ARM)
            addr &= ~UINT64_C(1);
        if (sym_process_image_at(process, addr) >= 0) {
            *ret = addr;
            return true;
        }
    }
    *ret = pointer;
    return false;
}

/* The captured region at the address, NULL if there is none. */
static const struct sym_process_region *
find_region(const struct sym_process *process, uint64_t addr)
{
    size_t low = 0, high = process->n_regions;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->regions[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || addr - process->regions[low - 1].addr >= process->regions[low - 1].bytes.len)
        return NULL;
    return &process->regions[low - 1];
}

/* What the binary says about a read-only address: all of __TEXT, as far as the file carries it. */
static struct fz_span
read_only_bytes(struct sym_process *process, uint64_t addr)
{
    struct fz_span none = {NULL, 0};
    int image = sym_process_image_at(process, addr);
    const struct sym_macho *binary = sym_process_files(process, image)->binary;
    uint64_t vmaddr;
    if (!binary || !sym_process_to_file(process, image, addr, &vmaddr))
        return none;
    for (size_t i = 0; i < binary->n_sections; i++) {
        const struct sym_section *section = &binary->sections[i];
        if (vmaddr >= section->addr && vmaddr - section->addr < section->bytes.len &&
            strcmp(section->segment, "__TEXT") == 0)
            return fz_span_from(section->bytes, (size_t)(vmaddr - section->addr));
    }
    return none;
}

struct fz_span
sym_process_bytes(struct sym_process *process, uint64_t addr, size_t n)
{
    const struct sym_process_region *region = find_region(process, addr);
    struct fz_span bytes = region ? fz_span_from(region->bytes, (size_t)(addr - region->addr))
                                  : read_only_bytes(process, addr);
    return fz_span_until(bytes, n);
}

bool
sym_process_read(struct sym_process *process, uint64_t addr, void *to, size_t n)
{
    uint64_t end;
    if (__builtin_add_overflow(addr, n, &end))
        return false;
    /* First all must be there; regions may adjoin. */
    for (uint64_t at = addr; at < end;) {
        struct fz_span piece = sym_process_bytes(process, at, (size_t)(end - at));
        if (piece.len == 0)
            return false;
        if (piece.len == n) {
            memcpy(to, piece.data, n);
            return true;
        }
        at += piece.len;
    }
    for (uint64_t at = addr; at < end;) {
        struct fz_span piece = sym_process_bytes(process, at, (size_t)(end - at));
        memcpy((uint8_t *)to + (at - addr), piece.data, piece.len);
        at += piece.len;
    }
    return true;
}

bool
sym_process_read_uint(struct sym_process *process, uint64_t addr, unsigned size, uint64_t *ret)
{
    uint8_t bytes[8];
    uint64_t value = 0;
    if (size == 0 || size > sizeof(bytes) || !sym_process_read(process, addr, bytes, size))
        return false;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i); /* all of these processors are little-endian */
    *ret = value;
    return true;
}

bool
sym_process_read_pointer(struct sym_process *process, uint64_t addr, uint64_t *ret)
{
    return sym_process_read_uint(process, addr, process->pointer_size, ret);
}

void *
sym_process_kept(const struct sym_process *process, int image)
{
    return image < 0 || (size_t)image >= process->n_images ? NULL : process->images[image].kept;
}

void
sym_process_keep(struct sym_process *process, int image, void *object,
                 void (*destroy)(void *object))
{
    struct image *keeper = &process->images[image];
    if (keeper->destroy)
        keeper->destroy(keeper->kept);
    keeper->kept = object;
    keeper->destroy = destroy;
}
