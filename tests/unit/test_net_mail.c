#include "base/net/net_mail.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const char *const to[] = {"ann@example.com", "bob@example.org"};

static void
test_message(void **state)
{
    (void)state;
    const struct net_mail mail = {.from = "alerts@crash.example.com",
                                  .to = to,
                                  .n_to = 2,
                                  .subject = "New issue: crash(int)",
                                  .text = "A line.\n.dot\n= 1\xc3\xa9 \nlast",
                                  .id = "msg_1.2-3",
                                  .thread = "issue-12",
                                  .list = "framezero-shop",
                                  .time_ms = 1795403111999};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(net_mail_append(&mail, &out, NULL), FZ_OK);
    assert_string_equal(fz_buffer_cstr(&out), "From: framezero <alerts@crash.example.com>\r\n"
                                              "To: ann@example.com,\r\n"
                                              " bob@example.org\r\n"
                                              "Subject: New issue: crash(int)\r\n"
                                              "Date: Mon, 23 Nov 2026 03:05:11 +0000\r\n"
                                              "Message-ID: <msg_1.2-3@crash.example.com>\r\n"
                                              "References: <issue-12@crash.example.com>\r\n"
                                              "List-Id: <framezero-shop.crash.example.com>\r\n"
                                              "Auto-Submitted: auto-generated\r\n"
                                              "MIME-Version: 1.0\r\n"
                                              "Content-Type: text/plain; charset=utf-8\r\n"
                                              "Content-Transfer-Encoding: quoted-printable\r\n"
                                              "\r\n"
                                              "A line.\r\n"
                                              "=2Edot\r\n"
                                              "=3D 1=C3=A9=20\r\n"
                                              "last\r\n");
}

/* The line of the subject, and nothing after it that the subject has made. */
static void
test_subject(void **state)
{
    (void)state;
    static const struct {
        const char *subject, *want;
    } rows[] = {
        {"plain", "plain\r\n"},
        {"", "\r\n"},
        {"a\r\nBcc: evil@example.com", "a  Bcc: evil@example.com\r\n"},
        {"a\n\n.", "a  .\r\n"},
        {"tab\tnul\x7f", "tab nul \r\n"},
        {"Caf\xc3\xa9", "=?UTF-8?B?Q2Fmw6k=?=\r\n"},
        {"\xc3\xa9\r\nBcc: x@y.z", "=?UTF-8?B?w6kgIEJjYzogeEB5Lno=?=\r\n"},
        {"=?UTF-8?B?QQ==?=", "=?UTF-8?B?PT9VVEYtOD9CP1FRPT0/PQ==?=\r\n"},
        {"bad \xff byte", "bad   byte\r\n"},
        /* 76 characters, and folded at a space where there are more. */
        {"aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaa",
         "aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaa\r\n"},
        {"aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaa b",
         "aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa\r\n aaaaaaaa b\r\n"},
        /* Without a place to fold at, encoded. */
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "=?UTF-8?B?YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh?=\r\n"
         " =?UTF-8?B?YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYQ==?=\r\n"},
        /* 36 bytes fit into the first word, but not half of a character. */
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\x62",
         "=?UTF-8?B?YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=?=\r\n"
         " =?UTF-8?B?w6li?=\r\n"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        const struct net_mail mail = {.from = "a@b.c",
                                      .to = to,
                                      .n_to = 1,
                                      .subject = rows[i].subject,
                                      .text = "",
                                      .id = "i"};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        assert_int_equal(net_mail_append(&mail, &out, NULL), FZ_OK);
        const char *start = strstr(fz_buffer_cstr(&out), "\r\nSubject: ") + 11;
        const char *end = strstr(start, "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n");
        if (!end || (size_t)(end - start) != strlen(rows[i].want) ||
            strncmp(start, rows[i].want, strlen(rows[i].want)) != 0)
            fail_msg("%zu: %s", i, start);
    }
}

/* No line of a message is longer than 78 characters, and a subject has at most 300 bytes. */
static void
test_lengths(void **state)
{
    (void)state;
    static char subject[4001], text[100001];
    for (size_t i = 0; i + 1 < sizeof(subject); i += 2)
        memcpy(subject + i, "\xc3\xa9", 2);
    for (size_t i = 0; i + 1 < sizeof(text); i++)
        text[i] = i % 3 ? '.' : '\xc3';
    const struct net_mail mail = {
        .from = "a@b.c", .to = to, .n_to = 2, .subject = subject, .text = text, .id = "i"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    assert_int_equal(net_mail_append(&mail, &out, NULL), FZ_OK);
    const char *body = strstr(fz_buffer_cstr(&out), "\r\n\r\n");
    assert_true(body - strstr(fz_buffer_cstr(&out), "Subject: ") < 1400);
    for (const char *line = fz_buffer_cstr(&out); *line;) {
        size_t len = strcspn(line, "\r");
        assert_memory_equal(line + len, "\r\n", 2);
        assert_true(len <= 76);
        assert_true(*line != '.');
        line += len + 2;
    }
}

static void
test_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"a@b.c", "first.last+tag@sub.example.com", "root@localhost",
                                       "o'hara@example.com"};
    static const char *const bad[] = {"",
                                      "a",
                                      "@b.c",
                                      "a@",
                                      "a b@c.d",
                                      "a@b c",
                                      "a@b\r\nBcc: d@e.f",
                                      "a\r\nBcc: d@e.f",
                                      "a@b.c\n",
                                      "<a@b.c>",
                                      "a@b.c>",
                                      "Ann <a@b.c>",
                                      "\"a b\"@c.d",
                                      "a@b,c@d",
                                      "a@@b.c",
                                      ".a@b.c",
                                      "a..b@c.d",
                                      "a@.b",
                                      "a@b..c",
                                      "a@b.",
                                      "-f@b.c",
                                      "a@-b.c",
                                      "a@[127.0.0.1]",
                                      "\xc3\xa9@b.c",
                                      "a@\xc3\xa9.c"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(good); i++)
        assert_int_equal(net_mail_check_address(good[i], NULL), FZ_OK);
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        const char *one[] = {bad[i]};
        const struct net_mail mails[] = {
            {.from = bad[i], .to = to, .n_to = 1, .subject = "", .text = "", .id = "i"},
            {.from = "a@b.c", .to = one, .n_to = 1, .subject = "", .text = "", .id = "i"}};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        struct fz_error err;
        for (size_t k = 0; k < 2; k++) {
            if (net_mail_append(&mails[k], &out, &err) != FZ_E_MALFORMED ||
                !strstr(err.text, "is not a mail address") || out.len != 0)
                fail_msg("'%s' was accepted", bad[i]);
        }
    }
    static const char *const ids[] = {"", "a b", "a>", "a\r\nb", "a@b", "a..b"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(ids); i++) {
        const struct net_mail mail = {
            .from = "a@b.c", .to = to, .n_to = 1, .subject = "", .text = "", .id = ids[i]};
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
        assert_int_equal(net_mail_append(&mail, &out, NULL), FZ_E_MALFORMED);
    }
}

static void
test_server(void **state)
{
    (void)state;
    static const struct {
        struct net_mail_server server;
        const char *error; /* NULL: good */
    } rows[] = {
        {{.url = "smtp://mail.example.com:587", .user = "u", .password = "p"}, NULL},
        {{.url = "smtps://mail.example.com", .user = "u", .tls = NET_MAIL_TLS_OFF}, NULL},
        {{.url = "smtp://127.0.0.1/helo.example.com", .tls = NET_MAIL_TLS_OFF}, NULL},
        {{.url = "smtp://a", .user = "u", .tls = NET_MAIL_TLS_OFF}, "without encryption"},
        {{.url = "smtp://a", .user = "u", .tls = NET_MAIL_TLS_OFFERED}, "without encryption"},
        {{.url = "http://a"}, "must begin with smtp:// or smtps://"},
        {{.url = "smtp://u:p@a"}, "user name or password"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = net_mail_check_server(&rows[i].server, &err);
        if (rows[i].error ? code != FZ_E_MALFORMED || !strstr(err.text, rows[i].error)
                          : code != FZ_OK)
            fail_msg("%s: %s", rows[i].server.url, err.text);
    }
}

static void
test_tls(void **state)
{
    (void)state;
    enum net_mail_tls tls = NET_MAIL_TLS_OFF;
    assert_true(net_mail_tls_parse("required", &tls));
    assert_int_equal(tls, NET_MAIL_TLS_REQUIRED);
    assert_true(net_mail_tls_parse("offered", &tls));
    assert_int_equal(tls, NET_MAIL_TLS_OFFERED);
    assert_true(net_mail_tls_parse("off", &tls));
    assert_int_equal(tls, NET_MAIL_TLS_OFF);
    assert_false(net_mail_tls_parse("", &tls));
    assert_false(net_mail_tls_parse("OFF", &tls));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message), cmocka_unit_test(test_subject),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_server),  cmocka_unit_test(test_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
