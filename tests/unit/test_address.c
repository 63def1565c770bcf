#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/address.h"

static void
test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* "host|port", or contained in the message */
        bool is_good;
    } cases[] = {
        {"127.0.0.1:8480", "127.0.0.1|8480", true},
        {"[::1]:8480", "::1|8480", true},
        {"[fe80::1%eth0]:1", "fe80::1%eth0|1", true},
        {"[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1|80", true},
        {"localhost:0", "localhost|0", true},
        {"crash-1.example.com:65535", "crash-1.example.com|65535", true},
        {":8480", "|8480", true},
        {"127.0.0.1:99999", "'127.0.0.1:99999': the port must be a number from 0 to 65535", false},
        {":65536", "':65536': the port must be a number from 0 to 65535", false},
        {":18446744073709551617", "a number from 0 to 65535", false},
        {":-1", "a number from 0 to 65535", false},
        {":+80", "a number from 0 to 65535", false},
        {":0x50", "a number from 0 to 65535", false},
        {": 80", "a number from 0 to 65535", false},
        {":80 ", "a number from 0 to 65535", false},
        {"localhost:", "a number from 0 to 65535", false},
        {"localhost:http", "a number from 0 to 65535", false},
        {"localhost", "the port is missing; expected ADDRESS:PORT, such as localhost:8480", false},
        {"", "the port is missing; expected ADDRESS:PORT, such as 127.0.0.1:8480", false},
        {"[::1]", "the port is missing", false},
        {"::1:8480", "write an IPv6 address in brackets", false},
        {"[::1:8480", "is not an address such as [::1]:8480", false},
        {"[::1]8480", "is not an address such as [::1]:8480", false},
        {"[localhost]:80", "'localhost' in '[localhost]:80' is not an IPv6 address", false},
        {"[]:80", "'' in '[]:80' is not an IPv6 address", false},
        {"256.0.0.1:80", "'256.0.0.1' in '256.0.0.1:80' is not a host name or an IP address",
         false},
        {"8480",
         "'8480' is not an address to listen on: write ADDRESS:PORT, such as 127.0.0.1:8480",
         false},
        {"a b", "'a b' is not an address to listen on", false},
        {"1.2.3:80", "'1.2.3' in '1.2.3:80' is not a host name or an IP address", false},
        {"a b:80", "'a b' in 'a b:80' is not a host name", false},
        {"a..b:80", "'a..b' in 'a..b:80' is not a host name", false},
        {"-a:80", "'-a' in '-a:80' is not a host name", false},
        {"http://localhost:80", "in brackets", false},
        {"*:80", "'*' in '*:80' is not a host name", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_address address;
        struct fz_error err = {.text = ""};
        char got[512];
        enum fz_code code = fz_address_parse(cases[i].text, &address, &err);
        if (code == FZ_OK)
            snprintf(got, sizeof(got), "%s|%u", address.host, address.port);
        if (cases[i].is_good ? code != FZ_OK || strcmp(got, cases[i].want) != 0
                             : code != FZ_E_MALFORMED || !strstr(err.text, cases[i].want))
            fail_msg("'%s': got %s, want %s", cases[i].text, code ? err.text : got, cases[i].want);
    }
    char longest[400];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct fz_address address;
    struct fz_error err;
    assert_int_equal(fz_address_parse(longest, &address, &err), FZ_E_MALFORMED);
    assert_non_null(strstr(err.text, "the host is longer than 255 bytes"));
}

static void
test_url(void **state)
{
    (void)state;
    static const struct {
        const char *url, *error; /* NULL: good */
    } cases[] = {
        {"http://localhost", NULL},
        {"https://crash.example.com:8443/base/", NULL},
        {"http://[::1]:8480", NULL},
        {"ftp://localhost", "it must begin with http:// or https://"},
        {"HTTP//x", "it must begin with http:// or https://"},
        {"crash.example.com", "it must begin with http:// or https://"},
        {"http://", "the host is missing"},
        {"http:///path", "the host is missing"},
        {"http://:80", "the host is missing"},
        {"http://a:0", "the port must be a number from 1 to 65535"},
        {"http://a:65536/x", "'http://a:65536/x': the port must be a number from 1 to 65535"},
        {"http://a:/", "the port must be"},
        {"http://a b", "a URL without ' '"},
        {"http://a/?x=1", "a URL without '?'"},
        {"http://a/#x", "a URL without '#'"},
        {"http://user:secret@a/", "must not contain a user name"},
        {"http://1.2.3.999/a", "'1.2.3.999' in 'http://1.2.3.999/a' is not a host name"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = fz_address_check_url(cases[i].url, &err);
        if (cases[i].error ? code != FZ_E_MALFORMED || !strstr(err.text, cases[i].error)
                           : code != FZ_OK)
            fail_msg("'%s': got code %d '%s'", cases[i].url, (int)code, err.text);
    }
}

static void
test_network(void **state)
{
    (void)state;
    static const struct {
        const char *network, *ip;
        bool has; /* with a NULL ip: is it a network? */
    } cases[] = {
        {"10.0.0.0/8", "10.255.0.1", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"10.0.0.0/8", "::ffff:10.0.0.1", true},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.2.7", "192.0.2.6", false},
        {"172.16.0.0/12", "172.31.255.255", true},
        {"172.16.0.0/12", "172.32.0.0", false},
        {"0.0.0.0/0", "8.8.8.8", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"fd00::/8", "fdff::1", true},
        {"fe80::/10", "febf::1", true},
        {"fe80::/10", "fec0::1", false},
        {"::1", "::1", true},
        {"10.0.0.0/33", NULL, false},
        {"::1/129", NULL, false},
        {"::1/1280", NULL, false},
        {"10.0.0.0/", NULL, false},
        {"10.0.0.0/0x8", NULL, false},
        {"10.0.0.0/+8", NULL, false},
        {"10.0.0/8", NULL, false},
        {"fe80::1%eth0", NULL, false},
        {"[::1]", NULL, false},
        {"localhost", NULL, false},
        {"/8", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_network network;
        struct fz_ip ip;
        struct fz_span text = fz_span_cstr(cases[i].ip);
        bool found = fz_network_parse(fz_span_cstr(cases[i].network), &network);
        if (cases[i].ip) {
            assert_true(found);
            assert_true(fz_ip_parse_v4(text, &ip) || fz_ip_parse_v6(text, &ip));
            found = fz_network_has(&network, &ip);
        }
        if (found != cases[i].has)
            fail_msg("%s, %s: %d", cases[i].network, cases[i].ip ? cases[i].ip : "-", found);
    }
}

int
main(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_url),
                                     cmocka_unit_test(test_network)};
    return cmocka_run_group_tests(all, NULL, NULL);
}
