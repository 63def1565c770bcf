#include "base/reader.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static struct fz_reader
reader_of(const void *bytes, size_t len)
{
    return fz_reader_make(fz_span_make(bytes, len), "test");
}

static void
test_integers(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const struct {
        unsigned size;
        uint64_t little, big;
    } cases[] = {
        {1, 0x01, 0x01},
        {2, 0x0201, 0x0102},
        {3, 0x030201, 0x010203},
        {4, 0x04030201, 0x01020304},
        {5, 0x0504030201, 0x0102030405},
        {8, 0x0807060504030201, 0x0102030405060708},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_reader r = reader_of(bytes, sizeof(bytes));
        assert_true(fz_read_uint(&r, cases[i].size) == cases[i].little);
        assert_int_equal(r.pos, cases[i].size);
        r.pos = 0;
        r.big_endian = true;
        assert_true(fz_read_uint(&r, cases[i].size) == cases[i].big);
    }
    struct fz_reader r = reader_of(bytes, sizeof(bytes));
    assert_int_equal(fz_read_u8(&r), 1);
    assert_int_equal(fz_read_u16(&r), 0x0302);
    assert_int_equal(fz_read_uint(&r, 3), 0x060504);
    assert_int_equal(fz_read_left(&r), 2);
    fz_read_seek(&r, 0);
    assert_int_equal(fz_read_u32(&r), 0x04030201);
    fz_read_seek(&r, 0);
    assert_true(fz_read_u64(&r) == 0x0807060504030201);
    assert_int_equal(fz_read_done(&r, NULL), FZ_OK);
    static const unsigned wrong_sizes[] = {0, 9, 100};
    for (size_t i = 0; i < FZ_ARRAY_LEN(wrong_sizes); i++) {
        r = reader_of(bytes, sizeof(bytes));
        assert_int_equal(fz_read_uint(&r, wrong_sizes[i]), 0);
        assert_true(r.failed);
    }
}

static void
test_truncated(void **state)
{
    (void)state;
    struct fz_error err;
    struct fz_reader r = reader_of("\1\2\3", 3);
    r.base = 100;
    assert_int_equal(fz_read_u16(&r), 0x0201);
    assert_int_equal(fz_read_u32(&r), 0);
    assert_true(r.failed);
    /* Sticky, and the first bad place is kept. */
    assert_int_equal(fz_read_u8(&r), 0);
    fz_read_seek(&r, 0);
    assert_int_equal(fz_read_u8(&r), 0);
    assert_int_equal(fz_read_done(&r, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "test: truncated at byte 102 of 103");
    assert_int_equal(err.offset, 102);
}

static void
test_nothing(void **state)
{
    (void)state;
    /* An empty span without a pointer: nothing may be added to it. */
    struct fz_reader r = reader_of(NULL, 0);
    assert_int_equal(fz_read_bytes(&r, 0).len, 0);
    fz_read_skip(&r, 0);
    fz_read_seek(&r, 0);
    assert_true(fz_read_fits(&r, 0, 100));
    assert_true(fz_read_fits(&r, 100, 0));
    assert_int_equal(fz_read_done(&r, NULL), FZ_OK);
    assert_int_equal(fz_read_u8(&r), 0);
    assert_true(r.failed);
    r = reader_of(NULL, 0);
    assert_int_equal(fz_read_cstr(&r).len, 0);
    assert_true(r.failed);
    r = reader_of(NULL, 0);
    assert_int_equal(fz_read_uleb(&r), 0);
    assert_true(r.failed);
}

static void
test_leb(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        uint64_t u;
        int64_t s;
    } cases[] = {
        {"\x00", 1, 0, 0},
        {"\x02", 1, 2, 2},
        {"\x7f", 1, 127, -1},
        {"\x3f", 1, 63, 63},
        {"\x40", 1, 64, -64},
        {"\x80\x01", 2, 128, 128},
        {"\x80\x7f", 2, 16256, -128},
        {"\xe5\x8e\x26", 3, 624485, 624485},
        {"\x9b\xf1\x59", 3, 1472667, -624485},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, -1},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, UINT64_C(1) << 63, INT64_MIN},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, INT64_MAX, INT64_MAX},
        {"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 16, 1, 1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_reader r = reader_of(cases[i].bytes, cases[i].len);
        if (fz_read_uleb(&r) != cases[i].u || r.pos != cases[i].len || r.failed)
            fail_msg("unsigned case %zu", i);
        r = reader_of(cases[i].bytes, cases[i].len);
        if (fz_read_sleb(&r) != cases[i].s || r.pos != cases[i].len || r.failed)
            fail_msg("signed case %zu", i);
        r = reader_of(cases[i].bytes, cases[i].len - 1);
        fz_read_uleb(&r);
        assert_true(r.failed);
        assert_int_equal(r.bad_offset, cases[i].len - 1);
    }
    uint8_t endless[32];
    memset(endless, 0x80, sizeof(endless));
    struct fz_reader r = reader_of(endless, sizeof(endless));
    assert_int_equal(fz_read_uleb(&r), 0);
    assert_true(r.failed);
    assert_int_equal(r.bad_offset, 0);
    r = reader_of(endless, sizeof(endless));
    assert_int_equal(fz_read_sleb(&r), 0);
    assert_true(r.failed);
}

static void
test_bytes(void **state)
{
    (void)state;
    struct fz_reader r = reader_of("ab\0cd\0e", 7);
    assert_true(fz_span_is(fz_read_cstr(&r), "ab"));
    assert_int_equal(r.pos, 3);
    assert_true(fz_span_is(fz_read_bytes(&r, 2), "cd"));
    assert_int_equal(fz_read_cstr(&r).len, 0);
    assert_false(r.failed);
    assert_int_equal(fz_read_cstr(&r).len, 0); /* no NUL any more */
    assert_true(r.failed);
    assert_int_equal(r.bad_offset, 6);

    static const struct {
        uint64_t len;
        bool ok;
    } lengths[] = {{0, true}, {4, true}, {5, false}, {UINT64_MAX, false}, {SIZE_MAX, false}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(lengths); i++) {
        r = reader_of("abcd", 4);
        assert_int_equal(fz_read_bytes(&r, lengths[i].len).len, lengths[i].ok ? lengths[i].len : 0);
        assert_int_equal(!r.failed, lengths[i].ok);
        r = reader_of("abcd", 4);
        fz_read_skip(&r, lengths[i].len);
        assert_int_equal(!r.failed, lengths[i].ok);
        r = reader_of("abcd", 4);
        fz_read_seek(&r, lengths[i].len);
        assert_int_equal(!r.failed, lengths[i].ok);
    }
}

static void
test_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t count, size;
        bool fits;
    } cases[] = {
        {4, 2, true},           {8, 1, true},
        {1, 8, true},           {9, 1, false},
        {3, 3, false},          {0, 99, true},
        {UINT64_MAX, 2, false}, {UINT64_C(1) << 63, 2, false},
        {UINT64_MAX, 1, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_reader r = reader_of("12345678", 8);
        assert_int_equal(fz_read_fits(&r, cases[i].count, cases[i].size), cases[i].fits);
        assert_int_equal(r.failed, !cases[i].fits);
        assert_int_equal(r.pos, 0);
        assert_int_equal(fz_read_fits(&r, 0, 0), cases[i].fits); /* nothing fits after a failure */
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_nothing),  cmocka_unit_test(test_leb),
        cmocka_unit_test(test_bytes),    cmocka_unit_test(test_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
