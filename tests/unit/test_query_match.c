/* Queries against the texts of one report: the rules of storage/store_query.h, which SQL follows too. */
#include "server/query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"

/* 2026-11-23T03:00:00Z */
static const int64_t now = 1795402800000;

static const struct query_fact facts[] = {
    {.field = STORE_FIELD_VERSION, .text = "4.10.1"},
    {.field = STORE_FIELD_BUILD, .text = "4201"},
    {.field = STORE_FIELD_OS, .text = "iOS"},
    {.field = STORE_FIELD_OS_VERSION, .text = "18.1"},
    {.field = STORE_FIELD_OS_BUILD, .text = "22B83"},
    {.field = STORE_FIELD_DEVICE, .text = "iPhone15,2"},
    {.field = STORE_FIELD_ENVIRONMENT, .text = ""},
    {.field = STORE_FIELD_APP, .text = "com.acme.shop"},
    {.field = STORE_FIELD_APP, .text = "Shop"},
    {.field = STORE_FIELD_STATUS, .text = "partial"},
    {.field = STORE_FIELD_EXCEPTION, .text = "NSInvalidArgumentException"},
    {.field = STORE_FIELD_FUNCTION, .text = "-[Cart total:]"},
    {.field = STORE_FIELD_FILE, .text = "Sources/Cart_100%.m"},
    {.field = STORE_FIELD_REASON, .text = "unrecognized Selector \xc3\x84 sent to 50%"},
    {.field = STORE_FIELD_USER, .text = "Ann"},
    {.field = STORE_FIELD_TAG, .name = "channel", .text = "beta"},
    {.field = STORE_FIELD_TAG, .name = "Flavour", .text = "A b"},
    {.field = STORE_FIELD_TAG, .name = "empty", .text = NULL},
    {.field = STORE_FIELD_IMAGE, .text = "Shop"},
    {.field = STORE_FIELD_IMAGE, .text = "UIKitCore"},
    {.field = STORE_FIELD_UUID, .text = "4c4c445b55553144a12988beb9d5eb60"},
    {.field = STORE_FIELD_ID, .text = "8c1f445b55553144a12988beb9d5eb60"},
    {.field = STORE_FIELD_RECEIVED, .number = 1795316400000}, /* a day before */
    {.field = STORE_FIELD_CRASHED, .number = 0},
    {.field = STORE_FIELD_ISSUE, .number = 12},
    {.field = STORE_FIELD_IS, .text = "open"},
    {.field = STORE_FIELD_IS, .text = "regressed"},
    {.field = STORE_FIELD_LAST_SEEN, .number = 1795316400000},
};

static const struct {
    const char *query;
    bool want;
} cases[] = {
    {"", true},
    /* Versions by their numbers, equality by the text. */
    {"version:4.10.1", true},
    {"version:4.10.01", false},
    {"version:4.2,4.10.1", true},
    {"version:>4.9", true},
    {"version:>=4.10.1", true},
    {"version:>4.10.1", false},
    {"version:<=v4.10.1", true},
    {"version:<4.10.1", false},
    {"version:<5", true},
    {"version:4.1*", true},
    {"version:4.2*", false},
    {"-version:4.10.1", false},
    {"build:>=4201 build:<4202", true},
    {"build:>999", true},
    {"build:<999", false},
    {"os_build:22B83", true},
    {"os_build:22b*", true},
    /* The system's name, its version, both. */
    {"os:ios", true},
    {"os:18.1", true},
    {"os:\"IOS 18.1\"", true},
    {"os:=iOS os:=\"iOS 18.1\"", true},
    {"os:=ios", false},
    {"os:\"ios 18\"", false},
    {"os:\"ios 18\"*", true},
    {"os:*S", true},
    {"os:18", false},
    {"os:>=18 os:<18.2", true},
    {"os:>18", true},
    {"os:>=18.2", false},
    {"os:macOS", false},
    {"-os:macOS", true},
    {"has:os has:os_version", true},
    {"os_version:>9", true},
    /* Case, and wildcards. */
    {"device:iphone15,2", true},
    {"device:=iphone15,2", false},
    {"device:=iPhone15,2", true},
    {"device:iphone*", true},
    {"device:*5,x", false}, /* "*5" or "x" */
    {"device:\"iphone15,2\"*", true},
    {"device:*\"15,2\"", true},
    {"device:*PHONE*", true},
    {"device:*phone", false},
    {"device:iPad*,iPhone15,2", true},
    {"-device:iPad*", true},
    {"-device:iPhone*", false},
    {"user:Ann", true},
    {"user:ann", false},
    {"user:an*", true},
    /* Each text of a field counts. */
    {"app:shop", true},
    {"app:com.acme.shop", true},
    {"image:uikitcore", true},
    {"image:CoreData", false},
    {"uuid:4C4C445B-5555-3144-A129-88BEB9D5EB60", true},
    {"id:8C1F*", true},
    {"id:8c1e*", false},
    /* What is unknown. */
    {"environment:beta", false},
    {"-environment:beta", true},
    {"has:environment", false},
    {"-has:environment", true},
    {"has:signal", false},
    {"-signal:SIGABRT", true},
    {"crashed:>1970-01-02", false},
    {"crashed:<7d", false},
    {"-crashed:<7d", true},
    {"has:crashed", false},
    /* Parts of texts. */
    {"selector", true},
    {"\"UNRECOGNIZED selector\"", true},
    {"\"selector sent\"", false},
    {"reason:\"\xc3\x84 sent\"", true},
    {"reason:\"\xc3\xa4 sent\"", false}, /* only A to Z */
    {"\"50%\"", true},
    {"\"5_%\"", false},
    {"file:Cart_100%", true},
    {"file:CartX100", false},
    {"function:total", true},
    {"function:\"-[cart\"*", true},
    {"function:*total:]", true},
    {"function:=\"-[Cart total:]\"", true},
    {"-[Cart total:]", true},
    {"text:nothing,invalidargument", true},
    {"-selector", false},
    {"4201", false}, /* builds are not searched */
    {"acme.shop", true},
    /* Tags. */
    {"tag.channel:BETA", true},
    {"tag.CHANNEL:beta", true},
    {"tag.channel:=BETA", false},
    {"tag.channel:b*", true},
    {"tag.flavour:\"a B\"", true},
    {"tag.flavour:beta", false},
    {"-tag.flavour:beta", true},
    {"tag:channel has:tag.flavour", true},
    {"has:tag.empty", false},
    {"has:tag.chan", false},
    {"tag.other:x", false},
    {"-tag.other:x", true},
    /* Choices, numbers, times. */
    {"status:partial,failed", true},
    {"-status:failed", true},
    {"issue:12", true},
    {"issue:1,2", false},
    {"has:issue", true},
    {"is:open is:regressed", true},
    {"is:resolved,open", true},
    {"is:resolved", false},
    {"-is:regressed", false},
    {"seen:<7d", true},
    {"seen:<24h", false}, /* exactly 24 hours ago */
    {"seen:<=24h", true},
    {"seen:24h", true},
    {"seen:>1h", true},
    {"received:>=2026-11-22T03:00:00Z", true},
    {"received:>2026-11-22T03:00:00Z", false},
    {"since:2026-11-22T03:00:00Z", true},
    {"since:2026-11-22T03:00:01Z", false},
    {"until:2026-11-22T03:00:00Z", false},
    {"until:2026-11-22T03:00:01Z", true},
    {"since:7d until:1h version:4.10.1", true},
    {"since:7d until:1h version:4.10", false},
};

static bool
matches(const char *text, const struct query_fact *list, size_t n)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
    struct query_record record = {list, n};
    struct store_query query;
    struct fz_error err;
    if (query_parse(fz_span_cstr(text), now, &arena, &query, &err) != FZ_OK)
        fail_msg("%s: %s", text, err.text);
    return query_matches(&query, &record);
}

static void
test_cases(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (matches(cases[i].query, facts, FZ_ARRAY_LEN(facts)) != cases[i].want)
            fail_msg("%s: not %d", cases[i].query, cases[i].want);
    }
}

/* A condition holds for what has no number to compare by only if it is negated. */
static void
test_unordered(void **state FZ_UNUSED)
{
    static const struct query_fact list[] = {{.field = STORE_FIELD_VERSION, .text = "main"},
                                             {.field = STORE_FIELD_OS, .text = "iOS"}};
    assert_false(matches("version:<4", list, FZ_ARRAY_LEN(list)));
    assert_false(matches("version:>=0", list, FZ_ARRAY_LEN(list)));
    assert_true(matches("-version:>=0", list, FZ_ARRAY_LEN(list)));
    assert_true(matches("version:main", list, FZ_ARRAY_LEN(list)));
    assert_false(matches("os:<99", list, FZ_ARRAY_LEN(list)));
    assert_false(matches("since:1d", list, FZ_ARRAY_LEN(list)));
    assert_true(matches("", NULL, 0));
    assert_false(matches("abc", NULL, 0));
    assert_true(matches("-abc -has:os", NULL, 0));
}

/* "4.2 (45)" is a build of 4.2. */
static void
test_builds(void **state FZ_UNUSED)
{
    static const struct query_fact list[] = {{.field = STORE_FIELD_VERSION, .text = "4.2 (45)"}};
    assert_true(matches("version:<=4.2 version:>=4.2", list, 1));
    assert_false(matches("version:>4.2", list, 1));
    assert_false(matches("version:<4.2", list, 1));
    assert_true(matches("version:>\"4.2 (44)\"", list, 1));
}

/* Texts that are longer than any that storage has. */
static void
test_long(void **state FZ_UNUSED)
{
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG + 1), query[STORE_QUERY_TEXT];
    assert_non_null(text);
    memset(text, 'a', LONG);
    text[LONG] = '\0';
    struct query_fact list[] = {{.field = STORE_FIELD_REASON, .text = text},
                                {.field = STORE_FIELD_OS, .text = text},
                                {.field = STORE_FIELD_OS_VERSION, .text = text}};
    memset(query, 'a', sizeof(query));
    query[sizeof(query) - 2] = 'b';
    query[sizeof(query) - 1] = '\0';
    assert_false(matches(query, list, FZ_ARRAY_LEN(list)));
    assert_true(matches("aaa os:a*", list, FZ_ARRAY_LEN(list)));
    assert_false(matches("os:\"a a\"*", list, FZ_ARRAY_LEN(list)));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_unordered),
        cmocka_unit_test(test_builds),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
