#include "symbolicator/dwarf/libdwarf_unit.h"

#include <dwarf.h>

enum { DEPTH_MAX = 512, ORIGINS_MAX = 16 };

struct walk {
    struct libdwarf_object *object;
    Dwarf_Debug dbg;
    struct fz_budget *budget;
    struct libdwarf_unit *unit;
    struct fz_error *err;
};

static void
drop_error(const struct walk *walk, Dwarf_Error error)
{
    if (error)
        dwarf_dealloc_error(walk->dbg, error);
}

static enum fz_code
add_range(struct walk *walk, uint64_t low, uint64_t high)
{
    struct libdwarf_unit *unit = walk->unit;
    /* Empty ranges are dropped by the scanner too. */
    if (low >= high)
        return FZ_OK;
    struct libdwarf_range *ranges = fz_list_grow(walk->budget, unit->ranges, &unit->room_ranges,
                                                 unit->n_ranges + 1, sizeof(*ranges));
    if (!ranges)
        return fz_budget_fail(walk->budget, walk->err);
    unit->ranges = ranges;
    ranges[unit->n_ranges++] = (struct libdwarf_range){low, high};
    return FZ_OK;
}

/* A range list in .debug_rnglists (DWARF 5). */
static enum fz_code
add_rnglist(struct walk *walk, Dwarf_Attribute attr, Dwarf_Half form, Dwarf_Unsigned value)
{
    Dwarf_Rnglists_Head head = NULL;
    Dwarf_Unsigned n = 0, offset = 0;
    Dwarf_Error error = NULL;
    if (dwarf_rnglists_get_rle_head(attr, form, value, &head, &n, &offset, &error) != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "rnglist", walk->err);
    enum fz_code code = FZ_OK;
    for (Dwarf_Unsigned i = 0; i < n && code == FZ_OK; i++) {
        unsigned len, kind;
        Dwarf_Unsigned raw1, raw2, low, high;
        Dwarf_Bool no_addr;
        if (dwarf_get_rnglists_entry_fields_a(head, i, &len, &kind, &raw1, &raw2, &no_addr, &low,
                                              &high, &error) != DW_DLV_OK)
            code = libdwarf_object_fail(walk->object, error, "rnglist entry", walk->err);
        /* Without the address table an entry has no addresses; the other kinds are not ranges. */
        else if (!no_addr && kind != DW_RLE_end_of_list && kind != DW_RLE_base_address &&
                 kind != DW_RLE_base_addressx)
            code = add_range(walk, low, high);
    }
    dwarf_dealloc_rnglists_head(head);
    return code;
}

static bool
get_value(const struct walk *walk, Dwarf_Die die, Dwarf_Half name,
          int (*read)(Dwarf_Attribute, Dwarf_Unsigned *, Dwarf_Error *), Dwarf_Unsigned *ret)
{
    Dwarf_Attribute attr = NULL;
    Dwarf_Error error = NULL;
    if (dwarf_attr(die, name, &attr, &error) != DW_DLV_OK) {
        drop_error(walk, error);
        return false;
    }
    /* An attribute of an unexpected form counts as missing, as in the scanner. */
    bool found = read(attr, ret, &error) == DW_DLV_OK;
    if (!found)
        drop_error(walk, error);
    dwarf_dealloc_attribute(attr);
    return found;
}

static bool
get_unsigned(const struct walk *walk, Dwarf_Die die, Dwarf_Half name, Dwarf_Unsigned *ret)
{
    return get_value(walk, die, name, dwarf_formudata, ret);
}

/* dwarf_lowpc() refuses addresses by numbers of fixed size. */
static bool
get_address(const struct walk *walk, Dwarf_Die die, Dwarf_Half name, Dwarf_Addr *ret)
{
    return get_value(walk, die, name, dwarf_formaddr, ret);
}

/* What the ranges of a unit count from: its low_pc, or the entry_pc of DWARF 2 units of 2012. */
static Dwarf_Addr
unit_base(const struct walk *walk)
{
    Dwarf_Addr base = 0;
    if (!get_address(walk, walk->unit->die, DW_AT_low_pc, &base) &&
        !get_address(walk, walk->unit->die, DW_AT_entry_pc, &base))
        return 0;
    return base;
}

/* A range list in .debug_ranges (DWARF 3 and 4). */
static enum fz_code
add_old_ranges(struct walk *walk, Dwarf_Die die, Dwarf_Unsigned offset)
{
    Dwarf_Ranges *list = NULL;
    Dwarf_Signed n = 0;
    Dwarf_Off real_offset = 0;
    Dwarf_Unsigned len = 0, base = 0;
    Dwarf_Error error = NULL;
    if (dwarf_get_ranges_b(walk->dbg, offset, die, &real_offset, &list, &n, &len, &error) !=
        DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "ranges", walk->err);
    base = unit_base(walk); /* until a selection entry replaces it */
    enum fz_code code = FZ_OK;
    for (Dwarf_Signed i = 0; i < n && code == FZ_OK; i++) {
        if (list[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = list[i].dwr_addr2;
        else if (list[i].dwr_type == DW_RANGES_ENTRY)
            code = add_range(walk, base + list[i].dwr_addr1, base + list[i].dwr_addr2);
    }
    dwarf_dealloc_ranges(walk->dbg, list, n);
    return code;
}

static enum fz_code
add_list_of_ranges(struct walk *walk, Dwarf_Die die, Dwarf_Attribute attr)
{
    Dwarf_Half form = 0, version = 0, offset_size = 0;
    Dwarf_Unsigned value = 0;
    Dwarf_Error error = NULL;
    if (dwarf_whatform(attr, &form, &error) != DW_DLV_OK ||
        dwarf_get_version_of_die(die, &version, &offset_size) != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "ranges", walk->err);
    bool is_index = form == DW_FORM_rnglistx;
    /* An index counts in the unit's table of lists; the other forms are offsets. */
    int status = is_index ? dwarf_formudata(attr, &value, &error)
                          : dwarf_global_formref(attr, &value, &error);
    if (status != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "ranges", walk->err);
    return version >= 5 ? add_rnglist(walk, attr, form, value) : add_old_ranges(walk, die, value);
}

/* DW_AT_ranges, or DW_AT_low_pc with DW_AT_high_pc; nothing if the DIE has no code. */
static enum fz_code
add_ranges(struct walk *walk, Dwarf_Die die)
{
    Dwarf_Attribute attr = NULL;
    Dwarf_Error error = NULL;
    if (dwarf_attr(die, DW_AT_ranges, &attr, &error) == DW_DLV_OK) {
        enum fz_code code = add_list_of_ranges(walk, die, attr);
        dwarf_dealloc_attribute(attr);
        return code;
    }
    drop_error(walk, error);
    Dwarf_Addr low = 0, high = 0;
    Dwarf_Half form = 0;
    enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
    error = NULL;
    if (!get_address(walk, die, DW_AT_low_pc, &low) ||
        dwarf_highpc_b(die, &high, &form, &class, &error) != DW_DLV_OK) {
        drop_error(walk, error);
        return FZ_OK;
    }
    /* From DWARF 4 on a high_pc that is not an address is the length. */
    if (class == DW_FORM_CLASS_CONSTANT)
        high += low;
    return add_range(walk, low, high);
}

static const char *
get_text(const struct walk *walk, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Attribute attr = NULL;
    Dwarf_Error error = NULL;
    char *text = NULL;
    if (dwarf_attr(die, name, &attr, &error) != DW_DLV_OK) {
        drop_error(walk, error);
        return NULL;
    }
    if (dwarf_formstring(attr, &text, &error) != DW_DLV_OK)
        drop_error(walk, error);
    dwarf_dealloc_attribute(attr);
    return text; /* borrowed from the section */
}

/* The DIE that DW_AT_abstract_origin or DW_AT_specification names; NULL if none. */
static Dwarf_Die
get_origin(const struct walk *walk, Dwarf_Die die)
{
    static const Dwarf_Half names[] = {DW_AT_abstract_origin, DW_AT_specification};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        Dwarf_Attribute attr = NULL;
        Dwarf_Error error = NULL;
        Dwarf_Off offset = 0;
        Dwarf_Bool is_info = true;
        Dwarf_Die origin = NULL;
        if (dwarf_attr(die, names[i], &attr, &error) == DW_DLV_OK &&
            dwarf_global_formref_b(attr, &offset, &is_info, &error) == DW_DLV_OK &&
            dwarf_offdie_b(walk->dbg, offset, is_info, &origin, &error) != DW_DLV_OK)
            origin = NULL;
        drop_error(walk, error);
        if (attr)
            dwarf_dealloc_attribute(attr);
        if (origin)
            return origin;
    }
    return NULL;
}

static const char *
get_name(const struct walk *walk, Dwarf_Die die)
{
    const char *linkage = NULL, *plain = NULL;
    Dwarf_Die at = die;
    /* The limit ends references that form a cycle. */
    for (unsigned i = 0; i < ORIGINS_MAX && at && !linkage; i++) {
        linkage = get_text(walk, at, DW_AT_linkage_name);
        if (!linkage)
            linkage = get_text(walk, at, DW_AT_MIPS_linkage_name);
        if (!plain)
            plain = get_text(walk, at, DW_AT_name);
        Dwarf_Die origin = linkage ? NULL : get_origin(walk, at);
        if (at != die)
            dwarf_dealloc_die(at);
        at = origin;
    }
    if (at && at != die)
        dwarf_dealloc_die(at);
    return linkage ? linkage : plain ? plain : "";
}

/* Add the DIE as a node if it is a function or inlined call with code. *node is the node that its
 * children are inlined into. */
static enum fz_code
visit(struct walk *walk, Dwarf_Die die, uint32_t *node)
{
    struct libdwarf_unit *unit = walk->unit;
    Dwarf_Half tag = 0;
    Dwarf_Error error = NULL;
    if (dwarf_tag(die, &tag, &error) != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "tag", walk->err);
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
        return FZ_OK;
    uint32_t parent = tag == DW_TAG_subprogram ? UINT32_MAX : *node;
    size_t first = unit->n_ranges;
    enum fz_code code = add_ranges(walk, die);
    if (code != FZ_OK)
        return code;
    if (tag == DW_TAG_subprogram)
        *node = UINT32_MAX;
    if (unit->n_ranges == first || (tag != DW_TAG_subprogram && parent == UINT32_MAX))
        return FZ_OK;
    struct libdwarf_node *nodes = fz_list_grow(walk->budget, unit->nodes, &unit->room_nodes,
                                               unit->n_nodes + 1, sizeof(*nodes));
    if (!nodes)
        return fz_budget_fail(walk->budget, walk->err);
    unit->nodes = nodes;
    *node = (uint32_t)unit->n_nodes;
    nodes[unit->n_nodes++] = (struct libdwarf_node){.parent = parent,
                                                    .name = get_name(walk, die),
                                                    .first_range = first,
                                                    .n_ranges = unit->n_ranges - first};
    Dwarf_Unsigned value;
    if (get_unsigned(walk, die, DW_AT_call_file, &value))
        nodes[*node].call_file = value;
    if (get_unsigned(walk, die, DW_AT_call_line, &value))
        nodes[*node].call_line = value;
    if (get_unsigned(walk, die, DW_AT_call_column, &value))
        nodes[*node].call_column = value;
    return FZ_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by DEPTH_MAX */
static enum fz_code
walk_children(struct walk *walk, Dwarf_Die die, uint32_t node, unsigned depth)
{
    Dwarf_Die child = NULL;
    Dwarf_Error error = NULL;
    int status = dwarf_child(die, &child, &error);
    enum fz_code code = FZ_OK;
    while (status == DW_DLV_OK && code == FZ_OK) {
        uint32_t below = node;
        size_t before = walk->unit->n_nodes;
        code = visit(walk, child, &below);
        bool is_node = walk->unit->n_nodes > before;
        if (code == FZ_OK && depth < DEPTH_MAX)
            code = walk_children(walk, child, below, depth + 1);
        /* Known only after its children: nodes are listed parents first. */
        if (is_node)
            walk->unit->nodes[before].end = (uint32_t)walk->unit->n_nodes;
        /* libdwarf has no parent links, so each level keeps its own entry until the sibling is
         * known. */
        Dwarf_Die next = NULL;
        status = dwarf_siblingof_c(child, &next, &error);
        dwarf_dealloc_die(child);
        child = next;
    }
    if (child)
        dwarf_dealloc_die(child);
    if (status == DW_DLV_ERROR)
        return libdwarf_object_fail(walk->object, error, "entry", walk->err);
    return code;
}

static enum fz_code
read_row(struct walk *walk, Dwarf_Line line)
{
    struct libdwarf_unit *unit = walk->unit;
    struct libdwarf_row row = {.file = ""};
    Dwarf_Unsigned file = 0, column = 0, number = 0;
    Dwarf_Addr addr = 0;
    Dwarf_Bool is_end = false, prologue_end = false, epilogue_begin = false;
    Dwarf_Unsigned isa, discriminator;
    Dwarf_Error error = NULL;
    if (dwarf_lineaddr(line, &addr, &error) != DW_DLV_OK ||
        dwarf_lineendsequence(line, &is_end, &error) != DW_DLV_OK ||
        dwarf_lineno(line, &number, &error) != DW_DLV_OK ||
        dwarf_lineoff_b(line, &column, &error) != DW_DLV_OK ||
        dwarf_line_srcfileno(line, &file, &error) != DW_DLV_OK ||
        dwarf_prologue_end_etc(line, &prologue_end, &epilogue_begin, &isa, &discriminator,
                               &error) != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "line row", walk->err);
    row.addr = addr;
    row.line = number;
    row.column = column;
    /* libdwarf 0.11.1 also marks rows of special opcodes at which an epilogue begins as the end of
     * their sequence; a real end never carries both marks. */
    row.is_end = is_end && !epilogue_begin;
    row.file = libdwarf_unit_file(unit, file);
    struct libdwarf_row *rows =
        fz_list_grow(walk->budget, unit->rows, &unit->room_rows, unit->n_rows + 1, sizeof(*rows));
    if (!rows)
        return fz_budget_fail(walk->budget, walk->err);
    unit->rows = rows;
    rows[unit->n_rows++] = row;
    return FZ_OK;
}

static enum fz_code
read_lines(struct walk *walk)
{
    struct libdwarf_unit *unit = walk->unit;
    Dwarf_Unsigned version = 0;
    Dwarf_Small n_tables = 0;
    Dwarf_Line *lines = NULL;
    Dwarf_Signed n = 0, n_files = 0;
    Dwarf_Error error = NULL;
    int status = dwarf_srclines_b(unit->die, &version, &n_tables, &unit->lines, &error);
    if (status == DW_DLV_NO_ENTRY)
        return FZ_OK;
    if (status != DW_DLV_OK ||
        dwarf_srclines_from_linecontext(unit->lines, &lines, &n, &error) != DW_DLV_OK)
        return libdwarf_object_fail(walk->object, error, "line program", walk->err);
    unit->line_version = (unsigned)version;
    status = dwarf_srcfiles(unit->die, &unit->files, &n_files, &error);
    if (status == DW_DLV_ERROR)
        return libdwarf_object_fail(walk->object, error, "files of a line program", walk->err);
    unit->n_files = status == DW_DLV_OK ? n_files : 0;
    enum fz_code code = FZ_OK;
    for (Dwarf_Signed i = 0; i < n && code == FZ_OK; i++)
        code = read_row(walk, lines[i]);
    return code;
}

const char *
libdwarf_unit_file(const struct libdwarf_unit *unit, uint64_t number)
{
    /* Numbers begin at 0 since DWARF 5 and at 1 before; the list begins at 0. */
    if (unit->line_version < 5 && number-- == 0)
        return "";
    return number < (uint64_t)unit->n_files && unit->files[number] ? unit->files[number] : "";
}

/* What libdwarf gave out for the unit; the arrays stay for the next one. */
static void
release_unit(Dwarf_Debug dbg, struct libdwarf_unit *unit)
{
    for (int64_t i = 0; i < unit->n_files; i++)
        dwarf_dealloc(dbg, unit->files[i], DW_DLA_STRING);
    if (unit->files)
        dwarf_dealloc(dbg, unit->files, DW_DLA_LIST);
    if (unit->lines)
        dwarf_srclines_dealloc_b(unit->lines);
    if (unit->die)
        dwarf_dealloc_die(unit->die);
    unit->files = NULL;
    unit->n_files = 0;
    unit->lines = NULL;
    unit->die = NULL;
    unit->line_version = 0;
    unit->n_nodes = unit->n_ranges = unit->n_rows = 0;
}

enum fz_code
libdwarf_unit_next(struct libdwarf_object *object, struct fz_budget *budget,
                   struct libdwarf_unit *unit, bool *ret_more, struct fz_error *err)
{
    struct walk walk = {object, libdwarf_object_debug(object), budget, unit, err};
    Dwarf_Unsigned len, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, type;
    Dwarf_Off abbrevs;
    Dwarf_Sig8 signature;
    Dwarf_Error error = NULL;
    release_unit(walk.dbg, unit);
    /* Not dwarf_next_cu_header_e(): for a unit without entries, of which the dsymutil of 2016
     * wrote many, it returns the same as at the end of the section. */
    int status = dwarf_next_cu_header_d(walk.dbg, true, &len, &version, &abbrevs, &address_size,
                                        &length_size, &extension_size, &signature, &type_offset,
                                        &next, &type, &error);
    *ret_more = status == DW_DLV_OK;
    if (status == DW_DLV_NO_ENTRY)
        return FZ_OK;
    if (status != DW_DLV_OK)
        return libdwarf_object_fail(object, error, "unit header", err);
    status = dwarf_siblingof_b(walk.dbg, NULL, true, &unit->die, &error);
    if (status == DW_DLV_NO_ENTRY)
        return FZ_OK;
    if (status != DW_DLV_OK)
        return libdwarf_object_fail(object, error, "root entry", err);
    /* The scanner leaves them out as well: type units hold no code, that of split ones is
     * elsewhere.
     */
    if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_split_compile)
        return FZ_OK;
    enum fz_code code = read_lines(&walk);
    return code == FZ_OK ? walk_children(&walk, unit->die, UINT32_MAX, 0) : code;
}

void
libdwarf_unit_deinit(struct libdwarf_object *object, struct fz_budget *budget,
                     struct libdwarf_unit *unit)
{
    release_unit(libdwarf_object_debug(object), unit);
    fz_list_free(budget, unit->nodes, unit->room_nodes, sizeof(*unit->nodes));
    fz_list_free(budget, unit->ranges, unit->room_ranges, sizeof(*unit->ranges));
    fz_list_free(budget, unit->rows, unit->room_rows, sizeof(*unit->rows));
    *unit = (struct libdwarf_unit){.n_nodes = 0};
}
