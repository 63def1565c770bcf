/*
 * Attribute values: one reader for every form, and what a value means as address, string or
 * reference (DWARF 5, 7.5.5).
 */
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"

/* An unsigned integer of `size` bytes at `offset` of a section; false outside. */
static bool
read_at(const struct sym_dwarf *dwarf, enum dwarf_section_id section, uint64_t offset,
        unsigned size, uint64_t *ret)
{
    uint64_t end;
    if (__builtin_add_overflow(offset, size, &end) || end > dwarf->sections[section].len)
        return false;
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, section, offset, end);
    *ret = dwarf_cursor_uint(&c, size);
    return true;
}

/* base + index * size without overflow; UINT64_MAX otherwise, which is in no section. */
static uint64_t
indexed(uint64_t base, uint64_t index, unsigned size)
{
    uint64_t offset;
    /* Index and base are from the file, so any product is possible. */
    if (__builtin_mul_overflow(index, size, &offset) ||
        __builtin_add_overflow(base, offset, &offset))
        return UINT64_MAX;
    return offset;
}

unsigned
dwarf_form_number_size(uint64_t form, struct dwarf_form_sizes sizes)
{
    switch (form) {
    case FORM_DATA1:
    case FORM_FLAG:
    case FORM_REF1:
    case FORM_STRX1:
    case FORM_ADDRX1:
        return 1;
    case FORM_DATA2:
    case FORM_REF2:
    case FORM_STRX2:
    case FORM_ADDRX2:
        return 2;
    case FORM_STRX3:
    case FORM_ADDRX3:
        return 3;
    case FORM_DATA4:
    case FORM_REF4:
    case FORM_STRX4:
    case FORM_ADDRX4:
    case FORM_REF_SUP4:
        return 4;
    case FORM_DATA8:
    case FORM_REF8:
    case FORM_REF_SIG8:
    case FORM_REF_SUP8:
        return 8;
    case FORM_ADDR:
        return sizes.addr;
    case FORM_REF_ADDR:
        return sizes.ref_addr;
    case FORM_STRP:
    case FORM_LINE_STRP:
    case FORM_STRP_SUP:
    case FORM_SEC_OFFSET:
    case FORM_GNU_REF_ALT:
    case FORM_GNU_STRP_ALT:
        return sizes.offset;
    default:
        return 0;
    }
}

static unsigned
number_size(const struct sym_dwarf_unit *unit, uint64_t form)
{
    const struct dwarf_form_sizes sizes = {
        .addr = unit->addr_size,
        .offset = unit->offset_size,
        .ref_addr = unit->version <= 2 ? unit->addr_size : unit->offset_size,
    };
    return dwarf_form_number_size(form, sizes);
}

void
dwarf_value_read_any(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                     struct dwarf_cursor *c, const struct dwarf_attr *attr, struct dwarf_value *ret)
{
    uint64_t form = attr->form;
    if (form == FORM_INDIRECT) {
        form = dwarf_cursor_uleb(c);
        /* DW_FORM_implicit_const has its value in the abbreviation, where an indirect form has
         * none. */
        if (form == FORM_IMPLICIT_CONST || form == FORM_INDIRECT || form > UINT16_MAX) {
            dwarf_cursor_fail(c);
            return;
        }
    }
    *ret = (struct dwarf_value){.form = (uint16_t)form};
    unsigned size = number_size(unit, form);
    if (size) {
        ret->number = dwarf_cursor_uint(c, size);
        return;
    }
    switch (form) {
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_LOCLISTX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX:
        ret->number = dwarf_cursor_uleb(c);
        break;
    case FORM_SDATA:
        ret->number = (uint64_t)dwarf_cursor_sleb(c);
        break;
    case FORM_IMPLICIT_CONST:
        ret->number = (uint64_t)dwarf->implicits[attr->implicit];
        break;
    case FORM_FLAG_PRESENT:
        ret->number = 1;
        break;
    case FORM_STRING:
        ret->string = dwarf_cursor_cstr(c).data;
        break;
    case FORM_DATA16:
        dwarf_cursor_skip(c, 16);
        break;
    case FORM_BLOCK:
    case FORM_EXPRLOC:
        dwarf_cursor_skip(c, dwarf_cursor_uleb(c));
        break;
    case FORM_BLOCK1:
        dwarf_cursor_skip(c, dwarf_cursor_u8(c));
        break;
    case FORM_BLOCK2:
        dwarf_cursor_skip(c, dwarf_cursor_uint(c, 2));
        break;
    case FORM_BLOCK4:
        dwarf_cursor_skip(c, dwarf_cursor_uint(c, 4));
        break;
    default:
        dwarf_cursor_fail(c);
    }
}

bool
dwarf_value_address(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                    const struct dwarf_value *value, uint64_t *ret)
{
    switch (value->form) {
    case FORM_ADDR:
        *ret = value->number;
        return true;
    case FORM_ADDRX:
    case FORM_ADDRX1:
    case FORM_ADDRX2:
    case FORM_ADDRX3:
    case FORM_ADDRX4:
    case FORM_GNU_ADDR_INDEX:
        return read_at(dwarf, SECTION_ADDR,
                       indexed(unit->addr_base, value->number, unit->addr_size), unit->addr_size,
                       ret);
    default:
        return false;
    }
}

static struct fz_span
rest_of_section(const struct sym_dwarf *dwarf, enum dwarf_section_id section, uint64_t offset)
{
    struct fz_span bytes = dwarf->sections[section], rest = {NULL, 0};
    /* An offset outside gives no string: the DIE may have another name. */
    if (offset < bytes.len)
        rest = fz_span_make(bytes.data + offset, bytes.len - (size_t)offset);
    return rest;
}

struct fz_span
dwarf_value_string_place(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                         const struct dwarf_value *value)
{
    uint64_t offset;
    switch (value->form) {
    case FORM_STRING: /* its NUL was seen when it was skipped; a cut-off table leaves none */
        if (!value->string)
            return fz_span_make(NULL, 0);
        return fz_span_make(value->string, strlen((const char *)value->string) + 1);
    case FORM_STRP:
        return rest_of_section(dwarf, SECTION_STR, value->number);
    case FORM_LINE_STRP:
        return rest_of_section(dwarf, SECTION_LINE_STR, value->number);
    case FORM_STRX:
    case FORM_STRX1:
    case FORM_STRX2:
    case FORM_STRX3:
    case FORM_STRX4:
    case FORM_GNU_STR_INDEX:
        if (!read_at(dwarf, SECTION_STR_OFFSETS,
                     indexed(unit->str_offsets_base, value->number, unit->offset_size),
                     unit->offset_size, &offset))
            return (struct fz_span){NULL, 0};
        return rest_of_section(dwarf, SECTION_STR, offset);
    default:
        return (struct fz_span){NULL, 0};
    }
}

struct fz_span
dwarf_value_string(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                   const struct dwarf_value *value)
{
    struct fz_span place = dwarf_value_string_place(dwarf, unit, value);
    /* A cut-off section may end within a string. */
    const uint8_t *nul = place.len ? memchr(place.data, 0, place.len) : NULL;
    return nul ? fz_span_make(place.data, (size_t)(nul - place.data)) : (struct fz_span){NULL, 0};
}

uint64_t
dwarf_value_reference(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                      const struct dwarf_value *value)
{
    uint64_t die;
    switch (value->form) {
    case FORM_REF_ADDR:
        die = value->number;
        break;
    case FORM_REF1:
    case FORM_REF2:
    case FORM_REF4:
    case FORM_REF8:
    case FORM_REF_UDATA:
        /* These forms count from the unit's header and stay within the unit (7.5.5). */
        if (__builtin_add_overflow(unit->offset, value->number, &die) || die >= unit->end)
            return UINT64_MAX;
        break;
    default:
        return UINT64_MAX;
    }
    return die < dwarf->sections[SECTION_INFO].len ? die : UINT64_MAX;
}
