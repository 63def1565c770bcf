/*
 * The DWARF stack machine (DWARF 5, 2.5 and 2.6): runs one expression, or one piece of it, in a
 * frame.
 */
#ifndef VARIABLES_MACHINE_H
#define VARIABLES_MACHINE_H

#include "symbolicator/variables/context.h"
#include "symbolicator/variables/number.h"

/* What kind of location the operations so far describe. */
enum variables_machine_end {
    MACHINE_EMPTY,    /* no operation: nothing is there */
    MACHINE_ADDRESS,  /* the top of the stack is an address */
    MACHINE_REGISTER, /* `reg` holds it */
    MACHINE_VALUE,    /* the top of the stack is the value itself */
    MACHINE_BYTES,    /* `bytes` are the value */
    MACHINE_POINTEE,  /* a pointer that is gone; what it points to is described by a DIE */
};

enum { MACHINE_TEXT_MAX = 64 };

struct variables_machine {
    struct variables_frame *frame;
    const struct sym_dwarf_unit *unit;
    struct dwarf_cursor at; /* what is left of the expression */
    struct variables_number stack[VARIABLES_STACK_MAX];
    unsigned n, steps, depth;
    enum sym_availability failure; /* AVAILABLE: none */
    enum sym_availability poison;  /* the part needed a value that is not there: 0 took its place */
    enum variables_machine_end end;
    bool is_entry, is_stale;
    unsigned reg;
    struct fz_span bytes;
    uint64_t pointee;
    int64_t pointee_offset;
    bool is_piece; /* a piece ended this part of the expression */
    uint64_t piece_bits, piece_offset;
    char text[MACHINE_TEXT_MAX];
};

void variables_machine_init(struct variables_machine *machine, struct variables_frame *frame,
                            const struct sym_dwarf_unit *unit, struct fz_span expr);
void variables_machine_push(struct variables_machine *machine, uint64_t value);
/* Push 0 in place of a value that is not available: the part ends without a value, but pieces after
 * it are still found. */
void variables_machine_poison(struct variables_machine *machine, enum sym_availability why);
/* Run up to the end of the expression or of its next piece. False: `failure` says why. */
bool variables_machine_run(struct variables_machine *machine);

/* A general register of the frame by its DWARF number. */
enum sym_availability variables_register(const struct variables_frame *frame, unsigned number,
                                         uint64_t *ret);
/* The bytes of any register, the lowest first, at most 16. */
enum sym_availability variables_register_bytes(const struct variables_frame *frame, unsigned number,
                                               uint8_t to[16], size_t *ret_n);
/* "x19", "d8"; NULL if there is no such register. Static. */
const char *variables_register_name(const struct variables_frame *frame, unsigned number);

#endif
