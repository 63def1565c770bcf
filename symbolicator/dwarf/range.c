/*
 * Address ranges: .debug_ranges (DWARF 3 and 4) and .debug_rnglists (DWARF 5, 2.17.3 and 7.25).
 */
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"

/* Linkers mark dead code by an address of all ones, or all ones but one in .debug_ranges, where
 * all ones already means something. */
static bool
is_tombstone(const struct sym_dwarf_unit *unit, uint64_t addr)
{
    uint64_t ones = unit->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
    return addr >= ones - 1;
}

static bool
spend(uint64_t *steps)
{
    if (*steps == 0)
        return false;
    --*steps;
    return true;
}

static bool
read_ranges(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t offset,
            uint64_t *steps, range_fn add, void *user)
{
    struct dwarf_cursor c =
        dwarf_cursor_make(dwarf, SECTION_RANGES, offset, dwarf->sections[SECTION_RANGES].len);
    /* Pairs count from the unit's base until an entry changes it. */
    uint64_t base = unit->low_pc, ones = unit->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
    for (;;) {
        uint64_t low = dwarf_cursor_uint(&c, unit->addr_size),
                 high = dwarf_cursor_uint(&c, unit->addr_size);
        if (c.bad || !spend(steps))
            return false;
        /* The end of the list (DWARF 4, 2.17.3). */
        if (low == 0 && high == 0)
            return true;
        /* A base address selection entry (DWARF 4, 2.17.3). */
        if (low == ones)
            base = high;
        /* Sums of 32-bit addresses wrap around at 32 bits. */
        else if (low < high && !is_tombstone(unit, low) && !is_tombstone(unit, base) &&
                 !add(user, (base + low) & ones, (base + high) & ones))
            return false;
    }
}

static bool
address_at(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t index,
           uint64_t *ret)
{
    /* An index into .debug_addr, as an attribute has it. */
    struct dwarf_value value = {.number = index, .form = FORM_ADDRX};
    return dwarf_value_address(dwarf, unit, &value, ret);
}

/* One entry after its kind byte; *ret_is_range: it gave low and high. */
static bool
read_entry(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, struct dwarf_cursor *c,
           unsigned kind, uint64_t *base, uint64_t ret[2], bool *ret_is_range)
{
    *ret_is_range = true;
    switch (kind) {
    case RLE_BASE_ADDRESSX:
        *ret_is_range = false;
        return address_at(dwarf, unit, dwarf_cursor_uleb(c), base);
    case RLE_BASE_ADDRESS:
        *ret_is_range = false;
        *base = dwarf_cursor_uint(c, unit->addr_size);
        return true;
    case RLE_STARTX_ENDX:
        return address_at(dwarf, unit, dwarf_cursor_uleb(c), &ret[0]) &&
               address_at(dwarf, unit, dwarf_cursor_uleb(c), &ret[1]);
    case RLE_STARTX_LENGTH:
        if (!address_at(dwarf, unit, dwarf_cursor_uleb(c), &ret[0]))
            return false;
        ret[1] = ret[0] + dwarf_cursor_uleb(c);
        return true;
    case RLE_OFFSET_PAIR:
        ret[0] = *base + dwarf_cursor_uleb(c);
        ret[1] = *base + dwarf_cursor_uleb(c);
        /* The linker marked the base: the functions that count from it were dropped. */
        *ret_is_range = !is_tombstone(unit, *base);
        return true;
    case RLE_START_END:
        ret[0] = dwarf_cursor_uint(c, unit->addr_size);
        ret[1] = dwarf_cursor_uint(c, unit->addr_size);
        return true;
    case RLE_START_LENGTH:
        ret[0] = dwarf_cursor_uint(c, unit->addr_size);
        ret[1] = ret[0] + dwarf_cursor_uleb(c);
        return true;
    default:
        return false;
    }
}

static bool
read_rnglist(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t offset,
             uint64_t *steps, range_fn add, void *user)
{
    struct dwarf_cursor c =
        dwarf_cursor_make(dwarf, SECTION_RNGLISTS, offset, dwarf->sections[SECTION_RNGLISTS].len);
    uint64_t base = unit->low_pc;
    for (;;) {
        unsigned kind = dwarf_cursor_u8(&c);
        if (c.bad || !spend(steps))
            return false;
        if (kind == RLE_END_OF_LIST)
            return true;
        uint64_t range[2] = {0, 0};
        bool is_range = false;
        if (!read_entry(dwarf, unit, &c, kind, &base, range, &is_range) || c.bad)
            return false;
        if (is_range && range[0] < range[1] && !is_tombstone(unit, range[0]) &&
            !add(user, range[0], range[1]))
            return false;
    }
}

bool
dwarf_ranges_read(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                  const struct dwarf_value *value, uint64_t *steps, range_fn add, void *user)
{
    uint64_t offset = value->number;
    if (value->form == FORM_RNGLISTX) {
        /* The offsets of the index follow the header, and those count from there too. */
        uint64_t at;
        if (__builtin_mul_overflow(value->number, unit->offset_size, &at) ||
            __builtin_add_overflow(at, unit->rnglists_base, &at))
            return false;
        struct dwarf_cursor c =
            dwarf_cursor_make(dwarf, SECTION_RNGLISTS, at, dwarf->sections[SECTION_RNGLISTS].len);
        offset = dwarf_cursor_uint(&c, unit->offset_size);
        if (c.bad || __builtin_add_overflow(offset, unit->rnglists_base, &offset))
            return false;
    } else if (value->form != FORM_SEC_OFFSET && value->form != FORM_DATA4 &&
               value->form != FORM_DATA8) {
        return false;
    }
    /* The unit's version decides, not the form: version 5 has no .debug_ranges. */
    return unit->version >= 5 ? read_rnglist(dwarf, unit, offset, steps, add, user)
                              : read_ranges(dwarf, unit, offset, steps, add, user);
}
