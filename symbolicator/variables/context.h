/*
 * What the files of this folder share: the state of one process's variables, a frame that is being
 * read, and where a value is.
 */
#ifndef VARIABLES_CONTEXT_H
#define VARIABLES_CONTEXT_H

#include "symbolicator/variables/constants.h"
#include "symbolicator/variables/image.h"

enum {
    VARIABLES_DIES_MAX = 200 * 1000,                 /* looked at for one frame */
    VARIABLES_DEFINITION_DIES_MAX = 4 * 1000 * 1000, /* of definitions that are compared */
    VARIABLES_RANGES_MAX = 1000 * 1000,              /* entries of range lists read for one frame */
    VARIABLES_SCOPES_MAX = 32,                       /* of blocks in blocks, and of inlined calls */
    VARIABLES_STEPS_MAX = 1000, /* operations for one variable, branches included */
    VARIABLES_STACK_MAX = 64,
    VARIABLES_PIECES_MAX = 16,
    VARIABLES_ENTRY_DEPTH_MAX = 4,
    VARIABLES_TYPE_CHAIN_MAX = 24,
    VARIABLES_VALUE_BYTES_MAX = 4096, /* of a value that is not in memory as a whole */
    VARIABLES_TEXT_MAX = 1024,        /* of one name, type or value */
    VARIABLES_FIELDS_MAX = 1024,      /* of one variable, at all depths */
    VARIABLES_VISITED_MAX = 64,       /* pointers followed for one variable */
};

struct variables_type;  /* type.h */
struct variables_types; /* type.h */
struct variables_value; /* value.h */

/*
 * Where a value is: in memory, or in bytes that were put together from registers, constants and
 * pieces of memory. Of the bytes, some bits may be unknown; `why` gives the reason for each byte.
 */
struct variables_place {
    bool is_memory;
    bool is_entry; /* it took the value that a register had at the call */
    bool is_stale; /* memory of an optimised frame, or not assigned yet */
    uint64_t address;
    const uint8_t *bytes, *known, *why; /* known: a bit for each bit of bytes */
    size_t n;
    enum sym_availability none; /* neither: the reason */
    const char *text;           /* as the `location` of a variable */
    uint64_t pointee;           /* DW_OP_implicit_pointer: the DIE that has the value; 0 = none */
    int64_t pointee_offset;
};

enum { VARIABLES_TAIL_MAX = 6 };

/* Functions that called one another by tail calls: each with the site of its call. */
struct variables_tail {
    struct variables_die functions[VARIABLES_TAIL_MAX], sites[VARIABLES_TAIL_MAX];
    unsigned n;
};

/* A variable of a frame; escape.h. */
struct variables_noted {
    struct sym_variable *suspect; /* its value may have changed; NULL: it is in memory, here: */
    uint64_t address, size;
    uint64_t value;
};

/* The frame whose variables are read. */
struct variables_frame {
    struct sym_variables *variables;
    struct variables_image *image;
    const struct sym_unwind_chain *chain;
    size_t i;                             /* in the chain */
    const struct sym_unwind_frame *frame; /* chain->frames[i] */
    uint64_t pc;                          /* in the file; that of the call for a return address */
    struct variables_die function;        /* that has the frame of its own */
    uint64_t object;                      /* for DW_OP_push_object_address */
    bool has_object;
    bool is_optimized;
    bool is_early; /* frame 0 in the prologue: nothing is in its place yet */
    unsigned entry_depth;
    const struct variables_tail
        *tail; /* not NULL: the frame of tail->functions[i_tail], now gone */
    unsigned i_tail;
    struct variables_noted *noted;
    size_t n_noted, room_noted;
};

/* Functions of one file that another, which it uses, needs in turn. */
typedef enum sym_availability (*variables_entry_fn)(struct variables_frame *frame, int reg,
                                                    uint64_t *ret);
typedef void (*variables_fill_fn)(struct variables_value *value, const struct variables_type *type,
                                  const struct variables_place *place, struct sym_variable *out);

struct sym_variables {
    struct sym_process *process;
    struct sym_variables_limits limits;
    struct fz_arena *arena; /* of the results */
    struct fz_arena cache;  /* of types and symbols: as long as this object */
    struct fz_budget budget;
    struct variables_image **images;
    size_t n_images, room_images;
    struct variables_types *types;
    uint64_t steps_left;           /* of all evaluations */
    uint64_t dies_left;            /* of the frame */
    uint64_t definition_dies_left; /* of definitions that are compared */
    uint64_t ranges_left; /* entries of range lists, of the frame or of an image that is opened */
    bool no_memory;       /* an arena was used up */
    /* The last frame whose caller was looked for: the ways of tail calls to it. */
    struct {
        const struct sym_unwind_chain *chain;
        size_t i;
        bool is_known;
        struct variables_tail tail;
    } called;
    variables_entry_fn entry;
    variables_fill_fn fill;
};

/* Text in the arena of the results; "" and no_memory when that is used up. Bytes that are not UTF-8
 * are replaced. */
const char *variables_text(struct sym_variables *variables, struct fz_span text);
const char *variables_printf(struct sym_variables *variables, const char *fmt, ...) FZ_PRINTF(2, 3);

#endif
