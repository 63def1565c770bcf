/* Problems of symbol files: their names, and the list of them. */
#include "symbolicator/symbolicator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
sym_problem_kind_name(enum sym_problem_kind kind)
{
    switch (kind) {
    case SYM_PROBLEM_TRUNCATED:
        return "truncated";
    case SYM_PROBLEM_NO_INDEX:
        return "no_index";
    case SYM_PROBLEM_NOT_LINKED:
        return "not_linked";
    case SYM_PROBLEM_ENCRYPTED:
        return "encrypted";
    case SYM_PROBLEM_HIDDEN_NAMES:
        return "hidden_names";
    case SYM_PROBLEM_BAD_EXPORTS:
        return "bad_exports";
    case SYM_PROBLEM_BAD_FUNCTION_STARTS:
        return "bad_function_starts";
    case SYM_PROBLEM_BAD_LINE_PROGRAM:
        return "bad_line_program";
    case SYM_PROBLEM_BAD_LOAD_COMMAND:
        return "bad_load_command";
    case SYM_PROBLEM_BAD_MACHO:
        return "bad_macho";
    case SYM_PROBLEM_BAD_MEMBER:
        return "bad_member";
    case SYM_PROBLEM_BAD_SECTION:
        return "bad_section";
    case SYM_PROBLEM_BAD_SEGMENT:
        return "bad_segment";
    case SYM_PROBLEM_BAD_SLICE:
        return "bad_slice";
    case SYM_PROBLEM_BAD_SYMBOL:
        return "bad_symbol";
    case SYM_PROBLEM_BAD_SYMBOL_MAP:
        return "bad_symbol_map";
    case SYM_PROBLEM_BAD_UNIT:
        return "bad_unit";
    case SYM_PROBLEM_NO_DWARF:
        return "no_dwarf";
    case SYM_PROBLEM_NO_LINES:
        return "no_lines";
    case SYM_PROBLEM_NO_NAMES:
        return "no_names";
    case SYM_PROBLEM_NO_UUID:
        return "no_uuid";
    case SYM_PROBLEM_NOT_INSPECTED:
        return "not_inspected";
    case SYM_PROBLEM_SHARED_CACHE:
        return "shared_cache";
    case SYM_PROBLEM_STRIPPED:
        return "stripped";
    case SYM_PROBLEM_UNREADABLE:
        return "unreadable";
    case SYM_PROBLEM_UNUSED_SYMBOL_MAP:
        return "unused_symbol_map";
    }
    return "";
}

bool
sym_problem_kind_parse(const char *name, enum sym_problem_kind *ret)
{
    for (int kind = 0; kind < SYM_PROBLEM_KINDS; kind++) {
        if (strcmp(sym_problem_kind_name((enum sym_problem_kind)kind), name) == 0) {
            *ret = (enum sym_problem_kind)kind;
            return true;
        }
    }
    return false;
}

struct sym_problem *
sym_problem_find(struct sym_problems *problems, enum sym_problem_kind kind)
{
    for (size_t i = 0; problems && i < problems->n; i++) {
        if (problems->list[i].kind == kind)
            return &problems->list[i];
    }
    return NULL;
}

void
sym_problem_add(struct sym_problems *problems, enum sym_problem_kind kind, const char *fmt, ...)
{
    struct sym_problem *problem = sym_problem_find(problems, kind);
    if (problem) {
        problem->count++;
        return;
    }
    if (!problems || problems->n == SYM_PROBLEMS_MAX)
        return;
    problem = &problems->list[problems->n++];
    problem->kind = kind;
    problem->count = 1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(problem->text, sizeof(problem->text), fmt, args);
    va_end(args);
}
