/* Values of variables in texts, and read back from JSON. */
#include "server/report/render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static const struct report_envelope none = {.id = NULL};

/* The lines under the frame of a report with these variables. */
static void
assert_lines(const struct report_variable *list, size_t n, const char *want)
{
    struct report_variable variables[4];
    memcpy(variables, list, n * sizeof(*list));
    struct report_symbol symbol = {.function = "f", .variables = variables, .n_variables = n};
    struct report_frame frame = {.addr = 0x1000,
                                 .image = -1,
                                 .status = REPORT_FRAME_SYMBOLICATED,
                                 .symbols = &symbol,
                                 .n_symbols = 1};
    struct report_thread thread = {.frames = &frame, .n_frames = 1};
    struct report report = {.crash.thread = 0, .threads = &thread, .n_threads = 1};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_variables(&report, &none, &out, NULL), FZ_OK);
    char *text = strstr(fz_buffer_cstr(&out), " f\n"), *end = text ? strstr(text, "\n\n") : NULL;
    assert_non_null(end);
    end[1] = '\0';
    assert_string_equal(text + 3, want);
    /* What is passed on has no values. */
    fz_buffer_clear(&out);
    assert_int_equal(report_render_crash(&report, &none, &out, NULL), FZ_OK);
    assert_null(strstr(fz_buffer_cstr(&out), " = "));
    fz_buffer_clear(&out);
    assert_int_equal(report_render_ips(&report, &none, &out, NULL), FZ_OK);
    assert_null(strstr(fz_buffer_cstr(&out), "variables"));
    fz_buffer_deinit(&out);
}

static void
test_states(void **state)
{
    (void)state;
    static const struct {
        enum report_availability availability;
        const char *value, *want;
    } cases[] = {
        {REPORT_VALUE_AVAILABLE, "7", "        (int) a = 7\n"},
        {REPORT_VALUE_AVAILABLE, NULL, "        (int) a = {}\n"},
        {REPORT_VALUE_ENTRY_VALUE, "7", "        (int) a = 7 <value at the call>\n"},
        {REPORT_VALUE_PARTIAL, "7", "        (int) a = 7 <partial>\n"},
        {REPORT_VALUE_OPTIMIZED_OUT, NULL, "        (int) a = <optimized out>\n"},
        {REPORT_VALUE_REGISTER_NOT_RECOVERABLE, NULL,
         "        (int) a = <register not recoverable>\n"},
        {REPORT_VALUE_MEMORY_NOT_CAPTURED, NULL, "        (int) a = <memory not captured>\n"},
        {REPORT_VALUE_UNSUPPORTED, NULL, "        (int) a = <not supported>\n"},
        {REPORT_VALUE_NO_DEBUG_INFO, NULL, "        (int) a = <no debug info>\n"},
        {REPORT_VALUE_REDACTED, NULL, "        (int) a = <redacted>\n"},
        {REPORT_VALUE_LIMIT, NULL, "        (int) a = <limit reached>\n"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report_variable variable = {.name = "a",
                                           .type = "int",
                                           .value = cases[i].value,
                                           .availability = cases[i].availability};
        assert_lines(&variable, 1, cases[i].want);
    }
    struct report_variable stale = {.name = "a", .value = "0", .maybe_stale = true};
    assert_lines(&stale, 1, "        a = 0 <may be stale>\n");
    struct report_variable hostile = {.name = "a\n9", .type = "\x1b[1m", .value = "\"\xff\""};
    assert_lines(&hostile, 1, "        (?[1m) a?9 = \"?\"\n");
}

static void
test_fields(void **state)
{
    (void)state;
    struct report_variable sizes[] = {{.name = "[0]", .value = "1"}, {.name = "[1]", .value = "2"}};
    struct report_variable odd[] = {{.name = "[0]", .value = "1"},
                                    {.name = "[1]", .availability = REPORT_VALUE_PARTIAL}};
    struct report_variable members[] = {
        {.name = "price", .type = "double", .value = "9.5"},
        {.name = "sizes", .type = "int[3]", .fields = sizes, .n_fields = 2, .n_fields_cut = 1},
        {.name = "odd", .fields = odd, .n_fields = 2, .n_fields_cut = 4}};
    struct report_variable pointee[] = {
        {.name = "*", .type = "struct item", .fields = members, .n_fields = 3}};
    struct report_variable number[] = {{.name = "*", .type = "int", .value = "5"}};
    struct report_variable list[] = {
        {.name = "item",
         .type = "struct item",
         .fields = members,
         .n_fields = 3,
         .availability = REPORT_VALUE_PARTIAL},
        {.name = "p", .type = "struct item *", .value = "0x10", .fields = pointee, .n_fields = 1},
        {.name = "n", .type = "int *", .value = "0x20", .fields = number, .n_fields = 1}};
    assert_lines(list, 3,
                 "        (struct item) item = {\n"
                 "            (double) price = 9.5\n"
                 "            (int[3]) sizes = {1, 2, ...}\n"
                 "            odd = {\n"
                 "                [0] = 1\n"
                 "                [1] = <partial>\n"
                 "                ... (4 more)\n"
                 "            }\n"
                 "        } <partial>\n"
                 "        (struct item *) p = 0x10 {\n"
                 "            (double) price = 9.5\n"
                 "            (int[3]) sizes = {1, 2, ...}\n"
                 "            odd = {\n"
                 "                [0] = 1\n"
                 "                [1] = <partial>\n"
                 "                ... (4 more)\n"
                 "            }\n"
                 "        }\n"
                 "        (int *) n = 0x20 {\n"
                 "            (int) * = 5\n"
                 "        }\n");
}

/* Fields without end: the limit ends both ways. */
static void
test_depth(void **state)
{
    (void)state;
    enum { DEPTH = 40 };
    static struct report_variable chain[DEPTH];
    for (size_t i = 0; i < DEPTH; i++)
        chain[i] = (struct report_variable){
            .name = "n", .fields = i + 1 < DEPTH ? &chain[i + 1] : NULL, .n_fields = i + 1 < DEPTH};
    struct report_symbol symbol = {.function = "f", .variables = chain, .n_variables = 1};
    struct report_frame frame = {.image = -1, .symbols = &symbol, .n_symbols = 1};
    struct report_thread thread = {.frames = &frame, .n_frames = 1};
    struct report loaded, report = {.threads = &thread, .n_threads = 1, .crash.thread = -1};
    struct report_envelope envelope;
    struct fz_arena arena;
    struct fz_buffer out;
    fz_arena_init(&arena, 1 << 20);
    fz_buffer_init(&out, 0);
    assert_int_equal(report_render_json(&report, &none, &out, NULL), FZ_OK);
    assert_int_equal(report_load_json(fz_buffer_span(&out), &arena, &loaded, &envelope, NULL),
                     FZ_OK);
    const struct report_variable *at = loaded.threads[0].frames[0].symbols[0].variables;
    unsigned depth = 1;
    for (; at->n_fields; at = at->fields)
        depth++;
    assert_int_equal(depth, REPORT_VARIABLE_DEPTH_MAX);
    assert_int_equal(at->n_fields_cut, 1);
    fz_buffer_clear(&out);
    assert_int_equal(report_render_variables(&report, &none, &out, NULL), FZ_OK);
    size_t n = 0;
    for (const char *c = fz_buffer_cstr(&out); (c = strstr(c, "n = ")); c++)
        n++;
    assert_int_equal(n, REPORT_VARIABLE_DEPTH_MAX);
    fz_buffer_deinit(&out);
    fz_arena_deinit(&arena);
}

/* Members of another shape count as absent. */
static void
test_load_odd(void **state)
{
    (void)state;
    static const char text[] =
        "{\"threads\":[{\"frames\":[{\"address\":\"0x1\",\"symbols\":[{\"function\":\"f\","
        "\"variables\":[7,{\"name\":7,\"kind\":\"odd\",\"availability\":\"odd\",\"fields\":{},"
        "\"address\":\"here\",\"stale\":1}],\"variables_cut\":\"x\"}]}]}]}";
    struct fz_arena arena;
    struct report report;
    struct report_envelope envelope;
    fz_arena_init(&arena, 1 << 20);
    assert_int_equal(report_load_json(fz_span_cstr(text), &arena, &report, &envelope, NULL), FZ_OK);
    const struct report_symbol *symbol = &report.threads[0].frames[0].symbols[0];
    assert_int_equal(symbol->n_variables, 2);
    assert_int_equal(symbol->n_variables_cut, 0);
    const struct report_variable *odd = &symbol->variables[1];
    assert_null(odd->name);
    assert_int_equal(odd->availability, REPORT_VALUE_AVAILABLE);
    assert_false(odd->maybe_stale || odd->has_address || odd->n_fields);
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_load_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
