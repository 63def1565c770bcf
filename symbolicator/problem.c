/* Problems of symbol files: their names, and the list of them. */
#include "symbolicator/symbolicator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const names[SYM_PROBLEM_KINDS] = {
    [SYM_PROBLEM_TRUNCATED] = "truncated",
    [SYM_PROBLEM_NO_INDEX] = "no_index",
    [SYM_PROBLEM_NOT_LINKED] = "not_linked",
    [SYM_PROBLEM_ENCRYPTED] = "encrypted",
    [SYM_PROBLEM_HIDDEN_NAMES] = "hidden_names",
    [SYM_PROBLEM_BAD_EXPORTS] = "bad_exports",
    [SYM_PROBLEM_BAD_FUNCTION_STARTS] = "bad_function_starts",
    [SYM_PROBLEM_BAD_LINE_PROGRAM] = "bad_line_program",
    [SYM_PROBLEM_BAD_LOAD_COMMAND] = "bad_load_command",
    [SYM_PROBLEM_BAD_MACHO] = "bad_macho",
    [SYM_PROBLEM_BAD_MEMBER] = "bad_member",
    [SYM_PROBLEM_BAD_SECTION] = "bad_section",
    [SYM_PROBLEM_BAD_SEGMENT] = "bad_segment",
    [SYM_PROBLEM_BAD_SLICE] = "bad_slice",
    [SYM_PROBLEM_BAD_SYMBOL] = "bad_symbol",
    [SYM_PROBLEM_BAD_SYMBOL_MAP] = "bad_symbol_map",
    [SYM_PROBLEM_BAD_UNIT] = "bad_unit",
    [SYM_PROBLEM_NO_DWARF] = "no_dwarf",
    [SYM_PROBLEM_NO_LINES] = "no_lines",
    [SYM_PROBLEM_NO_NAMES] = "no_names",
    [SYM_PROBLEM_NO_UUID] = "no_uuid",
    [SYM_PROBLEM_NOT_INSPECTED] = "not_inspected",
    [SYM_PROBLEM_SHARED_CACHE] = "shared_cache",
    [SYM_PROBLEM_STRIPPED] = "stripped",
    [SYM_PROBLEM_TOO_MUCH_WORK] = "too_much_work",
    [SYM_PROBLEM_UNREADABLE] = "unreadable",
    [SYM_PROBLEM_UNUSED_SYMBOL_MAP] = "unused_symbol_map",
};

const char *
sym_problem_kind_name(enum sym_problem_kind kind)
{
    return (size_t)kind < SYM_PROBLEM_KINDS ? names[kind] : "";
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
    /* One text for each kind: a broken file can have thousands of the same. */
    if (problem) {
        problem->count++;
        return;
    }
    /* There are fewer kinds than places, so a kind is never lost. */
    if (!problems || problems->n == SYM_PROBLEMS_MAX)
        return;
    problem = &problems->list[problems->n++];
    problem->kind = kind;
    problem->count = 1;
    char text[2 * SYM_PROBLEM_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    /* It quotes names of members, sections and symbols, and is shown on terminals. */
    fz_text_visible(fz_span_cstr(text), problem->text, sizeof(problem->text));
}
