/*
 * The table of report columns: what it takes from a report, and that docs/api/openapi.json shows the same.
 *
 * tests/contract/list.c compares it with the schema of both databases.
 */
#include "server/query/query.h"
#include "server/report/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

static void
test_values(void **state)
{
    (void)state;
    struct fz_arena arena;
    fz_arena_init(&arena, 64 * 1024);
    struct report report = {.app_id = "com.acme.shop",
                            .app_version = "4.2",
                            .run_id = "r-1",
                            .user_json = "{\"id\":\"u-1\"}",
                            .tags_json = "{\"plan\":\"pro\"}",
                            .crash = {.signal = "SIGSEGV"}};
    union fz_value *values = NULL;
    assert_int_equal(report_columns_make(&report, &arena, &values, NULL), FZ_OK);
    static const char *const want[][2] = {
        {"kind", "crash"},        {"app_id", "com.acme.shop"}, {"release", "com.acme.shop@4.2"},
        {"app_name", NULL},       {"user_id", "u-1"},          {"signal", "SIGSEGV"},
        {"tags", "\nplan=pro\n"}, {"top_function", NULL},      {"no such column", NULL},
        {"run_id", "r-1"}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(want); i++) {
        const char *text = fz_columns_text(&report_columns, values, want[i][0]);
        if (want[i][1] ? !text || strcmp(text, want[i][1]) != 0 : text != NULL)
            fail_msg("%s: %s", want[i][0], text ? text : "nothing");
    }
    fz_arena_deinit(&arena);
}

/* The schema of "app.version" or "user?.id" in the schema of an object. */
static const json_t *
at_path(const json_t *schema, const char *path)
{
    char name[64];
    while (schema && *path) {
        size_t len = strcspn(path, "?.");
        snprintf(name, sizeof(name), "%.*s", (int)len, path);
        schema = json_object_get(json_object_get(schema, "properties"), name);
        path += len + strspn(path + len, "?.");
    }
    return schema;
}

static size_t
count_leaves(const json_t *schema)
{
    const char *key;
    const json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)json_object_get(schema, "properties"), key, value) n +=
        json_object_get(value, "properties") ? count_leaves(value) : 1;
    return n;
}

static void
test_documented_list(void **state)
{
    (void)state;
    static const char *const own[] = {"id", "status", "format", "missing", "error"};
    json_auto_t *doc = json_load_file(FZ_TOP "/docs/api/openapi.json", 0, NULL);
    const json_t *row =
        json_object_get(json_object_get(json_object_get(doc, "components"), "schemas"), "Summary");
    size_t n_shown = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(own); i++)
        assert_non_null(at_path(row, own[i]));
    for (size_t i = 0; i < report_columns.n; i++) {
        const struct fz_column *column = &report_columns.list[i];
        if (!column->path)
            continue;
        n_shown++;
        const json_t *schema = at_path(row, column->path);
        const char *type = json_string_value(json_object_get(schema, "type"));
        const char *format = json_string_value(json_object_get(schema, "format"));
        const char *want = column->type == FZ_COLUMN_NUMBER ? "integer" : "string";
        if (!type || strcmp(type, want) != 0 ||
            (column->type == FZ_COLUMN_TIME) != (format != NULL))
            fail_msg("openapi.json: the row of a list has no '%s' of type %s", column->path, want);
    }
    assert_int_equal(count_leaves(row), n_shown + FZ_ARRAY_LEN(own));
}

/* What is documented as a filter is one. */
static void
test_documented_filters(void **state)
{
    (void)state;
    static const char others[] = " query sort count limit cursor project ";
    json_auto_t *doc = json_load_file(FZ_TOP "/docs/api/openapi.json", 0, NULL);
    const json_t *path = json_object_get(json_object_get(doc, "paths"), "/api/v1/reports");
    const json_t *parameters = json_object_get(json_object_get(path, "get"), "parameters");
    size_t i, n = 0;
    const json_t *one;
    json_array_foreach(parameters, i, one)
    {
        char word[64];
        const char *name = json_string_value(json_object_get(one, "name"));
        assert_non_null(name);
        snprintf(word, sizeof(word), " %s ", name);
        n += query_is_parameter(name);
        if (!query_is_parameter(name) && !strstr(others, word))
            fail_msg("openapi.json: GET /reports has a parameter '%s' that is not known", name);
    }
    assert_int_equal(n, 30);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_documented_list),
        cmocka_unit_test(test_documented_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
