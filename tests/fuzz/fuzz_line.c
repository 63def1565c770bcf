/* Any bytes as .debug_line, below a unit of version 4 or 5 (by the first byte): rows and paths. */
#include "symbolicator/dwarf/dwarf.h"
#include "symbolicator/macho/macho.h"

enum { S_CODE = 0x400, CAP = 256 << 20 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* DW_TAG_compile_unit, no children: stmt_list (sec_offset), comp_dir (string). */
    static const uint8_t abbrev[] = {1, 0x11, 0, 0x10, 0x17, 0x1b, 0x08, 0, 0, 0};
    static const uint8_t info4[] = {15, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0, '/', 'd', 0};
    static const uint8_t info5[] = {16, 0, 0, 0, 5, 0, 1, 8,   0,   0,
                                    0,  0, 1, 0, 0, 0, 0, '/', 'd', 0};
    if (size < 1)
        return 0;
    bool is_v5 = data[0] & 1;
    struct sym_section sections[] = {
        {.segment = "__DWARF",
         .name = "__debug_info",
         .bytes = is_v5 ? fz_span_make(info5, sizeof(info5)) : fz_span_make(info4, sizeof(info4))},
        {.segment = "__DWARF",
         .name = "__debug_abbrev",
         .bytes = fz_span_make(abbrev, sizeof(abbrev))},
        {.segment = "__DWARF", .name = "__debug_line", .bytes = fz_span_make(data, size)},
        {.segment = "__DWARF", .name = "__debug_line_str", .bytes = fz_span_make(data, size)}};
    sections[2].bytes = size > 1 ? fz_span_make(data + 1, size - 1) : (struct fz_span){NULL, 0};
    struct sym_macho macho = {.sections = sections,
                              .n_sections = FZ_ARRAY_LEN(sections),
                              .big_endian = data[0] & 2,
                              .is_64 = true};
    struct fz_budget budget = {.cap = CAP};
    struct sym_problems problems = {0};
    struct sym_dwarf_lines lines = {.code_high = UINT64_MAX};
    struct sym_dwarf_path path;
    FZ_CLEANUP(sym_dwarf_closep) struct sym_dwarf *dwarf = NULL;
    if (sym_dwarf_open(&macho, &budget, &problems, &dwarf, NULL) != FZ_OK)
        return 0;
    fz_ignore(sym_dwarf_n_units(dwarf) &&
              sym_dwarf_lines_unit(dwarf, 0, &budget, &lines, NULL)); /* any */
    for (size_t i = 0; i < lines.n_sequences; i++) {
        const struct sym_dwarf_sequence *s = &lines.sequences[i];
        for (size_t k = 0; k < s->n; k++) {
            const struct sym_dwarf_row *row = &lines.rows[s->first + k];
            uint64_t addr = s->base + row->offset;
            if (addr < s->low || addr >= s->high || (k && row->offset <= row[-1].offset))
                __builtin_trap();
            fz_ignore(sym_dwarf_path(&lines, sym_dwarf_unit(dwarf, 0), row->file, &path)); /* any */
        }
    }
    sym_dwarf_lines_deinit(&lines, &budget);
    return 0;
}
