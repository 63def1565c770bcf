/*
 * The names of a function, found late and only for what stays.
 *
 * An inlined call names its abstract instance, that may name a declaration inside a class, in this
 * unit or another. A linkage name anywhere on the way wins over a plain one, as in LLVM.
 */
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"

enum { ORIGINS_MAX = 16 };

struct found {
    struct dwarf_value linkage, plain;
    uint64_t next[2]; /* specification, abstract origin; UINT64_MAX = none */
};

static bool
read_name_die(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t die,
              uint64_t *steps, struct found *ret)
{
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, die, unit->end);
    const struct dwarf_abbrev *abbrev =
        dwarf_abbrev_find(dwarf, &dwarf->tables[unit->abbrevs], dwarf_cursor_uleb(&c));
    /* Many calls may name the same long chain: without the limit the work would be quadratic. */
    if (!abbrev || abbrev->n_attrs >= *steps)
        return false;
    *steps -= abbrev->n_attrs;
    *ret = (struct found){.next = {UINT64_MAX, UINT64_MAX}};
    struct dwarf_value value;
    for (uint32_t i = 0; i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &dwarf->attrs[abbrev->first_attr + i];
        dwarf_value_read(dwarf, unit, &c, attr, &value);
        if (c.bad)
            return false;
        switch (attr->name) {
        case AT_NAME:
            ret->plain = value;
            break;
        /* DWARF 4 gave the attribute its number; gcc and clang wrote that of MIPS before. */
        case AT_LINKAGE_NAME:
        case AT_MIPS_LINKAGE_NAME:
            ret->linkage = value;
            break;
        case AT_SPECIFICATION:
            ret->next[0] = dwarf_value_reference(dwarf, unit, &value);
            break;
        case AT_ABSTRACT_ORIGIN:
            ret->next[1] = dwarf_value_reference(dwarf, unit, &value);
            break;
        default:
            break;
        }
    }
    return true;
}

typedef struct fz_span read_fn(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                               const struct dwarf_value *value);

/* Both names, or with `is_linkage_enough` no plain one once there is a linkage name. */
static void
find_names(const struct sym_dwarf *dwarf, uint64_t die, uint64_t *steps, read_fn *read,
           bool is_linkage_enough, struct sym_dwarf_name *ret)
{
    *ret = (struct sym_dwarf_name){{NULL, 0}, {NULL, 0}};
    uint64_t open[ORIGINS_MAX] = {die};
    unsigned n_open = 1;
    /* The limit also ends references that form a cycle. */
    for (unsigned n = 0; n_open > 0 && n < ORIGINS_MAX; n++) {
        die = open[--n_open];
        const struct sym_dwarf_unit *unit = dwarf_unit_of(dwarf, die);
        struct found found;
        if (!unit || !read_name_die(dwarf, unit, die, steps, &found))
            continue;
        /* The name nearest to the DIE wins. */
        if (ret->linkage.len == 0)
            ret->linkage = read(dwarf, unit, &found.linkage);
        if (ret->plain.len == 0 && !(ret->linkage.len && is_linkage_enough))
            ret->plain = read(dwarf, unit, &found.plain);
        if (ret->linkage.len && (ret->plain.len || is_linkage_enough))
            return;
        for (int i = 0; i < 2; i++) {
            if (found.next[i] != UINT64_MAX && n_open < ORIGINS_MAX)
                open[n_open++] = found.next[i];
        }
    }
}

void
sym_dwarf_name(const struct sym_dwarf *dwarf, uint64_t die, uint64_t *steps,
               struct sym_dwarf_name *ret)
{
    find_names(dwarf, die, steps, dwarf_value_string, false, ret);
}

struct fz_span
sym_dwarf_name_place(const struct sym_dwarf *dwarf, uint64_t die, uint64_t *steps)
{
    struct sym_dwarf_name places;
    find_names(dwarf, die, steps, dwarf_value_string_place, true, &places);
    return places.linkage.len ? places.linkage : places.plain;
}
