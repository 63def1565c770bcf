#include "server/worker/upload_file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_verdicts(void **state)
{
    (void)state;
    static const struct {
        enum proto_slice_kind kind;
        bool dwarf, lines;
        const char *problems[2];
        const char *code;
        bool retry;
    } cases[] = {
        {PROTO_SLICE_DSYM, true, true, {NULL, NULL}, "ok", false},
        {PROTO_SLICE_BINARY, true, true, {NULL, NULL}, "ok", false},
        {PROTO_SLICE_DSYM, true, true, {"bad_unit", NULL}, "ok", false},
        {PROTO_SLICE_DSYM, true, false, {NULL, NULL}, "no_lines", false},
        {PROTO_SLICE_DSYM, false, false, {"no_dwarf", NULL}, "no_dwarf", false},
        {PROTO_SLICE_BINARY, false, false, {"no_dwarf", NULL}, "symbols_only", false},
        {PROTO_SLICE_DSYM, true, true, {"hidden_names", NULL}, "hidden_names", false},
        {PROTO_SLICE_BINARY, false, false, {"encrypted", "no_dwarf"}, "encrypted", false},
        {PROTO_SLICE_BINARY, true, true, {"not_linked", NULL}, "not_linked", false},
        {PROTO_SLICE_DSYM, false, false, {"no_index", NULL}, "unusable", false},
        {PROTO_SLICE_DSYM, true, true, {"hidden_names", "truncated"}, "truncated", true},
        {PROTO_SLICE_BCSYMBOLMAP, false, false, {NULL, NULL}, "map", false},
        {PROTO_SLICE_UUIDMAP, false, false, {NULL, NULL}, "map", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct proto_slice slice = {.kind = cases[i].kind};
        slice.features.dwarf = cases[i].dwarf;
        slice.features.lines = cases[i].lines;
        for (size_t k = 0; k < 2 && cases[i].problems[k]; k++) {
            enum sym_problem_kind kind;
            assert_true(sym_problem_kind_parse(cases[i].problems[k], &kind));
            sym_problem_add(&slice.problems, kind, "x");
        }
        struct upload_advice advice = upload_advice_of(worker_upload_verdict(&slice));
        assert_string_equal(advice.code, cases[i].code);
        assert_int_equal(advice.retry, cases[i].retry);
        bool is_fine = strcmp(advice.code, "ok") == 0 || strcmp(advice.code, "map") == 0;
        assert_int_equal(advice.todo == NULL, is_fine);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
