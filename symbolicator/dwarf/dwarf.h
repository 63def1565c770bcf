/*
 * The bulk DWARF scanner: functions, inlined calls, their ranges and names, and line tables.
 *
 * It reads DWARF 2 to 5 in one linear pass and knows nothing of types, variables or unwinding
 * (libdwarf does those on demand). Open once, then scan unit by unit into reused scratch; scans of
 * different units may run in parallel, each with its own scratch and budget. Source: DWARF 5,
 * chapters 6.2 and 7.
 */
#ifndef SYM_DWARF_H
#define SYM_DWARF_H

#include "base/error.h"
#include "base/list.h"
#include "base/span.h"
#include "symbolicator/symbolicator.h"

enum { SYM_DWARF_NONE = -1 };

struct sym_dwarf; /* opaque */

struct sym_dwarf_unit {
    uint64_t offset; /* of its header in .debug_info */
    uint64_t dies;   /* of its first DIE */
    uint64_t end;
    uint64_t stmt_list; /* its line program in .debug_line, if has_lines */
    uint64_t low_pc;    /* base address of its range lists */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    struct fz_span name, comp_dir;
    uint32_t abbrevs; /* number of its abbreviation table */
    uint16_t version;
    uint8_t offset_size, addr_size;
    bool has_lines, is_bad;
};

/*
 * Find the sections of the slice, list the units and read their abbreviations and root DIEs.
 *
 * On success the caller owns *ret (sym_dwarf_close()); the bytes of `macho` must outlive it. Bad
 * units are marked is_bad and counted in problems; units beyond 65,536 and one per 512 bytes are
 * not listed, which is a problem. NOT_FOUND: the slice has no .debug_info.
 */
FZ_MUST_CHECK enum fz_code sym_dwarf_open(const struct sym_macho *macho, struct fz_budget *budget,
                                          struct sym_problems *problems, struct sym_dwarf **ret,
                                          struct fz_error *err);
void sym_dwarf_close(struct sym_dwarf *dwarf);
void sym_dwarf_closep(struct sym_dwarf **dwarf);

size_t sym_dwarf_n_units(const struct sym_dwarf *dwarf);
uint64_t sym_dwarf_info_size(const struct sym_dwarf *dwarf); /* bytes of .debug_info, inflated */
uint64_t sym_dwarf_inflated_size(const struct sym_dwarf *dwarf); /* of what was inflated */
const struct sym_dwarf_unit *sym_dwarf_unit(const struct sym_dwarf *dwarf, size_t i);

/* A function or an inlined call that has code. */
struct sym_dwarf_node {
    uint64_t die;    /* its offset in .debug_info */
    uint64_t origin; /* the DIE that names it: abstract origin, specification or itself */
    uint32_t parent; /* the node it is inlined into; UINT32_MAX for a function */
    uint32_t call_file, call_line, call_column; /* of an inlined call; 0 = not given */
    uint32_t depth;                             /* of inlining; 0 for a function */
};

struct sym_dwarf_range {
    uint64_t low, high; /* low < high */
    uint32_t node;
};

/* What a scan of one unit found; nodes come parents first, ranges in the order of nodes. */
struct sym_dwarf_scan {
    struct sym_dwarf_node *nodes;
    struct sym_dwarf_range *ranges;
    struct sym_dwarf_range *unit_ranges; /* of the unit itself, ascending; their node is 0 */
    size_t n_nodes, n_ranges, n_unit_ranges;
    size_t room_nodes, room_ranges, room_unit_ranges;
    uint64_t code_low, code_high; /* set by the caller: ranges that begin outside are dead code */
    uint64_t work;                /* bytes and entries of lists that were looked at */
};

void sym_dwarf_scan_deinit(struct sym_dwarf_scan *scan, struct fz_budget *budget);

/* Scan unit `i` into `scan`, which is emptied first. MALFORMED: the unit is broken from some DIE
 * on; what was found before stays in `scan`. */
FZ_MUST_CHECK enum fz_code sym_dwarf_scan_unit(const struct sym_dwarf *dwarf, size_t i,
                                               struct fz_budget *budget,
                                               struct sym_dwarf_scan *scan, struct fz_error *err);

/* A call that says where it returns to and which function it names. */
struct sym_dwarf_call {
    uint64_t return_addr;
    uint64_t origin; /* the DIE of the function, a declaration maybe */
};
typedef bool (*sym_dwarf_call_fn)(void *user, const struct sym_dwarf_call *call);

/*
 * Give `call` the call sites of unit `i` in the order of their DIEs: DWARF 5's and the GNU
 * extension of DWARF 4. Tail calls are left out, since nothing returns after them. A pass of its
 * own, for the few files that need it; a broken unit ends where it breaks, as when it is scanned.
 * False when `call` returned false, which ends it.
 */
bool sym_dwarf_calls_unit(const struct sym_dwarf *dwarf, size_t i, sym_dwarf_call_fn call,
                          void *user);

/* 16 bytes: a large unit has hundreds of thousands. */
struct sym_dwarf_row {
    uint32_t offset;     /* of its address, from the base of its sequence */
    uint32_t file, line; /* file as the line program numbers it */
    uint16_t column;     /* 0 = not given, or above 65535 */
};

/* Rows first .. first + n - 1 in ascending order, one per address; the last reaches to `high`. */
struct sym_dwarf_sequence {
    uint64_t low, high, base; /* base <= low */
    size_t first, n;
};

struct sym_dwarf_file {
    struct fz_span name;
    uint64_t directory;
};

/* One line program. */
struct sym_dwarf_lines {
    struct sym_dwarf_row *rows;
    struct sym_dwarf_sequence *sequences; /* ascending by low */
    struct sym_dwarf_file *files;
    struct fz_span *directories;
    size_t n_rows, n_sequences, n_files, n_directories;
    size_t room_rows, room_sequences, room_files, room_directories;
    unsigned version;
    uint64_t code_low, code_high; /* set by the caller: sequences outside are dead code */
    uint64_t work;                /* bytes of the program */
};

void sym_dwarf_lines_deinit(struct sym_dwarf_lines *lines, struct fz_budget *budget);

/* Run the line program of unit `i` into `lines`, which is emptied first. MALFORMED as above; a unit
 * without a line program gives no rows. */
FZ_MUST_CHECK enum fz_code sym_dwarf_lines_unit(const struct sym_dwarf *dwarf, size_t i,
                                                struct fz_budget *budget,
                                                struct sym_dwarf_lines *lines,
                                                struct fz_error *err);

/* The path of file `number` of a line program: directory (compilation directory and include
 * directory) and name. False if there is no such file. */
struct sym_dwarf_path {
    struct fz_span comp_dir, include_dir, name; /* a later absolute part cancels those before */
};
bool sym_dwarf_path(const struct sym_dwarf_lines *lines, const struct sym_dwarf_unit *unit,
                    uint64_t number, struct sym_dwarf_path *ret);

struct sym_dwarf_name {
    struct fz_span linkage, plain; /* empty if not given; the bytes are in the string sections */
};

/* The names of the DIE at `die`, through abstract origins and specifications, at most 16 deep.
 * `*steps` is counted down by the work done; at 0 nothing is found any more. */
void sym_dwarf_name(const struct sym_dwarf *dwarf, uint64_t die, uint64_t *steps,
                    struct sym_dwarf_name *ret);

/*
 * Where the linkage name, else the plain name of the DIE is: the string and what follows it in
 * its section, not looked at yet, so that a string that is known already is not read again. Empty
 * if there is none. The string may turn out to be empty or without an end: then sym_dwarf_name()
 * finds out whether there is another one.
 */
struct fz_span sym_dwarf_name_place(const struct sym_dwarf *dwarf, uint64_t die, uint64_t *steps);

#endif
