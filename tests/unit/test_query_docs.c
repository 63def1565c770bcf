/* docs/query.md says what the table of fields and the parser say: its keys, its examples, its errors. */
#include "server/query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/file.h"
#include "storage/store.h"

static const int64_t now = 1795402800000;

enum { PAGE_MAX = 1 << 20, CELL = 512 };

static struct fz_buffer page;

static int
load_page(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
    fz_buffer_text(&path, FZ_TOP "/docs/query.md");
    FILE *file = fopen(fz_buffer_cstr(&path), "r");
    assert_non_null(file);
    fz_buffer_init(&page, PAGE_MAX);
    for (int c; (c = fgetc(file)) != EOF;)
        fz_buffer_char(&page, (char)c);
    fclose(file);
    return page.failed;
}

static int
drop_page(void **state FZ_UNUSED)
{
    fz_buffer_deinit(&page);
    return 0;
}

/* ---- the table of keys ---- */

static void
append_operators(enum store_field field, struct fz_buffer *out)
{
    static const struct {
        enum store_op op;
        const char *text;
    } signs[] = {{STORE_OP_EQUAL, "`=`"},
                 {STORE_OP_WILDCARD, "`*`"},
                 {STORE_OP_LESS, "`<` `<=` `>` `>=`"},
                 {STORE_OP_PRESENT, "`has:`"}};
    const char *between = "";
    for (size_t i = 0; i < FZ_ARRAY_LEN(signs); i++) {
        if (!store_field_allows(field, signs[i].op))
            continue;
        fz_buffer_printf(out, "%s%s", between, signs[i].text);
        between = " ";
    }
}

static void
append_row(enum store_field field, struct fz_buffer *out)
{
    const struct store_field_row *row = store_field_row(field);
    fz_buffer_printf(out, "| `%s`", row->name);
    if (row->alias)
        fz_buffer_printf(out, " `%s`", row->alias);
    fz_buffer_printf(out, " | %s | ", row->is_of_issue ? "issue" : "report");
    append_operators(field, out);
    fz_buffer_printf(out, " | %s", row->help);
    if (row->choices)
        fz_buffer_printf(out, ": %s", row->choices);
    fz_buffer_text(out, " |\n");
}

static void
test_keys(void **state FZ_UNUSED)
{
    static const char head[] = "| key | of | operators | finds |\n|---|---|---|---|\n";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer want = fz_buffer_make(0);
    const char *at = strstr(fz_buffer_cstr(&page), head);
    assert_non_null(at);
    for (size_t i = 0; i < STORE_FIELDS; i++)
        append_row((enum store_field)i, &want);
    at += strlen(head);
    if (strncmp(at, fz_buffer_cstr(&want), want.len) == 0 && at[want.len] == '\n')
        return;
    fprintf(stderr, "docs/query.md must have these rows of keys:\n%s", fz_buffer_cstr(&want));
    fail();
}

/* ---- examples and errors ---- */

/* The next text between backticks of the line, or NULL; *at is moved after it. */
static const char *
next_code(const char **at, const char *end, char ret[CELL])
{
    const char *start = memchr(*at, '`', (size_t)(end - *at));
    const char *stop = start ? memchr(start + 1, '`', (size_t)(end - start - 1)) : NULL;
    if (!stop)
        return NULL;
    snprintf(ret, CELL, "%.*s", (int)(stop - start - 1), start + 1);
    *at = stop + 1;
    return ret;
}

static enum fz_code
parse(const char *text, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    struct store_query query;
    return query_parse(fz_span_cstr(text), now, &arena, &query, err);
}

/* Each text in backticks of the first column is a query. */
static void
check_examples(const char *line, const char *end)
{
    char text[CELL];
    struct fz_error err;
    const char *cell_end = strstr(line + 1, " | ");
    assert_true(cell_end && cell_end < end);
    for (const char *at = line; next_code(&at, cell_end, text);) {
        if (parse(text, &err) != FZ_OK)
            fail_msg("%s: %s", text, err.text);
    }
}

static void
check_error(const char *line, const char *end)
{
    char text[CELL], want[CELL];
    struct fz_error err;
    const char *at = line;
    assert_non_null(next_code(&at, end, text));
    assert_non_null(next_code(&at, end, want));
    if (parse(text, &err) != FZ_E_MALFORMED || strcmp(err.text, want) != 0)
        fail_msg("%s: %s", text, err.text);
}

/* The rows below a heading of the page; returns how many there are. */
static size_t
for_rows(const char *heading, void (*check)(const char *line, const char *end))
{
    size_t n = 0;
    const char *at = strstr(fz_buffer_cstr(&page), heading);
    assert_non_null(at);
    at = strstr(at, "\n|---");
    assert_non_null(at);
    for (at = strchr(at + 1, '\n') + 1; *at == '|'; at = strchr(at, '\n') + 1, n++)
        check(at, strchr(at, '\n'));
    return n;
}

static void
test_examples(void **state FZ_UNUSED)
{
    assert_in_range(for_rows("\n## Examples\n", check_examples), 20, 100);
}

static void
test_errors(void **state FZ_UNUSED)
{
    assert_in_range(for_rows("\n## Errors\n", check_error), 5, 100);
}

/* ---- the table and the enums that follow it ---- */

static void
check_choice(enum store_field field, int64_t place, const char *want)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    char text[CELL];
    struct store_query query;
    snprintf(text, sizeof(text), "%s:%s", store_field_row(field)->name, want);
    assert_int_equal(query_parse(fz_span_cstr(text), now, &arena, &query, NULL), FZ_OK);
    assert_int_equal(query.conditions[0].values[0].number, place);
    assert_string_equal(query.conditions[0].values[0].text, want);
}

static void
test_choices(void **state FZ_UNUSED)
{
    static const char *const is[] = {[STORE_IS_OPEN] = "open",
                                     [STORE_IS_RESOLVED] = "resolved",
                                     [STORE_IS_IGNORED] = "ignored",
                                     [STORE_IS_REGRESSED] = "regressed",
                                     [STORE_IS_NEW] = "new",
                                     [STORE_IS_UNASSIGNED] = "unassigned",
                                     [STORE_IS_PLACEHOLDER] = "placeholder"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(is); i++)
        check_choice(STORE_FIELD_IS, (int64_t)i, is[i]);
    for (int i = STORE_REPORT_QUEUED; i <= STORE_REPORT_FAILED; i++)
        check_choice(STORE_FIELD_STATUS, i, store_report_status_name((enum store_report_status)i));
}

static void
test_find(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < STORE_FIELDS; i++) {
        const struct store_field_row *row = store_field_row((enum store_field)i);
        assert_int_equal(store_field_find(fz_span_cstr(row->name)), i);
        if (row->alias)
            assert_int_equal(store_field_find(fz_span_cstr(row->alias)), i);
        assert_true(row->ops >> row->plain & 1);
    }
    assert_int_equal(store_field_find(fz_span_cstr("OS_Version")), STORE_FIELD_OS_VERSION);
    assert_int_equal(store_field_find(fz_span_cstr("versions")), STORE_FIELDS);
    assert_int_equal(store_field_find(fz_span_cstr("")), STORE_FIELDS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),   cmocka_unit_test(test_examples),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_choices),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, load_page, drop_page);
}
