#include "server/ingest/plcrash/protobuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/text.h"

/* The fields of a message on one line: "1=150 2='abc'", a cut one with "...", the fault last. */
static void
describe(struct fz_span bytes, char *ret, size_t size)
{
    struct protobuf message = protobuf_start(bytes, 100);
    struct protobuf_field field;
    size_t len = 0;
    ret[0] = '\0';
    while (protobuf_next(&message, &field)) {
        const char *space = len ? " " : "";
        if (field.is_bytes)
            len += (size_t)snprintf(
                ret + len, size - len, "%s%u='%.*s'%s", space, field.number, (int)field.bytes.len,
                field.bytes.len ? (const char *)field.bytes.data : "", field.cut ? "..." : "");
        else
            len += (size_t)snprintf(ret + len, size - len, "%s%u=%llu", space, field.number,
                                    (unsigned long long)field.value);
    }
    if (message.fault)
        snprintf(ret + len, size - len, "%s! %s at %llu", len ? " " : "", message.fault,
                 (unsigned long long)message.fault_at);
}

static void
test_fields(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *want;
    } cases[] = {
        {"", ""},
        {"089601", "1=150"},
        {"1203616263", "2='abc'"},
        {"1200", "2=''"},
        {"1d01000000", "3=1"},
        {"210102030405060708", "4=578437695752307201"},
        {"08ffffffffffffffffff01", "1=18446744073709551615"},
        {"f8ffffff0f05", "536870911=5"},
        {"08960112026162", "1=150 2='ab'"},
        /* a group (field 3) with a field inside is skipped, a nested one too */
        {"1b08011c0802", "1=2"},
        {"1b2308012408021c0803", "1=3"},
        /* the input ends early */
        {"12056162", "2='ab'... ! cut off at 104"},
        {"08", "! cut off within a number at 101"},
        {"0896", "! cut off within a number at 101"},
        {"1d0100", "! cut off within a number at 101"},
        {"0801 1b0801", "1=1 ! cut off within a group at 105"},
        {"12", "! cut off within a number at 101"},
        /* not protobuf */
        {"00", "! not the key of a field at 100"},
        {"0f", "! not the key of a field at 100"},
        {"0801 0e", "1=1 ! not the key of a field at 102"},
        {"1c", "! the end of a group without its start at 100"},
        {"08ffffffffffffffffffff01", "! a number of more than 10 bytes at 101"},
        {"12ffffffffffffffffff01", "2=''... ! cut off at 111"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char hex[64], got[128];
        uint8_t bytes[32];
        size_t n = 0;
        for (const char *c = cases[i].hex; *c; c++) {
            if (*c != ' ')
                hex[n++] = *c;
        }
        assert_true(fz_text_unhex(fz_span_make(hex, n), bytes));
        describe(fz_span_make(bytes, n / 2), got, sizeof(got));
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s: \"%s\", wanted \"%s\"", cases[i].hex, got, cases[i].want);
    }
}

static void
test_groups(void **state)
{
    (void)state;
    char got[128];
    uint8_t bytes[64];
    memset(bytes, 0x1b, sizeof(bytes));
    describe(fz_span_make(bytes, sizeof(bytes)), got, sizeof(got));
    assert_string_equal(got, "! groups nested too deeply at 132");
}

/* A body of nothing but tiny fields costs no more than the first of them. */
static void
test_many(void **state)
{
    (void)state;
    size_t size = 4 * (size_t)PROTOBUF_FIELDS_MAX, n = 0;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 2) {
        bytes[i] = 0x08;
        bytes[i + 1] = 1;
    }
    struct protobuf message = protobuf_start(fz_span_make(bytes, size), 0);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        n++;
    assert_int_equal(n, PROTOBUF_FIELDS_MAX);
    assert_string_equal(message.fault, "more fields than any message has");
    assert_int_equal(message.fault_at, 2 * PROTOBUF_FIELDS_MAX);
    free(bytes);
}

/* A message in a cut field is cut too, and says so where its own bytes end. */
static void
test_inner(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x1a, 0x09, 0x08, 0x05, 0x12, 0x04, 'a'};
    struct protobuf message = protobuf_start(fz_span_make(bytes, sizeof(bytes)), 8);
    struct protobuf_field field, inner_field;
    assert_true(protobuf_next(&message, &field));
    assert_int_equal(field.number, 3);
    assert_true(field.cut);
    assert_int_equal(field.offset, 10);
    struct protobuf inner = protobuf_inner(&field);
    assert_true(protobuf_next(&inner, &inner_field));
    assert_int_equal(inner_field.value, 5);
    assert_true(protobuf_next(&inner, &inner_field));
    assert_true(inner_field.cut);
    assert_false(protobuf_next(&inner, &inner_field));
    assert_string_equal(inner.fault, "cut off");
    assert_int_equal(inner.fault_at, 15);
    assert_false(protobuf_next(&message, &field));
    assert_true(message.cut);
}

static void
test_packed(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x0a, 0x03, 0x01, 0x96, 0x01, 0x08, 0x07};
    struct protobuf message = protobuf_start(fz_span_make(bytes, sizeof(bytes)), 0);
    struct protobuf_field field;
    uint64_t values[4];
    size_t n = 0;
    while (protobuf_next(&message, &field)) {
        size_t at = 0;
        while (n < 4 && protobuf_packed(&field, &at, &values[n]))
            n++;
    }
    assert_int_equal(n, 3);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 150);
    assert_int_equal(values[2], 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields), cmocka_unit_test(test_groups), cmocka_unit_test(test_many),
        cmocka_unit_test(test_inner),  cmocka_unit_test(test_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
