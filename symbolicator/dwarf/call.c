/*
 * The call sites of a unit: where each call returns to and which function it names.
 *
 * DWARF 5 has DW_TAG_call_site with DW_AT_call_return_pc and DW_AT_call_origin; in DWARF 4 GNU and
 * LLVM write DW_TAG_GNU_call_site with DW_AT_low_pc, which is the return address too, and
 * DW_AT_abstract_origin. The scan of functions passes these DIEs unread; here nothing else is read.
 */
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"
#include "symbolicator/dwarf/skip.h"

enum { STEPS_PER_BYTE = 64, STEPS_FREE = 64 * 1024 };

struct call_walk {
    const struct sym_dwarf *dwarf;
    const struct sym_dwarf_unit *unit;
    uint64_t steps; /* attributes that may still be read */
    sym_dwarf_call_fn call;
    void *user;
    bool is_ended; /* by `call` */
};

/* Read a DIE attribute by attribute and give out the call if it is one. NULL if it leaves the
 * unit. */
static const uint8_t *
read_die(struct call_walk *walk, const struct dwarf_abbrev *abbrev, struct dwarf_cursor c)
{
    struct dwarf_value value, address = {.form = 0};
    /* An indirect call has no origin and is of no use here. */
    struct sym_dwarf_call call = {.origin = UINT64_MAX};
    bool is_tail = false;
    for (uint32_t i = 0; i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &walk->dwarf->attrs[abbrev->first_attr + i];
        dwarf_value_read(walk->dwarf, walk->unit, &c, attr, &value);
        if (c.bad)
            return NULL;
        switch (attr->name) {
        /* The GNU form has no attribute of its own for the return address. */
        case AT_LOW_PC:
        case AT_CALL_RETURN_PC:
            address = value;
            break;
        case AT_ABSTRACT_ORIGIN:
        case AT_CALL_ORIGIN:
            call.origin = dwarf_value_reference(walk->dwarf, walk->unit, &value);
            break;
        case AT_CALL_TAIL_CALL:
        case AT_GNU_TAIL_CALL:
            is_tail = value.number != 0;
            break;
        default:
            break;
        }
    }
    /* A hostile table may have thousands of attributes that take no bytes in a DIE. */
    uint64_t cost = abbrev->n_attrs;
    walk->steps -= cost < walk->steps ? cost : walk->steps;
    /* After a tail call no frame is left that could return to its address. */
    if (dwarf_abbrev_is_call(abbrev) && !is_tail && call.origin != UINT64_MAX &&
        dwarf_value_address(walk->dwarf, walk->unit, &address, &call.return_addr))
        walk->is_ended = !walk->call(walk->user, &call);
    return c.at;
}

static const uint8_t *
pass_die(struct call_walk *walk, const struct dwarf_abbrev *abbrev, struct dwarf_cursor c)
{
    /* DIE_CODE took the place of the kind that says how to skip the DIE. */
    if (dwarf_abbrev_is_call(abbrev) || abbrev->kind == DIE_CODE)
        return read_die(walk, abbrev, c);
    if (abbrev->kind == DIE_FIXED)
        return abbrev->size <= dwarf_cursor_left(&c) ? c.at + abbrev->size : NULL;
    if (abbrev->kind == DIE_LEBS)
        return skip_lebs(walk->dwarf, abbrev, c.at, c.end);
    return skip_die(walk->dwarf, walk->unit, abbrev, c.at, c.end);
}

bool
sym_dwarf_calls_unit(const struct sym_dwarf *dwarf, size_t i, sym_dwarf_call_fn call, void *user)
{
    const struct sym_dwarf_unit *unit = &dwarf->units[i];
    const struct dwarf_abbrev_table *table = &dwarf->tables[unit->abbrevs];
    if (unit->is_bad || !table->has_calls)
        return true;
    struct call_walk walk = {.dwarf = dwarf,
                             .unit = unit,
                             .steps = (unit->end - unit->offset) * STEPS_PER_BYTE + STEPS_FREE,
                             .call = call,
                             .user = user};
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, unit->dies, unit->end);
    uint32_t depth = 0;
    while (c.at < c.end && walk.steps > 0 && !walk.is_ended) {
        uint64_t code = dwarf_cursor_uleb(&c);
        /* A null entry ends the children of the DIE before (DWARF 5, 2.3). */
        if (code == 0) {
            if (depth <= 1)
                break;
            depth--;
            continue;
        }
        const struct dwarf_abbrev *abbrev = c.bad ? NULL : dwarf_abbrev_find(dwarf, table, code);
        const uint8_t *next = abbrev ? pass_die(&walk, abbrev, c) : NULL;
        if (!next)
            break;
        c.at = next;
        depth += abbrev->has_children;
        if (depth == 0)
            break; /* a root without children is all */
    }
    return !walk.is_ended;
}
