/* The DWARF sections of a slice, inflated where they are compressed. */
#include "symbolicator/dwarf/scanner.h"

#include <stdlib.h>

#include "symbolicator/macho/compressed.h"

static const char *const names[N_SECTIONS] = {
    [SECTION_INFO] = "__debug_info",         [SECTION_ABBREV] = "__debug_abbrev",
    [SECTION_LINE] = "__debug_line",         [SECTION_RANGES] = "__debug_ranges",
    [SECTION_RNGLISTS] = "__debug_rnglists", [SECTION_STR] = "__debug_str",
    [SECTION_LINE_STR] = "__debug_line_str", [SECTION_STR_OFFSETS] = "__debug_str_offsets",
    [SECTION_ADDR] = "__debug_addr",
};

/* MALFORMED and LIMIT cost this section alone. */
static enum fz_code
inflate_section(struct sym_dwarf *dwarf, int id, struct fz_span bytes, struct fz_error *err)
{
    size_t size, len;
    enum fz_code code = macho_compressed_size(bytes, names[id], &size, err);
    if (code != FZ_OK || size == 0)
        return code;
    uint8_t *out = fz_list_zeroed(dwarf->budget, size, 1);
    if (!out) {
        dwarf->budget->over = false; /* the rest may well fit */
        return fz_fail(err, FZ_E_LIMIT, "%s: its %zu bytes, inflated, do not fit into memory",
                       names[id], size);
    }
    code = macho_inflate(bytes, names[id], out, size, &len, err);
    /* A header that gives too large a size must not use up the budget of later sections. */
    uint8_t *fitting = len && len < size ? realloc(out, len) : NULL;
    if (fitting) {
        dwarf->budget->used -= size - len;
        out = fitting;
        size = len;
    }
    /* Also after a fault: the units that came out before it are read. */
    dwarf->inflated[id] = out;
    dwarf->inflated_size[id] = size;
    dwarf->sections[id] = fz_span_make(out, len);
    return code;
}

enum fz_code
dwarf_sections_find(struct sym_dwarf *dwarf, const struct sym_macho *macho,
                    struct sym_problems *problems, struct fz_error *err)
{
    for (int id = 0; id < N_SECTIONS; id++) {
        bool is_compressed;
        struct fz_span bytes = macho_debug_bytes(macho, names[id], &is_compressed);
        struct fz_error why;
        enum fz_code code = FZ_OK;
        if (is_compressed)
            code = inflate_section(dwarf, id, bytes, &why);
        else
            dwarf->sections[id] = bytes;
        if (code == FZ_E_MALFORMED || code == FZ_E_LIMIT)
            sym_problem_add(problems, SYM_PROBLEM_BAD_SECTION, "%s", why.text);
        else if (code != FZ_OK)
            return fz_fail(err, code, "%s", why.text);
    }
    /* Binaries have the symbol table only; that is not an error for the caller. */
    if (dwarf->sections[SECTION_INFO].len == 0)
        return fz_fail(err, FZ_E_NOT_FOUND, "no .debug_info");
    return FZ_OK;
}
