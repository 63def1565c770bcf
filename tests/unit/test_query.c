/* The query language: what texts mean, what is refused and where, and that printed queries are read as the same. */
#include "server/query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/text.h"

/* 2026-11-23T03:00:00Z */
static const int64_t now = 1795402800000;

static enum fz_code
parse(const char *text, struct fz_arena *arena, struct store_query *ret, struct fz_error *err)
{
    return query_parse(fz_span_cstr(text), now, arena, ret, err);
}

/* ---- what texts mean ---- */

static const struct {
    const char *text, *want; /* its canonical form */
} good[] = {
    {"", ""},
    {" \t\n ", ""},
    {"version:4.2 os:>=18 is:regressed -device:iPad* \"unrecognized selector\"",
     "version:4.2 os:>=18 is:regressed -device:iPad* \"unrecognized selector\""},
    {"version:4.2,4.3", "version:4.2,4.3"},
    {"VERSION:4.2", "version:4.2"},
    {"!version:4.2", "-version:4.2"},
    {"version:<4.2 version:<=4.2 version:>4.2 version:>=v4.2-beta",
     "version:<4.2 version:<=4.2 version:>4.2 version:>=v4.2-beta"},
    {"version:=4.2", "version:4.2"},
    {"device:=iPad7", "device:=iPad7"},
    {"device:iPhone15,2", "device:\"iPhone15,2\""},
    {"device:iPhone15,2,iPhone14,3", "device:\"iPhone15,2\",\"iPhone14,3\""},
    {"device:iPhone15,iPad7", "device:iPhone15,iPad7"},
    {"device:iPhone15,2x", "device:iPhone15,2x"},
    {"device:iPhone15,\"2\",\"3\" device:2", "device:iPhone15,\"2\",\"3\" device:2"},
    {"device:iPad*,\"iPhone15,2\"", "device:iPad*,\"iPhone15,2\""},
    {"device:*Pad device:*Pad* device:\"iPad*\"", "device:*Pad device:*Pad* device:\"iPad*\""},
    {"device:iPad\\* device:i\"Pa\"d", "device:\"iPad*\" device:iPad"},
    {"device:\"a b\"*", "device:\"a b\"*"},
    {"app:\"a \\\"b\\\" \\\\c\"", "app:\"a \\\"b\\\" \\\\c\""},
    {"app:\">4\" app:\"=x\" app:\":x\" app:\"a,b\" app:a>b",
     "app:\">4\" app:\"=x\" app:\":x\" app:\"a,b\" app:a>b"},
    {"env:beta message:index seen:<7d",
     "environment:beta reason:index last_seen:>2026-11-16T03:00:00.000Z"},
    {"seen:7d first_seen:<=24h received:>30m crashed:>=2w",
     "last_seen:>=2026-11-16T03:00:00.000Z first_seen:>=2026-11-22T03:00:00.000Z "
     "received:<2026-11-23T02:30:00.000Z crashed:<=2026-11-09T03:00:00.000Z"},
    {"first_seen:2026-11-01 received:<2026-11-20T10:11:12.5Z crashed:>1795169472",
     "first_seen:>=2026-11-01T00:00:00.000Z received:<2026-11-20T10:11:12.500Z "
     "crashed:>2026-11-20T10:11:12.000Z"},
    {"since:2026-11-01 until:\"2026-11-02 10:00\"",
     "since:2026-11-01T00:00:00.000Z until:2026-11-02T10:00:00.000Z"},
    {"until:1d version:1 since:7d",
     "version:1 since:2026-11-16T03:00:00.000Z until:2026-11-22T03:00:00.000Z"},
    {"since:1960-01-01", "since:1970-01-01T00:00:00.001Z"},
    {"status:FAILED,partial kind:hang is:Open,new", "status:failed,partial kind:hang is:open,new"},
    {"has:user -has:assignee has:tag.channel has:tag.\"a b\" has:env",
     "has:user -has:assignee has:tag.channel has:tag.\"a b\" has:environment"},
    {"tag.channel:beta tag:channel=beta tag:channel:beta tag:channel",
     "tag.channel:beta tag.channel:beta tag.channel:beta has:tag.channel"},
    {"-tag.channel:be*,\"x y\" tag:\"my name=a b\" tag.\"my:name\":a",
     "-tag.channel:be*,\"x y\" tag.\"my name\":\"a b\" tag.\"my:name\":a"},
    {"tag:a=1,a=2", "tag.a:1,2"},
    {"tag.a.b-c:=X", "tag.a.b-c:=X"},
    {"uuid:4C4C445B-5555-3144-A129-88BEB9D5EB60", "uuid:4c4c445b55553144a12988beb9d5eb60"},
    {"id:8C1F-*", "id:8c1f*"},
    {"issue:12,#13 variant:7", "issue:12,13 variant:7"},
    {"selector sent", "selector sent"},
    {"std::sort objc_msgSend()", "\"std::sort\" \"objc_msgSend()\""},
    {"-selector !\"a b c\"", "-selector -\"a b c\""},
    {"-[View tap:with:] +[View make] !-[View tap]",
     "\"-[View tap:with:]\" \"+[View make]\" -\"-[View tap]\""},
    {"a,b,c a*c", "\"a,b,c\" \"a*c\""},
    {"\"AND\" \"OR.\" \"version:4.2\"", "\"AND\" \"OR.\" \"version:4.2\""},
    {"text:one,two text:one", "text:one,two one"},
    {"function:main function:=main function:main*,tap file:*.swift",
     "function:main function:=main function:main*,*tap* file:*.swift"},
    {"reason:\xc3\xa4\xc3\xb6\xc3\xbc", "reason:\xc3\xa4\xc3\xb6\xc3\xbc"},
    {"build:>4201 os_build:22B83", "build:>4201 os_build:22B83"},
    {"user:\"Ann, B\" user:*@acme.com", "user:\"Ann, B\" user:*@acme.com"},
};

static void
check_good(const char *text, const char *want)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * QUERY_ARENA);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer again = fz_buffer_make(0);
    struct store_query query;
    struct fz_error err;
    if (parse(text, &arena, &query, &err) != FZ_OK)
        fail_msg("%s: %s", text, err.text);
    query_print(&query, &out);
    assert_string_equal(fz_buffer_cstr(&out), want);
    if (parse(want, &arena, &query, &err) != FZ_OK)
        fail_msg("%s: %s", want, err.text);
    query_print(&query, &again);
    assert_string_equal(fz_buffer_cstr(&again), want);
}

static void
test_good(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(good); i++)
        check_good(good[i].text, good[i].want);
}

/* The members of the conditions, which the canonical form does not show. */
static void
test_members(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    struct store_query query;
    assert_int_equal(parse("-device:iPad*,*x version:4.2 is:new,open issue:7 tag.a:b has:user "
                           "seen:>=2026-11-20 crash since:1d",
                           &arena, &query, NULL),
                     FZ_OK);
    const struct store_condition *c = query.conditions;
    assert_int_equal(query.n, 8);
    assert_int_equal(query.now_ms, now);
    assert_int_equal(query.since_ms, now - 86400000);
    assert_int_equal(query.until_ms, 0);
    assert_true(c[0].is_negated && c[0].field == STORE_FIELD_DEVICE);
    assert_int_equal(c[0].op, STORE_OP_WILDCARD);
    assert_int_equal(c[0].n_values, 2);
    assert_string_equal(c[0].values[0].text, "iPad");
    assert_true(c[0].values[0].any_after && !c[0].values[0].any_before);
    assert_string_equal(c[0].values[1].text, "x");
    assert_true(c[0].values[1].any_before && !c[0].values[1].any_after);
    assert_true(c[1].op == STORE_OP_EQUAL && !c[1].is_negated && !c[1].name);
    assert_int_equal(c[2].values[0].number, STORE_IS_NEW);
    assert_int_equal(c[2].values[1].number, STORE_IS_OPEN);
    assert_int_equal(c[3].values[0].number, 7);
    assert_null(c[3].values[0].text);
    assert_string_equal(c[4].name, "a");
    assert_int_equal(c[4].op, STORE_OP_ANY_CASE);
    assert_int_equal(c[5].op, STORE_OP_PRESENT);
    assert_int_equal(c[5].n_values, 0);
    assert_int_equal(c[6].values[0].number, 1795132800000);
    assert_int_equal(c[6].op, STORE_OP_AT_LEAST);
    assert_int_equal(c[7].field, STORE_FIELD_TEXT);
    assert_int_equal(c[7].op, STORE_OP_CONTAINS);
}

/* ---- what is refused ---- */

static const struct {
    const char *text;
    int offset;
    const char *want;
} bad[] = {
    {"os:18 vesion:4.2", 6,
     "unknown key \"vesion\": did you mean \"version\"? Otherwise write quotes around the text"},
    {"-https://x.de/", 1, "unknown key \"https\"; write quotes around a text that has a colon"},
    {"has:usr", 4, "unknown key \"usr\": did you mean \"user\"?"},
    {"ab", 0, "text: 'ab' is too short to search for; write at least 3 characters"},
    {"-\xc3\xa4\xc3\xb6", 1,
     "text: '\xc3\xa4\xc3\xb6' is too short to search for; write at least 3 characters"},
    {"function:ab", 9, "function: 'ab' is too short to search for; write at least 3 characters"},
    {"file:ab*", 5, "file: 'ab' is too short to search for; write at least 3 characters"},
    {"version:", 8, "a value is missing"},
    {"version:4.2,,4.3", 12, "a value is missing"},
    {"version:4.2, os:18", 12, "a value is missing"},
    {"version:\"\"", 8,
     "version: a value is empty; has:version finds any value, -has:version none"},
    {"version:\"4.2", 8, "the quote has no end: write \" after it"},
    {"\"4.2\\\"", 0, "the quote has no end: write \" after it"},
    {"abc\\", 3, "nothing follows the \\; write \\\\ to find one"},
    {"device:*", 7, "a * alone finds everything; has:KEY finds any value"},
    {"device:i*d", 8, "a * is at the start or the end of a value; write \\* to find a star"},
    {"device:=iPad*", 8, "after = < > a value has no *; write \\* to find a star"},
    {"version:>=main", 10, "version: 'main' has no number to compare with; write one like 4.2.1"},
    {"os:>=iOS", 5, "os: 'iOS' has no number to compare with; write one like 4.2.1"},
    {"version:>=4.2,4.3", 14, "version: a comparison has one value; write a condition for each"},
    {"device:>iPad", 0, "device: does not work with >"},
    {"is:open*", 0, "is: does not work with *"},
    {"has:is", 4, "is: does not work with has:"},
    {"text:=abc", 0, "text: does not work with ="},
    {"is:opne", 3,
     "is: 'opne' is not one of open, resolved, ignored, regressed, new, unassigned, placeholder; "
     "did you mean open?"},
    {"status:x", 7,
     "status: 'x' is not one of queued, symbolicated, partial, unsymbolicated, failed"},
    {"since:yesterday", 6,
     "since: 'yesterday' is not a time; write 2026-11-20T10:11:12Z, 2026-11-20, Unix seconds, or "
     "how long ago: 30m, 24h, 7d"},
    {"seen:<7y", 6,
     "last_seen: '7y' is not a time; write 2026-11-20T10:11:12Z, 2026-11-20, Unix seconds, or how "
     "long ago: 30m, 24h, 7d"},
    {"since:1d since:2d", 9, "since: is there twice"},
    {"-since:1d", 0, "since: write since:TIME, with nothing else"},
    {"until:<1d", 0, "until: write until:TIME, with nothing else"},
    {"until:1d,2d", 0, "until: write until:TIME, with nothing else"},
    {"has:user,app", 9, "has: one key; write a condition for each"},
    {"has:us*", 4, "has: write has:KEY, without = < > *"},
    {"has:=user", 4, "has: write has:KEY, without = < > *"},
    {"has:tag", 4, "has: which tag? write has:tag.NAME"},
    {"tag:=a", 5, "tag: a tag's value is missing; write tag:NAME=VALUE"},
    {"tag:chan*", 4, "tag: a tag's value is missing; write tag:NAME=VALUE"},
    {"tag:\"=a\"", 4, "tag: a tag's name is missing; write tag:NAME=VALUE"},
    {"tag:*n=a", 4, "tag: a tag's name is missing; write tag:NAME=VALUE"},
    {"tag:a=1,b=2", 8, "tag: several values are of one tag; write tag.NAME:VALUE,VALUE"},
    {"tag:a=", 4, "tag: a value is empty; has:tag.NAME finds any value, -has:tag.NAME none"},
    {"tag.\"\":a", 4, "tag: the tag's name is empty"},
    {"uuid:4c4c", 5, "uuid: '4c4c' is not a UUID"},
    {"id:xyz*", 3, "id: 'xyz' is not a part of a UUID"},
    {"id:-*", 3, "id: no hex digit"},
    {"id:*8c1f*", 3, "id: only its beginning is looked for, as in id:8c1f*"},
    {"id:*8c1f", 3, "id: only its beginning is looked for, as in id:8c1f*"},
    {"issue:0", 6, "issue: '0' is not a number from 1 on"},
    {"issue:0x10", 6, "issue: '0x10' is not a number from 1 on"},
    {"issue:99999999999999999999", 6, "issue: '99999999999999999999' is not a number from 1 on"},
    {"os:18 OR os:17", 6,
     "there is no OR: all words must match, os:17,18 matches one of them, -os:17 is the opposite; "
     "write quotes around a text"},
    {"-[View tap", 0, "the method's name has no end: write ] after it, or quotes around it"},
    {"version:4.2 \xff", 12, "the query is not a text of UTF-8"},
};

static void
test_bad(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        struct store_query query = {.n = 77};
        struct fz_error err = {.offset = -1};
        if (parse(bad[i].text, &arena, &query, &err) != FZ_E_MALFORMED)
            fail_msg("%s: not refused", bad[i].text);
        if (err.offset != bad[i].offset || strcmp(err.text, bad[i].want) != 0)
            fail_msg("%s: byte %d: %s", bad[i].text, (int)err.offset, err.text);
        assert_int_equal(query.n, 77);
    }
}

/* The limits: as many as are allowed, and one more. */
static void
test_limits(void **state FZ_UNUSED)
{
    static const struct {
        const char *head, *unit, *tail;
        size_t most;
        const char *want;
    } cases[] = {
        {"", "os:18 ", "", STORE_QUERY_CONDITIONS, "more than 32 conditions"},
        {"os:18", ",9", "", STORE_QUERY_VALUES - 1, "os: more than 32 values"},
        {"", "os:1,2,3,4,5,6,7,8,9 ", "", STORE_QUERY_ALL_VALUES / 9, "more than 256 values"},
        {"\"", "a", "\"", STORE_QUERY_TEXT - 2, "the query has 4097 bytes, at most 4096"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        for (size_t more = 0; more < 2; more++) {
            FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
            struct store_query query;
            struct fz_error err = {.text = ""};
            fz_buffer_text(&text, cases[i].head);
            for (size_t k = 0; k < cases[i].most + more; k++)
                fz_buffer_text(&text, cases[i].unit);
            fz_buffer_text(&text, cases[i].tail);
            enum fz_code code = parse(fz_buffer_cstr(&text), &arena, &query, &err);
            assert_int_equal(code, more ? FZ_E_MALFORMED : FZ_OK);
            assert_string_equal(err.text, more ? cases[i].want : "");
        }
    }
}

/* Whatever fits into the limits fits into QUERY_ARENA. */
static void
test_arena(void **state FZ_UNUSED)
{
    struct store_query query;
    struct fz_error err;
    for (int64_t n = 0; n < 1000; n++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        arena.fail_after = n;
        enum fz_code code =
            parse("is:open tag:a=b tag.\"b c\":d -[V a] id:8c* since:1d abc", &arena, &query, &err);
        if (code == FZ_OK)
            return;
        assert_int_equal(code, FZ_E_NO_MEMORY);
    }
    fail_msg("never succeeded");
}

/* ---- printed queries are read as the same ---- */

static uint32_t
random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Pieces that are joined at random: most results are queries. */
static void
append_random(struct fz_buffer *text, uint32_t *state)
{
    static const char *const values[] = {
        "4.2",   "iPad*",    "*x y*", "\"a \\\"b\"", "a\\*b",      "<7d",       ">=4.2.1",
        "=abc",  "abc,def*", "open",  "fail",        "iPhone15,2", "#12",       "7d",
        "\"*\"", "a:b",      "n=v",   "8c*",         ":x",         "\xc3\xa4zz"};
    static const char *const others[] = {" ", "-", "!", "abc", "\"x:y\"", "\t", "*", "[", "std::x"};
    for (size_t n = 1 + random_next(state) % 6; n > 0; n--) {
        uint32_t kind = random_next(state) % 8;
        if (kind == 0) {
            fz_buffer_text(text, others[random_next(state) % FZ_ARRAY_LEN(others)]);
            continue;
        }
        fz_buffer_text(text, kind == 1 ? " -" : " ");
        enum store_field field = (enum store_field)(random_next(state) % STORE_FIELDS);
        fz_buffer_text(text, store_field_row(field)->name);
        fz_buffer_text(text, field == STORE_FIELD_TAG && kind > 3 ? ".\"n m\":" : ":");
        fz_buffer_text(text, values[random_next(state) % FZ_ARRAY_LEN(values)]);
    }
}

static void
check_same_values(const struct store_condition *a, const struct store_condition *b)
{
    assert_int_equal(a->n_values, b->n_values);
    for (size_t i = 0; i < a->n_values; i++) {
        assert_int_equal(a->values[i].number, b->values[i].number);
        assert_int_equal(a->values[i].any_before, b->values[i].any_before);
        assert_int_equal(a->values[i].any_after, b->values[i].any_after);
        assert_int_equal(!a->values[i].text, !b->values[i].text);
        if (a->values[i].text)
            assert_string_equal(a->values[i].text, b->values[i].text);
    }
}

static void
check_same(const struct store_query *a, const struct store_query *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->since_ms, b->since_ms);
    assert_int_equal(a->until_ms, b->until_ms);
    for (size_t i = 0; i < a->n; i++) {
        const struct store_condition *first = &a->conditions[i], *second = &b->conditions[i];
        assert_int_equal(first->field, second->field);
        assert_int_equal(first->op, second->op);
        assert_int_equal(first->is_negated, second->is_negated);
        assert_int_equal(!first->name, !second->name);
        if (first->name)
            assert_string_equal(first->name, second->name);
        check_same_values(first, second);
    }
}

static void
test_property(void **state FZ_UNUSED)
{
    uint32_t seed = 20261123;
    size_t n_read = 0;
    for (size_t i = 0; i < 20000; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * QUERY_ARENA);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer printed = fz_buffer_make(0);
        struct store_query query, again;
        struct fz_error err;
        append_random(&text, &seed);
        if (parse(fz_buffer_cstr(&text), &arena, &query, NULL) != FZ_OK)
            continue;
        n_read++;
        query_print(&query, &printed);
        if (parse(fz_buffer_cstr(&printed), &arena, &again, &err) != FZ_OK)
            fail_msg("%s: printed as %s: %s", fz_buffer_cstr(&text), fz_buffer_cstr(&printed),
                     err.text);
        check_same(&query, &again);
    }
    /* If most were refused, this would test little. */
    assert_in_range(n_read, 3000, 20000);
}

static void
test_times(void **state FZ_UNUSED)
{
    static const struct {
        const char *text;
        int64_t want; /* 0: not a time */
        bool is_age;
    } times[] = {
        {"2026-11-23", 1795392000000, false},
        {"2026-11-23T04:00:00+01:00", 1795402800000, false},
        {"2026-11-23T04:00:00 01:00", 1795402800000, false}, /* a '+' of a URL */
        {"1795402800", 1795402800000, false},
        {"1795402800000", 1795402800000, false},
        {"99999999999", 99999999999000, false},
        {"100000000000", 100000000000, false},
        {"0", 1, false},
        {"0s", 1795402800000, true},
        {"90s", 1795402710000, true},
        {"2w", 1794193200000, true},
        {"1000000w", 1, true}, /* before 1970 */
        {"1000001w", 0, false},
        {"253402300800000", 0, false},
        {"18446744073709551616", 0, false},
        {"7", 7000, false},
        {"d", 0, false},
        {"7y", 0, false},
        {"-7d", 0, false},
        {"", 0, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(times); i++) {
        int64_t got = 0;
        bool is_age = false;
        bool is_time = query_time_parse(fz_span_cstr(times[i].text), now, &got, &is_age);
        if (is_time != (times[i].want > 0) || got != times[i].want || is_age != times[i].is_age)
            fail_msg("%s: %lld %d", times[i].text, (long long)got, is_age);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),  cmocka_unit_test(test_members),
        cmocka_unit_test(test_bad),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_arena), cmocka_unit_test(test_property),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
