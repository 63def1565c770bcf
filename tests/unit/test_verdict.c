#include "server/worker/verdict.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        bool dwarf, lines;
        const char *problems[2];
        const char *code;
        bool retry;
    } cases[] = {
        {"dsym", true, true, {NULL, NULL}, "ok", false},
        {"binary", true, true, {NULL, NULL}, "ok", false},
        {"dsym", true, true, {"bad_unit", NULL}, "ok", false},
        {"dsym", true, false, {NULL, NULL}, "no_lines", false},
        {"dsym", false, false, {"no_dwarf", NULL}, "no_dwarf", false},
        {"binary", false, false, {"no_dwarf", NULL}, "symbols_only", false},
        {"dsym", true, true, {"hidden_names", NULL}, "hidden_names", false},
        {"binary", false, false, {"encrypted", "no_dwarf"}, "encrypted", false},
        {"binary", true, true, {"not_linked", NULL}, "not_linked", false},
        {"dsym", false, false, {"no_index", NULL}, "unusable", false},
        {"dsym", true, true, {"hidden_names", "truncated"}, "truncated", true},
        {"bcsymbolmap", false, false, {NULL, NULL}, "map", false},
        {"uuidmap", false, false, {NULL, NULL}, "map", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct proto_slice slice = {.kind = cases[i].kind};
        slice.features.dwarf = cases[i].dwarf;
        slice.features.lines = cases[i].lines;
        for (size_t k = 0; k < 2 && cases[i].problems[k]; k++)
            sym_problem_add(&slice.problems, cases[i].problems[k], "x");
        struct verdict verdict = verdict_of(&slice);
        assert_string_equal(verdict.code, cases[i].code);
        assert_int_equal(verdict.retry, cases[i].retry);
        bool is_fine = strcmp(verdict.code, "ok") == 0 || strcmp(verdict.code, "map") == 0;
        assert_int_equal(verdict.todo == NULL, is_fine);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
