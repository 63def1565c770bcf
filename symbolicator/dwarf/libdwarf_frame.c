#include "symbolicator/dwarf/libdwarf_frame.h"

#include <stdlib.h>

#include <dwarf.h>

#include "symbolicator/dwarf/libdwarf_object.h"

/* The number that stands for the CFA in libdwarf's tables; no register has it. */
enum { CFA_COLUMN = 1200 };

struct libdwarf_frames {
    struct libdwarf_object *object;
    Dwarf_Cie *cies;
    Dwarf_Fde *fdes;
    Dwarf_Signed n_cies, n_fdes;
    Dwarf_Regtable_Entry3 entries[LIBDWARF_COLUMNS];
    struct libdwarf_frame_row row;
};

enum fz_code
libdwarf_frames_open(const struct sym_macho *macho, bool is_eh, struct libdwarf_frames **ret,
                     struct fz_error *err)
{
    const struct sym_section *section = is_eh
                                            ? sym_macho_section(macho, "__TEXT", "__eh_frame")
                                            : sym_macho_section(macho, "__DWARF", "__debug_frame");
    /* A compressed one has another name; libdwarf sees it under its own. */
    if (!section && !is_eh)
        section = sym_macho_section(macho, "__DWARF", "__zdebug_frame");
    if (!section || section->bytes.len == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "no call frame information");
    FZ_CLEANUP(libdwarf_frames_closep) struct libdwarf_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return fz_fail(err, FZ_E_NO_MEMORY, "no memory for libdwarf");
    enum fz_code code = libdwarf_object_open(macho, section, &frames->object, err);
    if (code != FZ_OK)
        return code;
    Dwarf_Debug debug = libdwarf_object_debug(frames->object);
    Dwarf_Error error = NULL;
    dwarf_set_frame_rule_table_size(debug, LIBDWARF_COLUMNS);
    dwarf_set_frame_cfa_value(debug, CFA_COLUMN);
    dwarf_set_frame_rule_initial_value(debug, DW_FRAME_SAME_VAL);
    int status = (is_eh ? dwarf_get_fde_list_eh : dwarf_get_fde_list)(
        debug, &frames->cies, &frames->n_cies, &frames->fdes, &frames->n_fdes, &error);
    if (status == DW_DLV_NO_ENTRY)
        return fz_fail(err, FZ_E_NOT_FOUND, "no call frame information");
    if (status != DW_DLV_OK) {
        frames->cies = NULL;
        return libdwarf_object_fail(frames->object, error, "call frame information", err);
    }
    *ret = fz_take(&frames);
    return FZ_OK;
}

void
libdwarf_frames_close(struct libdwarf_frames *frames)
{
    if (!frames)
        return;
    if (frames->cies)
        dwarf_dealloc_fde_cie_list(libdwarf_object_debug(frames->object), frames->cies,
                                   frames->n_cies, frames->fdes, frames->n_fdes);
    libdwarf_object_close(frames->object);
    free(frames);
}

void
libdwarf_frames_closep(struct libdwarf_frames **frames)
{
    libdwarf_frames_close(*frames);
    *frames = NULL;
}

static struct libdwarf_rule
rule_of(const Dwarf_Regtable_Entry3 *entry)
{
    struct libdwarf_rule rule = {.reg = entry->dw_regnum, .offset = (int64_t)entry->dw_offset};
    switch (entry->dw_value_type) {
    case DW_EXPR_OFFSET:
        if (entry->dw_offset_relevant)
            rule.kind = LIBDWARF_RULE_OFFSET;
        else if (entry->dw_regnum == DW_FRAME_SAME_VAL)
            rule.kind = LIBDWARF_RULE_SAME;
        else if (entry->dw_regnum == DW_FRAME_UNDEFINED_VAL)
            rule.kind = LIBDWARF_RULE_UNDEFINED;
        else
            rule.kind = LIBDWARF_RULE_REGISTER;
        break;
    case DW_EXPR_VAL_OFFSET:
        rule.kind = LIBDWARF_RULE_VAL_OFFSET;
        break;
    default:
        rule.kind = entry->dw_value_type == DW_EXPR_EXPRESSION ? LIBDWARF_RULE_EXPRESSION
                                                               : LIBDWARF_RULE_VAL_EXPRESSION;
        rule.expression = fz_span_make(entry->dw_block.bl_data, (size_t)entry->dw_block.bl_len);
    }
    return rule;
}

/* The column of the return address, which the CIE names. */
static bool
find_return_column(struct libdwarf_frames *frames, Dwarf_Fde fde, Dwarf_Half *ret)
{
    Dwarf_Cie cie;
    Dwarf_Unsigned n, alignment;
    Dwarf_Signed data_alignment;
    Dwarf_Small version, *instructions;
    char *augmentation;
    Dwarf_Half offset_size;
    Dwarf_Error error = NULL;
    if (dwarf_get_cie_of_fde(fde, &cie, &error) == DW_DLV_OK &&
        dwarf_get_cie_info_b(cie, &n, &version, &augmentation, &alignment, &data_alignment, ret,
                             &instructions, &n, &offset_size, &error) == DW_DLV_OK)
        return true;
    if (error)
        dwarf_dealloc_error(libdwarf_object_debug(frames->object), error);
    return false;
}

bool
libdwarf_frames_find(struct libdwarf_frames *frames, uint64_t pc,
                     const struct libdwarf_frame_row **ret)
{
    struct libdwarf_frame_row *row = &frames->row;
    Dwarf_Regtable3 table = {.rt3_reg_table_size = LIBDWARF_COLUMNS, .rt3_rules = frames->entries};
    Dwarf_Fde fde;
    Dwarf_Addr low, high, row_pc, next_pc;
    Dwarf_Bool has_more;
    Dwarf_Half return_column;
    Dwarf_Error error = NULL;
    int status = dwarf_get_fde_at_pc(frames->fdes, pc, &fde, &low, &high, &error);
    if (status == DW_DLV_OK && find_return_column(frames, fde, &return_column) &&
        return_column < LIBDWARF_COLUMNS)
        status = dwarf_get_fde_info_for_all_regs3_b(fde, pc, &table, &row_pc, &has_more, &next_pc,
                                                    &error);
    else if (status == DW_DLV_OK)
        status = DW_DLV_NO_ENTRY;
    if (status != DW_DLV_OK) {
        if (status == DW_DLV_ERROR)
            dwarf_dealloc_error(libdwarf_object_debug(frames->object), error);
        return false;
    }
    row->start = low;
    row->end = high + 1; /* libdwarf gives the last address */
    row->return_column = return_column;
    row->cfa = rule_of(&table.rt3_cfa_rule);
    /* libdwarf has "register + offset" of the CFA as an offset of that register. */
    if (row->cfa.kind == LIBDWARF_RULE_OFFSET)
        row->cfa.kind = LIBDWARF_RULE_VAL_OFFSET;
    for (size_t i = 0; i < LIBDWARF_COLUMNS; i++)
        row->rules[i] = rule_of(&frames->entries[i]);
    *ret = row;
    return true;
}
