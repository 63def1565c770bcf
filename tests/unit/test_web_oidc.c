#include "server/web/login_oidc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* Where a login may end: paths of the page, which no browser takes for another server. */
static void
test_next(void **state FZ_UNUSED)
{
    static const struct {
        const char *next;
        bool is_good;
    } rows[] = {
        {"/", true},
        {"/p/default/issues", true},
        {"/p/a%20b/issues/12?query=version%3A4.2&since=14d", true},
        {"/p/x?u=https://evil.example/", true},
        {"", false},
        {"/p", false},
        {"/login", false},
        {"/api/v1/session/oidc", false},
        {"p/x", false},
        {"//evil.example/p/", false},
        {"/\\evil.example", false},
        {"\\\\evil.example", false},
        {"https://evil.example/", false},
        {"javascript:alert(1)", false},
        {"/p/x\\y", false},
        {"/p/x\r\nSet-Cookie: a=b", false},
        {"/p/\tx", false},
        {"/p/\x7f", false},
        {"/p/\xc3\xa4", false},
        {" /p/x", false},
        {"/p/\"", false},
    };
    char longest[WEB_OIDC_NEXT_MAX + 2];
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (web_oidc_next_is_good(rows[i].next) != rows[i].is_good)
            fail_msg("%s", rows[i].next);
    }
    memset(longest, 'a', sizeof(longest) - 1);
    memcpy(longest, "/p/", 3);
    longest[sizeof(longest) - 1] = '\0';
    assert_false(web_oidc_next_is_good(longest));
    longest[WEB_OIDC_NEXT_MAX] = '\0';
    assert_true(web_oidc_next_is_good(longest));
}

static void
test_domains(void **state FZ_UNUSED)
{
    static const struct {
        const char *domains, *email;
        bool is_allowed;
    } rows[] = {
        {"example.com", "a@example.com", true},
        {"example.com", "a@EXAMPLE.com", true},
        {"acme.example, example.com", "a@example.com", true},
        {" example.com ,", "a@example.com", true},
        {"*", "a@anything.example", true},
        {"", "a@example.com", false},
        {",", "a@example.com", false},
        {"example.com", "a@evil-example.com", false},
        {"example.com", "a@x.example.com", false},
        {"example.com", "a@example.com.evil.example", false},
        {"example.com", "a@example.co", false},
        {"example.com", "a@example.com@evil.example", false},
        {"example.com", "example.com", false},
        {"example.com", "a@", false},
        {"*", "nothing", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (web_oidc_domain_allows(rows[i].domains, rows[i].email) != rows[i].is_allowed)
            fail_msg("%s %s", rows[i].domains, rows[i].email);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_next), cmocka_unit_test(test_domains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
