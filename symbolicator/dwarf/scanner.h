/* What the scanner's files share: the sections, the abbreviation tables, attribute values. */
#ifndef DWARF_SCANNER_H
#define DWARF_SCANNER_H

#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/cursor.h"
#include "symbolicator/dwarf/dwarf.h"

enum dwarf_section_id {
    SECTION_INFO,
    SECTION_ABBREV,
    SECTION_LINE,
    SECTION_RANGES,
    SECTION_RNGLISTS,
    SECTION_STR,
    SECTION_LINE_STR,
    SECTION_STR_OFFSETS,
    SECTION_ADDR,
    N_SECTIONS,
};

/* Skip `skip` bytes, then one thing whose size must be looked at. */
enum dwarf_step_op {
    STEP_NONE,
    STEP_LEB,
    STEP_CSTR,
    STEP_BLOCK,
    STEP_BLOCK1,
    STEP_BLOCK2,
    STEP_BLOCK4,
    STEP_INDIRECT
};

struct dwarf_step {
    uint16_t skip, op;
};

struct dwarf_attr {
    uint16_t name;
    uint8_t size; /* of a form that is a plain number of 1 to 8 bytes, else 0 */
    uint16_t form;
    uint32_t implicit; /* index into implicits, of FORM_IMPLICIT_CONST */
};

/* How the scan gets past a DIE. */
enum dwarf_die_kind {
    DIE_FIXED, /* all attributes together are `size` bytes */
    DIE_LEBS,  /* all steps end in a LEB128; `size` bytes follow them */
    DIE_STEPS, /* by its steps */
    DIE_CODE   /* a function or inlined call that has addresses: it is read */
};

/* 32 bytes: the scan reads one per DIE, and a table should stay in the nearest cache. */
struct dwarf_abbrev {
    uint64_t code;
    uint32_t first_step, first_attr, size;
    uint16_t n_steps, n_attrs, tag;
    uint16_t plan; /* of DIE_CODE: place in plans + 1; 0 = attribute by attribute */
    bool has_children;
    uint8_t kind; /* enum dwarf_die_kind */
};

/* Where a DIE with addresses has what the scan wants of it. */
enum dwarf_planned_id {
    PLANNED_LOW,
    PLANNED_HIGH,
    PLANNED_RANGES,
    PLANNED_ORIGIN,
    PLANNED_CALL_FILE,
    PLANNED_CALL_LINE,
    PLANNED_CALL_COLUMN,
    N_PLANNED,
};

/* What `offset` of a planned attribute counts from; IS_LEB: the value is the LEB128 itself. */
enum dwarf_planned_base { FROM_START, FROM_LEB, IS_LEB };

/* The attribute is 8 bytes at `offset` and the mask; form 0 and mask 0 = it has none. */
struct dwarf_planned {
    uint64_t mask;
    uint16_t form;
    uint8_t offset;
    uint8_t base; /* enum dwarf_planned_base */
};

/* One of the attributes may be a LEB128: DWARF 5 has the address by index. */
struct dwarf_plan {
    struct dwarf_planned values[N_PLANNED];
    bool has_leb;
    uint8_t leb_offset;
};

/* One table as the units of one version and size read it: sizes of forms depend on those. */
struct dwarf_abbrev_table {
    uint64_t offset;
    uint8_t offset_size, addr_size, ref_addr_size;
    bool is_bad, is_dense; /* codes are 1, 2, 3... */
    bool has_calls;        /* some are of call sites */
    size_t first, n;       /* in abbrevs */
};

struct sym_dwarf {
    struct fz_span sections[N_SECTIONS];
    bool big_endian;
    struct sym_dwarf_unit *units;
    size_t n_units, room_units;
    struct dwarf_abbrev_table *tables;
    struct dwarf_abbrev *abbrevs;
    struct dwarf_step *steps;
    struct dwarf_attr *attrs;
    struct dwarf_plan *plans;
    int64_t *implicits;
    size_t n_plans, room_plans;
    size_t n_tables, n_abbrevs, n_steps, n_attrs, n_implicits;
    size_t room_tables, room_abbrevs, room_steps, room_attrs, room_implicits;
    uint64_t abbrev_bytes_left; /* limits how often overlapping tables are read */
    struct fz_budget *budget;
    uint8_t *inflated[N_SECTIONS]; /* of compressed sections */
    size_t inflated_size[N_SECTIONS];
};

/* Small, since one is read per attribute. */
struct dwarf_value {
    union {
        uint64_t number;       /* also of references (as written), offsets and indexes */
        const uint8_t *string; /* FORM_STRING: it has its NUL within the unit */
    };
    uint16_t form; /* 0 = the attribute is not there */
};

static inline struct dwarf_cursor
dwarf_cursor_make(const struct sym_dwarf *dwarf, enum dwarf_section_id section, uint64_t from,
                  uint64_t to)
{
    struct fz_span bytes = {NULL, 0};
    if (to < from || !fz_span_sub(dwarf->sections[section], from, to - from, &bytes))
        bytes = (struct fz_span){NULL, 0};
    return (struct dwarf_cursor){.at = bytes.data,
                                 .end = bytes.len ? bytes.data + bytes.len : bytes.data,
                                 .big_endian = dwarf->big_endian};
}

static inline bool
dwarf_abbrev_is_call(const struct dwarf_abbrev *abbrev)
{
    return abbrev->tag == TAG_CALL_SITE || abbrev->tag == TAG_GNU_CALL_SITE;
}

/* sections.c */
FZ_MUST_CHECK enum fz_code dwarf_sections_find(struct sym_dwarf *dwarf,
                                               const struct sym_macho *macho,
                                               struct sym_problems *problems, struct fz_error *err);

/* abbrev.c: the number of the table at the unit's abbreviation offset, read if it is new.
 * MALFORMED: it is broken. */
FZ_MUST_CHECK enum fz_code dwarf_abbrev_table_find(struct sym_dwarf *dwarf,
                                                   const struct sym_dwarf_unit *unit,
                                                   uint64_t offset, uint32_t *ret,
                                                   struct fz_error *err);
const struct dwarf_abbrev *dwarf_abbrev_find_sparse(const struct sym_dwarf *dwarf,
                                                    const struct dwarf_abbrev_table *table,
                                                    uint64_t code);

static inline const struct dwarf_abbrev *
dwarf_abbrev_find(const struct sym_dwarf *dwarf, const struct dwarf_abbrev_table *table,
                  uint64_t code)
{
    if (table->is_dense)
        return code - 1 < table->n ? &dwarf->abbrevs[table->first + (size_t)(code - 1)] : NULL;
    return dwarf_abbrev_find_sparse(dwarf, table, code);
}

/* form.c */

/* Sizes in bytes that a unit's header decides: of addresses, offsets and DW_FORM_ref_addr. */
struct dwarf_form_sizes {
    uint8_t addr, offset, ref_addr;
};
/* The bytes of a form that is one plain unsigned number; 0 for all other forms. */
unsigned dwarf_form_number_size(uint64_t form, struct dwarf_form_sizes sizes);

/* Read one attribute, or skip one that is neither a number nor a string; sets c->bad if it does not
 * fit or the form is unknown. */
void dwarf_value_read_any(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                          struct dwarf_cursor *c, const struct dwarf_attr *attr,
                          struct dwarf_value *ret);
/* The same; most attributes are plain numbers. */
static inline void
dwarf_value_read(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                 struct dwarf_cursor *c, const struct dwarf_attr *attr, struct dwarf_value *ret)
{
    if (!attr->size) {
        dwarf_value_read_any(dwarf, unit, c, attr, ret);
        return;
    }
    ret->form = attr->form;
    ret->number = dwarf_cursor_uint(c, attr->size);
}
bool dwarf_value_address(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                         const struct dwarf_value *value, uint64_t *ret);
struct fz_span dwarf_value_string(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                                  const struct dwarf_value *value);
/* The string and all after it in its section, not read. */
struct fz_span dwarf_value_string_place(const struct sym_dwarf *dwarf,
                                        const struct sym_dwarf_unit *unit,
                                        const struct dwarf_value *value);
/* The DIE's offset in .debug_info; UINT64_MAX if the reference leads elsewhere. */
uint64_t dwarf_value_reference(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                               const struct dwarf_value *value);
/* range.c: call `add` for each address range; false if the list is broken or *steps is used up. */
typedef bool (*range_fn)(void *user, uint64_t low, uint64_t high);
bool dwarf_ranges_read(const struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit,
                       const struct dwarf_value *value, uint64_t *steps, range_fn add, void *user);

/* unit.c: the unit that holds the DIE at `offset`, or NULL. */
const struct sym_dwarf_unit *dwarf_unit_of(const struct sym_dwarf *dwarf, uint64_t offset);

#endif
