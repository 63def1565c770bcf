/*
 * The global variables that a function uses.
 *
 * They are the variables of its unit, at a fixed address, whose address its code makes: adrp with
 * add, ldr or str on arm64, rip-relative operands on x86_64. That needs the code, so the binary must
 * be there. Other units' variables are not looked at.
 */
#ifndef VARIABLES_GLOBALS_H
#define VARIABLES_GLOBALS_H

#include "symbolicator/variables/context.h"

enum { VARIABLES_GLOBALS_MAX = 32 };

struct variables_globals {
    struct variables_die list[VARIABLES_GLOBALS_MAX]; /* in the order of the DWARF */
    size_t n;
};

/* The globals of the function of a frame. */
void variables_globals_find(struct variables_frame *frame, struct variables_globals *ret);

#endif
