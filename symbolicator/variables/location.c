/*
 * Location lists.
 *
 * An entry covers low <= pc < high. Lists are short; they are read from their beginning each time.
 * The first entry that covers the address counts, and DW_LLE_default_location only where no other
 * does.
 */
#include "symbolicator/variables/location.h"

enum { ENTRIES_MAX = 10000 };

struct entry {
    uint64_t low, high;
    struct fz_span expr;
    bool is_default;
};

static struct dwarf_cursor
cursor_at(const struct variables_die *die, struct fz_span section, uint64_t offset)
{
    struct fz_span rest = {NULL, 0};
    if (offset < section.len)
        rest = fz_span_make(section.data + offset, section.len - (size_t)offset);
    return (struct dwarf_cursor){.at = rest.data,
                                 .end = rest.len ? rest.data + rest.len : rest.data,
                                 .big_endian = die->image->dwarf->big_endian,
                                 .bad = rest.len == 0};
}

static struct fz_span
take_expr(struct dwarf_cursor *c, uint64_t len)
{
    const uint8_t *start = c->at;
    dwarf_cursor_skip(c, len);
    return c->bad || len == 0 ? fz_span_make(NULL, 0) : fz_span_make(start, (size_t)len);
}

/* Entries count as operations do: many variables may name one long list. */
static bool
spend(const struct variables_die *die)
{
    uint64_t *left = &die->image->variables->steps_left;
    *left -= *left > 0;
    return *left > 0;
}

static bool
covers(const struct entry *entry, uint64_t pc)
{
    return pc >= entry->low && pc < entry->high;
}

static enum variables_found
read_loc(const struct variables_die *die, uint64_t offset, uint64_t pc, struct fz_span *ret)
{
    const struct sym_dwarf_unit *unit = die->unit;
    struct dwarf_cursor c = cursor_at(die, die->image->loc, offset);
    uint64_t base = unit->low_pc, ones = unit->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
    for (unsigned n = 0; n < ENTRIES_MAX; n++) {
        struct entry entry = {.low = dwarf_cursor_uint(&c, unit->addr_size)};
        entry.high = dwarf_cursor_uint(&c, unit->addr_size);
        if (c.bad || !spend(die))
            return LOCATION_BROKEN;
        if (entry.low == 0 && entry.high == 0)
            return LOCATION_NONE;
        if (entry.low == ones) { /* a base address selection entry */
            base = entry.high;
            continue;
        }
        entry.low = (entry.low + base) & ones;
        entry.high = (entry.high + base) & ones;
        entry.expr = take_expr(&c, dwarf_cursor_uint(&c, 2));
        if (c.bad)
            return LOCATION_BROKEN;
        if (covers(&entry, pc)) {
            *ret = entry.expr;
            return LOCATION_FOUND;
        }
    }
    return LOCATION_BROKEN;
}

static bool
address_of(const struct variables_die *die, uint64_t index, uint64_t *ret)
{
    struct dwarf_value value = {.number = index, .form = FORM_ADDRX};
    return dwarf_value_address(die->image->dwarf, die->unit, &value, ret);
}

/* The addresses of one entry of DWARF 5. An entry that only sets the base covers nothing. */
static bool
read_entry(const struct variables_die *die, struct dwarf_cursor *c, unsigned kind, uint64_t *base,
           struct entry *ret)
{
    uint8_t addr_size = die->unit->addr_size;
    switch (kind) {
    case LLE_BASE_ADDRESSX:
        return address_of(die, dwarf_cursor_uleb(c), base);
    case LLE_BASE_ADDRESS:
        *base = dwarf_cursor_uint(c, addr_size);
        return true;
    case LLE_STARTX_ENDX:
        return address_of(die, dwarf_cursor_uleb(c), &ret->low) &&
               address_of(die, dwarf_cursor_uleb(c), &ret->high);
    case LLE_STARTX_LENGTH:
        if (!address_of(die, dwarf_cursor_uleb(c), &ret->low))
            return false;
        ret->high = ret->low + dwarf_cursor_uleb(c);
        return true;
    case LLE_OFFSET_PAIR:
        ret->low = *base + dwarf_cursor_uleb(c);
        ret->high = *base + dwarf_cursor_uleb(c);
        return true;
    case LLE_DEFAULT_LOCATION:
        ret->is_default = true;
        return true;
    case LLE_START_END:
        ret->low = dwarf_cursor_uint(c, addr_size);
        ret->high = dwarf_cursor_uint(c, addr_size);
        return true;
    case LLE_START_LENGTH:
        ret->low = dwarf_cursor_uint(c, addr_size);
        ret->high = ret->low + dwarf_cursor_uleb(c);
        return true;
    default:
        return false;
    }
}

static enum variables_found
read_loclists(const struct variables_die *die, uint64_t offset, uint64_t pc, struct fz_span *ret)
{
    struct dwarf_cursor c = cursor_at(die, die->image->loclists, offset);
    uint64_t base = die->unit->low_pc;
    struct fz_span fallback = {NULL, 0};
    bool has_fallback = false;
    for (unsigned n = 0; n < ENTRIES_MAX; n++) {
        unsigned kind = dwarf_cursor_u8(&c);
        if (c.bad || !spend(die))
            return LOCATION_BROKEN;
        if (kind == LLE_END_OF_LIST) {
            if (has_fallback)
                *ret = fallback;
            return has_fallback ? LOCATION_FOUND : LOCATION_NONE;
        }
        struct entry entry = {0};
        if (!read_entry(die, &c, kind, &base, &entry) || c.bad)
            return LOCATION_BROKEN;
        if (kind == LLE_BASE_ADDRESS || kind == LLE_BASE_ADDRESSX)
            continue;
        entry.expr = take_expr(&c, dwarf_cursor_uleb(&c));
        if (c.bad)
            return LOCATION_BROKEN;
        if (entry.is_default) {
            fallback = entry.expr;
            has_fallback = true;
        } else if (covers(&entry, pc)) {
            *ret = entry.expr;
            return LOCATION_FOUND;
        }
    }
    return LOCATION_BROKEN;
}

/* Where the list of DW_FORM_loclistx begins: the index holds offsets from its own beginning. */
static bool
indexed(const struct variables_die *die, uint64_t index, uint64_t *ret)
{
    uint64_t base = variables_image_unit(die->image, die->unit)->loclists_base, at;
    if (__builtin_mul_overflow(index, die->unit->offset_size, &at) ||
        __builtin_add_overflow(at, base, &at))
        return false;
    struct dwarf_cursor c = cursor_at(die, die->image->loclists, at);
    uint64_t offset = dwarf_cursor_uint(&c, die->unit->offset_size);
    return !c.bad && !__builtin_add_overflow(offset, base, ret);
}

bool
variables_location_is_single(const struct variables_attr *attr)
{
    return variables_attr_is_block(attr);
}

enum variables_found
variables_location_at(const struct variables_die *die, const struct variables_attr *attr,
                      uint64_t pc, struct fz_span *ret)
{
    uint64_t offset = attr->value.number;
    if (variables_attr_is_block(attr)) {
        *ret = attr->block;
        return LOCATION_FOUND;
    }
    switch (attr->value.form) {
    case FORM_LOCLISTX:
        if (!indexed(die, attr->value.number, &offset))
            return LOCATION_BROKEN;
        break;
    case FORM_SEC_OFFSET:
    case FORM_DATA4: /* DWARF 2 and 3 */
    case FORM_DATA8:
        break;
    default:
        return LOCATION_BROKEN;
    }
    return die->unit->version >= 5 ? read_loclists(die, offset, pc, ret)
                                   : read_loc(die, offset, pc, ret);
}
