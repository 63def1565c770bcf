/*
 * The units of .debug_info: their headers and what the scan needs of their root DIEs
 * (DWARF 5, 7.5.1).
 */
#include <stdlib.h>

#include "base/reader.h"
#include "symbolicator/dwarf/constants.h"
#include "symbolicator/dwarf/scanner.h"

enum {
    ABBREV_REREADS = 8,
    ABBREV_BYTES_FREE = 64 * 1024,
    UNITS_FREE = 64 * 1024,
    BYTES_PER_UNIT = 512, /* on average; a listed unit takes 128 bytes of memory */
};

/* The root DIE's attributes; bases first, since a form may need one that comes after it. */
static void
read_root(const struct sym_dwarf *dwarf, struct sym_dwarf_unit *unit)
{
    struct dwarf_cursor c = dwarf_cursor_make(dwarf, SECTION_INFO, unit->dies, unit->end);
    const struct dwarf_abbrev *abbrev =
        dwarf_abbrev_find(dwarf, &dwarf->tables[unit->abbrevs], dwarf_cursor_uleb(&c));
    /* An unknown code in the root: the scan reports the unit. */
    if (!abbrev)
        return;
    struct dwarf_value name = {0}, comp_dir = {0}, low_pc = {0}, entry_pc = {0}, value;
    for (uint32_t i = 0; i < abbrev->n_attrs; i++) {
        const struct dwarf_attr *attr = &dwarf->attrs[abbrev->first_attr + i];
        dwarf_value_read(dwarf, unit, &c, attr, &value);
        if (c.bad)
            break; /* the scan reports it */
        switch (attr->name) {
        case AT_NAME:
            name = value;
            break;
        case AT_COMP_DIR:
            comp_dir = value;
            break;
        case AT_LOW_PC:
            low_pc = value;
            break;
        case AT_ENTRY_PC:
            entry_pc = value;
            break;
        case AT_STMT_LIST:
            unit->stmt_list = value.number;
            unit->has_lines = true;
            break;
        case AT_STR_OFFSETS_BASE:
            unit->str_offsets_base = value.number;
            break;
        case AT_ADDR_BASE:
        case AT_GNU_ADDR_BASE:
            unit->addr_base = value.number;
            break;
        case AT_RNGLISTS_BASE:
            unit->rnglists_base = value.number;
            break;
        default:
            break;
        }
    }
    unit->name = dwarf_value_string(dwarf, unit, &name);
    unit->comp_dir = dwarf_value_string(dwarf, unit, &comp_dir);
    /* Apple's compilers of DWARF 2 gave the base as entry_pc. */
    if (!dwarf_value_address(dwarf, unit, &low_pc, &unit->low_pc) &&
        !dwarf_value_address(dwarf, unit, &entry_pc, &unit->low_pc))
        unit->low_pc = 0;
}

/* The header after its length; `r` is bounded by the unit. */
static enum fz_code
read_header(struct fz_reader *r, struct sym_dwarf_unit *unit, uint64_t *ret_abbrevs,
            bool *ret_is_code, struct fz_error *err)
{
    unsigned type = UT_COMPILE;
    unit->version = fz_read_u16(r);
    if (!r->failed && (unit->version < 2 || unit->version > 5))
        return fz_fail(err, FZ_E_MALFORMED, "DWARF version %u", (unsigned)unit->version);
    if (unit->version >= 5) {
        /* DWARF 5 added the type and moved the size of addresses before the abbreviations. */
        type = fz_read_u8(r);
        unit->addr_size = fz_read_u8(r);
        *ret_abbrevs = fz_read_uint(r, unit->offset_size);
        /* The dwo_id, which only these types have. */
        if (type == UT_SKELETON || type == UT_SPLIT_COMPILE)
            fz_read_skip(r, 8);
    } else {
        *ret_abbrevs = fz_read_uint(r, unit->offset_size);
        unit->addr_size = fz_read_u8(r);
    }
    if (r->failed)
        return fz_fail(err, FZ_E_MALFORMED, "its header is truncated");
    if (unit->addr_size != 4 && unit->addr_size != 8)
        return fz_fail(err, FZ_E_MALFORMED, "addresses of %u bytes", (unsigned)unit->addr_size);
    /* Type units hold no code; a split unit's code is elsewhere. */
    *ret_is_code = type == UT_COMPILE || type == UT_PARTIAL || type == UT_SKELETON;
    unit->dies = r->base + r->pos;
    /* Where a writer left the bases out, they are after the first header of their section. */
    uint64_t header = unit->offset_size == 8 ? 16 : 8;
    if (unit->version >= 5) {
        unit->str_offsets_base = header;
        unit->addr_base = header;
        unit->rnglists_base = header + 4;
    }
    return FZ_OK;
}

static enum fz_code
read_unit(struct sym_dwarf *dwarf, struct fz_reader *r, struct sym_dwarf_unit *unit,
          bool *ret_is_code, struct fz_error *err)
{
    uint64_t abbrevs = 0;
    enum fz_code code = read_header(r, unit, &abbrevs, ret_is_code, err);
    if (code == FZ_OK && *ret_is_code)
        code = dwarf_abbrev_table_find(dwarf, unit, abbrevs, &unit->abbrevs, err);
    if (code == FZ_OK && *ret_is_code)
        read_root(dwarf, unit);
    return code;
}

static enum fz_code
read_units(struct sym_dwarf *dwarf, struct sym_problems *problems, struct fz_error *err)
{
    struct fz_reader r = fz_reader_make(dwarf->sections[SECTION_INFO], "debug_info");
    r.big_endian = dwarf->big_endian;
    /* Fewer bytes are padding at the end of the section. */
    while (fz_read_left(&r) > 4) {
        struct sym_dwarf_unit unit = {.offset = r.pos, .offset_size = 4};
        uint64_t length = fz_read_u32(&r);
        /* The mark of the 64-bit format (DWARF 5, 7.4). */
        if (length == 0xffffffff) {
            length = fz_read_u64(&r);
            unit.offset_size = 8;
        }
        if (length == 0 && !r.failed)
            continue; /* padding between units */
        uint64_t left = fz_read_left(&r);
        if (r.failed || length > left) {
            sym_problem_add(problems, SYM_PROBLEM_TRUNCATED,
                            "debug_info: the unit at %llu is cut off",
                            (unsigned long long)unit.offset);
            if (r.failed)
                break;
            /* Of a file that was not copied completely, the DIEs that are there are still read. */
            length = left;
        }
        unit.end = r.pos + length;
        struct fz_reader body = r;
        /* A broken header must not read into the next unit. */
        body.len = (size_t)unit.end;
        bool is_code = true;
        struct fz_error why;
        enum fz_code code = read_unit(dwarf, &body, &unit, &is_code, &why);
        if (code == FZ_E_MALFORMED) {
            unit.is_bad = true;
            sym_problem_add(problems, SYM_PROBLEM_BAD_UNIT, "unit at %llu: %s",
                            (unsigned long long)unit.offset, why.text);
        } else if (code != FZ_OK) {
            return fz_fail(err, code, "%s", why.text);
        }
        /* Each is listed before any is read, so millions of units of a few bytes cost memory. */
        if (is_code && dwarf->n_units >= UNITS_FREE + r.len / BYTES_PER_UNIT) {
            sym_problem_add(problems, SYM_PROBLEM_TOO_MUCH_WORK,
                            "debug_info: its first %zu units are read, those from %llu on are too "
                            "many for its %zu bytes",
                            dwarf->n_units, (unsigned long long)unit.offset, r.len);
            break;
        }
        /* Bad units are listed too: they count in the statistics and keep the order. */
        if (is_code) {
            struct sym_dwarf_unit *units =
                fz_list_grow(dwarf->budget, dwarf->units, &dwarf->room_units, dwarf->n_units + 1,
                             sizeof(*units));
            if (!units)
                return fz_budget_fail(dwarf->budget, err);
            dwarf->units = units;
            units[dwarf->n_units++] = unit;
        }
        /* By the length and not by what was read, so that a broken unit loses only itself. */
        fz_read_seek(&r, unit.end);
    }
    return FZ_OK;
}

enum fz_code
sym_dwarf_open(const struct sym_macho *macho, struct fz_budget *budget,
               struct sym_problems *problems, struct sym_dwarf **ret, struct fz_error *err)
{
    FZ_CLEANUP(sym_dwarf_closep) struct sym_dwarf *dwarf = calloc(1, sizeof(*dwarf));
    if (!dwarf)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    dwarf->big_endian = macho->big_endian;
    dwarf->budget = budget;
    enum fz_code code = dwarf_sections_find(dwarf, macho, problems, err);
    if (code != FZ_OK)
        return code;
    dwarf->abbrev_bytes_left =
        dwarf->sections[SECTION_ABBREV].len * ABBREV_REREADS + ABBREV_BYTES_FREE;
    code = read_units(dwarf, problems, err);
    if (code != FZ_OK)
        return code;
    *ret = fz_take(&dwarf);
    return FZ_OK;
}

void
sym_dwarf_close(struct sym_dwarf *dwarf)
{
    if (!dwarf)
        return;
    struct fz_budget *budget = dwarf->budget;
    fz_list_free(budget, dwarf->units, dwarf->room_units, sizeof(*dwarf->units));
    fz_list_free(budget, dwarf->tables, dwarf->room_tables, sizeof(*dwarf->tables));
    fz_list_free(budget, dwarf->abbrevs, dwarf->room_abbrevs, sizeof(*dwarf->abbrevs));
    fz_list_free(budget, dwarf->steps, dwarf->room_steps, sizeof(*dwarf->steps));
    fz_list_free(budget, dwarf->attrs, dwarf->room_attrs, sizeof(*dwarf->attrs));
    fz_list_free(budget, dwarf->plans, dwarf->room_plans, sizeof(*dwarf->plans));
    fz_list_free(budget, dwarf->implicits, dwarf->room_implicits, sizeof(*dwarf->implicits));
    for (int id = 0; id < N_SECTIONS; id++)
        fz_list_free(budget, dwarf->inflated[id], dwarf->inflated_size[id], 1);
    free(dwarf);
}

void
sym_dwarf_closep(struct sym_dwarf **dwarf)
{
    sym_dwarf_close(*dwarf);
    *dwarf = NULL;
}

size_t
sym_dwarf_n_units(const struct sym_dwarf *dwarf)
{
    return dwarf->n_units;
}

uint64_t
sym_dwarf_info_size(const struct sym_dwarf *dwarf)
{
    return dwarf->sections[SECTION_INFO].len;
}

uint64_t
sym_dwarf_inflated_size(const struct sym_dwarf *dwarf)
{
    uint64_t size = 0;
    for (int id = 0; id < N_SECTIONS; id++)
        size += dwarf->inflated_size[id];
    return size;
}

const struct sym_dwarf_unit *
sym_dwarf_unit(const struct sym_dwarf *dwarf, size_t i)
{
    return &dwarf->units[i];
}

const struct sym_dwarf_unit *
dwarf_unit_of(const struct sym_dwarf *dwarf, uint64_t offset)
{
    size_t low = 0, high = dwarf->n_units;
    /* Units are listed in the order of the section. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dwarf->units[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    /* References may lead into a header or into padding. */
    if (low == dwarf->n_units || dwarf->units[low].dies > offset || dwarf->units[low].is_bad)
        return NULL;
    return &dwarf->units[low];
}
