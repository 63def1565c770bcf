#include "base/net/http_client.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_query(void **state)
{
    (void)state;
    static const struct {
        const char *value, *want;
    } rows[] = {
        {"Shop.dSYM", "/p?name=Shop.dSYM"},
        {"a b&c=d?", "/p?name=a%20b%26c%3Dd%3F"},
        {"-._~%", "/p?name=-._~%25"},
        {"\xc3\xa4\n", "/p?name=%C3%A4%0A"},
        {"", "/p?name="},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
        fz_buffer_text(&path, "/p");
        net_http_append_query(&path, "name", rows[i].value);
        assert_string_equal(fz_buffer_cstr(&path), rows[i].want);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer path = fz_buffer_make(0);
    fz_buffer_text(&path, "/p?a=1");
    net_http_append_query(&path, "b", "2");
    assert_string_equal(fz_buffer_cstr(&path), "/p?a=1&b=2");
}

/* What no retry can change fails at once, and the message names the server. */
static void
test_no_server(void **state)
{
    (void)state;
    struct fz_error err;
    struct net_http_answer answer;
    const struct net_http_config config = {.server = "nonsense://host", .token = "t"};
    FZ_CLEANUP(net_http_closep) struct net_http *http = NULL;
    assert_int_equal(net_http_open(&config, &http, &err), FZ_OK);
    assert_int_equal(net_http_send(http, "/", NULL, &answer, &err), FZ_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "nonsense://host: "));
    assert_non_null(strstr(err.text, "(tried 1 times)"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_query),
                                       cmocka_unit_test(test_no_server)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
