/* Cookies of a header, and which requests another site's page could have sent. */
#include "server/api/api_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
test_cookies(void **state FZ_UNUSED)
{
    static const char longest[] =
        "id=123456789012345678901234567890123456789012345678901234567890123";
    static const char longer[] =
        "id=1234567890123456789012345678901234567890123456789012345678901234";
    static const struct {
        const char *header, *want;
    } rows[] = {
        {"id=a", "a"},           {"x=1; id=a", "a"},     {"x=1;id=a;y=2", "a"},
        {"  id=a  ; y=2", "a"},  {"id=a; id=b", "a"},    {"id==", "="},
        {"xid=a", NULL},         {"id2=a", NULL},        {"id", NULL},
        {"id=", NULL},           {"id=;id=b", NULL},     {"ID=a", NULL},
        {"x=id=a", NULL},        {";;;", NULL},          {"", NULL},
        {"x=\"; id=a\"", "a\""}, {longest, longest + 3}, {longer, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        char value[API_COOKIE_ROOM] = "";
        bool found = api_cookie_find(rows[i].header, "id", value, sizeof(value));
        if (found != (rows[i].want != NULL) || (found && strcmp(value, rows[i].want) != 0))
            fail_msg("'%s': '%s'", rows[i].header, found ? value : "nothing");
    }
}

static void
test_origins(void **state FZ_UNUSED)
{
    static const char own[] = "http://a.example:8480", host[] = "a.example:8480";
    static const char public_url[] = "https://crash.example/page/";
    static const struct {
        const char *name;
        struct api_origin origin;
        bool want;
    } rows[] = {
        {"GET", {"GET", "cross-site", "https://evil.example", host, "", true}, true},
        {"HEAD", {"HEAD", "cross-site", NULL, host, "", true}, true},
        {"own page", {"POST", "same-origin", NULL, host, "", true}, true},
        {"typed", {"POST", "none", NULL, host, "", true}, true},
        {"other site", {"POST", "cross-site", NULL, host, "", true}, false},
        {"other site says it is this", {"POST", "cross-site", own, host, "", true}, false},
        {"neighbour", {"DELETE", "same-site", own, host, "", true}, false},
        {"unknown word", {"PUT", "", own, host, "", true}, false},
        {"no site, own origin", {"PATCH", NULL, own, host, "", true}, true},
        {"any case", {"POST", NULL, "http://A.example:8480", host, "", true}, true},
        {"other port", {"POST", NULL, "http://a.example:8481", host, "", true}, false},
        {"no port", {"POST", NULL, "http://a.example", host, "", true}, false},
        {"longer host", {"POST", NULL, "http://a.example:8480.evil", host, "", true}, false},
        {"user part", {"POST", NULL, "http://a.example:8480@evil", host, "", true}, false},
        {"null", {"POST", NULL, "null", host, "", true}, false},
        {"no scheme", {"POST", NULL, host, host, "", true}, false},
        {"other scheme", {"POST", NULL, "ftp://a.example:8480", host, "", true}, false},
        {"no host", {"POST", NULL, own, NULL, "", true}, false},
        {"public URL", {"POST", NULL, "https://crash.example", "10.0.0.1", public_url, true}, true},
        {"with its path", {"POST", NULL, public_url, "10.0.0.1", public_url, true}, false},
        {"its start", {"POST", NULL, "https://crash.exam", "10.0.0.1", public_url, true}, false},
        {"http where https is meant",
         {"POST", NULL, "http://crash.example", "crash.example", public_url, true},
         false},
        {"neither, with a login", {"POST", NULL, NULL, host, "", true}, false},
        {"neither, without one", {"POST", NULL, NULL, host, "", false}, true},
        {"other site, without one", {"POST", "cross-site", NULL, host, "", false}, false},
        {"other origin, without one", {"POST", NULL, "http://b", host, "", false}, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (api_origin_allows(&rows[i].origin) != rows[i].want)
            fail_msg("%s", rows[i].name);
    }
}

static void
test_groups(void **state FZ_UNUSED)
{
    static const char map[] = "ops=admin, ios developers = member,qa=viewer,a=b=member";
    static const struct {
        const char *header;
        enum store_role role;
    } rows[] = {
        {"", STORE_ROLE_NONE},
        {"others", STORE_ROLE_NONE},
        {"qa", STORE_ROLE_VIEWER},
        {"qa,ops,ios developers", STORE_ROLE_ADMIN},
        {" ios developers\t, qa", STORE_ROLE_MEMBER},
        {"a=b", STORE_ROLE_MEMBER},
        {",,qa,,", STORE_ROLE_VIEWER},
        {"OPS", STORE_ROLE_NONE},
        {"ops=admin", STORE_ROLE_NONE},
        {"op", STORE_ROLE_NONE},
        {"ops2", STORE_ROLE_NONE},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (api_groups_role(map, rows[i].header) != rows[i].role)
            fail_msg("%s", rows[i].header);
    }
    assert_int_equal(api_groups_role("", "ops"), STORE_ROLE_NONE);
    assert_int_equal(api_groups_role("=admin,ops=,x", ",x,"), STORE_ROLE_NONE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
