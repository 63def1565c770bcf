#include "symbolicator/unwind/image.h"

#include <stdlib.h>

#include "base/list.h"
#include "symbolicator/dwarf/libdwarf_frame.h"
#include "symbolicator/macho/macho.h"

static const size_t STARTS_CAP = (size_t)256 << 20;
static const uint64_t FUNCTION_MAX = 64 << 20; /* bytes; code without symbols after it */

static void
close_image(void *object)
{
    struct unwind_image *image = object;
    if (image->close_bases)
        image->close_bases(image->bases);
    for (size_t i = 0; i < UNWIND_CFIS; i++)
        libdwarf_frames_close(image->cfi[i]);
    fz_arena_deinit(&image->arena);
    free(image);
}

struct unwind_image *
unwind_image_get(struct sym_process *process, int number)
{
    struct unwind_image *image = sym_process_kept(process, number);
    const struct sym_process_files *files = sym_process_files(process, number);
    if (image || (!files->binary && !files->dsym && !files->index))
        return image;
    image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->files = files;
    fz_arena_init(&image->arena, STARTS_CAP);
    sym_process_keep(process, number, image, close_image);
    return image;
}

static int
compare_addresses(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Add the starts that a file knows: its list of them and its symbols. */
static void
add_starts(struct unwind_image *image, const struct sym_macho *macho, size_t *room)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena scratch = fz_arena_make(STARTS_CAP);
    struct sym_symbol *symbols = NULL;
    uint64_t *listed = NULL;
    size_t n_symbols = 0, n_listed = 0;
    if (sym_macho_function_starts(macho, &scratch, &listed, &n_listed, NULL, NULL) != FZ_OK)
        n_listed = 0;
    /* A symbol may be a label inside of a function, so the list alone is better. */
    if (n_listed == 0 &&
        sym_macho_symbols(macho, &scratch, &symbols, &n_symbols, NULL, NULL) != FZ_OK)
        n_symbols = 0;
    uint64_t *starts = fz_list_grow_in(&image->arena, image->starts, room,
                                       image->n_starts + n_listed + n_symbols, sizeof(*starts));
    if (!starts)
        return;
    image->starts = starts;
    for (size_t i = 0; i < n_listed; i++)
        starts[image->n_starts++] = listed[i];
    for (size_t i = 0; i < n_symbols; i++)
        starts[image->n_starts++] = symbols[i].addr;
}

static void
find_starts(struct unwind_image *image)
{
    const struct sym_macho *files[] = {image->files->binary, image->files->dsym};
    size_t room = 0;
    image->has_starts = true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(files) && image->n_starts == 0; i++) {
        if (files[i])
            add_starts(image, files[i], &room);
    }
    if (image->n_starts > 0)
        qsort(image->starts, image->n_starts, sizeof(*image->starts), compare_addresses);
}

/* The end of the section that holds an address; false if none does. */
static bool
find_section_end(const struct unwind_image *image, uint64_t addr, uint64_t *ret)
{
    const struct sym_macho *files[] = {image->files->binary, image->files->dsym};
    for (size_t i = 0; i < FZ_ARRAY_LEN(files); i++) {
        for (size_t k = 0; files[i] && k < files[i]->n_sections; k++) {
            const struct sym_section *section = &files[i]->sections[k];
            if (addr >= section->addr && addr - section->addr < section->size &&
                strcmp(section->segment, "__TEXT") == 0) {
                *ret = section->addr + section->size;
                return true;
            }
        }
    }
    return false;
}

static bool
find_between_starts(struct unwind_image *image, uint64_t addr, struct unwind_function *ret)
{
    if (!image->has_starts)
        find_starts(image);
    size_t low = 0, high = image->n_starts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->starts[middle] <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uint64_t start = image->starts[low - 1], end;
    bool has_end = find_section_end(image, start, &end);
    if (!has_end)
        end = start + FUNCTION_MAX;
    for (size_t i = low; i < image->n_starts; i++) {
        if (image->starts[i] > start) {
            end = image->starts[i] < end ? image->starts[i] : end;
            break;
        }
    }
    if (addr >= end)
        return false;
    *ret = (struct unwind_function){.start = start, .end = end};
    return true;
}

bool
unwind_image_function(struct unwind_image *image, uint64_t addr, struct unwind_function *ret)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    size_t n = image->files->index
                   ? sym_index_lookup(image->files->index, addr, frames, SYM_FRAMES_MAX)
                   : 0;
    if (n > 0) {
        const struct sym_frame *function = &frames[n - 1];
        if (addr >= function->function_start && function->function_size > 0 &&
            addr - function->function_start < function->function_size) {
            *ret =
                (struct unwind_function){.start = function->function_start,
                                         .end = function->function_start + function->function_size};
            return true;
        }
    }
    return find_between_starts(image, addr, ret);
}

const char *
unwind_image_name(struct unwind_image *image, uint64_t addr)
{
    struct sym_frame frames[SYM_FRAMES_MAX];
    size_t n = image->files->index
                   ? sym_index_lookup(image->files->index, addr, frames, SYM_FRAMES_MAX)
                   : 0;
    return n > 0 ? frames[n - 1].name : NULL;
}

struct libdwarf_frames *
unwind_image_cfi(struct unwind_image *image, enum unwind_cfi kind)
{
    const struct sym_macho *macho =
        kind == UNWIND_CFI_BINARY_EH ? image->files->binary : image->files->dsym;
    if (!image->has_opened[kind] && macho) {
        struct libdwarf_frames *opened = NULL;
        if (libdwarf_frames_open(macho, kind != UNWIND_CFI_DEBUG, &opened, NULL) == FZ_OK)
            image->cfi[kind] = opened;
    }
    image->has_opened[kind] = true;
    return image->cfi[kind];
}

struct fz_span
unwind_image_compact(const struct unwind_image *image)
{
    const struct sym_section *section =
        image->files->binary ? sym_macho_section(image->files->binary, "__TEXT", "__unwind_info")
                             : NULL;
    return section ? section->bytes : (struct fz_span){NULL, 0};
}
