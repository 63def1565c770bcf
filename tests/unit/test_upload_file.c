#include "server/worker/upload_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NONE = -1 };

/* The verdict as the answer has it. */
static void
check_verdict(enum upload_verdict verdict, const char *code, bool retry)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct upload_file file = {.arch = "arm64", .name = "Shop", .verdict = verdict};
    const struct upload_result result = {.files = &file, .n_files = 1};
    struct json_write w = json_write_start(&out);
    bool is_fine = strcmp(code, "ok") == 0 || strcmp(code, "map") == 0;
    char want[64];
    upload_result_write(&w, NULL, &result);
    snprintf(want, sizeof(want), "\"verdict\":{\"code\":\"%s\"%s%s", code,
             retry ? ",\"retry\":true" : "", is_fine ? "}" : ",\"todo\":\"");
    if (!strstr(fz_buffer_cstr(&out), want))
        fail_msg("%s: %s", want, fz_buffer_cstr(&out));
}

static void
test_verdicts(void **state)
{
    (void)state;
    static const struct {
        enum proto_slice_kind kind;
        bool dwarf, lines;
        int problems[2]; /* enum sym_problem_kind, or NONE */
        const char *code;
        bool retry;
    } cases[] = {
        {PROTO_SLICE_DSYM, true, true, {NONE, NONE}, "ok", false},
        {PROTO_SLICE_BINARY, true, true, {NONE, NONE}, "ok", false},
        {PROTO_SLICE_DSYM, true, true, {SYM_PROBLEM_BAD_UNIT, NONE}, "ok", false},
        {PROTO_SLICE_DSYM, true, false, {NONE, NONE}, "no_lines", false},
        {PROTO_SLICE_DSYM, false, false, {SYM_PROBLEM_NO_DWARF, NONE}, "no_dwarf", false},
        {PROTO_SLICE_BINARY, false, false, {SYM_PROBLEM_NO_DWARF, NONE}, "symbols_only", false},
        {PROTO_SLICE_DSYM, true, true, {SYM_PROBLEM_HIDDEN_NAMES, NONE}, "hidden_names", false},
        {PROTO_SLICE_BINARY,
         false,
         false,
         {SYM_PROBLEM_ENCRYPTED, SYM_PROBLEM_NO_DWARF},
         "encrypted",
         false},
        {PROTO_SLICE_BINARY, true, true, {SYM_PROBLEM_NOT_LINKED, NONE}, "not_linked", false},
        {PROTO_SLICE_DSYM, false, false, {SYM_PROBLEM_NO_INDEX, NONE}, "unusable", false},
        {PROTO_SLICE_DSYM,
         true,
         true,
         {SYM_PROBLEM_HIDDEN_NAMES, SYM_PROBLEM_TRUNCATED},
         "truncated",
         true},
        {PROTO_SLICE_BCSYMBOLMAP, false, false, {NONE, NONE}, "map", false},
        {PROTO_SLICE_UUIDMAP, false, false, {NONE, NONE}, "map", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct proto_slice slice = {.kind = cases[i].kind};
        slice.features.dwarf = cases[i].dwarf;
        slice.features.lines = cases[i].lines;
        for (size_t k = 0; k < 2 && cases[i].problems[k] != NONE; k++)
            sym_problem_add(&slice.problems, (enum sym_problem_kind)cases[i].problems[k], "x");
        check_verdict(worker_upload_verdict(&slice), cases[i].code, cases[i].retry);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
