#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json/scan.h"
#include "client/src/write.h"

static struct framezero_writer w;
static int fds[2];
static char out[65536];

static void
start(void)
{
    assert_int_equal(pipe(fds), 0);
    framezero_write_start(&w, fds[1]);
}

static const char *
finish(void)
{
    assert_true(framezero_write_finish(&w));
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], out + len, sizeof(out) - 1 - len)) > 0;)
        len += (size_t)n;
    close(fds[0]);
    out[len] = '\0';
    return out;
}

static void
test_nesting(void **state)
{
    (void)state;
    start();
    framezero_write_open(&w, NULL, '{');
    framezero_write_number(&w, "n", -7);
    framezero_write_open(&w, "list", '[');
    framezero_write_hex(&w, NULL, 0);
    framezero_write_hex(&w, NULL, UINT64_MAX);
    framezero_write_open(&w, NULL, '{');
    framezero_write_close(&w, '}');
    framezero_write_close(&w, ']');
    framezero_write_bool(&w, "yes", true);
    framezero_write_text(&w, "none", "", 1);
    framezero_write_text(&w, "null", NULL, 1);
    framezero_write_number(&w, "least", INT64_MIN);
    framezero_write_close(&w, '}');
    assert_string_equal(finish(),
                        "{\"n\":-7,\"list\":[\"0x0\",\"0xffffffffffffffff\",{}],\"yes\":true,"
                        "\"least\":-9223372036854775808}\n");
}

static void
test_texts(void **state)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        {"a\"b\\c\n\x01/", "\"a\\\"b\\\\c\\u000a\\u0001/\"\n"},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"\n"},
        {"\xf0\x9f\x9a\x80", "\"\xf0\x9f\x9a\x80\"\n"},
        {"cut \xe6\x97", "\"cut ??\"\n"},
        {"overlong \xc0\x80 \xe0\x80\x80", "\"overlong ?? ???\"\n"},
        {"surrogate \xed\xa0\x80", "\"surrogate ???\"\n"},
        {"beyond \xf4\x90\x80\x80", "\"beyond ????\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        start();
        framezero_write_text(&w, NULL, table[i].text, strlen(table[i].text));
        assert_string_equal(finish(), table[i].want);
    }
}

static void
test_dates(void **state)
{
    static const struct {
        uint64_t ms;
        const char *want;
    } table[] = {
        {0, "\"1970-01-01T00:00:00.000Z\"\n"},
        {951782399999, "\"2000-02-28T23:59:59.999Z\"\n"},
        {951782400000, "\"2000-02-29T00:00:00.000Z\"\n"},
        {951868800000, "\"2000-03-01T00:00:00.000Z\"\n"},
        {1795342272345, "\"2026-11-22T10:11:12.345Z\"\n"},
        {1803816000000, "\"2027-02-28T12:00:00.000Z\"\n"},
        {4107542400000, "\"2100-03-01T00:00:00.000Z\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        start();
        framezero_write_date(&w, NULL, table[i].ms);
        assert_string_equal(finish(), table[i].want);
    }
}

static void
test_base64_in_pieces(void **state)
{
    static const char *const want[] = {"\"\"\n",        "\"Zg==\"\n",     "\"Zm8=\"\n",
                                       "\"Zm9v\"\n",    "\"Zm9vYg==\"\n", "\"Zm9vYmE=\"\n",
                                       "\"Zm9vYmFy\"\n"};
    const uint8_t *text = (const uint8_t *)"foobar";
    (void)state;
    for (size_t n = 0; n <= 6; n++) {
        for (size_t cut = 0; cut <= n; cut++) {
            start();
            framezero_write_bytes_begin(&w, NULL);
            framezero_write_bytes(&w, text, cut);
            framezero_write_bytes(&w, text + cut, n - cut);
            framezero_write_bytes_end(&w);
            assert_string_equal(finish(), want[n]);
        }
    }
}

static void
test_vector_and_uuid(void **state)
{
    static const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
    (void)state;
    start();
    framezero_write_open(&w, NULL, '[');
    framezero_write_vector(&w, NULL, bytes);
    framezero_write_uuid(&w, NULL, bytes);
    framezero_write_close(&w, ']');
    assert_string_equal(finish(), "[\"0xff0e0d0c0b0a09080706050403020100\","
                                  "\"00010203-0405-0607-0809-0a0b0c0d0eff\"]\n");
}

static void
test_longer_than_the_buffer(void **state)
{
    static char text[3 * FRAMEZERO_WRITE_BUFFER];
    struct json_scan_limits limits = {4, SIZE_MAX, 0};
    (void)state;
    memset(text, '"', sizeof(text));
    start();
    framezero_write_text(&w, NULL, text, sizeof(text));
    const char *json = finish();
    assert_int_equal(strlen(json), 2 * sizeof(text) + 3);
    assert_int_equal(json_scan(fz_span_cstr(json), &limits, NULL, NULL, NULL), FZ_OK);
}

static void
test_failures_stay(void **state)
{
    (void)state;
    /* Not open for writing. */
    start();
    framezero_write_start(&w, fds[0]);
    framezero_write_bool(&w, NULL, true);
    assert_false(framezero_write_finish(&w));
    close(fds[0]);
    close(fds[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),         cmocka_unit_test(test_texts),
        cmocka_unit_test(test_dates),           cmocka_unit_test(test_base64_in_pieces),
        cmocka_unit_test(test_vector_and_uuid), cmocka_unit_test(test_longer_than_the_buffer),
        cmocka_unit_test(test_failures_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
