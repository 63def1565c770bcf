/* The parameters of the report list as conditions. */
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

enum { PARAMETERS = 64 };

struct parameters {
    char text[256];
    struct query_parameter list[PARAMETERS];
    size_t n;
};

/* "a=b&c=d", without escapes. */
static void
split(const char *url, struct parameters *ret)
{
    snprintf(ret->text, sizeof(ret->text), "%s", url);
    ret->n = 0;
    for (char *at = ret->text; *at;) {
        char *end = at + strcspn(at, "&"), *sign = at + strcspn(at, "=&");
        bool has_value = *sign == '=', is_last = !*end;
        *end = *sign = '\0';
        ret->list[ret->n++] = (struct query_parameter){at, has_value ? sign + 1 : NULL};
        at = is_last ? end : end + 1;
    }
}

static enum fz_code
add(const char *url, struct store_query *query, struct fz_arena *arena, struct fz_error *err)
{
    struct parameters parameters;
    split(url, &parameters);
    return query_add_parameters(query, parameters.list, parameters.n, arena, err);
}

static const struct {
    const char *url, *want; /* as a query */
} good[] = {
    {"", ""},
    {"limit=5&sort=received&cursor=x&count=true", ""},
    {"version=4.2", "version:4.2"},
    {"version=4.2&version=4.3", "version:4.2,4.3"},
    {"version=4.2,4.3", "version:4.2,4.3,\"4.2,4.3\""},
    {"version=,4.2,", "version:4.2,\",4.2,\""},
    {"version=&version", ""},
    {"version=4.*", "version:\"4.*\""},
    {"status=partial,unsymbolicated", "status:partial,unsymbolicated"},
    {"app=Shop&os=ios&os=18.1", "app:Shop os:ios,18.1"},
    {"device=iPhone15,2", "device:=\"iPhone15,2\""},
    {"device=iPhone15,2,iPhone14,3",
     "device:=\"iPhone15,2\",\"iPhone14,3\",\"iPhone15,2,iPhone14,3\""},
    {"signal=SIGABRT&exception=NSRangeException", "signal:=SIGABRT exception:=NSRangeException"},
    {"function=cart::total,x&function=abc", "function:\"cart::total,x\",abc"},
    {"q=index 7", "\"index 7\""},
    {"q=one&q=two", "text:one,two"},
    {"tag=channel:beta&tag=flavour&tag=a:b:c", "tag.channel:beta has:tag.flavour tag.a:b:c"},
    {"uuid=4C4C445B-5555-3144-A129-88BEB9D5EB60", "uuid:4c4c445b55553144a12988beb9d5eb60"},
    {"issue=12,13", "issue:12,13"},
    {"since=2026-11-01&until=1d", "since:2026-11-01T00:00:00.000Z until:2026-11-22T03:00:00.000Z"},
    {"crashed_since=7d&crashed_until=1795169472",
     "crashed:>=2026-11-16T03:00:00.000Z crashed:<2026-11-20T10:11:12.000Z"},
    {"crashed_until=7d", "crashed:<2026-11-16T03:00:00.000Z"},
    {"since=2026-11-20T10:11:12 01:00", "since:2026-11-20T09:11:12.000Z"},
};

static void
test_good(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(good); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        struct store_query query = {.now_ms = now};
        struct fz_error err;
        if (add(good[i].url, &query, &arena, &err) != FZ_OK)
            fail_msg("%s: %s", good[i].url, err.text);
        query_print(&query, &out);
        assert_string_equal(fz_buffer_cstr(&out), good[i].want);
    }
}

static const struct {
    const char *url, *want;
} bad[] = {
    {"status=done",
     "status: 'done' is not one of queued, symbolicated, partial, unsymbolicated, failed"},
    {"q=ab", "text: 'ab' is too short to search for; write at least 3 characters"},
    {"uuid=12", "uuid: '12' is not a UUID"},
    {"issue=x", "issue: 'x' is not a number from 1 on"},
    {"tag=:beta", "tag: ':beta' has no name; write NAME:VALUE or NAME"},
    {"tag=a:", "tag: a value is empty; has:tag.NAME finds any value, -has:tag.NAME none"},
    {"since=soon", "since: 'soon' is not a time; write 2026-11-20T10:11:12Z, 2026-11-20, Unix "
                   "seconds, or how long ago: 30m, 24h, 7d"},
    {"user=\xff", "user: not a text of UTF-8"},
    {"build=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32",
     "build: more than 32 values"},
};

static void
test_bad(void **state FZ_UNUSED)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(QUERY_ARENA);
        struct store_query query = {.now_ms = now, .n = 0};
        struct fz_error err = {.text = ""};
        assert_int_equal(add(bad[i].url, &query, &arena, &err), FZ_E_MALFORMED);
        assert_string_equal(err.text, bad[i].want);
        assert_int_equal(err.offset, -1);
        assert_int_equal(query.n, 0);
    }
}

/* A query and parameters: all conditions must hold, and the narrower range counts. */
static void
test_both(void **state FZ_UNUSED)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * QUERY_ARENA);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct store_query query;
    assert_int_equal(
        query_parse(fz_span_cstr("os:18 since:7d until:1d"), now, &arena, &query, NULL), FZ_OK);
    assert_int_equal(add("version=4.2&since=8d&until=2d", &query, &arena, NULL), FZ_OK);
    query_print(&query, &out);
    assert_string_equal(fz_buffer_cstr(&out), "os:18 version:4.2 since:2026-11-16T03:00:00.000Z "
                                              "until:2026-11-21T03:00:00.000Z");
}

static void
test_names(void **state FZ_UNUSED)
{
    assert_true(query_is_parameter("version"));
    assert_true(query_is_parameter("since"));
    assert_true(query_is_parameter("crashed_until"));
    assert_false(query_is_parameter("limit"));
    assert_false(query_is_parameter("is"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
