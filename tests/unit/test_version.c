/* The order of versions, its key, and what is a regression. */
#include "base/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

enum { HOSTILE = 1 << 20 };

/* One place in the order: texts that are the same there. */
struct place {
    struct {
        const char *version, *build;
    } same[5];
};

/* Every version of a row is before every version of the rows after it. */
static const struct place places[] = {
    {{{"", ""}, {NULL, ""}, {"  ", NULL}, {"\t\n", " "}}},
    {{{NULL, "44"}, {"", "44"}}},
    {{{"", "4201"}, {"", "04201"}}},
    {{{"9f8e7d6c", ""}}},
    {{{"feature-2", ""}}},
    {{{"feature-10", ""}, {"Feature/10", ""}}},
    {{{"main", ""}, {"MAIN", ""}}},
    {{{"main", "7"}, {" main ", "7"}}},
    {{{"0.0", ""}, {"0", ""}, {"v0.0.0", ""}, {"000", ""}}},
    {{{"0.0.1", ""}}},
    {{{"1.0.0-alpha", ""}, {"1.0-ALPHA", ""}}},
    {{{"1.0.0-alpha.1", ""}, {"1.0alpha1", ""}}},
    {{{"1.0.0-beta", ""}}},
    {{{"1.0.0-beta.2", ""}, {"1.0 beta 2", ""}, {"1.0.0-beta2", ""}}},
    {{{"1.0.0-beta.2+45", ""}, {"1.0.0-beta.2", "45"}}},
    {{{"1.0.0-beta.11", ""}}},
    {{{"1.0.0-rc.1", ""}}},
    {{{"1.0.0", ""}, {"1", ""}, {"v1.0", ""}, {"V1", ""}, {"01.000.0", ""}}},
    {{{"1.0.0+1", ""}, {"1.0.0", "1"}, {"1 (1)", ""}, {"1.0.0+1", "1"}, {"1.0", "1.0.0"}}},
    {{{"1.0.0+2", ""}}},
    {{{"1.0.0+2", "1"}}},
    {{{"1.0.0+2", "3"}}},
    {{{"4.2", ""},
      {"com.acme.shop@4.2", ""},
      {"com.acme.shop@v4.2.0", ""},
      {"4.2.", ""},
      {" 4.2 ", ""}}},
    {{{"4.2", "4.2"}}},
    {{{"4.2 (4201)", ""}, {"4.2", "4201"}, {"4.2+4201", "4201"}, {"a@4.2+4201", ""}}},
    {{{"4.2", "4201.1"}}},
    {{{"4.2", "4201b"}}},
    {{{"4.2", "4202"}}},
    {{{"4.2", "20241120101112131"}}},
    {{{"4.2.1", ""}}},
    {{{"4.10", ""}}},
    {{{"5.36.2", ""}}},
    {{{"10.18.7", ""}}},
    {{{"10.24.0", ""}}},
    {{{"11.2.3.4.5.6.7.8", ""}, {"11.2.3.4.5.6.7.8.9", ""}}},
    {{{"2024.2", ""}}},
    {{{"2024.11", ""}, {"2024.011", ""}}},
    {{{"4294967296.1", ""}}},
    {{{"18446744073709551614", ""}}},
    {{{"18446744073709551615", ""},
      {"18446744073709551616", ""},
      {"99999999999999999999999999", ""}}},
};

static int
sign(int order)
{
    return (order > 0) - (order < 0);
}

/* As databases compare: the bytes, then the lengths. */
static int
compare_keys(const uint8_t *a, size_t len_a, const uint8_t *b, size_t len_b)
{
    int order = memcmp(a, b, len_a < len_b ? len_a : len_b);
    return order ? sign(order) : (len_a > len_b) - (len_a < len_b);
}

static void
check_pair(const char *const a[2], const char *const b[2], int want)
{
    uint8_t key_a[FZ_VERSION_KEY_MAX], key_b[FZ_VERSION_KEY_MAX];
    size_t len_a = fz_version_key(a[0], a[1], key_a), len_b = fz_version_key(b[0], b[1], key_b);
    int order = fz_version_compare(a[0], a[1], b[0], b[1]);
    if (order != want || compare_keys(key_a, len_a, key_b, len_b) != want)
        fail_msg("'%s' '%s' and '%s' '%s': %d, want %d", a[0] ? a[0] : "", a[1] ? a[1] : "",
                 b[0] ? b[0] : "", b[1] ? b[1] : "", order, want);
    assert_in_range(len_a, 2, FZ_VERSION_KEY_MAX);
}

static size_t
n_same(const struct place *place)
{
    size_t n = 1;
    while (n < FZ_ARRAY_LEN(place->same) && (place->same[n].version || place->same[n].build))
        n++;
    return n;
}

static void
check_places(const struct place *a, const struct place *b, int want)
{
    for (size_t i = 0; i < n_same(a); i++) {
        for (size_t k = 0; k < n_same(b); k++) {
            const char *const first[] = {a->same[i].version, a->same[i].build};
            const char *const second[] = {b->same[k].version, b->same[k].build};
            check_pair(first, second, want);
        }
    }
}

static void
test_order(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(places); i++) {
        for (size_t k = 0; k < FZ_ARRAY_LEN(places); k++)
            check_places(&places[i], &places[k], (i > k) - (i < k));
    }
}

/* The example in the file's comment. */
static void
test_key(void **state FZ_UNUSED)
{
    static const uint8_t want[] = {3,   0x11, 1,    1, 0x20, 'b',  'e', 't',
                                   'a', 0x00, 0x11, 2, 0,    0x11, 45};
    uint8_t key[FZ_VERSION_KEY_MAX];
    size_t len = fz_version_key("1.0-beta.2+45", "", key);
    assert_int_equal(len, sizeof(want));
    assert_memory_equal(key, want, len);
    assert_int_equal(want[0], FZ_VERSION_KEY_FIRST);
}

/* All builds of a version are between its key and the end of its key, nothing else is. */
static void
test_key_end(void **state FZ_UNUSED)
{
    static const struct {
        const char *bound, *version, *build;
        bool is_inside;
    } cases[] = {
        {"4.2", "4.2", "", true},          {"4.2", "4.2", "1", true},
        {"4.2", "4.2.0+99999", "z", true}, {"4.2", "4.2.1", "", false},
        {"4.2", "4.2-beta", "", false},    {"4.2", "4.3", "", false},
        {"4.2", "4.1.9", "9", false},      {"4.2-beta", "4.2-beta", "3", true},
        {"4.2-beta", "4.2", "", false},    {"4.2-beta", "4.2-beta.1", "", false},
        {"main", "main", "3", true},       {"main", "mainly", "", false},
        {"4.2+255", "4.2+255", "", true},  {"4.2+255", "4.2+256", "", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        uint8_t from[FZ_VERSION_KEY_MAX], to[FZ_VERSION_KEY_MAX], key[FZ_VERSION_KEY_MAX];
        size_t from_len = fz_version_key(cases[i].bound, "", from), to_len = from_len;
        memcpy(to, from, from_len);
        to_len = fz_version_key_end(to, to_len);
        assert_int_equal(compare_keys(to, to_len, from, from_len), 1);
        size_t len = fz_version_key(cases[i].version, cases[i].build, key);
        bool is_inside =
            compare_keys(key, len, from, from_len) >= 0 && compare_keys(key, len, to, to_len) < 0;
        if (is_inside != cases[i].is_inside)
            fail_msg("%s %s in %s: %d", cases[i].version, cases[i].build, cases[i].bound,
                     is_inside);
    }
}

static void
test_bound(void **state FZ_UNUSED)
{
    static const struct {
        const char *version, *bound;
        int want;
    } cases[] = {
        {"18.1", "18", 1},       {"18", "18", 0},       {"18.0", "18", 0},
        {"17.7.2", "18", -1},    {"9", "18", -1},       {"4.2+45", "4.2", 0},
        {"4.2 (45)", "4.2", 0},  {"4.2", "4.2+45", -1}, {"4.2+46", "4.2+45", 1},
        {"4.2-beta", "4.2", -1}, {"main", "4.2", -1},   {"", "0", -1},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (fz_version_compare_bound(cases[i].version, cases[i].bound) != cases[i].want)
            fail_msg("%s and %s: not %d", cases[i].version, cases[i].bound, cases[i].want);
    }
}

static void
test_release(void **state FZ_UNUSED)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"com.acme.shop@4.2+4201", "com.acme.shop|4.2|4201"},
        {"com.acme.shop@4.2", "com.acme.shop|4.2|"},
        {"@4.2+", "|4.2|"},
        {"a@b@1+2+3", "a@b|1|2+3"},
        {"4.2+4201", "|4.2+4201|"},
        {"a@", "a||"},
        {"", "||"},
        {NULL, "||"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_release r;
        char got[64];
        fz_release_split(rows[i].text, &r);
        snprintf(got, sizeof(got), "%.*s|%.*s|%.*s", (int)r.app.len, (const char *)r.app.data,
                 (int)r.version.len, (const char *)r.version.data, (int)r.build.len,
                 (const char *)r.build.data);
        assert_string_equal(got, rows[i].want);
    }
}

static void
test_read(void **state FZ_UNUSED)
{
    static const struct {
        const char *text;
        bool is_ordered, is_pre_release;
        size_t n;
        uint64_t numbers[3];
    } cases[] = {
        {"999.9.9", true, false, 3, {999, 9, 9}},
        {"4.2.0", true, false, 2, {4, 2}},
        {"0.0", true, false, 0, {0}},
        {"1.0-beta+7", true, true, 1, {1}},
        {"4.2.0.b", true, true, 2, {4, 2}},
        {"4.2-", true, false, 2, {4, 2}},
        {"99999999999999999999", true, false, 1, {UINT64_MAX}},
        {"main", false, false, 0, {0}},
        {"9f8e7d6c", false, false, 0, {0}},
        {"-1.2", false, false, 0, {0}},
        {".5", false, false, 0, {0}},
        {"com.acme.shop@", false, false, 0, {0}},
        {"", false, false, 0, {0}},
        {NULL, false, false, 0, {0}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_version got = {.n_numbers = 77};
        bool is_ordered = fz_version_read(cases[i].text, &got);
        assert_int_equal(is_ordered, fz_version_is_ordered(cases[i].text));
        if (is_ordered != cases[i].is_ordered)
            fail_msg("'%s' is ordered: %d", cases[i].text, is_ordered);
        if (!is_ordered) {
            assert_int_equal(got.n_numbers, 77);
            continue;
        }
        assert_int_equal(got.n_numbers, cases[i].n);
        assert_int_equal(got.is_pre_release, cases[i].is_pre_release);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_int_equal(got.numbers[k], cases[i].numbers[k]);
    }
}

static void
test_branch(void **state FZ_UNUSED)
{
    static const struct {
        const char *a, *b;
        bool want;
    } cases[] = {
        {"10.18.7", "10.18", true},
        {"10.18.0.4", "10.18.7", true},
        {"10.18.7", "10.24.0", false},
        {"7", "7.0.3", true},
        {"7", "8", false},
        {"2024.11", "2024.11.1", true},
        {"2024.11", "2025.11", false},
        {"4.2-beta", "4.2", true},
        {"main", "main", false},
        {"main", "1.0", false},
        {"", "", false},
        {NULL, "1.0", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (fz_version_same_branch(cases[i].a, cases[i].b) != cases[i].want ||
            fz_version_same_branch(cases[i].b, cases[i].a) != cases[i].want)
            fail_msg("%s and %s: not %d", cases[i].a, cases[i].b, cases[i].want);
    }
}

/* The table in the header, and what it leaves out. */
static void
test_regression(void **state FZ_UNUSED)
{
    static const struct {
        struct fz_version_fix fix;
        const char *version, *build;
        bool want;
    } cases[] = {
        {{"10.24.0", "", "10.24.0", ""}, "10.24.0", "", true},
        {{"10.24.0", "", "10.24.0", ""}, "10.25.0", "", true},
        {{"10.24.0", "", "10.24.0", ""}, "10.23.9", "", false},
        {{"10.24.0", "", "10.24.0", ""}, "10.18.7", "", false},
        {{"10.18.7", "", "10.24.0", ""}, "10.18.8", "", true},
        {{"10.18.7", "", "10.24.0", ""}, "10.18.7", "3", true},
        {{"10.18.7", "", "10.24.0", ""}, "10.18.6", "", false},
        {{"10.18.7", "", "10.24.0", ""}, "10.20.1", "", false},
        {{"10.18.7", "", "10.24.0", ""}, "10.24.0", "", false},
        {{"10.18.7", "", "10.24.0", ""}, "10.24.0", "77", false}, /* one of its builds */
        {{"10.18.7", "", "10.24.0", "77"}, "10.24.0", "77", false},
        {{"10.18.7", "", "10.24.0", "77"}, "10.24.0", "78", true},
        {{"10.18.7", "", "10.24.0", ""}, "10.24.1", "", true},
        {{"4.2", "45", "4.2", "45"}, "4.2", "44", false},
        {{"4.2", "45", "4.2", "45"}, "4.2", "45", true},
        {{"4.2", "45", "4.2", "50"}, "4.2", "47", true},
        {{"4.2 (45)", NULL, NULL, NULL}, "4.2", "44", false},
        {{"4.2", "", "4.2", ""}, "4.2", "44", true},
        {{"4.2", "", "4.2", "50"}, "4.2", "44", true},
        {{"4.2", "", "4.2", ""}, "4.2-beta.3", "", false},
        {{"4.2", NULL, NULL, NULL}, "4.3", NULL, true}, /* nothing was known yet */
        {{"4.3", "", "4.2", ""}, "4.2", "", false},     /* a fix that is not out yet */
        {{"4.3", "", "4.2", ""}, "4.3", "", true},
        {{"4.2", "", "5.0-beta", ""}, "5.0-beta", "", false},
        {{"4.2", "", "5.0-beta", ""}, "5.0", "", true},
        {{"4.2", "", "4.2", ""}, "main", "", false},
        {{"main", "", "main", ""}, "main", "", false},
        {{"4.2", "", "4.2", ""}, NULL, NULL, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (fz_version_is_regression(&cases[i].fix, cases[i].version, cases[i].build) !=
            cases[i].want)
            fail_msg("fixed in %s: %s %s is not %d", cases[i].fix.version, cases[i].version,
                     cases[i].build, cases[i].want);
    }
}

/* Texts of 1 MB: read as far as is said, and the key is in its limit. */
static void
test_hostile(void **state FZ_UNUSED)
{
    static const char *const units[] = {
        "0", "9",  "1.", ".",  "a",      "a1", "a.9999999999999999999.",
        "v", "+1", "-",  "(",  "\xff",   "@",  "1@",
        " ", "1-", "1+", "1b", "4.2-b+", "\t1"};
    char *text = malloc(HOSTILE + 1);
    assert_non_null(text);
    for (size_t i = 0; i < FZ_ARRAY_LEN(units); i++) {
        uint8_t guarded[FZ_VERSION_KEY_MAX + 1] = {0};
        size_t len = strlen(units[i]);
        for (size_t k = 0; k < HOSTILE; k++)
            text[k] = units[i][k % len];
        text[HOSTILE] = '\0';
        guarded[FZ_VERSION_KEY_MAX] = 0xa5;
        size_t key_len = fz_version_key(text, text, guarded);
        assert_in_range(key_len, 2, FZ_VERSION_KEY_MAX);
        assert_int_equal(guarded[FZ_VERSION_KEY_MAX], 0xa5);
        /* Only its beginning counts. */
        uint8_t cut[FZ_VERSION_KEY_MAX];
        text[FZ_VERSION_TEXT] = '\0';
        assert_int_equal(fz_version_key(text, text, cut), key_len);
        assert_memory_equal(cut, guarded, key_len);
    }
    free(text);
}

/* The longest key: as long as each of its parts can be. */
static void
test_longest(void **state FZ_UNUSED)
{
    static const char number[] = "18446744073709551615";
    char text[FZ_VERSION_TEXT], build[FZ_VERSION_TEXT];
    uint8_t key[FZ_VERSION_KEY_MAX];
    size_t at = 0;
    for (size_t i = 0; i < 8; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "." : "", number);
    snprintf(text + at, sizeof(text) - at, "-%s.%s.%s.%s.%s.%s.%s+%s.%s.%s.%s.%s.%s", number,
             number, number, number, number, number, number, number, number, number, number, number,
             number);
    snprintf(build, sizeof(build), "1-%s-%s-%s-%s-%s-%s", number, number, number, number, number,
             number);
    assert_in_range(fz_version_key(text, build, key), 200, FZ_VERSION_KEY_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),   cmocka_unit_test(test_key),
        cmocka_unit_test(test_key_end), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_release), cmocka_unit_test(test_read),
        cmocka_unit_test(test_branch),  cmocka_unit_test(test_regression),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
