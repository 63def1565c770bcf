/* Where a request comes from: addresses, trusted proxies, and what proxies and liars write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/http/client.h"

static void
test_address(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* NULL: not an address */
    } cases[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"192.0.2.1:0", "192.0.2.1"},
        {"192.0.2.1:65535", "192.0.2.1"},
        {"::1", "::1"},
        {"2001:DB8::0001", "2001:db8::1"},
        {"[2001:db8::1]", "2001:db8::1"},
        {"[2001:db8::1]:443", "2001:db8::1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"[::ffff:c000:201]:1", "192.0.2.1"},
        {"", NULL},
        {":", NULL},
        {"192.0.2.1:", NULL},
        {"192.0.2.1:65536", NULL},
        {"192.0.2.1:0x50", NULL},
        {"192.0.2.1:-1", NULL},
        {"192.0.2.1:123456", NULL},
        {"192.0.2", NULL},
        {"192.0.2.256", NULL},
        {"192.0.2.1 ", NULL},
        {" 192.0.2.1", NULL},
        {"192.0.2.1/24", NULL},
        {"[192.0.2.1]", NULL},
        {"[]", NULL},
        {"[", NULL},
        {"]", NULL},
        {"[::1", NULL},
        {"::1]", NULL},
        {"[::1]80", NULL},
        {"[::1]:", NULL},
        {"[::1]:x", NULL},
        {"fe80::1%eth0", NULL},
        {"2001:db8::1::2", NULL},
        {"unknown", NULL},
        {"_hidden", NULL},
        {"localhost", NULL},
        {"2001:0db8:0000:0000:0000:0000:0000:0001:0000:0000:0000:0001", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_ip address;
        struct http_client client;
        print_message("'%s'\n", cases[i].text);
        bool found = http_address_parse(fz_span_cstr(cases[i].text), &address);
        assert_int_equal(found, cases[i].want != NULL);
        if (found) {
            http_client_of(&address, &client);
            assert_string_equal(client.text, cases[i].want);
        }
    }
}

/* Whether two addresses count as one client. */
static void
test_key(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
        {"::1", "127.0.0.1", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_ip address;
        struct http_client a, b;
        print_message("%s %s\n", cases[i].a, cases[i].b);
        assert_true(http_address_parse(fz_span_cstr(cases[i].a), &address));
        http_client_of(&address, &a);
        assert_true(http_address_parse(fz_span_cstr(cases[i].b), &address));
        http_client_of(&address, &b);
        assert_int_equal(memcmp(&a.key, &b.key, sizeof(a.key)) == 0, cases[i].same);
    }
}

static void
test_proxies(void **state)
{
    (void)state;
    static const struct {
        const char *list, *address;
        bool trusted;
        const char *message; /* of a failure */
    } cases[] = {
        {"", "127.0.0.1", false, NULL},
        {" , ,", "127.0.0.1", false, NULL},
        {"127.0.0.1", "127.0.0.1", true, NULL},
        {"127.0.0.1", "127.0.0.2", false, NULL},
        {"127.0.0.1", "::ffff:127.0.0.1", true, NULL},
        {"::1, 10.0.0.0/8", "10.255.0.1", true, NULL},
        {"::1 10.0.0.0/8", "11.0.0.1", false, NULL},
        {"172.16.0.0/12", "172.31.255.255", true, NULL},
        {"172.16.0.0/12", "172.32.0.0", false, NULL},
        {"0.0.0.0/0", "198.51.100.1", true, NULL},
        {"0.0.0.0/0", "2001:db8::1", false, NULL},
        {"::/0", "198.51.100.1", true, NULL},
        {"fd00::/8", "fdff::1", true, NULL},
        {"fd00::/8", "fe00::1", false, NULL},
        {"2001:db8::/33", "2001:db8:8000::1", false, NULL},
        {"::ffff:10.0.0.0/104", "10.1.2.3", true, NULL},
        {"10.0.0.0/33", NULL, false, "'10.0.0.0/33' is not an address or network"},
        {"::1/129", NULL, false, "'::1/129'"},
        {"10.0.0.0/", NULL, false, "'10.0.0.0/'"},
        {"10.0.0.0/-1", NULL, false, "'10.0.0.0/-1'"},
        {"::1,proxy.example", NULL, false, "'proxy.example'"},
        {"192.0.2.1:80", NULL, false, "'192.0.2.1:80'"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_proxies proxies;
        struct fz_ip address;
        struct fz_error err = {.text = ""};
        print_message("'%s'\n", cases[i].list);
        enum fz_code code = http_proxies_parse(cases[i].list, &proxies, &err);
        assert_int_equal(code, cases[i].message ? FZ_E_MALFORMED : FZ_OK);
        if (cases[i].message) {
            assert_non_null(strstr(err.text, cases[i].message));
            continue;
        }
        assert_true(http_address_parse(fz_span_cstr(cases[i].address), &address));
        assert_int_equal(http_proxies_trust(&proxies, &address), cases[i].trusted);
    }
    char many[HTTP_PROXIES_MAX * 4 + 8] = "";
    struct http_proxies proxies;
    for (size_t i = 0; i <= HTTP_PROXIES_MAX; i++)
        strncat(many, "::1 ", sizeof(many) - strlen(many) - 1);
    assert_int_equal(http_proxies_parse(many, &proxies, NULL), FZ_E_LIMIT);
}

/* "Name: value" lines separated by '\n'. */
static size_t
split(const char *text, struct http_field fields[HTTP_MAX_HEADERS])
{
    size_t n = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *colon = memchr(text, ':', len);
        size_t name_len = (size_t)(colon - text);
        fields[n++] = (struct http_field){.name = fz_span_make(text, name_len),
                                          .value = fz_span_make(colon + 2, len - name_len - 2)};
        text += len + (text[len] == '\n');
    }
    return n;
}

static void
test_find(void **state)
{
    (void)state;
    static const char trusted[] = "10.0.0.0/8, fd00::/8";
    static const struct {
        const char *peer, *fields, *want;
    } cases[] = {
        {"10.0.0.1", "Host: a", "10.0.0.1"},
        {"192.0.2.9", "X-Forwarded-For: 198.51.100.1", "192.0.2.9"}, /* not a proxy: ignored */
        {"10.0.0.1", "X-Forwarded-For: 198.51.100.1", "198.51.100.1"},
        {"fd00::1", "x-forwarded-for: [2001:db8::7]:5", "2001:db8::7"},
        {"10.0.0.1", "X-Forwarded-For: 203.0.113.1, 198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: 203.0.113.1, 198.51.100.1:99 , 10.2.0.1,10.3.0.1",
         "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: 203.0.113.1\nX-Forwarded-For: 198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: 10.2.0.1, 10.3.0.1", "10.2.0.1"},
        {"10.0.0.1", "X-Forwarded-For: 198.51.100.1, garbage", "10.0.0.1"},
        {"10.0.0.1", "X-Forwarded-For: 198.51.100.1, garbage, 10.4.0.1", "10.4.0.1"},
        {"10.0.0.1", "X-Forwarded-For: \", 198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: ,,198.51.100.1,,", "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: ,", "10.0.0.1"},
        {"10.0.0.1", "X-Forwarded-For: ::ffff:198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "X-Forwarded-For: 198.51.100.1\nForwarded: for=203.0.113.1\nX-Real-IP: ::1",
         "198.51.100.1"},
        {"10.0.0.1", "Forwarded: for=198.51.100.1;proto=https;by=10.0.0.1", "198.51.100.1"},
        {"10.0.0.1", "Forwarded: proto=https; FOR=\"[2001:db8::5]:4711\"", "2001:db8::5"},
        {"10.0.0.1", "Forwarded: for=203.0.113.1, for=198.51.100.1, for=10.1.1.1", "198.51.100.1"},
        {"10.0.0.1", "Forwarded: for=\", for=198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "Forwarded: for=198.51.100.1, for=_hidden", "10.0.0.1"},
        {"10.0.0.1", "Forwarded: for=198.51.100.1, proto=https", "10.0.0.1"},
        {"10.0.0.1", "Forwarded: for=", "10.0.0.1"},
        {"10.0.0.1", "Forwarded: for=\"", "10.0.0.1"},
        {"10.0.0.1", "X-Real-IP: 198.51.100.1", "198.51.100.1"},
        {"10.0.0.1", "X-Real-IP: unknown", "10.0.0.1"},
    };
    struct http_proxies proxies;
    assert_int_equal(http_proxies_parse(trusted, &proxies, NULL), FZ_OK);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct http_field fields[HTTP_MAX_HEADERS];
        struct fz_ip peer;
        struct http_client client;
        print_message("%s %s\n", cases[i].peer, cases[i].fields);
        assert_true(http_address_parse(fz_span_cstr(cases[i].peer), &peer));
        http_client_find(&proxies, &peer, fields, split(cases[i].fields, fields), &client);
        assert_string_equal(client.text, cases[i].want);
    }
}

/* A list longer than anybody looks at, and an entry longer than any address. */
static void
test_overlong(void **state)
{
    (void)state;
    static char text[30000];
    struct http_proxies proxies;
    struct fz_ip peer;
    struct http_client client;
    assert_int_equal(http_proxies_parse("10.0.0.0/8", &proxies, NULL), FZ_OK);
    assert_true(http_address_parse(fz_span_cstr("10.0.0.1"), &peer));
    size_t len = 0;
    for (int i = 0; i < 2000; i++, len += 9)
        memcpy(text + len, "10.9.9.9,", 9);
    const struct http_field list = {.name = fz_span_cstr("X-Forwarded-For"),
                                    .value = fz_span_make(text, len)};
    http_client_find(&proxies, &peer, &list, 1, &client);
    assert_string_equal(client.text, "10.9.9.9");
    memset(text, '1', sizeof(text));
    const struct http_field entry = {.name = fz_span_cstr("X-Forwarded-For"),
                                     .value = fz_span_make(text, sizeof(text))};
    http_client_find(&proxies, &peer, &entry, 1, &client);
    assert_string_equal(client.text, "10.0.0.1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address),  cmocka_unit_test(test_key),
        cmocka_unit_test(test_proxies),  cmocka_unit_test(test_find),
        cmocka_unit_test(test_overlong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
