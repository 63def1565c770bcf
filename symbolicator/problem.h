/*
 * A bounded list of what is wrong with a symbol file, for people: each kind told once with a count.
 *
 * Reading goes on after a problem; what is readable is used. Caller's storage, nothing to free.
 */
#ifndef SYM_PROBLEM_H
#define SYM_PROBLEM_H

#include "base/attr.h"
#include <stddef.h>
#include <stdint.h>

enum { SYM_PROBLEMS_MAX = 32, SYM_PROBLEM_TEXT = 192 };

struct sym_problem {
    const char
        *kind; /* static short name: "bad_unit", "bad_line_program", "truncated", "no_dwarf"... */
    char text[SYM_PROBLEM_TEXT]; /* the first one of its kind, with its place */
    uint64_t count;
};

struct sym_problems {
    size_t n;
    struct sym_problem list[SYM_PROBLEMS_MAX];
};

/* Count one more of `kind`; the text of the first is kept. NULL problems and a full list drop it.
 */
void sym_problem_add(struct sym_problems *problems, const char *kind, const char *fmt, ...)
    FZ_PRINTF(3, 4);

#endif
