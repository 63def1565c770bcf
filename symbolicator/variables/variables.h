/*
 * Variables: names, types and values of the parameters and locals of a frame, and of the static and
 * global variables that its function uses.
 *
 * DWARF 2 to 5 of the image's dSYM, read at the frame's pc. A value is right or absent:
 * `availability` says why. docs/variables.md lists what is supported.
 */
#ifndef SYM_VARIABLES_VARIABLES_H
#define SYM_VARIABLES_VARIABLES_H

#include "symbolicator/unwind/unwind.h"

enum sym_variable_kind {
    SYM_VARIABLE_PARAM,
    SYM_VARIABLE_LOCAL,
    SYM_VARIABLE_GLOBAL,
    SYM_VARIABLE_THIS
};

enum sym_availability {
    SYM_VALUE_AVAILABLE,
    SYM_VALUE_ENTRY_VALUE, /* its value at the call */
    SYM_VALUE_PARTIAL,     /* some fields or pieces */
    SYM_VALUE_OPTIMIZED_OUT,
    SYM_VALUE_REGISTER_NOT_RECOVERABLE,
    SYM_VALUE_MEMORY_NOT_CAPTURED,
    SYM_VALUE_UNSUPPORTED,
    SYM_VALUE_NO_DEBUG_INFO,
    SYM_VALUE_REDACTED,
    SYM_VALUE_LIMIT,
};

/* One variable, field, element, base class or pointee. All texts are UTF-8 in the arena. */
struct sym_variable {
    const char *name; /* of a field, "[3]" of an element, "*" of what a pointer points to */
    const char *type; /* "const char *", "struct item"; NULL = unknown */
    enum sym_variable_kind kind;
    enum sym_availability availability;
    const char *value; /* as a debugger prints it; NULL = none, or only fields */
    bool maybe_stale; /* in memory of an optimised frame: the compiler may have dropped the store */
    bool has_address;
    uint64_t address;     /* where it is in memory */
    const char *location; /* "fbreg-16 @0x16f0ffc83", "x19", "const"; NULL = none */
    struct sym_variable *fields;
    size_t n_fields, n_fields_cut; /* cut: more than the limit */
};

/* The variables of one function or inlined call: parameters in the order of the DWARF, then those of
 * inner blocks before those of outer ones, then the globals that the function uses. */
struct sym_scope {
    const char *function; /* DW_AT_linkage_name, else DW_AT_name; NULL = none */
    bool inlined;
    enum sym_availability availability; /* AVAILABLE, NO_DEBUG_INFO or LIMIT of the whole scope */
    struct sym_variable *variables;
    size_t n, n_cut;
};

struct sym_variables_limits {                 /* 0 = the default */
    unsigned pointer_depth;                   /* pointers that are followed; default 1 */
    unsigned value_depth;                     /* fields in fields; 8 */
    unsigned members, elements, string_bytes; /* 64, 16, 128 */
    unsigned per_frame;                       /* variables; 256 */
    uint64_t steps;                           /* of all evaluations for a report */
};

struct sym_variables; /* opaque: open units and types of the images of one process */

/* `arena` owns all results. LIMIT, NO_MEMORY: the arena. The caller owns *ret. */
FZ_MUST_CHECK enum fz_code sym_variables_create(struct sym_process *process,
                                                const struct sym_variables_limits *limits,
                                                struct fz_arena *arena, struct sym_variables **ret,
                                                struct fz_error *err);
void sym_variables_destroy(struct sym_variables *variables);

/* The scopes at frame `i` of a chain: the innermost inlined call first, the function last, as
 * sym_index_lookup() gives them. The frames after it serve entry values. A frame without DWARF has
 * no scopes. LIMIT, NO_MEMORY: the arena; what is wrong with the DWARF is an availability. */
FZ_MUST_CHECK enum fz_code sym_variables_at(struct sym_variables *variables,
                                            const struct sym_unwind_chain *chain, size_t i,
                                            struct sym_scope **ret, size_t *ret_n,
                                            struct fz_error *err);

#endif
