#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/src/corpse.h"

enum { RECORD = 512 };

/* A record as the kernel lays it out (xnu, kcdata.h). */
struct record {
    uint8_t bytes[RECORD];
    size_t n;
};

static void
put(struct record *r, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        r->bytes[r->n++] = i < 8 ? (uint8_t)(value >> (8 * i)) : 0;
}

/* `n` bytes of content, of which the last `padding` do not count. */
static void
begin_item(struct record *r, uint32_t type, uint32_t n, uint32_t padding)
{
    put(r, type, 4);
    put(r, n, 4);
    put(r, padding, 8);
}

static struct record
start(void)
{
    struct record r = {.n = 0};
    begin_item(&r, 0xdeadf157, 0, 0);
    return r;
}

static void
test_all_items(void **state)
{
    struct framezero_corpse corpse;
    struct record r = start();
    (void)state;
    begin_item(&r, 0x80e, 16, 0);
    put(&r, 0xb100001, 8);
    put(&r, 0x10, 8);
    begin_item(&r, 0x81a, 16, 8);
    put(&r, 12345, 16);
    begin_item(&r, 0x838, 16, 12);
    put(&r, 10, 16);
    begin_item(&r, 0x1001, 32, 12);
    put(&r, 20, 4);
    put(&r, 0x8badf00d, 8);
    put(&r, 0x100, 8);
    put(&r, 0, 12);
    begin_item(&r, 0x1002, 16, 11);
    memcpy(r.bytes + r.n, "slow!", 5);
    r.n += 16;
    begin_item(&r, 0xf19158ed, 0, 0);
    begin_item(&r, 0x81a, 16, 8); /* after the end */
    put(&r, 99, 16);

    assert_true(framezero_corpse_parse(r.bytes, r.n, &corpse));
    assert_true(corpse.has_codes && corpse.has_crashed_id && corpse.has_exit_reason);
    assert_int_equal(corpse.codes[0], 0xb100001);
    assert_int_equal(corpse.codes[1], 0x10);
    assert_int_equal(corpse.crashed_id, 12345);
    assert_int_equal(corpse.exception, 10);
    assert_int_equal(corpse.exit_namespace, 20);
    assert_int_equal(corpse.exit_code, 0x8badf00d);
    assert_int_equal(corpse.exit_flags, 0x100);
    assert_string_equal(corpse.exit_text, "slow!");
}

static void
test_every_cut(void **state)
{
    struct framezero_corpse corpse;
    struct record r = start();
    (void)state;
    begin_item(&r, 0x81a, 16, 8);
    put(&r, 12345, 16);
    for (size_t n = 0; n < r.n; n++) {
        assert_int_equal(framezero_corpse_parse(r.bytes, n, &corpse), n >= 16);
        assert_false(corpse.has_crashed_id);
    }
}

static void
test_not_a_record(void **state)
{
    struct framezero_corpse corpse;
    uint8_t zeros[64] = {0};
    (void)state;
    assert_false(framezero_corpse_parse(zeros, sizeof(zeros), &corpse));
    assert_false(framezero_corpse_parse(NULL, 0, &corpse));
}

static void
test_items_that_are_too_short(void **state)
{
    static const uint32_t types[] = {0x80e, 0x81a, 0x1001};
    struct framezero_corpse corpse;
    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct record r = start();
        begin_item(&r, types[i], 16, 12);
        put(&r, 1, 16);
        assert_true(framezero_corpse_parse(r.bytes, r.n, &corpse));
        assert_false(corpse.has_codes || corpse.has_crashed_id || corpse.has_exit_reason);
    }
}

static void
test_signals(void **state)
{
    static const struct {
        int exception;
        uint64_t code;
        int signal, shown;
    } table[] = {
        {1, 0xb100001, 11, 1},  /* a bad access that arrives as such */
        {10, 0xb100001, 11, 1}, /* and one that arrives as EXC_CRASH */
        {10, 0x6000000, 6, 10}, /* abort() */
        {11, 0xb100001, 0, 11}, /* EXC_RESOURCE has its own meaning of all bits */
        {12, 0xb100001, 0, 12}, /* EXC_GUARD */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct framezero_corpse corpse = {.has_codes = true, .codes = {table[i].code, 0}};
        int shown = -1;
        assert_int_equal(framezero_corpse_signal(&corpse, table[i].exception, &shown),
                         table[i].signal);
        assert_int_equal(shown, table[i].shown);
    }
    struct framezero_corpse none = {.has_codes = false};
    int shown = -1;
    assert_int_equal(framezero_corpse_signal(&none, 1, &shown), 0);
    assert_int_equal(shown, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_items),    cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_not_a_record), cmocka_unit_test(test_items_that_are_too_short),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
