/*
 * Many rows of numbers: sql_ints_open().
 */
#include "contract.h"

#include <string.h>

#include "base/attr.h"
#include "storage/sql/sql.h"
#include "storage/store_private.h"

/* 0 to n - 1, as both engines have them. */
#define NUMBERS(n)                                                                                 \
    "FROM (WITH RECURSIVE c (i) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT i + 1 FROM c WHERE " \
    "i < " n " - 1) SELECT i FROM c) AS numbers"

static const char *const one[] = {"i", NULL};

/* The rows of one number: how many, and their sum. */
static enum fz_code
read_all(struct contract *c, struct sql *sql, const char *column, const char *rest,
         const struct sql_value *args, size_t n_args, uint64_t *ret_n, int64_t *ret_sum)
{
    const char *const columns[] = {column, NULL};
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = sql_ints_open(sql, columns, rest, args, n_args, &ints, &c->err);
    *ret_n = 0;
    *ret_sum = 0;
    for (int64_t row[1]; sql_ints_next(&ints, row, &code, &c->err); ++*ret_n)
        *ret_sum += row[0];
    sql_ints_close(&ints);
    return code;
}

static void
test_rows(void **state)
{
    struct contract *c = *state;
    /* More than fits into the memory that there is at first, and than into large pages. */
    static const char *const three[] = {"i", "-i", "NULLIF(i, 7)", NULL};
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = sql_ints_open(c->store->sql, three, NUMBERS("200000") " ORDER BY i", NULL,
                                      0, &ints, &c->err);
    int64_t n = 0;
    for (int64_t row[3]; sql_ints_next(&ints, row, &code, &c->err); n++) {
        assert_int_equal(row[0], n);
        assert_int_equal(row[1], -n);
        assert_int_equal(row[2], n == 7 ? 0 : n);
    }
    assert_ok(c, code);
    assert_int_equal(n, 200000);
    sql_ints_close(&ints);
    uint64_t n_rows;
    int64_t sum;
    assert_ok(c,
              read_all(c, c->store->sql, "i", NUMBERS("1") " WHERE i > 5", NULL, 0, &n_rows, &sum));
    assert_int_equal(n_rows, 0);
    assert_ok(c, read_all(c, c->store->sql, "i", NUMBERS("3"), NULL, 0, &n_rows, &sum));
    assert_int_equal(n_rows, 3);
    assert_int_equal(sum, 3);
}

/* An end before the last row, and no end at all: the connection goes on. */
static void
test_left(void **state)
{
    struct contract *c = *state;
    struct sql_ints ints = {.n_columns = 0};
    enum fz_code code = sql_ints_open(c->store->sql, one, NUMBERS("5000"), NULL, 0, &ints, &c->err);
    int64_t row[1], now;
    assert_true(sql_ints_next(&ints, row, &code, &c->err));
    assert_ok(c, sql_now(c->store->sql, &now, &c->err));
    assert_true(sql_ints_next(&ints, row, &code, &c->err));
    assert_int_equal(row[0], 1);
    sql_ints_close(&ints);
    assert_ok(c, sql_now(c->store->sql, &now, &c->err));
}

/* Texts that would be more than an argument if they were not quoted. */
static void
test_arguments(void **state)
{
    static const char *const texts[] = {
        "",        "'",        "''; SELECT 1; --",      "\\",   "\\'",  "$1",
        "$2 '$1'", "E'\\x41'", "\xc3\xa4 \xe2\x82\xac", "a\nb", "%s %n"};
    struct contract *c = *state;
    uint64_t n;
    int64_t sum;
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        const struct sql_value args[] = {sql_text(texts[i]), sql_int(-(int64_t)i),
                                         sql_text(texts[i])};
        /* Each is what it was: of as many bytes, and the same when it is there twice. */
        assert_ok(c, read_all(c, c->store->sql, "CAST(length($1) AS bigint) * 1000 + $2",
                              NUMBERS("2") " WHERE $1 = $3 AND '$1' <> '$2'", args, 3, &n, &sum));
        assert_int_equal(n, 2);
        size_t length = 0;
        for (const char *at = texts[i]; *at; at++)
            length += (*at & 0xc0) != 0x80;
        assert_int_equal(sum, 2 * ((int64_t)length * 1000 - (int64_t)i));
    }
    const struct sql_value bytes[] = {sql_blob(fz_span_make("a\0'\xff", 4)),
                                      sql_blob(fz_span_make("a\0'\xff", 4))};
    assert_ok(c, read_all(c, c->store->sql, "CAST(length($1) AS bigint)",
                          NUMBERS("1") " WHERE $1 = $2", bytes, 2, &n, &sum));
    assert_int_equal(sum, 4);
    const struct sql_value nothing[] = {sql_text(NULL)};
    assert_ok(
        c, read_all(c, c->store->sql, "i", NUMBERS("3") " WHERE $1 IS NULL", nothing, 1, &n, &sum));
    assert_int_equal(n, 3);
    const struct sql_value large[] = {sql_int(INT64_MAX), sql_int(INT64_MIN)};
    assert_ok(c, read_all(c, c->store->sql, "$1 + $2", NUMBERS("1"), large, 2, &n, &sum));
    assert_int_equal(sum, -1);
}

/* A failure after rows were sent, in a transaction and outside of one. */
static void
test_failure(void **state)
{
    struct contract *c = *state;
    uint64_t n;
    int64_t sum;
    if (contract_is_sqlite(c))
        skip(); /* 1 / 0 is NULL */
    for (int i = 0; i < 20; i++) {
        struct sql *tx = NULL;
        if (i % 2)
            assert_ok(c, sql_begin(c->store->sql, &tx, &c->err));
        assert_fails(c, FZ_E_INTERNAL,
                     read_all(c, i % 2 ? tx : c->store->sql, "1000 / (i - 20000)", NUMBERS("30000"),
                              NULL, 0, &n, &sum));
        assert_non_null(strstr(c->err.text, "division by zero"));
        assert_int_equal(n, 0);
        sql_rollbackp(&tx);
        assert_fails(
            c, FZ_E_INTERNAL,
            read_all(c, c->store->sql, "CAST(i AS smallint)", NUMBERS("1"), NULL, 0, &n, &sum));
        assert_ok(c, read_all(c, c->store->sql, "i", NUMBERS("3"), NULL, 0, &n, &sum));
        assert_int_equal(n, 3);
    }
    const struct sql_value args[] = {sql_int(1)};
    assert_fails(c, FZ_E_INTERNAL,
                 read_all(c, c->store->sql, "i + $2", NUMBERS("1"), args, 1, &n, &sum));
}

int
contract_run_ints(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_rows),
        contract_test(test_left),
        contract_test(test_arguments),
        contract_test(test_failure),
    };
    return cmocka_run_group_tests_name("ints", tests, NULL, NULL);
}
