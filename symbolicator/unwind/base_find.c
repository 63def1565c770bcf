#include "symbolicator/unwind/frame_base.h"

#include <stdlib.h>

#include "symbolicator/dwarf/scanner.h"

enum { AT_FRAME_BASE = 0x40, OP_REG0 = 0x50, OP_BREG0 = 0x70, BUDGET = 256 << 20 };
/* Work for one image: steps in range lists of units, units that are scanned. */
enum { STEPS_MAX = 1 << 22, SCANS_MAX = 1024 };

/* The DWARF of one image, with the unit that was looked at last. */
struct bases {
    struct fz_budget budget;
    struct sym_dwarf *dwarf;
    struct sym_dwarf_scan scan;
    struct sym_dwarf_lines lines;
    size_t unit, lines_unit; /* of the scan, of the lines */
    bool has_scan, has_lines;
    uint64_t steps_left;
    unsigned scans_left;
};

static void
close_bases(void *object)
{
    struct bases *bases = object;
    sym_dwarf_scan_deinit(&bases->scan, &bases->budget);
    sym_dwarf_lines_deinit(&bases->lines, &bases->budget);
    sym_dwarf_close(bases->dwarf);
    free(bases);
}

static struct bases *
open_bases(struct unwind_image *image)
{
    const struct sym_macho *files[] = {image->files->dsym, image->files->binary};
    struct bases *bases = image->bases;
    if (bases)
        return bases;
    bases = calloc(1, sizeof(*bases));
    if (!bases)
        return NULL;
    bases->budget.cap = BUDGET;
    bases->steps_left = STEPS_MAX;
    bases->scans_left = SCANS_MAX;
    for (size_t i = 0; i < FZ_ARRAY_LEN(files) && !bases->dwarf; i++) {
        struct sym_dwarf *dwarf = NULL;
        if (files[i] && sym_dwarf_open(files[i], &bases->budget, NULL, &dwarf, NULL) == FZ_OK)
            bases->dwarf = dwarf;
    }
    image->bases = bases;
    image->close_bases = close_bases;
    return bases;
}

/* A function in the DWARF: its DIE, and the range of it that holds the address. */
struct function {
    const struct sym_dwarf_unit *unit;
    uint64_t die, low, high;
};

/* The function at the address in the scanned unit. */
static bool
find_scanned(const struct bases *bases, uint64_t addr, struct function *ret)
{
    for (size_t i = 0; bases->has_scan && i < bases->scan.n_ranges; i++) {
        const struct sym_dwarf_range *range = &bases->scan.ranges[i];
        const struct sym_dwarf_node *node = &bases->scan.nodes[range->node];
        if (addr < range->low || addr >= range->high || node->parent != UINT32_MAX)
            continue;
        *ret = (struct function){.unit = sym_dwarf_unit(bases->dwarf, bases->unit),
                                 .die = node->die,
                                 .low = range->low,
                                 .high = range->high};
        return true;
    }
    return false;
}

struct cover {
    uint64_t addr, low, high;
    bool is_inside;
};

static bool
look_at_range(void *user, uint64_t low, uint64_t high)
{
    struct cover *cover = user;
    cover->low = low;
    cover->high = high;
    cover->is_inside = cover->addr >= low && cover->addr < high;
    return !cover->is_inside;
}

/* Does the DIE have code at cover->addr? True, without is_inside, if it does not say where its code
 * is. */
static bool
may_cover(struct bases *bases, const struct sym_dwarf_unit *unit, uint64_t die, struct cover *cover)
{
    const struct sym_dwarf *dwarf = bases->dwarf;
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, die, unit->end);
    const struct dwarf_abbrev *abbrev =
        dwarf_abbrev_find(dwarf, &dwarf->tables[unit->abbrevs], dwarf_cursor_uleb(&c));
    struct dwarf_value low = {.form = 0}, high = {.form = 0}, ranges = {.form = 0}, value;
    for (uint32_t i = 0; abbrev && !c.bad && i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &dwarf->attrs[abbrev->first_attr + i];
        dwarf_value_read(dwarf, unit, &c, attr, &value);
        if (attr->name == AT_LOW_PC)
            low = value;
        else if (attr->name == AT_HIGH_PC)
            high = value;
        else if (attr->name == AT_RANGES)
            ranges = value;
    }
    uint64_t from, to;
    if (ranges.form)
        return !dwarf_ranges_read(dwarf, unit, &ranges, &bases->steps_left, look_at_range, cover) ||
               cover->is_inside;
    if (!high.form || !dwarf_value_address(dwarf, unit, &low, &from))
        return true;
    if (!dwarf_value_address(dwarf, unit, &high, &to))
        to = from + high.number;
    return !look_at_range(cover, from, to);
}

/* The function whose DIE the index remembers, if it has the address. */
static bool
find_by_index(struct bases *bases, const struct sym_index *index, uint64_t addr,
              struct function *ret)
{
    struct sym_function_die found;
    struct cover cover = {.addr = addr};
    if (!index || !sym_index_function_die(index, addr, &found) ||
        found.info_size != sym_dwarf_info_size(bases->dwarf))
        return false;
    const struct sym_dwarf_unit *unit = dwarf_unit_of(bases->dwarf, found.die);
    /* Of a function in parts the index has one, and which the address is in says its unit. */
    if (!unit || !may_cover(bases, unit, found.die, &cover) || !cover.is_inside ||
        cover.low != found.start || cover.high - cover.low != found.size)
        return false;
    *ret = (struct function){.unit = unit, .die = found.die, .low = cover.low, .high = cover.high};
    return true;
}

static bool
find_function(struct bases *bases, const struct sym_index *index, uint64_t addr,
              struct function *ret)
{
    if (find_scanned(bases, addr, ret) || find_by_index(bases, index, addr, ret))
        return true;
    /* The root of a unit says where its code is, mostly; a scan of all units would take as long as
     * building an index. */
    for (size_t i = 0; i < sym_dwarf_n_units(bases->dwarf); i++) {
        const struct sym_dwarf_unit *unit = sym_dwarf_unit(bases->dwarf, i);
        struct cover cover = {.addr = addr};
        if (unit->is_bad || !may_cover(bases, unit, unit->dies, &cover))
            continue;
        if (bases->scans_left == 0)
            return false;
        bases->scans_left--;
        bases->scan.code_low = 0;
        bases->scan.code_high = UINT64_MAX;
        /* What was found before a fault counts. */
        fz_ignore(sym_dwarf_scan_unit(bases->dwarf, i, &bases->budget, &bases->scan, NULL));
        bases->has_scan = true;
        bases->unit = i;
        if (find_scanned(bases, addr, ret))
            return true;
    }
    return false;
}

/* The first operation of an attribute that is an expression; 0 for another attribute. */
static unsigned
first_operation(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t die)
{
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, die, unit->end);
    const struct dwarf_abbrev *abbrev =
        dwarf_abbrev_find(dwarf, &dwarf->tables[unit->abbrevs], dwarf_cursor_uleb(&c));
    for (uint32_t i = 0; abbrev && !c.bad && i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &dwarf->attrs[abbrev->first_attr + i];
        struct dwarf_value value;
        if (attr->name == AT_FRAME_BASE &&
            (attr->form == FORM_EXPRLOC || attr->form == FORM_BLOCK1)) {
            uint64_t len = attr->form == FORM_EXPRLOC ? dwarf_cursor_uleb(&c) : dwarf_cursor_u8(&c);
            return len > 0 ? dwarf_cursor_u8(&c) : 0;
        }
        dwarf_value_read(dwarf, unit, &c, attr, &value);
    }
    return 0;
}

struct unwind_base
unwind_base_find(struct unwind_image *image, enum fz_arch_cpu cpu, uint64_t addr)
{
    struct unwind_base base = {.kind = UNWIND_BASE_NONE};
    struct bases *bases = open_bases(image);
    struct function function;
    if (!bases || !bases->dwarf || !find_function(bases, image->files->index, addr, &function))
        return base;
    unsigned op = first_operation(bases->dwarf, function.unit, function.die);
    unsigned sp = (unsigned)fz_arch_register_of_role(cpu, FZ_REGISTER_SP);
    unsigned fp = (unsigned)fz_arch_register_of_role(cpu, FZ_REGISTER_FP);
    base.low = function.low;
    base.high = function.high;
    if (op == OP_REG0 + sp || op == OP_BREG0 + sp)
        base.kind = UNWIND_BASE_SP;
    else if (op == OP_REG0 + fp || op == OP_BREG0 + fp)
        base.kind = UNWIND_BASE_FP;
    return base;
}

/* The address of the first row after `addr` in the sequence that holds it; false if there is none. */
static bool
find_next_row(const struct sym_dwarf_lines *lines, uint64_t addr, uint64_t *ret)
{
    for (size_t i = 0; i < lines->n_sequences; i++) {
        const struct sym_dwarf_sequence *sequence = &lines->sequences[i];
        if (addr < sequence->low || addr >= sequence->high)
            continue;
        for (size_t k = 0; k < sequence->n; k++) {
            uint64_t row = sequence->base + lines->rows[sequence->first + k].offset;
            if (row > addr) {
                *ret = row;
                return true;
            }
        }
    }
    return false;
}

bool
unwind_base_prologue_end(struct unwind_image *image, uint64_t low, uint64_t *ret)
{
    struct bases *bases = open_bases(image);
    struct function function;
    if (!bases || !bases->dwarf || !find_function(bases, image->files->index, low, &function))
        return false;
    size_t unit = (size_t)(function.unit - sym_dwarf_unit(bases->dwarf, 0));
    if (!bases->has_lines || bases->lines_unit != unit) {
        bases->lines.code_low = 0;
        bases->lines.code_high = UINT64_MAX;
        /* The rows before a fault count. */
        fz_ignore(sym_dwarf_lines_unit(bases->dwarf, unit, &bases->budget, &bases->lines, NULL));
        bases->has_lines = true;
        bases->lines_unit = unit;
    }
    return find_next_row(&bases->lines, low, ret);
}
