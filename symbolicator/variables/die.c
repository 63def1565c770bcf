/*
 * Random access to DIEs.
 *
 * The scanner's abbreviation tables say what a DIE has and how to skip it; nothing else is kept, so
 * looking at a DIE costs what reading its few bytes costs.
 */
#include "symbolicator/variables/die.h"

#include "symbolicator/dwarf/skip.h"
#include "symbolicator/variables/context.h"

enum { ORIGINS_MAX = 16, NESTING_MAX = 256, ATTRS_PER_DIE = 32 };

bool
variables_die_at(struct variables_image *image, uint64_t offset, struct variables_die *ret)
{
    const struct sym_dwarf *dwarf = image->dwarf;
    const struct sym_dwarf_unit *unit = dwarf ? dwarf_unit_of(dwarf, offset) : NULL;
    uint64_t *left_of_frame = &image->variables->dies_left;
    if (!unit || *left_of_frame == 0)
        return false;
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, offset, unit->end);
    size_t left = dwarf_cursor_left(&c);
    uint64_t code = dwarf_cursor_uleb(&c);
    const struct dwarf_abbrev *abbrev =
        code ? dwarf_abbrev_find(dwarf, &dwarf->tables[unit->abbrevs], code) : NULL;
    /* Looking for an attribute costs the more the more there are. */
    uint64_t cost = 1 + (abbrev ? abbrev->n_attrs / ATTRS_PER_DIE : 0);
    *left_of_frame -= cost < *left_of_frame ? cost : *left_of_frame;
    if (!abbrev || c.bad)
        return false;
    *ret = (struct variables_die){.image = image,
                                  .unit = unit,
                                  .abbrev = abbrev,
                                  .offset = offset,
                                  .attrs = offset + (left - dwarf_cursor_left(&c))};
    return true;
}

unsigned
variables_die_tag(const struct variables_die *die)
{
    return die->image ? die->abbrev->tag : 0;
}

/* The length of a block by its form; false for other forms. */
static bool
block_length(struct dwarf_cursor *c, uint64_t form, uint64_t *ret)
{
    switch (form) {
    case FORM_BLOCK:
    case FORM_EXPRLOC:
        *ret = dwarf_cursor_uleb(c);
        return true;
    case FORM_BLOCK1:
        *ret = dwarf_cursor_u8(c);
        return true;
    case FORM_BLOCK2:
        *ret = dwarf_cursor_uint(c, 2);
        return true;
    case FORM_BLOCK4:
        *ret = dwarf_cursor_uint(c, 4);
        return true;
    case FORM_DATA16:
        *ret = 16;
        return true;
    default:
        return false;
    }
}

static void
read_attr(const struct variables_die *die, struct dwarf_cursor *c, const struct dwarf_attr *attr,
          struct variables_attr *ret)
{
    *ret = (struct variables_attr){.name = attr->name};
    struct dwarf_cursor after = *c;
    uint64_t form = attr->form == FORM_INDIRECT ? dwarf_cursor_uleb(&after) : attr->form, len;
    if (block_length(&after, form, &len)) {
        const uint8_t *start = after.at;
        dwarf_cursor_skip(&after, len);
        *c = after;
        ret->value.form = (uint16_t)form;
        if (!c->bad && len)
            ret->block = fz_span_make(start, (size_t)len);
        return;
    }
    dwarf_value_read(die->image->dwarf, die->unit, c, attr, &ret->value);
}

/* A number in a run of numbers and LEB128s can be reached without a look at most others. */
bool
variables_die_attr(const struct variables_die *die, unsigned name, struct variables_attr *ret)
{
    if (!die->image || die->abbrev->n_attrs == 0)
        return false;
    const struct dwarf_attr *list = &die->image->dwarf->attrs[die->abbrev->first_attr];
    uint32_t n = 0;
    while (n < die->abbrev->n_attrs && list[n].name != name)
        n++;
    if (n == die->abbrev->n_attrs)
        return false;
    struct dwarf_cursor c =
        dwarf_cursor_make(die->image->dwarf, SECTION_INFO, die->attrs, die->unit->end);
    for (uint32_t i = 0; i < n; i++) {
        struct dwarf_value skipped;
        if (list[i].size)
            dwarf_cursor_skip(&c, list[i].size);
        else
            dwarf_value_read_any(die->image->dwarf, die->unit, &c, &list[i], &skipped);
    }
    /* Its value is in the abbreviation, so skipping it is skipping nothing. */
    read_attr(die, &c, &list[n], ret);
    return !c.bad;
}

bool
variables_die_follow(const struct variables_die *die, const struct variables_attr *attr,
                     struct variables_die *ret)
{
    uint64_t offset = dwarf_value_reference(die->image->dwarf, die->unit, &attr->value);
    return offset != UINT64_MAX && variables_die_at(die->image, offset, ret);
}

/* The DIE whose attributes a DIE has too. */
static bool
origin_of(const struct variables_die *die, struct variables_die *ret)
{
    struct variables_attr attr;
    return (variables_die_attr(die, AT_ABSTRACT_ORIGIN, &attr) ||
            variables_die_attr(die, AT_SPECIFICATION, &attr)) &&
           variables_die_follow(die, &attr, ret);
}

bool
variables_die_attr_deep(const struct variables_die *die, unsigned name, struct variables_attr *ret,
                        struct variables_die *ret_owner)
{
    struct variables_die at = *die;
    for (unsigned n = 0; n < ORIGINS_MAX; n++) {
        if (variables_die_attr(&at, name, ret)) {
            if (ret_owner)
                *ret_owner = at;
            return true;
        }
        if (!origin_of(&at, &at))
            return false;
    }
    return false;
}

bool
variables_die_ref(const struct variables_die *die, unsigned name, struct variables_die *ret)
{
    struct variables_attr attr;
    struct variables_die owner;
    return variables_die_attr_deep(die, name, &attr, &owner) &&
           variables_die_follow(&owner, &attr, ret);
}

struct variables_die
variables_die_origin(const struct variables_die *die)
{
    struct variables_die at = *die;
    for (unsigned n = 0; n < ORIGINS_MAX && origin_of(&at, &at); n++)
        ;
    return at;
}

/* The offset after the attributes of a DIE; 0 if they leave the unit. */
static uint64_t
after_attrs(const struct variables_die *die)
{
    const struct sym_dwarf *dwarf = die->image->dwarf;
    const struct dwarf_abbrev *abbrev = die->abbrev;
    if (abbrev->n_steps == 0)
        return die->attrs + abbrev->size;
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, die->attrs, die->unit->end);
    /* At the end of the unit there is not even an address to skip from. */
    const uint8_t *at = c.at ? skip_die(dwarf, die->unit, abbrev, c.at, c.end) : NULL;
    if (!at)
        return 0;
    /* What follows the last LEB128, string or block is a step of its own, or it is in `size`. */
    const struct dwarf_step *last = &dwarf->steps[abbrev->first_step + abbrev->n_steps - 1];
    return die->attrs + (uint64_t)(at - c.at) + (last->op == STEP_NONE ? 0 : abbrev->size);
}

bool
variables_die_child(const struct variables_die *die, struct variables_die *ret)
{
    if (!die->image || !die->abbrev->has_children)
        return false;
    uint64_t offset = after_attrs(die);
    return offset && offset < die->unit->end && variables_die_at(die->image, offset, ret);
}

/* The offset of what follows a DIE and its children; 0 if that cannot be found. */
static uint64_t
after_die(const struct variables_die *die)
{
    struct variables_attr attr;
    uint64_t offset = after_attrs(die);
    if (!die->abbrev->has_children || !offset)
        return offset;
    if (variables_die_attr(die, AT_SIBLING, &attr)) {
        uint64_t sibling = dwarf_value_reference(die->image->dwarf, die->unit, &attr.value);
        /* Backwards would be a loop. */
        if (sibling != UINT64_MAX && sibling > offset && sibling < die->unit->end)
            return sibling;
    }
    for (unsigned depth = 1; depth > 0 && depth < NESTING_MAX;) {
        struct variables_die at;
        if (offset >= die->unit->end)
            return 0;
        if (die->image->dwarf->sections[SECTION_INFO].data[offset] == 0) {
            offset++;
            depth--;
            continue;
        }
        if (!variables_die_at(die->image, offset, &at))
            return 0;
        offset = after_attrs(&at);
        if (!offset)
            return 0;
        depth += at.abbrev->has_children;
        if (depth == 0)
            return offset;
        if (depth >= NESTING_MAX)
            return 0;
    }
    return offset;
}

bool
variables_die_next(const struct variables_die *die, struct variables_die *ret)
{
    uint64_t offset = die->image ? after_die(die) : 0;
    return offset && offset < die->unit->end && variables_die_at(die->image, offset, ret);
}

bool
variables_attr_is_block(const struct variables_attr *attr)
{
    switch (attr->value.form) {
    case FORM_BLOCK:
    case FORM_BLOCK1:
    case FORM_BLOCK2:
    case FORM_BLOCK4:
    case FORM_EXPRLOC:
        return true;
    default:
        return false;
    }
}

bool
variables_attr_uint(const struct variables_attr *attr, uint64_t *ret)
{
    switch (attr->value.form) {
    case FORM_DATA1:
    case FORM_DATA2:
    case FORM_DATA4:
    case FORM_DATA8:
    case FORM_UDATA:
    case FORM_SDATA:
    case FORM_IMPLICIT_CONST:
    case FORM_FLAG:
    case FORM_FLAG_PRESENT:
        *ret = attr->value.number;
        return true;
    default:
        return false;
    }
}

bool
variables_attr_int(const struct variables_attr *attr, int64_t *ret)
{
    uint64_t value;
    if (!variables_attr_uint(attr, &value))
        return false;
    switch (attr->value.form) {
    case FORM_DATA1:
        *ret = (int8_t)value;
        break;
    case FORM_DATA2:
        *ret = (int16_t)value;
        break;
    case FORM_DATA4:
        *ret = (int32_t)value;
        break;
    default:
        *ret = (int64_t)value;
    }
    return true;
}

bool
variables_die_uint(const struct variables_die *die, unsigned name, uint64_t *ret)
{
    struct variables_attr attr;
    return variables_die_attr_deep(die, name, &attr, NULL) && variables_attr_uint(&attr, ret);
}

bool
variables_die_flag(const struct variables_die *die, unsigned name)
{
    uint64_t value;
    return variables_die_uint(die, name, &value) && value != 0;
}

bool
variables_die_address(const struct variables_die *die, unsigned name, uint64_t *ret)
{
    struct variables_attr attr;
    return variables_die_attr(die, name, &attr) &&
           dwarf_value_address(die->image->dwarf, die->unit, &attr.value, ret);
}

struct fz_span
variables_die_string(const struct variables_die *die, unsigned name)
{
    struct variables_attr attr;
    return variables_die_attr(die, name, &attr)
               ? dwarf_value_string(die->image->dwarf, die->unit, &attr.value)
               : fz_span_make(NULL, 0);
}

struct fz_span
variables_die_string_deep(const struct variables_die *die, unsigned name)
{
    struct variables_attr attr;
    struct variables_die owner;
    return variables_die_attr_deep(die, name, &attr, &owner)
               ? dwarf_value_string(owner.image->dwarf, owner.unit, &attr.value)
               : fz_span_make(NULL, 0);
}

void
variables_die_ranges(const struct variables_die *die, range_fn add, void *user)
{
    struct variables_attr attr;
    uint64_t low, high;
    if (variables_die_attr(die, AT_RANGES, &attr)) {
        fz_ignore(!dwarf_ranges_read(die->image->dwarf, die->unit, &attr.value,
                                     &die->image->variables->ranges_left, add,
                                     user)); /* what was read before a fault counts */
        return;
    }
    if (!variables_die_address(die, AT_LOW_PC, &low) || !variables_die_attr(die, AT_HIGH_PC, &attr))
        return;
    /* A constant is a length, an address the end (DWARF 4, 2.17.2). */
    if (!dwarf_value_address(die->image->dwarf, die->unit, &attr.value, &high)) {
        uint64_t len;
        if (!variables_attr_uint(&attr, &len) || __builtin_add_overflow(low, len, &high))
            return;
    }
    if (low < high)
        fz_ignore(!add(user, low, high)); /* one range is all */
}

struct covers {
    uint64_t pc;
    bool found;
};

static bool
note_range(void *user, uint64_t low, uint64_t high)
{
    struct covers *covers = user;
    covers->found = covers->found || (covers->pc >= low && covers->pc < high);
    return !covers->found;
}

bool
variables_die_covers(const struct variables_die *die, uint64_t pc)
{
    struct covers covers = {.pc = pc};
    variables_die_ranges(die, note_range, &covers);
    return covers.found;
}
