#include "base/uuid.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/time.h"

static const char plain[] = "4c4c445b55553144a12988beb9d5eb60";

static void
test_parse(void **state)
{
    (void)state;
    static const char *const good[] = {
        "4c4c445b55553144a12988beb9d5eb60",       "4C4C445B55553144A12988BEB9D5EB60",
        "4C4C445B-5555-3144-A129-88BEB9D5EB60",   "4c4c445b-5555-3144-a129-88beb9d5eb60",
        "<4c4c445b55553144a12988beb9d5eb60>",     "{4C4C445B-5555-3144-A129-88BEB9D5EB60}",
        "4C4C445B55553144A12988BEB9D5EB600",      "4C4C445B55553144A12988BEB9D5EB60ffffffff",
        "4c4c445b-5555-3144-a129-88beb9d5eb60-0",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(good); i++) {
        struct fz_uuid uuid;
        char text[FZ_UUID_TEXT];
        if (!fz_uuid_parse(fz_span_cstr(good[i]), &uuid))
            fail_msg("%s", good[i]);
        fz_uuid_format(&uuid, text);
        assert_string_equal(text, plain);
    }
    static const char *const bad[] = {
        "",
        "<>",
        "-",
        "4c4c445b55553144a12988beb9d5eb6",
        "4c4c445b55553144a12988beb9d5eb6g",
        "4C4C445B55553144A12988BEB9D5EB60fffffffff",
        " 4c4c445b55553144a12988beb9d5eb60",
        "4c-4c-44-5b-55-55-3144a12988beb9d5eb60",
        "<4c4c445b55553144a12988beb9d5eb60",
        "0x4c4c445b55553144a12988beb9d5eb60",
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        struct fz_uuid uuid = {{7}};
        if (fz_uuid_parse(fz_span_cstr(bad[i]), &uuid))
            fail_msg("%s", bad[i]);
        assert_int_equal(uuid.bytes[0], 7);
    }
}

static void
test_format(void **state)
{
    (void)state;
    struct fz_uuid uuid, other;
    char text[FZ_UUID_DASHED];
    assert_true(fz_uuid_parse(fz_span_cstr(plain), &uuid));
    fz_uuid_format_dashed(&uuid, text);
    assert_string_equal(text, "4c4c445b-5555-3144-a129-88beb9d5eb60");
    assert_true(fz_uuid_parse(fz_span_cstr(text), &other));
    assert_true(fz_uuid_equal(&uuid, &other));
    other.bytes[15] ^= 1;
    assert_false(fz_uuid_equal(&uuid, &other));
    assert_false(fz_uuid_is_nil(&uuid));
    assert_true(fz_uuid_is_nil(&(struct fz_uuid){{0}}));
}

static void
test_new(void **state)
{
    (void)state;
    int64_t before = fz_time_now_ms();
    struct fz_uuid a = fz_uuid_new(), b = fz_uuid_new();
    uint64_t ms = 0;
    for (size_t i = 0; i < 6; i++)
        ms = ms << 8 | a.bytes[i];
    assert_in_range(ms, (uint64_t)before, (uint64_t)fz_time_now_ms());
    assert_int_equal(a.bytes[6] >> 4, 7);
    assert_int_equal(a.bytes[8] >> 6, 2);
    assert_false(fz_uuid_equal(&a, &b));
    assert_memory_not_equal(a.bytes + 9, b.bytes + 9, 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
