#include "base/net/net_request.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static void
test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *error; /* NULL: good */
    } rows[] = {
        {"https://hooks.example.com/services/T0/B0/x", NULL},
        {"http://example.com:8080/a?b=c&d=%20#e", NULL},
        {"HTTPS://EXAMPLE.COM/", NULL},
        {"https://xn--bcher-kva.example/x", NULL},
        {"https://my_host.example", NULL},
        {"https://[2a00:1450:4001:80b::200e]:443/", NULL},
        {"https://8.8.8.8/", NULL},
        {"ftp://example.com/", "must begin with https:// or http://"},
        {"file:///etc/passwd", "the URL has no host"},
        {"file://example.com/etc/passwd", "the URL is not valid"},
        {"gopher://example.com/_x", "must begin with https:// or http://"},
        {"dict://example.com:11111/", "must begin with https:// or http://"},
        {"smtp://example.com/", "must begin with https:// or http://"},
        {"nonsense://example.com/", "must begin with https:// or http://"},
        {"example.com/x", "does not begin with a scheme"},
        {"//example.com/x", "does not begin with a scheme"},
        {"", "does not begin with a scheme"},
        {"http:/example.com/x", "does not begin with a scheme"},
        {"http:/user:pass@127.0.0.1:x://example.com/", "does not begin with a scheme"},
        {"http:/a%41b://example.com/[::ff]:80/", "does not begin with a scheme"},
        {" https://example.com/", "must be written as %XX"},
        {"https://user:secret@example.com/", "user name or password"},
        {"https://user@example.com/", "user name or password"},
        {"https://@example.com/", "user name or password"},
        {"https://good.example@evil.example/", "user name or password"},
        {"https://good.example\\@evil.example/", "must be written as %XX"},
        {"https://good.example\\.evil.example/", "must be written as %XX"},
        {"https://example.com/a b", "must be written as %XX"},
        {"https://example.com/\r\nX: y", "must be written as %XX"},
        {"https://example.com/\t", "must be written as %XX"},
        {"https://ex\xc3\xa4mple.com/", "must be written as %XX"},
        {"https://example.com%2f@evil.example/", "user name or password"},
        {"https://ex%61mple.com/", "'%' is not allowed in the host"},
        {"https://exa$mple.com/", "'$' is not allowed in the host"},
        {"https://a,b.example/", "',' is not allowed in the host"},
        {"https://[fe80::1%25eth0]/", "'%' is not allowed in the host"},
        {"https:///path", "the URL"},
        {"https://", "the URL"},
        {"https://:80/", "the URL"},
        {"https://example.com:0/", "port 0"},
        {"https://example.com:65536/", "the URL"},
        {"https://example.com:8080:9090/", "the URL"},
        {"https://example.com:x/", "the URL"},
        {"https://a..b/", "is not the name of a host"},
        {"https://.example.com/", "is not the name of a host"},
        {"https://example.com./", "is not the name of a host"},
        {"https://[::1/", "the URL"},
        {"https://a[::1]/", "the URL"},
        /* Addresses, however they are written. */
        {"http://127.0.0.1/", "127.0.0.1 is a loopback address"},
        {"http://127.1/", "127.0.0.1 is a loopback address"},
        {"http://2130706433/", "127.0.0.1 is a loopback address"},
        {"http://0x7f000001/", "127.0.0.1 is a loopback address"},
        {"http://0x7f.0.0.1/", "127.0.0.1 is a loopback address"},
        {"http://017700000001/", "127.0.0.1 is a loopback address"},
        {"http://0/", "0.0.0.0 is an unspecified address"},
        {"http://169.254.169.254/latest/meta-data/", "an address of cloud metadata"},
        {"http://10.1.2.3:8080/", "10.1.2.3 is a private address"},
        {"http://[::1]/", "::1 is a loopback address"},
        {"http://[::]/", "an unspecified address"},
        {"http://[::ffff:127.0.0.1]/", "a loopback address"},
        {"http://[::ffff:a9fe:a9fe]/", "an address of cloud metadata"},
        {"http://[64:ff9b::7f00:1]/", "a loopback address"},
        {"http://[fd00:ec2::254]/", "an address of cloud metadata"},
        {"http://[2002:7f00:1::]/", "an address that contains another one"},
    };
    static const struct net_guard none;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = net_request_check_url(rows[i].url, &none, &err);
        if (rows[i].error ? code == FZ_OK || !strstr(err.text, rows[i].error) : code != FZ_OK)
            fail_msg("'%s': %s, want %s", rows[i].url, err.text, rows[i].error);
    }
    char longest[NET_URL_MAX + 2];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memcpy(longest, "https://a/", 10);
    assert_int_equal(net_request_check_url(longest, &none, NULL), FZ_E_MALFORMED);
    longest[NET_URL_MAX] = '\0';
    assert_int_equal(net_request_check_url(longest, &none, NULL), FZ_OK);
}

/* A listener on the loopback interface, which answers one request in the background. */
static int
listen_at(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* Nothing connects to a listener of this machine, whatever the name of it is. */
static void
test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *host, *address, *said; /* the address in place of the name server's, or NULL */
    } rows[] = {
        {"127.0.0.1", NULL, "127.0.0.1 is 127.0.0.1, a loopback address"},
        {"localhost", NULL, "a loopback address"},
        {"2130706433", NULL, "a loopback address"},
        {"[::ffff:127.0.0.1]", NULL, "is 127.0.0.1, a loopback address"},
        {"[::1]", NULL, "is ::1, a loopback address"},
        {"0.0.0.0", NULL, "an unspecified address"},
        {"rebind.example", "127.0.0.1", "rebind.example is 127.0.0.1, a loopback address"},
        {"rebind.example", "0.0.0.0", "an unspecified address"},
        {"rebind.example", "10.0.0.7,127.0.0.1", "a loopback address"},
        {"rebind.example", "169.254.169.254", "an address of cloud metadata"},
        {"rebind.example", "::ffff:127.0.0.1", "is 127.0.0.1, a loopback address"},
        {"rebind.example", "64:ff9b::7f00:1", "is 64:ff9b::7f00:1, a loopback address"},
        {"rebind.example", "2002:7f00:1::", "an address that contains another one"},
        {"rebind.example", "fe80::1", "a link-local address"},
        {"rebind.example", "224.0.0.1", "a multicast address"},
        {"rebind.example", "100.64.0.1", "an address of carrier-grade NAT"},
    };
    uint16_t port;
    int fd = listen_at(&port);
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        char url[128], entry[128];
        const char *resolve[] = {entry, NULL};
        struct net_rules rules = {.timeout_ms = 3000, .resolve = rows[i].address ? resolve : NULL};
        struct net_request request = {.url = url, .body = fz_span_cstr("{}")};
        struct net_outcome outcome;
        snprintf(url, sizeof(url), "http://%s:%u/secret", rows[i].host, port);
        snprintf(entry, sizeof(entry), "%s:%u:%s", rows[i].host, port,
                 rows[i].address ? rows[i].address : "");
        net_request_send(&request, &rules, &outcome);
        if (outcome.result != NET_REFUSED || !strstr(outcome.text, rows[i].said) ||
            strstr(outcome.text, "secret"))
            fail_msg("%s %s: %d %s", url, entry, (int)outcome.result, outcome.text);
    }
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 0), 0);
    close(fd);
}

static void
test_invalid(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        struct net_header header;
        const char *said;
    } rows[] = {
        {"ftp://example.com/", {"A", "b"}, "must begin with"},
        {"https://a/", {"A", "b\r\nC: d"}, "a header contains"},
        {"https://a/", {"A\r\nB", "b"}, "a header contains"},
        {"https://a/", {"A:", "b"}, "a header contains"},
        {"https://a/", {"", "b"}, "a header contains"},
        {"https://a/", {"A", "\xc3\xa4"}, "a header contains"},
        {"https://a/", {"A", ""}, "a header contains"},
    };
    static const struct net_rules rules;
    struct net_outcome outcome;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct net_request request = {
            .url = rows[i].url, .headers = {rows[i].header}, .n_headers = 1};
        net_request_send(&request, &rules, &outcome);
        if (outcome.result != NET_INVALID || !strstr(outcome.text, rows[i].said))
            fail_msg("%zu: %d %s", i, (int)outcome.result, outcome.text);
    }
    static const uint8_t large[NET_BODY_MAX + 1];
    struct net_request request = {.url = "https://a/", .body = {large, sizeof(large)}};
    net_request_send(&request, &rules, &outcome);
    assert_int_equal(outcome.result, NET_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_urls), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_invalid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
