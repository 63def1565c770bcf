#include "base/net/net_guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static struct fz_ip
ip_of(const char *text)
{
    struct fz_ip ip;
    struct fz_span span = fz_span_cstr(text);
    if (!fz_ip_parse_v4(span, &ip) && !fz_ip_parse_v6(span, &ip))
        fail_msg("%s is not an address", text);
    return ip;
}

/* The first and the last address of each range, and their neighbours outside. */
static void
test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *ip;
        enum net_address_kind kind;
    } rows[] = {
        {"8.8.8.8", NET_ADDRESS_GLOBAL},
        {"0.0.0.0", NET_ADDRESS_UNSPECIFIED},
        {"0.255.255.255", NET_ADDRESS_UNSPECIFIED},
        {"1.0.0.0", NET_ADDRESS_GLOBAL},
        {"9.255.255.255", NET_ADDRESS_GLOBAL},
        {"10.0.0.0", NET_ADDRESS_PRIVATE},
        {"10.255.255.255", NET_ADDRESS_PRIVATE},
        {"11.0.0.0", NET_ADDRESS_GLOBAL},
        {"100.63.255.255", NET_ADDRESS_GLOBAL},
        {"100.64.0.0", NET_ADDRESS_SHARED},
        {"100.100.100.200", NET_ADDRESS_METADATA},
        {"100.127.255.255", NET_ADDRESS_SHARED},
        {"100.128.0.0", NET_ADDRESS_GLOBAL},
        {"127.0.0.1", NET_ADDRESS_LOOPBACK},
        {"127.255.255.255", NET_ADDRESS_LOOPBACK},
        {"128.0.0.0", NET_ADDRESS_GLOBAL},
        {"168.63.129.16", NET_ADDRESS_METADATA},
        {"168.63.129.17", NET_ADDRESS_GLOBAL},
        {"169.253.255.255", NET_ADDRESS_GLOBAL},
        {"169.254.0.0", NET_ADDRESS_LINK_LOCAL},
        {"169.254.169.254", NET_ADDRESS_METADATA},
        {"169.254.170.2", NET_ADDRESS_METADATA},
        {"169.254.255.255", NET_ADDRESS_LINK_LOCAL},
        {"169.255.0.0", NET_ADDRESS_GLOBAL},
        {"172.15.255.255", NET_ADDRESS_GLOBAL},
        {"172.16.0.0", NET_ADDRESS_PRIVATE},
        {"172.31.255.255", NET_ADDRESS_PRIVATE},
        {"172.32.0.0", NET_ADDRESS_GLOBAL},
        {"192.0.0.1", NET_ADDRESS_RESERVED},
        {"192.0.0.192", NET_ADDRESS_METADATA},
        {"192.0.1.0", NET_ADDRESS_GLOBAL},
        {"192.0.2.1", NET_ADDRESS_RESERVED},
        {"192.88.99.1", NET_ADDRESS_TUNNEL},
        {"192.167.255.255", NET_ADDRESS_GLOBAL},
        {"192.168.0.0", NET_ADDRESS_PRIVATE},
        {"192.168.255.255", NET_ADDRESS_PRIVATE},
        {"192.169.0.0", NET_ADDRESS_GLOBAL},
        {"198.17.255.255", NET_ADDRESS_GLOBAL},
        {"198.18.0.0", NET_ADDRESS_RESERVED},
        {"198.19.255.255", NET_ADDRESS_RESERVED},
        {"198.20.0.0", NET_ADDRESS_GLOBAL},
        {"198.51.100.9", NET_ADDRESS_RESERVED},
        {"203.0.113.9", NET_ADDRESS_RESERVED},
        {"223.255.255.255", NET_ADDRESS_GLOBAL},
        {"224.0.0.0", NET_ADDRESS_MULTICAST},
        {"239.255.255.255", NET_ADDRESS_MULTICAST},
        {"240.0.0.0", NET_ADDRESS_RESERVED},
        {"255.255.255.255", NET_ADDRESS_RESERVED},
        /* IPv4 in IPv6 */
        {"::ffff:8.8.8.8", NET_ADDRESS_GLOBAL},
        {"::ffff:127.0.0.1", NET_ADDRESS_LOOPBACK},
        {"::ffff:169.254.169.254", NET_ADDRESS_METADATA},
        {"::ffff:a00:1", NET_ADDRESS_PRIVATE},
        {"64:ff9b::8.8.8.8", NET_ADDRESS_GLOBAL},
        {"64:ff9b::127.0.0.1", NET_ADDRESS_LOOPBACK},
        {"64:ff9b::10.0.0.1", NET_ADDRESS_PRIVATE},
        {"64:ff9b::169.254.169.254", NET_ADDRESS_METADATA},
        {"64:ff9b::0.0.0.0", NET_ADDRESS_UNSPECIFIED},
        {"64:ff9b:0:0:0:1:a00:1", NET_ADDRESS_RESERVED},
        {"64:ff9b:1::8.8.8.8", NET_ADDRESS_TUNNEL},
        {"::127.0.0.1", NET_ADDRESS_TUNNEL},
        {"::8.8.8.8", NET_ADDRESS_TUNNEL},
        {"::ffff:0:127.0.0.1", NET_ADDRESS_TUNNEL},
        {"2002:7f00:1::", NET_ADDRESS_TUNNEL},
        {"2002:808:808::1", NET_ADDRESS_TUNNEL},
        {"2001:0:4136:e378:8000:63bf:3fff:fdd2", NET_ADDRESS_TUNNEL},
        {"2a00:1450::5efe:a00:1", NET_ADDRESS_TUNNEL},
        {"2a00:1450::200:5efe:a00:1", NET_ADDRESS_TUNNEL},
        /* IPv6 */
        {"2a00:1450:4001:80b::200e", NET_ADDRESS_GLOBAL},
        {"::", NET_ADDRESS_UNSPECIFIED},
        {"::1", NET_ADDRESS_LOOPBACK},
        {"::2", NET_ADDRESS_TUNNEL},
        {"100::1", NET_ADDRESS_RESERVED},
        {"1fff:ffff::1", NET_ADDRESS_RESERVED},
        {"2000::1", NET_ADDRESS_GLOBAL},
        {"2001:2::1", NET_ADDRESS_RESERVED},
        {"2001:1ff:ffff::1", NET_ADDRESS_RESERVED},
        {"2001:200::1", NET_ADDRESS_GLOBAL},
        {"2001:db8::1", NET_ADDRESS_RESERVED},
        {"2001:db9::1", NET_ADDRESS_GLOBAL},
        {"3ffe::1", NET_ADDRESS_GLOBAL},
        {"3fff::1", NET_ADDRESS_RESERVED},
        {"4000::1", NET_ADDRESS_RESERVED},
        {"5f00::1", NET_ADDRESS_RESERVED},
        {"fbff::1", NET_ADDRESS_RESERVED},
        {"fc00::1", NET_ADDRESS_PRIVATE},
        {"fd00:ec2::254", NET_ADDRESS_METADATA},
        {"fd20:ce::254", NET_ADDRESS_METADATA},
        {"fdff::1", NET_ADDRESS_PRIVATE},
        {"fe00::1", NET_ADDRESS_RESERVED},
        {"fe80::1", NET_ADDRESS_LINK_LOCAL},
        {"febf::1", NET_ADDRESS_LINK_LOCAL},
        {"fec0::1", NET_ADDRESS_PRIVATE},
        {"ff02::1", NET_ADDRESS_MULTICAST},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_ip ip = ip_of(rows[i].ip);
        enum net_address_kind kind = net_address_kind(&ip);
        if (kind != rows[i].kind)
            fail_msg("%s is %s, not %s", rows[i].ip, net_address_kind_name(kind),
                     net_address_kind_name(rows[i].kind));
        /* Without configuration, the kind decides. */
        static const struct net_guard none;
        assert_int_equal(net_guard_allows(&none, "x", &ip), kind == NET_ADDRESS_GLOBAL);
    }
}

static void
test_internal(void **state)
{
    (void)state;
    static const struct {
        const char *list, *host, *ip;
        bool allowed;
    } rows[] = {
        {"", "hooks.local", "10.0.0.1", false},
        {"10.0.0.0/8", "hooks.local", "10.0.0.1", true},
        {"10.0.0.0/8", "hooks.local", "::ffff:10.0.0.1", true},
        {"10.0.0.0/8", "hooks.local", "64:ff9b::10.0.0.1", false},
        {"10.0.0.0/8", "hooks.local", "192.168.0.1", false},
        {"192.168.1.7", "x", "192.168.1.7", true},
        {"192.168.1.7", "x", "192.168.1.8", false},
        {"fd00::/8, ::1", "x", "fd12::1", true},
        {"fd00::/8, ::1", "x", "::1", true},
        {"fd00::/8, ::1", "x", "127.0.0.1", false},
        {"hooks.local", "hooks.local", "10.0.0.1", true},
        {"Hooks.Local", "hOOKS.lOCAL", "10.0.0.1", true},
        {"a.local, hooks.local\tb", "hooks.local", "127.0.0.1", true},
        {"hooks.local", "hooks", "10.0.0.1", false},
        {"hooks.local", "xhooks.local", "10.0.0.1", false},
        {"hooks.local", "hooks.local.evil.example", "10.0.0.1", false},
        {"hooks.local", "local", "10.0.0.1", false},
        {"hooks.local", "", "10.0.0.1", false},
        {"hooks.local", "other.example", "8.8.8.8", true},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct net_guard guard;
        struct fz_ip ip = ip_of(rows[i].ip);
        assert_int_equal(net_guard_parse(rows[i].list, &guard, NULL), FZ_OK);
        if (net_guard_allows(&guard, rows[i].host, &ip) != rows[i].allowed)
            fail_msg("'%s', %s, %s: not %d", rows[i].list, rows[i].host, rows[i].ip,
                     rows[i].allowed);
    }
}

static void
test_faults(void **state)
{
    (void)state;
    static const char *const lists[] = {"10.0.0.0/33", "300.1.1.1",  "10.0.0", "http://a.local",
                                        "a.local:80",  "*.local",    "a/24",   "fe80::1%eth0",
                                        ".local",      "local.",     "-a",     "10.0.0.0/8;b",
                                        "user@host",   "h\xc3\xb6st"};
    struct net_guard guard;
    struct fz_error err;
    for (size_t i = 0; i < FZ_ARRAY_LEN(lists); i++) {
        if (net_guard_parse(lists[i], &guard, &err) != FZ_E_MALFORMED ||
            !strstr(err.text, "is not a network, address or host"))
            fail_msg("'%s' was accepted", lists[i]);
    }
    char many[NET_GUARD_TEXT + 200] = "";
    for (size_t i = 0; i < 65; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "10.0.0.%zu ", i);
    assert_int_equal(net_guard_parse(many, &guard, &err), FZ_E_LIMIT);
    memset(many, 'a', sizeof(many) - 1);
    for (size_t i = 100; i < sizeof(many) - 1; i += 100)
        many[i] = ',';
    many[sizeof(many) - 1] = '\0';
    assert_int_equal(net_guard_parse(many, &guard, &err), FZ_E_LIMIT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_internal),
                                       cmocka_unit_test(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
