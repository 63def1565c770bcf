/*
 * Abbreviation tables, compiled to skip programs.
 *
 * Nine of ten DIEs are of no interest, so what their attributes mean is never looked at: a run of
 * fixed-size attributes becomes one addition, and only the others (LEB128, strings, blocks) are
 * steps of their own. Example: [strp, data1, exprloc, flag_present, ref4] with 4-byte offsets is
 * {skip 5, then a block}, {skip 4}.
 *
 * Tables are keyed by their offset: dsymutil writes one for all units, and reading it per unit
 * costs more than all else.
 */
#include "symbolicator/dwarf/scanner.h"

#include <stdlib.h>

#include "symbolicator/dwarf/constants.h"

enum { ABBREV_ATTRS_MAX = 1024, TABLE_ABBREVS_MAX = 1 << 20, TABLES_MAX = 1 << 15 };
enum { FORM_VARIABLE = -1, FORM_BAD = -2 };

/* The size of a form, or FORM_VARIABLE with the step that skips it. */
static int
form_size(const struct dwarf_abbrev_table *table, uint64_t form, enum dwarf_step_op *ret_op)
{
    const struct dwarf_form_sizes sizes = {
        .addr = table->addr_size, .offset = table->offset_size, .ref_addr = table->ref_addr_size};
    unsigned number = dwarf_form_number_size(form, sizes);
    if (number > 0)
        return (int)number;
    switch (form) {
    case FORM_FLAG_PRESENT:
    case FORM_IMPLICIT_CONST:
        return 0;
    case FORM_DATA16:
        return 16;
    case FORM_SDATA:
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_LOCLISTX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX:
        *ret_op = STEP_LEB;
        return FORM_VARIABLE;
    case FORM_STRING:
        *ret_op = STEP_CSTR;
        return FORM_VARIABLE;
    case FORM_BLOCK:
    case FORM_EXPRLOC:
        *ret_op = STEP_BLOCK;
        return FORM_VARIABLE;
    case FORM_BLOCK1:
        *ret_op = STEP_BLOCK1;
        return FORM_VARIABLE;
    case FORM_BLOCK2:
        *ret_op = STEP_BLOCK2;
        return FORM_VARIABLE;
    case FORM_BLOCK4:
        *ret_op = STEP_BLOCK4;
        return FORM_VARIABLE;
    case FORM_INDIRECT:
        *ret_op = STEP_INDIRECT;
        return FORM_VARIABLE;
    default:
        return FORM_BAD;
    }
}

static bool
add_step(struct sym_dwarf *dwarf, uint32_t skip, enum dwarf_step_op op)
{
    /* Sums above 16 bits need a hundred attributes of 16 bytes... and get several steps. */
    do {
        uint16_t now = skip > UINT16_MAX ? UINT16_MAX : (uint16_t)skip;
        skip -= now;
        struct dwarf_step *steps = fz_list_grow(dwarf->budget, dwarf->steps, &dwarf->room_steps,
                                                dwarf->n_steps + 1, sizeof(*steps));
        if (!steps)
            return false;
        dwarf->steps = steps;
        steps[dwarf->n_steps++] =
            (struct dwarf_step){.skip = now, .op = (uint16_t)(skip ? STEP_NONE : op)};
    } while (skip);
    return true;
}

static bool
add_attr(struct sym_dwarf *dwarf, uint64_t name, uint64_t form, int size, int64_t implicit)
{
    struct dwarf_attr *attrs = fz_list_grow(dwarf->budget, dwarf->attrs, &dwarf->room_attrs,
                                            dwarf->n_attrs + 1, sizeof(*attrs));
    if (!attrs)
        return false;
    dwarf->attrs = attrs;
    attrs[dwarf->n_attrs] = (struct dwarf_attr){.name = name > UINT16_MAX ? 0 : (uint16_t)name,
                                                .size = size > 0 && size <= 8 ? (uint8_t)size : 0,
                                                .form = (uint16_t)form};
    if (form == FORM_IMPLICIT_CONST) {
        int64_t *implicits = fz_list_grow(dwarf->budget, dwarf->implicits, &dwarf->room_implicits,
                                          dwarf->n_implicits + 1, sizeof(*implicits));
        if (!implicits)
            return false;
        dwarf->implicits = implicits;
        attrs[dwarf->n_attrs].implicit = (uint32_t)dwarf->n_implicits;
        implicits[dwarf->n_implicits++] = implicit;
    }
    dwarf->n_attrs++;
    return true;
}

/* What the scan wants with an attribute; N_PLANNED: nothing. */
static enum dwarf_planned_id
planned_of(uint16_t name)
{
    /* Only these decide where code is and which call it was inlined from. */
    switch (name) {
    case AT_LOW_PC:
        return PLANNED_LOW;
    case AT_HIGH_PC:
        return PLANNED_HIGH;
    case AT_RANGES:
        return PLANNED_RANGES;
    case AT_ABSTRACT_ORIGIN:
    case AT_SPECIFICATION:
        return PLANNED_ORIGIN;
    case AT_CALL_FILE:
        return PLANNED_CALL_FILE;
    case AT_CALL_LINE:
        return PLANNED_CALL_LINE;
    case AT_CALL_COLUMN:
        return PLANNED_CALL_COLUMN;
    default:
        return N_PLANNED;
    }
}

/* A declaration of fixed size, or with one LEB128, has its attributes at fixed places. Rare ones
 * (the value is in the declaration, an attribute is given twice) get no plan. False: out of
 * memory.
 */
static bool
make_plan(struct sym_dwarf *dwarf, const struct dwarf_abbrev_table *table,
          struct dwarf_abbrev *abbrev)
{
    struct dwarf_plan plan = {0};
    uint32_t offset = 0;
    for (size_t i = abbrev->first_attr; i < dwarf->n_attrs; i++) {
        const struct dwarf_attr *attr = &dwarf->attrs[i];
        enum dwarf_planned_id id = planned_of(attr->name);
        enum dwarf_step_op op = STEP_NONE;
        int size = form_size(table, attr->form, &op);
        bool is_leb = size == FORM_VARIABLE;
        /* The offset in a plan is one byte; longer DIEs are rare and are read without a plan. */
        if (offset > UINT8_MAX)
            return true;
        if (id != N_PLANNED) {
            struct dwarf_planned *planned = &plan.values[id];
            if ((attr->size == 0 && !is_leb) || attr->form == FORM_SDATA || planned->form)
                return true;
            *planned =
                (struct dwarf_planned){.mask = UINT64_MAX >> (is_leb ? 0 : 64 - 8 * attr->size),
                                       .form = attr->form,
                                       .offset = (uint8_t)offset,
                                       .base = FROM_START};
            if (is_leb || plan.has_leb)
                planned->base = is_leb ? IS_LEB : FROM_LEB;
        }
        if (is_leb) {
            plan.has_leb = true;
            plan.leb_offset = (uint8_t)offset;
        }
        offset = is_leb ? 0 : offset + (uint32_t)size;
    }
    /* The number of a plan has 16 bits; later declarations do without. */
    if (dwarf->n_plans == UINT16_MAX)
        return true;
    struct dwarf_plan *plans = fz_list_grow(dwarf->budget, dwarf->plans, &dwarf->room_plans,
                                            dwarf->n_plans + 1, sizeof(*plans));
    if (!plans)
        return false;
    dwarf->plans = plans;
    plans[dwarf->n_plans++] = plan;
    abbrev->plan = (uint16_t)dwarf->n_plans;
    return true;
}

/* The attribute list of one declaration. */
static enum fz_code
read_attrs(struct sym_dwarf *dwarf, const struct dwarf_abbrev_table *table, struct dwarf_cursor *c,
           struct dwarf_abbrev *abbrev, struct fz_error *err)
{
    uint32_t skip = 0;
    bool has_low = false, has_high = false, has_ranges = false, only_lebs = true;
    for (unsigned n = 0;; n++) {
        uint64_t name = dwarf_cursor_uleb(c), form = dwarf_cursor_uleb(c);
        int64_t implicit = form == FORM_IMPLICIT_CONST ? dwarf_cursor_sleb(c) : 0;
        if (c->bad || n > ABBREV_ATTRS_MAX)
            return fz_fail(err, FZ_E_MALFORMED, "abbreviation %llu does not end",
                           (unsigned long long)abbrev->code);
        if (name == 0 && form == 0)
            break;
        enum dwarf_step_op op = STEP_NONE;
        int size = form_size(table, form, &op);
        if (size == FORM_BAD)
            return fz_fail(err, FZ_E_MALFORMED, "abbreviation %llu: unknown form 0x%llx",
                           (unsigned long long)abbrev->code, (unsigned long long)form);
        if (!add_attr(dwarf, name, form, size, implicit))
            return fz_budget_fail(dwarf->budget, err);
        has_low = has_low || name == AT_LOW_PC;
        has_high = has_high || name == AT_HIGH_PC;
        has_ranges = has_ranges || name == AT_RANGES;
        if (size >= 0) {
            skip += (uint32_t)size;
            continue;
        }
        if (!add_step(dwarf, skip, op))
            return fz_budget_fail(dwarf->budget, err);
        /* skip_lebs() expects one step per LEB128; a longer skip takes several. */
        only_lebs = only_lebs && op == STEP_LEB && skip <= UINT16_MAX;
        skip = 0;
    }
    bool is_fixed = dwarf->n_steps == abbrev->first_step;
    abbrev->kind = is_fixed ? DIE_FIXED : only_lebs ? DIE_LEBS : DIE_STEPS;
    abbrev->size = skip;
    if (skip && abbrev->kind == DIE_STEPS && !add_step(dwarf, skip, STEP_NONE))
        return fz_budget_fail(dwarf->budget, err);
    /* low_pc without high_pc is a single address (DWARF 5, 2.17.1), not a range of code. */
    bool has_code = (abbrev->tag == TAG_SUBPROGRAM || abbrev->tag == TAG_INLINED_SUBROUTINE) &&
                    ((has_low && has_high) || has_ranges);
    if (has_code)
        abbrev->kind = DIE_CODE;
    /* A plan loads 8 bytes and masks them, which is right in little-endian order only. */
    bool has_plan = has_code && !dwarf->big_endian &&
                    (is_fixed || (only_lebs && dwarf->n_steps == abbrev->first_step + 1));
    return !has_plan || make_plan(dwarf, table, abbrev) ? FZ_OK
                                                        : fz_budget_fail(dwarf->budget, err);
}

static int
compare_code(const void *a, const void *b)
{
    const struct dwarf_abbrev *x = a, *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

static enum fz_code
read_table(struct sym_dwarf *dwarf, struct dwarf_abbrev_table *table, struct fz_error *err)
{
    uint64_t total = dwarf->sections[SECTION_ABBREV].len;
    if (table->offset >= total)
        return fz_fail(err, FZ_E_MALFORMED, "its abbreviations at %llu are outside",
                       (unsigned long long)table->offset);
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_ABBREV, table->offset, total);
    table->is_dense = true;
    while (dwarf_cursor_left(&c)) { /* some writers leave out the last 0 */
        size_t left = dwarf_cursor_left(&c);
        uint64_t code = dwarf_cursor_uleb(&c);
        if (code == 0)
            break;
        uint64_t tag = dwarf_cursor_uleb(&c);
        struct dwarf_abbrev abbrev = {.code = code,
                                      .tag = tag > UINT16_MAX ? 0 : (uint16_t)tag,
                                      .has_children = dwarf_cursor_u8(&c) != 0,
                                      .first_step = (uint32_t)dwarf->n_steps,
                                      .first_attr = (uint32_t)dwarf->n_attrs};
        if (table->n == TABLE_ABBREVS_MAX)
            return fz_fail(err, FZ_E_MALFORMED, "too many abbreviations");
        enum fz_code status = read_attrs(dwarf, table, &c, &abbrev, err);
        if (status != FZ_OK)
            return status;
        /* At most two steps and one attribute for each of ABBREV_ATTRS_MAX. */
        abbrev.n_steps = (uint16_t)(dwarf->n_steps - abbrev.first_step);
        abbrev.n_attrs = (uint16_t)(dwarf->n_attrs - abbrev.first_attr);
        struct dwarf_abbrev *abbrevs =
            fz_list_grow(dwarf->budget, dwarf->abbrevs, &dwarf->room_abbrevs, dwarf->n_abbrevs + 1,
                         sizeof(*abbrevs));
        if (!abbrevs)
            return fz_budget_fail(dwarf->budget, err);
        dwarf->abbrevs = abbrevs;
        abbrevs[dwarf->n_abbrevs++] = abbrev;
        table->n++;
        table->has_calls = table->has_calls || dwarf_abbrev_is_call(&abbrev);
        table->is_dense = table->is_dense && code == table->n;
        /* Tables that begin inside one another would make the work quadratic. */
        uint64_t taken = left - dwarf_cursor_left(&c);
        if (taken > dwarf->abbrev_bytes_left)
            return fz_fail(err, FZ_E_MALFORMED, "its abbreviations overlap too many others");
        dwarf->abbrev_bytes_left -= taken;
    }
    if (!table->is_dense && table->n)
        qsort(dwarf->abbrevs + table->first, table->n, sizeof(*dwarf->abbrevs), compare_code);
    return FZ_OK;
}

const struct dwarf_abbrev *
dwarf_abbrev_find_sparse(const struct sym_dwarf *dwarf, const struct dwarf_abbrev_table *table,
                         uint64_t code)
{
    struct dwarf_abbrev key = {.code = code};
    if (table->n == 0)
        return NULL;
    return bsearch(&key, dwarf->abbrevs + table->first, table->n, sizeof(key), compare_code);
}

enum fz_code
dwarf_abbrev_table_find(struct sym_dwarf *dwarf, const struct sym_dwarf_unit *unit, uint64_t offset,
                        uint32_t *ret, struct fz_error *err)
{
    /* DW_FORM_ref_addr has the size of an address in DWARF 2, of an offset since DWARF 3. */
    uint8_t ref_addr_size = unit->version <= 2 ? unit->addr_size : unit->offset_size;
    /* From the newest: units follow each other in the order of their tables. */
    for (size_t i = dwarf->n_tables; i-- > 0;) {
        const struct dwarf_abbrev_table *table = &dwarf->tables[i];
        if (table->offset != offset || table->offset_size != unit->offset_size ||
            table->addr_size != unit->addr_size || table->ref_addr_size != ref_addr_size)
            continue;
        *ret = (uint32_t)i;
        return table->is_bad ? fz_fail(err, FZ_E_MALFORMED, "its abbreviations are broken") : FZ_OK;
    }
    if (dwarf->n_tables == TABLES_MAX)
        return fz_fail(err, FZ_E_MALFORMED, "too many abbreviation tables");
    struct dwarf_abbrev_table *tables = fz_list_grow(
        dwarf->budget, dwarf->tables, &dwarf->room_tables, dwarf->n_tables + 1, sizeof(*tables));
    if (!tables)
        return fz_budget_fail(dwarf->budget, err);
    dwarf->tables = tables;
    struct dwarf_abbrev_table *table = &tables[dwarf->n_tables];
    *table = (struct dwarf_abbrev_table){.offset = offset,
                                         .offset_size = unit->offset_size,
                                         .addr_size = unit->addr_size,
                                         .ref_addr_size = ref_addr_size,
                                         .first = dwarf->n_abbrevs};
    enum fz_code code = read_table(dwarf, table, err);
    if (code != FZ_OK && code != FZ_E_MALFORMED)
        return code;
    /* A broken table stays in the list: the next unit that names it does not read it again. */
    table->is_bad = code != FZ_OK;
    if (table->is_bad) {
        dwarf->n_abbrevs = table->first;
        table->n = 0;
    }
    *ret = (uint32_t)dwarf->n_tables++;
    return code;
}
