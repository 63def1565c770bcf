#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "storage/migrations.h"

static void
assert_in_order(const struct store_migration *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(table[i].version, i + 1);
        assert_int_equal(strtol(table[i].name, NULL, 10), table[i].version);
        assert_true(table[i].len > 0);
        assert_int_equal(strlen((const char *)table[i].sql), table[i].len);
    }
}

/* A change of the schema is one for both engines. */
static void
test_tables(void **state)
{
    (void)state;
    assert_in_order(migrations_sqlite, n_migrations_sqlite);
    assert_in_order(migrations_postgresql, n_migrations_postgresql);
    assert_int_equal(n_migrations_sqlite, n_migrations_postgresql);
    for (size_t i = 0; i < n_migrations_sqlite; i++)
        assert_string_equal(migrations_sqlite[i].name, migrations_postgresql[i].name);
}

/* What SQLite needs no table for: reports are not in parts there. */
static bool
is_of_postgresql(const char *table)
{
    return strcmp(table, "report_ids") == 0 || strcmp(table, "report_months") == 0 ||
           strcmp(table, "row_security") == 0;
}

/* The n-th "table.column" that the CREATE TABLEs of a script name; false after the last. A column
 * is the first word of a line inside the parentheses that is not in capitals. */
static bool
next_column(const char **at, char *table, char *ret, size_t size)
{
    while (**at) {
        const char *line = *at, *end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        if (strncmp(line, "CREATE TABLE ", 13) == 0) {
            size_t len = strcspn(line + 13, " (");
            memcpy(table, line + 13, len);
            table[len] = '\0';
        }
        if (*line == ')')
            table[0] = '\0';
        if (!table[0] || is_of_postgresql(table) || strncmp(line, "    ", 4) != 0 ||
            !islower((unsigned char)line[4]))
            continue;
        size_t len = strcspn(line + 4, " ");
        size_t at_table = strlen(table);
        assert_true(at_table + len + 2 < size);
        memcpy(ret, table, at_table);
        ret[at_table] = '.';
        memcpy(ret + at_table + 1, line + 4, len);
        ret[at_table + 1 + len] = '\0';
        return true;
    }
    return false;
}

static void
test_same_columns(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < n_migrations_sqlite; i++) {
        const char *a = (const char *)migrations_sqlite[i].sql;
        const char *b = (const char *)migrations_postgresql[i].sql;
        char tables[2][64] = {"", ""}, columns[2][128];
        for (;;) {
            bool more = next_column(&a, tables[0], columns[0], sizeof(columns[0]));
            assert_int_equal(next_column(&b, tables[1], columns[1], sizeof(columns[1])), more);
            if (!more)
                break;
            assert_string_equal(columns[0], columns[1]);
            n++;
        }
    }
    assert_true(n > 80);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_same_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
