#include "symbolicator/symbolicator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
sym_problem_add(struct sym_problems *problems, const char *kind, const char *fmt, ...)
{
    if (!problems)
        return;
    for (size_t i = 0; i < problems->n; i++) {
        if (strcmp(problems->list[i].kind, kind) == 0) {
            problems->list[i].count++;
            return;
        }
    }
    if (problems->n == SYM_PROBLEMS_MAX)
        return;
    struct sym_problem *problem = &problems->list[problems->n++];
    problem->kind = kind;
    problem->count = 1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(problem->text, sizeof(problem->text), fmt, args);
    va_end(args);
}
