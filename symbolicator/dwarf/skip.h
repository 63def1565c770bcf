/* Past a DIE by its abbreviation's skip program, inlined into the loops that see every DIE. */
#ifndef DWARF_SKIP_H
#define DWARF_SKIP_H

#include "symbolicator/dwarf/scanner.h"

/* Past the attributes of a DIE by its skip program; NULL if they leave the unit. */
static inline const uint8_t *
skip_die(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
         const struct dwarf_abbrev *abbrev, const uint8_t *at, const uint8_t *end)
{
    static const struct dwarf_attr indirect = {.form = FORM_INDIRECT};
    struct dwarf_value value;
    struct dwarf_cursor c = {.at = at, .end = end, .big_endian = dwarf->big_endian}, copy;
    const struct dwarf_step *step = &dwarf->steps[abbrev->first_step];
    for (uint32_t n = abbrev->n_steps; n > 0; n--, step++) {
        dwarf_cursor_skip(&c, step->skip);
        switch ((enum dwarf_step_op)step->op) {
        case STEP_NONE:
            break;
        case STEP_LEB:
            dwarf_cursor_skip_leb(&c);
            break;
        case STEP_CSTR:
            dwarf_cursor_cstr(&c);
            break;
        case STEP_BLOCK:
            dwarf_cursor_skip(&c, dwarf_cursor_uleb(&c));
            break;
        case STEP_BLOCK1:
            dwarf_cursor_skip(&c, dwarf_cursor_u8(&c));
            break;
        case STEP_BLOCK2:
            dwarf_cursor_skip(&c, dwarf_cursor_uint(&c, 2));
            break;
        case STEP_BLOCK4:
            dwarf_cursor_skip(&c, dwarf_cursor_uint(&c, 4));
            break;
        case STEP_INDIRECT:
            copy = c; /* the address of `c` itself would keep it out of registers */
            dwarf_value_read_any(dwarf, unit, &copy, &indirect, &value);
            c = copy;
            break;
        }
    }
    return c.bad ? NULL : c.at;
}

/* The same where all that has to be looked at are LEB128 numbers: names and types by index, as
 * DWARF 5 has them. */
static inline const uint8_t *
skip_lebs(const struct sym_dwarf *dwarf, const struct dwarf_abbrev *abbrev, const uint8_t *at,
          const uint8_t *end)
{
    const struct dwarf_step *step = &dwarf->steps[abbrev->first_step];
    for (uint32_t n = abbrev->n_steps; n > 0; n--, step++) {
        if (step->skip >= (size_t)(end - at))
            return NULL;
        at += step->skip;
        while (*at++ >= 0x80) {
            if (at == end)
                return NULL;
        }
    }
    return abbrev->size <= (size_t)(end - at) ? at + abbrev->size : NULL;
}

#endif
