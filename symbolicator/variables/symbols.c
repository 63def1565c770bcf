/*
 * Data symbols.
 *
 * Of the symbol table only the names are kept that values need: a table of all symbols would cost
 * more than the frames of a report. They are sorted twice, by name and by address.
 */
#include "symbolicator/variables/symbols.h"

#include <stdlib.h>

#include "base/reader.h"
#include "symbolicator/macho/macho.h"

enum { N_STAB = 0xe0, N_TYPE = 0x0e, N_SECT = 0x0e, NAMES_MAX = 1 << 20 };

struct name {
    uint64_t addr;
    const char *text; /* NUL-terminated within the string table */
};

struct variables_names {
    struct name *by_addr, *by_name;
    size_t n, room;
};

/* Classes, metaclasses and ivars; their constant parts; vtables; Swift's type metadata. */
static bool
is_wanted(struct fz_span name)
{
    if (name.len < 5 || name.data[0] != '_')
        return false;
    return fz_span_begins(name, "_OBJC_") || fz_span_begins(name, "__OBJC_") ||
           fz_span_begins(name, "__ZTV") ||
           ((fz_span_begins(name, "_$s") || fz_span_begins(name, "_$S")) &&
            name.data[name.len - 1] == 'N');
}

static int
compare_addr(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int
compare_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static bool
add_name(struct variables_image *image, struct variables_names *names, uint64_t addr,
         const char *text)
{
    struct name *list = fz_list_grow_in(&image->variables->cache, names->by_addr, &names->room,
                                        names->n + 1, sizeof(*list));
    if (!list || names->n == NAMES_MAX)
        return false;
    names->by_addr = list;
    list[names->n++] = (struct name){.addr = addr, .text = text};
    return true;
}

/* A walk over the symbols of a file that are in its sections and begin with an underscore. */
struct symbols_at {
    const struct sym_macho *macho;
    struct fz_reader r;
    uint32_t i;
};

static struct symbols_at
symbols_start(const struct sym_macho *macho)
{
    struct symbols_at at = {.macho = macho, .r = fz_reader_make(macho->symbol_table, "symbols")};
    at.r.big_endian = macho->big_endian;
    return at;
}

/* The name has its NUL in the string table. */
static bool
symbols_next(struct symbols_at *at, struct fz_span *ret_name, uint64_t *ret_addr)
{
    const struct sym_macho *macho = at->macho;
    while (at->i++ < macho->n_symbols && !at->r.failed) {
        uint64_t text = fz_read_u32(&at->r);
        unsigned type = fz_read_u8(&at->r);
        fz_read_skip(&at->r, 3);
        uint64_t addr = fz_read_uint(&at->r, macho->is_64 ? 8 : 4);
        struct fz_span rest = fz_span_from(macho->string_table, (size_t)text);
        if ((type & N_STAB) || (type & N_TYPE) != N_SECT || rest.len == 0 || rest.data[0] != '_')
            continue;
        const uint8_t *nul = memchr(rest.data, 0, rest.len);
        if (!nul || at->r.failed)
            continue;
        *ret_name = fz_span_until(rest, (size_t)(nul - rest.data));
        *ret_addr = addr;
        return true;
    }
    return false;
}

static void
read_names(struct variables_image *image, const struct sym_macho *macho,
           struct variables_names *names)
{
    struct symbols_at at = symbols_start(macho);
    struct fz_span name;
    uint64_t addr;
    while (symbols_next(&at, &name, &addr)) {
        if (is_wanted(name) && !add_name(image, names, addr, (const char *)name.data))
            return;
    }
}

/* The dSYM's table has the local symbols that are stripped from a binary. */
static const struct variables_names *
names_of(struct variables_image *image)
{
    struct variables_names *names = image->names;
    if (names)
        return names;
    names = fz_arena_alloc(&image->variables->cache, sizeof(*names));
    if (!names)
        return NULL;
    const struct sym_process_files *files = image->files;
    if (files->dsym)
        read_names(image, files->dsym, names);
    if (files->binary && files->binary != files->dsym)
        read_names(image, files->binary, names);
    names->by_name = fz_arena_array(&image->variables->cache, names->n, sizeof(*names->by_name));
    if (!names->by_name)
        names->n = 0;
    if (names->n) {
        memcpy(names->by_name, names->by_addr, names->n * sizeof(*names->by_name));
        qsort(names->by_addr, names->n, sizeof(*names->by_addr), compare_addr);
        qsort(names->by_name, names->n, sizeof(*names->by_name), compare_name);
    }
    image->names = names;
    return names;
}

struct function {
    uint64_t hash, addr; /* of the name, FNV-1a */
};

struct variables_functions {
    struct function *list; /* ascending by hash */
    size_t n;
};

static uint64_t
hash_of(struct fz_span name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ name.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static int
compare_function(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* All symbols of the file with the DWARF, by the hashes of their names. */
static const struct variables_functions *
functions_of(struct variables_image *image)
{
    const struct sym_macho *macho = image->macho;
    struct fz_arena *cache = &image->variables->cache;
    size_t room = macho->n_symbols < NAMES_MAX ? macho->n_symbols : NAMES_MAX;
    if (image->functions)
        return image->functions;
    struct variables_functions *all = fz_arena_alloc(cache, sizeof(*all));
    if (!all)
        return NULL;
    all->list = fz_arena_array(cache, room, sizeof(*all->list));
    struct symbols_at at = symbols_start(macho);
    struct fz_span name;
    uint64_t addr;
    while (all->list && all->n < room && symbols_next(&at, &name, &addr))
        all->list[all->n++] =
            (struct function){.hash = hash_of(fz_span_from(name, 1)), .addr = addr};
    if (all->n > 1)
        qsort(all->list, all->n, sizeof(*all->list), compare_function);
    image->functions = all;
    return all;
}

bool
variables_symbols_function(struct variables_image *image, struct fz_span name, uint64_t *ret)
{
    const struct variables_functions *all = functions_of(image);
    uint64_t hash = hash_of(name);
    size_t low = 0, high = all ? all->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->list[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    if (!all || name.len == 0 || low == all->n || all->list[low].hash != hash ||
        (low + 1 < all->n && all->list[low + 1].hash == hash))
        return false;
    *ret = all->list[low].addr;
    return true;
}

static bool
has_segment_at(const struct sym_macho *macho, uint64_t addr)
{
    for (size_t i = 0; macho && i < macho->n_segments; i++) {
        const struct sym_segment *segment = &macho->segments[i];
        if (addr >= segment->vmaddr && addr - segment->vmaddr < segment->vmsize &&
            segment->initprot)
            return true;
    }
    return false;
}

struct variables_image *
variables_symbols_image(struct sym_variables *variables, uint64_t address, uint64_t *ret_addr)
{
    int number = sym_process_image_at(variables->process, address);
    if (number >= 0)
        return sym_process_to_file(variables->process, number, address, ret_addr)
                   ? variables_image_get(variables, number)
                   : NULL;
    for (size_t i = 0; i < variables->n_images; i++) {
        struct variables_image *image = variables->images[i];
        if (image->macho &&
            sym_process_to_file(variables->process, image->number, address, ret_addr) &&
            has_segment_at(image->macho, *ret_addr))
            return image;
    }
    return NULL;
}

bool
variables_symbols_find(struct variables_image *image, const char *name, uint64_t *ret)
{
    const struct variables_names *names = names_of(image);
    struct name key = {.text = name};
    const struct name *found =
        names && names->n ? bsearch(&key, names->by_name, names->n, sizeof(key), compare_name)
                          : NULL;
    if (found)
        *ret = found->addr;
    return found != NULL;
}

const char *
variables_symbols_at(struct variables_image *image, uint64_t addr, const char *prefix)
{
    const struct variables_names *names = names_of(image);
    size_t low = 0, high = names ? names->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->by_addr[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    for (; names && low < names->n && names->by_addr[low].addr == addr; low++) {
        if (strncmp(names->by_addr[low].text, prefix, strlen(prefix)) == 0)
            return names->by_addr[low].text;
    }
    return NULL;
}

static const struct sym_section *
section_at(const struct variables_image *image, uint64_t addr)
{
    const struct sym_macho *binary = image->files->binary;
    for (size_t i = 0; binary && i < binary->n_sections; i++) {
        const struct sym_section *section = &binary->sections[i];
        if (addr >= section->addr && addr - section->addr < section->size)
            return section;
    }
    return NULL;
}

struct fz_span
variables_symbols_bytes(const struct variables_image *image, uint64_t addr)
{
    const struct sym_section *section = section_at(image, addr);
    return section ? fz_span_from(section->bytes, (size_t)(addr - section->addr))
                   : fz_span_make(NULL, 0);
}

bool
variables_symbols_in(const struct variables_image *image, uint64_t addr, const char *name)
{
    const struct sym_macho *files[] = {image->files->binary, image->files->dsym};
    for (size_t i = 0; i < FZ_ARRAY_LEN(files); i++) {
        for (size_t k = 0; files[i] && k < files[i]->n_sections; k++) {
            const struct sym_section *section = &files[i]->sections[k];
            if (addr >= section->addr && addr - section->addr < section->size &&
                strcmp(section->name, name) == 0)
                return true;
        }
    }
    return false;
}

bool
variables_symbols_constant(struct sym_variables *variables, uint64_t address, unsigned size,
                           uint64_t *ret)
{
    uint64_t addr;
    if (sym_process_read_uint(variables->process, address, size, ret))
        return true;
    struct variables_image *image = variables_symbols_image(variables, address, &addr);
    if (!image)
        return false;
    struct fz_reader r = fz_reader_make(variables_symbols_bytes(image, addr), "data");
    uint64_t value = fz_read_uint(&r, size);
    if (r.failed)
        return false;
    *ret = value;
    return true;
}

int64_t
variables_symbols_signed(uint64_t number, unsigned size)
{
    uint64_t sign = size < 8 ? UINT64_C(1) << (8 * size - 1) : 0;
    return (int64_t)((number ^ sign) - sign);
}
