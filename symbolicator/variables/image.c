/*
 * Images: the function at an address, units by address, lines.
 *
 * The index remembers the DIE of each function. It is believed only if there is a function of that
 * very range, so an index of another file, or a damaged one, gives no other function's variables.
 *
 * Without it, which unit an address is in comes from the roots of the units; .debug_aranges is not
 * used, since old linkers leave units out of it. A unit whose root has no addresses is scanned for
 * its functions at once. A function is found in the list that the index builder's scan makes of its
 * unit: the function with the smallest range at the address, as in the index.
 */
#include "symbolicator/variables/image.h"

#include <stdlib.h>

#include "symbolicator/macho/compressed.h"
#include "symbolicator/variables/context.h"

enum { INFLATED_MAX = 64 * 1024 * 1024, UNITS_SCANNED_MAX = 64, RANGES_MAX = 8 * 1000 * 1000 };

static bool
add_code(struct variables_image *image, uint64_t low, uint64_t high, size_t unit)
{
    struct variables_code *list = fz_list_grow(&image->variables->budget, image->code,
                                               &image->room_code, image->n_code + 1, sizeof(*list));
    if (!list) {
        image->variables->no_memory = true;
        return false;
    }
    image->code = list;
    list[image->n_code++] =
        (struct variables_code){.low = low, .high = high, .unit = (uint32_t)unit};
    return true;
}

struct code_user {
    struct variables_image *image;
    size_t unit;
};

static bool
add_range(void *user, uint64_t low, uint64_t high)
{
    struct code_user *to = user;
    return add_code(to->image, low, high, to->unit);
}

/* The functions of unit `i`, listed at the first call. NULL: out of memory. */
static struct sym_dwarf_scan *
functions_of(struct variables_image *image, size_t i)
{
    struct variables_unit *unit = &image->units[i];
    if (unit->has_functions)
        return &unit->functions;
    unit->functions.code_low = 0;
    unit->functions.code_high = UINT64_MAX;
    enum fz_code code =
        sym_dwarf_scan_unit(image->dwarf, i, &image->variables->budget, &unit->functions, NULL);
    /* What comes before a fault in a unit is used. */
    if (code != FZ_OK && code != FZ_E_MALFORMED) {
        image->variables->no_memory = true;
        return NULL;
    }
    unit->has_functions = true;
    return &unit->functions;
}

static int
compare_code(const void *a, const void *b)
{
    const struct variables_code *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void
list_code(struct variables_image *image)
{
    size_t n_scanned = 0, n = sym_dwarf_n_units(image->dwarf);
    /* What a frame may look at does not pay for the whole file. */
    uint64_t dies = image->variables->dies_left, ranges = image->variables->ranges_left;
    image->has_code = true;
    /* Units of a correct file do not share their lists. */
    image->variables->ranges_left = RANGES_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct sym_dwarf_unit *unit = sym_dwarf_unit(image->dwarf, i);
        struct variables_die root;
        struct code_user to = {.image = image, .unit = i};
        size_t before = image->n_code;
        image->variables->dies_left = VARIABLES_DIES_MAX;
        if (unit->is_bad || !variables_die_at(image, unit->dies, &root))
            continue;
        variables_die_ranges(&root, add_range, &to);
        if (image->n_code > before || n_scanned++ >= UNITS_SCANNED_MAX)
            continue;
        const struct sym_dwarf_scan *scan = functions_of(image, i);
        for (size_t k = 0; scan && k < scan->n_ranges; k++) {
            const struct sym_dwarf_range *range = &scan->ranges[k];
            if (scan->nodes[range->node].parent == UINT32_MAX)
                add_code(image, range->low, range->high, i);
        }
    }
    if (image->n_code > 1)
        qsort(image->code, image->n_code, sizeof(*image->code), compare_code);
    image->variables->dies_left = dies;
    image->variables->ranges_left = ranges;
}

/* A location section, inflated if it is compressed. */
static struct fz_span
find_section(struct variables_image *image, const char *name, unsigned i)
{
    bool is_compressed = false;
    struct fz_span bytes = macho_debug_bytes(image->macho, name, &is_compressed);
    size_t size = 0, len = 0;
    if (!is_compressed)
        return bytes;
    if (macho_compressed_size(bytes, name, &size, NULL) != FZ_OK || size > INFLATED_MAX)
        return fz_span_make(NULL, 0);
    image->inflated[i] = calloc(1, size ? size : 1);
    if (!image->inflated[i])
        return fz_span_make(NULL, 0);
    fz_ignore(macho_inflate(bytes, name, image->inflated[i], size, &len,
                            NULL)); /* what was inflated before a fault counts */
    return fz_span_make(len ? image->inflated[i] : NULL, len);
}

/* The file that has the DWARF: the dSYM, else a binary with its own. */
static bool
open_dwarf(struct variables_image *image)
{
    const struct sym_macho *files[] = {image->files->dsym, image->files->binary};
    for (size_t i = 0; i < FZ_ARRAY_LEN(files); i++) {
        struct sym_problems problems = {0};
        if (!files[i] || sym_dwarf_open(files[i], &image->variables->budget, &problems,
                                        &image->dwarf, NULL) != FZ_OK)
            continue;
        image->macho = files[i];
        return true;
    }
    return false;
}

static struct variables_image *
open_image(struct sym_variables *variables, int number)
{
    struct variables_image *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->variables = variables;
    image->number = number;
    image->files = sym_process_files(variables->process, number);
    image->macho = image->files->dsym ? image->files->dsym : image->files->binary;
    if (!open_dwarf(image))
        return image;
    size_t n = sym_dwarf_n_units(image->dwarf);
    image->units = calloc(n ? n : 1, sizeof(*image->units));
    if (!image->units) {
        variables_image_close(image);
        return NULL;
    }
    image->loc = find_section(image, "__debug_loc", 0);
    image->loclists = find_section(image, "__debug_loclists", 1);
    return image;
}

void
variables_image_close(struct variables_image *image)
{
    if (!image)
        return;
    struct fz_budget *budget = &image->variables->budget;
    size_t n = image->dwarf && image->units ? sym_dwarf_n_units(image->dwarf) : 0;
    for (size_t i = 0; i < n; i++) {
        sym_dwarf_scan_deinit(&image->units[i].functions, budget);
        sym_dwarf_lines_deinit(&image->units[i].lines, budget);
    }
    fz_list_free(budget, image->code, image->room_code, sizeof(*image->code));
    fz_list_free(budget, image->definitions, image->room_definitions, sizeof(*image->definitions));
    free(image->units);
    free(image->inflated[0]);
    free(image->inflated[1]);
    sym_dwarf_close(image->dwarf);
    free(image);
}

struct variables_image *
variables_image_get(struct sym_variables *variables, int number)
{
    for (size_t i = 0; i < variables->n_images; i++) {
        if (variables->images[i]->number == number)
            return variables->images[i];
    }
    struct variables_image **images =
        fz_list_grow(NULL, variables->images, &variables->room_images, variables->n_images + 1,
                     sizeof(struct variables_image *));
    struct variables_image *image = images ? open_image(variables, number) : NULL;
    if (images)
        variables->images = images;
    if (!image) {
        variables->no_memory = true;
        return NULL;
    }
    images[variables->n_images++] = image;
    return image;
}

struct variables_unit *
variables_image_unit(struct variables_image *image, const struct sym_dwarf_unit *unit)
{
    struct variables_unit *more = &image->units[unit - image->dwarf->units];
    struct variables_die root;
    struct variables_attr attr;
    uint64_t value;
    if (more->has_root || !variables_die_at(image, unit->dies, &root))
        return more;
    more->has_root = true;
    if (variables_die_uint(&root, AT_LANGUAGE, &value))
        more->language = (uint16_t)value;
    more->is_optimized = variables_die_flag(&root, AT_APPLE_OPTIMIZED);
    /* Where a writer left it out, the first offsets follow the header of the section. */
    more->loclists_base = unit->offset_size == 8 ? 20 : 12;
    if (variables_die_attr(&root, AT_LOCLISTS_BASE, &attr))
        more->loclists_base = attr.value.number;
    return more;
}

bool
variables_unit_is_c(const struct variables_unit *unit)
{
    switch (unit->language) {
    case LANG_C89:
    case LANG_C:
    case LANG_C99:
    case LANG_C11:
    case LANG_C17:
    case LANG_OBJC:
        return true;
    default:
        return false;
    }
}

bool
variables_unit_is_swift(const struct variables_unit *unit)
{
    return unit->language == LANG_SWIFT;
}

/* The function of a unit with the smallest range at an address; 0 = none. */
static uint64_t
function_at(struct variables_image *image, size_t unit, uint64_t addr, uint64_t *size)
{
    const struct sym_dwarf_scan *scan = functions_of(image, unit);
    uint64_t found = 0;
    for (size_t i = 0; scan && i < scan->n_ranges; i++) {
        const struct sym_dwarf_range *range = &scan->ranges[i];
        const struct sym_dwarf_node *node = &scan->nodes[range->node];
        if (addr < range->low || addr >= range->high || node->parent != UINT32_MAX ||
            range->high - range->low >= *size)
            continue;
        found = node->die;
        *size = range->high - range->low;
    }
    return found;
}

struct check {
    const struct sym_function_die *want;
    uint64_t addr;
    bool has_range, is_inside;
};

static bool
check_range(void *user, uint64_t low, uint64_t high)
{
    struct check *check = user;
    check->has_range =
        check->has_range || (low == check->want->start && high - low == check->want->size);
    check->is_inside = check->is_inside || (check->addr >= low && check->addr < high);
    return !check->has_range || !check->is_inside;
}

/* The function whose DIE the index remembers. */
static bool
find_by_index(struct variables_image *image, uint64_t addr, struct variables_die *ret)
{
    const struct sym_index *index = image->files->index;
    struct sym_function_die found;
    struct variables_die die;
    if (!index || !sym_index_function_die(index, addr, &found) ||
        found.info_size != sym_dwarf_info_size(image->dwarf) ||
        !variables_die_at(image, found.die, &die) || variables_die_tag(&die) != TAG_SUBPROGRAM)
        return false;
    struct check check = {.want = &found, .addr = addr};
    variables_die_ranges(&die, check_range, &check);
    if (!check.has_range || !check.is_inside)
        return false;
    *ret = die;
    return true;
}

bool
variables_image_function(struct variables_image *image, uint64_t addr, struct variables_die *ret)
{
    if (find_by_index(image, addr, ret))
        return true;
    if (!image->has_code)
        list_code(image);
    size_t low = 0, high = image->n_code;
    while (low < high) { /* the first entry after the address */
        size_t middle = low + (high - low) / 2;
        if (image->code[middle].low <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    /* Ranges of units overlap only where files are odd: the nearest few are enough. */
    enum { LOOK_BACK = 8 };
    uint64_t die = 0, size = UINT64_MAX;
    for (size_t n = 0; n < LOOK_BACK && low > 0; n++) {
        const struct variables_code *code = &image->code[--low];
        uint64_t found = addr < code->high ? function_at(image, code->unit, addr, &size) : 0;
        die = found ? found : die;
    }
    return die && variables_die_at(image, die, ret);
}

static const struct sym_dwarf_lines *
lines_of(struct variables_image *image, const struct sym_dwarf_unit *unit)
{
    size_t i = (size_t)(unit - image->dwarf->units);
    struct variables_unit *more = &image->units[i];
    if (!more->has_lines) {
        more->has_lines = true;
        more->lines.code_high = UINT64_MAX;
        fz_ignore(sym_dwarf_lines_unit(image->dwarf, i, &image->variables->budget, &more->lines,
                                       NULL)); /* rows before a fault count */
    }
    return &more->lines;
}

/* The sequence that covers an address and the number of its row there. */
static const struct sym_dwarf_sequence *
find_row(const struct sym_dwarf_lines *lines, uint64_t addr, size_t *ret_row)
{
    for (size_t i = 0; i < lines->n_sequences; i++) {
        const struct sym_dwarf_sequence *sequence = &lines->sequences[i];
        if (addr < sequence->low || addr >= sequence->high || sequence->n == 0)
            continue;
        size_t low = 0, high = sequence->n;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (sequence->base + lines->rows[sequence->first + middle].offset <= addr)
                low = middle;
            else
                high = middle;
        }
        *ret_row = low;
        return sequence;
    }
    return NULL;
}

bool
variables_image_prologue_end(struct variables_image *image, const struct sym_dwarf_unit *unit,
                             uint64_t low, uint64_t *ret)
{
    const struct sym_dwarf_lines *lines = lines_of(image, unit);
    size_t row;
    const struct sym_dwarf_sequence *sequence = find_row(lines, low, &row);
    if (!sequence || sequence->base + lines->rows[sequence->first + row].offset != low ||
        row + 1 >= sequence->n)
        return false;
    *ret = sequence->base + lines->rows[sequence->first + row + 1].offset;
    return true;
}

uint32_t
variables_image_line(struct variables_image *image, const struct sym_dwarf_unit *unit,
                     uint64_t addr)
{
    const struct sym_dwarf_lines *lines = lines_of(image, unit);
    size_t row;
    const struct sym_dwarf_sequence *sequence = find_row(lines, addr, &row);
    return sequence ? lines->rows[sequence->first + row].line : 0;
}
