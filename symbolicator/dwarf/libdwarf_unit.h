/*
 * One compilation unit as libdwarf reads it: functions, inlined calls, ranges, line rows.
 *
 * The slow second opinion for sym_verify(); the scanner of dwarf.h is what builds an index.
 */
#ifndef DWARF_LIBDWARF_UNIT_H
#define DWARF_LIBDWARF_UNIT_H

#include "base/list.h"
#include "symbolicator/dwarf/libdwarf_object.h"

struct libdwarf_node {
    uint32_t parent;  /* the node it is inlined into; UINT32_MAX for a function */
    uint32_t end;     /* one past its last descendant */
    const char *name; /* linkage name, else plain name, else "" */
    uint64_t call_file, call_line, call_column;
    size_t first_range, n_ranges;
};

struct libdwarf_range {
    uint64_t low, high;
};

struct libdwarf_row {
    uint64_t addr, line, column;
    const char *file; /* whole path */
    bool is_end;      /* of a sequence */
};

struct libdwarf_unit {
    struct libdwarf_node *nodes; /* parents first */
    struct libdwarf_range *ranges;
    struct libdwarf_row *rows; /* in the order of the line program */
    size_t n_nodes, n_ranges, n_rows, room_nodes, room_ranges, room_rows;
    char **files; /* as libdwarf numbers them */
    int64_t n_files;
    unsigned line_version;
    Dwarf_Die die;
    Dwarf_Line_Context lines;
};

/*
 * Read the next unit of the object into `unit` (zeroed, or read before: its content is replaced).
 *
 * *ret_more is false after the last one. MALFORMED: libdwarf cannot read this unit; the next can be
 * asked for. Texts live until the unit is replaced or ended with libdwarf_unit_deinit().
 */
FZ_MUST_CHECK enum fz_code libdwarf_unit_next(struct libdwarf_object *object,
                                              struct fz_budget *budget, struct libdwarf_unit *unit,
                                              bool *ret_more, struct fz_error *err);
void libdwarf_unit_deinit(struct libdwarf_object *object, struct fz_budget *budget,
                          struct libdwarf_unit *unit);

/* The whole path of a DW_AT_call_file, "" if there is none. */
const char *libdwarf_unit_file(const struct libdwarf_unit *unit, uint64_t number);

#endif
