/* Scrubbing: what is masked in texts and what is not, JSON, rules of a project, whole reports, hostile lengths. */
#include "server/scrub/scrub.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/report/report.h"

enum { ARENA = 64 * 1024 * 1024, LONG = 1024 * 1024, LONG_MS = 3000 };

struct pair {
    const char *in, *want; /* NULL = stays */
};

static void
check(const struct pair *pairs, size_t n, const char *rules_text, bool is_json, enum scrub_top top)
{
    for (size_t i = 0; i < n; i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
        struct scrub_rules rules;
        struct fz_error err;
        assert_int_equal(scrub_rules_parse(rules_text, &arena, &rules, &err), FZ_OK);
        struct scrub scrub = scrub_make(&rules, &arena);
        const char *want = pairs[i].want ? pairs[i].want : pairs[i].in;
        const char *got =
            is_json ? scrub_json(&scrub, pairs[i].in, top) : scrub_text(&scrub, pairs[i].in);
        assert_false(scrub.failed);
        if (strcmp(got, want) != 0)
            fail_msg("%s\n  gives %s\n  not   %s", pairs[i].in, got, want);
        assert_int_equal(scrub_count(&scrub) > 0, pairs[i].want != NULL);
    }
}

static void
test_texts(void **state)
{
    static const struct pair pairs[] = {
        {"", NULL},
        {"index 7 beyond bounds [0 .. 2]", NULL},
        /* mail */
        {"no route to anna.b+x@mail.example.com.", "no route to [email]."},
        {"user=anna@example.com&x", "user=[email]&x"},
        {"<anna@example.com>,bob@example.org", "<[email]>,[email]"},
        {"m\xc3\xbcller@example.com", "[email]"},
        {"icon@2x.png and icon@3x~ipad.png", NULL},
        {"user@host", NULL},
        {"@example.com", NULL},
        {"-[Shop pay:]@0x10", NULL},
        /* cards: test numbers of the networks */
        {"card 4111 1111 1111 1111 declined", "card [card] declined"},
        {"4111-1111-1111-1111,378282246310005", "[card],[card]"},
        {"4111111111111112", NULL},
        {"at 1763800000000008 us", NULL},
        {"0x4111111111111111", NULL},
        {"pay 4111111111111111.", "pay [card]."},
        {"0.4111111111111111", NULL},
        /* bank accounts */
        {"to DE89 3704 0044 0532 0130 00 today", "to [iban] today"},
        {"GB82WEST12345698765432", "[iban]"},
        {"GB82WEST12345698765433", NULL},
        {"PR12 fixes the crash in the list of all things", NULL},
        /* telephones */
        {"call +49 170 1234567 now", "call [phone] now"},
        {"main+12345678", NULL},
        {"main + 12345678", NULL},
        {"2026-11-24T10:00:00+0100", NULL},
        /* tokens */
        {"Bearer abcdef0123456789abcd", "Bearer [token]"},
        {"Bearer abc.def", NULL},
        {"Basic understanding of types", NULL},
        {"Authorization: Bearer abcdef0123456789abcd x", "Authorization: [secret] x"},
        {"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-x end", "jwt [token] end"},
        {"AKIAIOSFODNN7EXAMPLE", "[token]"},
        {"ghp_0123456789abcdefABCD.", "[token]"},
        {"key d41d8cd98f00b204e9800998ecf8427e!", "key [token]!"},
        {"0xd41d8cd98f00b204e9800998ecf8427e", "0x[token]"},
        {"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3h", "[token]"},
        {"-----BEGIN KEY-----\nMIIB\n-----END KEY----- x", "[token] x"},
        {"-----BEGIN KEY-----\nMIIB", "[token]"},
        {"E621E1F8-C36C-495A-93FC-0C247A3E6E5F", NULL},
        {"_TtC4Shop22CheckoutViewController2Item3Thing9Other", NULL},
        {"$s4Shop8CheckoutV3run2at5ItemsSi_tF0A9B1C2D3E4F5G", NULL},
        {"UICollectionViewCompositionalLayoutSection2Thing", NULL},
        /* by their name */
        {"password=hunter2&x=1", "password=[secret]&x=1"},
        {"{\"token\": \"x y\", \"n\": 1}", "{\"token\": \"[secret]\", \"n\": 1}"},
        {"\\\"api_key\\\":\\\"abc\\\"", "\\\"api_key\\\":\\\"[secret]\\\""},
        {"token: f3Zk, next", "token: [secret], next"},
        {"email: anna at home", "email: [email] at home"},
        {"password: nil", NULL},
        {"enter your password:", NULL},
        {"-[Auth loginWithToken:completion:]: unrecognized selector sent to 0x1", NULL},
        {"-[Auth setPassword:]: unrecognized selector", NULL},
        {"Auth::login", NULL},
        {"spinning: 1", NULL},
        {"token=[secret]", NULL},
        /* names */
        {"open(/Users/anna/Library/x.db): no", "open(/Users/[user]/Library/x.db): no"},
        {"/home/Anna", "/home/[user]"},
        {"file:///Users/anna.b/x", "file:///Users/[user]/x"},
        {"/Users/Shared/x", NULL},
        {"https://example.com/home/page", NULL},
        {"/var/mobile/Containers/Data/x", NULL},
        {"Anna's iPhone is full", "[device] is full"},
        {"on Anna Maria\xe2\x80\x99s iPad", "on [device]"},
        {"Annas-MacBook-Pro.local", "[device]"},
        {"it's iPhone", "[device]"},
        {"non-Mac", NULL},
    };
    (void)state;
    check(pairs, FZ_ARRAY_LEN(pairs), NULL, false, SCRUB_TOP_ANY);
}

/* Each word that hides a value although it is written as a part of another one. */
static void
test_parts(void **state)
{
    static const char *const parts[] = {
        "password",      "passwd",      "passphrase",   "credential",   "accesstoken",
        "authtoken",     "apitoken",    "refreshtoken", "idtoken",      "sessiontoken",
        "apikey",        "privatekey",  "secretkey",    "clientsecret", "creditcard",
        "cardnumber",    "phonenumber", "emailaddress", "useremail",    "sessioncookie",
        "accountnumber",
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(parts); i++) {
        char names[3][64];
        snprintf(names[0], sizeof(names[0]), "%s", parts[i]);
        snprintf(names[1], sizeof(names[1]), "x%sx", parts[i]);
        snprintf(names[2], sizeof(names[2]), "%.*sx", (int)strlen(parts[i]) - 1, parts[i]);
        for (size_t k = 0; k < 3; k++) {
            FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
            const struct scrub_rules rules = scrub_rules_default();
            struct scrub scrub = scrub_make(&rules, &arena);
            char json[128];
            snprintf(json, sizeof(json), "{\"%s\":\"v\"}", names[k]);
            bool is_hidden = strcmp(scrub_json(&scrub, json, SCRUB_TOP_ANY), json) != 0;
            /* The last one lacks a letter. */
            if (is_hidden != (k < 2))
                fail_msg("%s", names[k]);
        }
    }
}

static void
test_json(void **state)
{
    static const struct pair any[] = {
        {"{}", NULL},
        {"{\"a\":1,\"b\":[true,null,\"x\"]}", NULL},
        {"{\"password\":\"x\",\"n\":1}", "{\"password\":\"[secret]\",\"n\":1}"},
        {"{\"pin\": 1234}", "{\"pin\": \"[secret]\"}"},
        {"{\"auth\":{\"code\":7,\"ok\":true,\"l\":[\"a\"]},\"b\":\"a\"}",
         "{\"auth\":{\"code\":\"[secret]\",\"ok\":true,\"l\":[\"[secret]\"]},\"b\":\"a\"}"},
        {"{\"x\":\"a@b.example\"}", "{\"x\":\"[email]\"}"},
        {"{\"a@b.example\":1}", "{\"[email]\":1}"},
        {"{\"x\":\"a\\u0040b.example \\/Users\\/anna\\/x\"}",
         "{\"x\":\"[email] /Users/[user]/x\"}"},
        {"{\"x\":\"a\\n\\\"b\\\" \\u20ac\\ud83d\\ude00 /Users/anna/x\",\"y\":\"c\\\\d\"}",
         "{\"x\":\"a\\n\\\"b\\\" \xe2\x82\xac\xf0\x9f\x98\x80 /Users/[user]/x\",\"y\":\"c\\\\d\"}"},
        {"{\"trace_id\":\"d41d8cd98f00b204e9800998ecf8427e\"}", NULL},
        {"{\"crashReporterKey\":\"d41d8cd98f00b204e9800998ecf8427e\"}", NULL},
        {"{\"x\":\"d41d8cd98f00b204e9800998ecf8427e\"}", "{\"x\":\"[token]\"}"},
        {"{\"user\":{\"id\":\"a@b.example\",\"name\":\"Anna\"}}",
         "{\"user\":{\"id\":\"a@b.example\",\"name\":\"[user]\"}}"},
        {"{\"device\":{\"name\":\"Anna's\",\"model\":\"iPhone14,5\"}}",
         "{\"device\":{\"name\":\"[device]\",\"model\":\"iPhone14,5\"}}"},
        {"{\"client_ip\":\"10.0.0.1\",\"version\":\"10.0.0.1\"}",
         "{\"client_ip\":\"[ip]\",\"version\":\"10.0.0.1\"}"},
        {"{\"token\":\"\",\"email\":\"[email]\"}", NULL},
        {"[[\"password\",\"x\"],{\"message\":\"call +49 170 1234567\"}]",
         "[[\"password\",\"x\"],{\"message\":\"call [phone]\"}]"},
        {"\"a@b.example\"", "\"[email]\""},
    };
    static const struct pair user[] = {
        {"{\"id\":\"d41d8cd98f00b204e9800998ecf8427e\",\"email\":\"a@b.example\",\"ip_address\":"
         "\"10.0.0.1\",\"username\":\"anna\",\"plan\":\"x\"}",
         "{\"id\":\"d41d8cd98f00b204e9800998ecf8427e\",\"email\":\"[email]\",\"ip_address\":\"[ip]"
         "\",\"username\":\"[user]\",\"plan\":\"x\"}"},
        {"\"anna@b.example\"", NULL},
    };
    static const struct pair pseudonym[] = {
        {"{\"email\":\"a@b.example\"}", "{\"email\":\"[email:ebb18a03]\"}"},
    };
    static const struct pair id[] = {{"{\"id\":\"u-1\"}", "{\"id\":\"[user_id]\"}"}};
    (void)state;
    check(any, FZ_ARRAY_LEN(any), NULL, true, SCRUB_TOP_ANY);
    check(user, FZ_ARRAY_LEN(user), NULL, true, SCRUB_TOP_USER);
    check(pseudonym, FZ_ARRAY_LEN(pseudonym), NULL, true, SCRUB_TOP_PSEUDONYM);
    check(id, FZ_ARRAY_LEN(id), "on:user_id", true, SCRUB_TOP_USER);
}

static void
test_rules(void **state)
{
    static const struct pair json[] = {
        {"{\"customer_number\":\"7\",\"x\":\"order-4711 ORD/ab/9 done\"}",
         "{\"customer_number\":\"[custom]\",\"x\":\"[custom] [custom] done\"}"},
        {"{\"session_id\":\"abc\",\"mail\":\"a@b.example\"}", NULL},
        {"{\"token\":\"abc\"}", "{\"token\":\"[secret]\"}"},
    };
    static const struct pair wrong[] = {
        {"off:mail", "scrub_rules: entry 1: no such kind"},
        {"on:custom", "scrub_rules: entry 1: no such kind"},
        {"text:a*", "scrub_rules: entry 1: a pattern of texts"},
        {"key:x\ntext:abc*d*e*", "scrub_rules: entry 2: a pattern of texts"},
        {"password", "scrub_rules: entry 1: must be"},
        {"text:", "scrub_rules: entry 1: must be"},
    };
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    (void)state;
    check(json, FZ_ARRAY_LEN(json),
          "text:order-*\ntext:ORD/*/9\nkey:customer*\noff:email\nkeep:Session*", true,
          SCRUB_TOP_ANY);
    for (size_t i = 0; i < FZ_ARRAY_LEN(wrong); i++) {
        struct scrub_rules rules;
        struct fz_error err;
        assert_int_equal(scrub_rules_parse(wrong[i].in, &arena, &rules, &err), FZ_E_MALFORMED);
        if (strncmp(err.text, wrong[i].want, strlen(wrong[i].want)) != 0)
            fail_msg("%s: %s", wrong[i].in, err.text);
    }
}

static void
test_report(void **state)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    const struct scrub_rules rules = scrub_rules_default();
    const char *messages[] = {"from a@b.example"}, *notes[] = {"/home/Anna/x"};
    struct report_thread thread = {.name = "Anna's iPhone"};
    struct report_image images[] = {{.path = "/Users/anna/Shop.app/Shop"},
                                    {.path = "/System/Library/x@y.example"}};
    struct report report = {
        .crash = {.reason = "token=abc",
                  .messages = messages,
                  .n_messages = 1,
                  .exception = "a@b.example"},
        .threads = &thread,
        .n_threads = 1,
        .images = images,
        .n_images = 2,
        .notes = notes,
        .n_notes = 1,
        .user_json = "{\"id\":\"u-1\",\"email\":\"a@b.example\"}",
        .tags_json = "{\"server_name\":\"annas\"}",
        .breadcrumbs_json = "[{\"message\":\"+49 170 1234567\"}]",
        .extra_json = "{\"cvv\":123}",
    };
    struct fz_error err;
    (void)state;
    assert_int_equal(scrub_report(&report, &rules, &arena, &err), FZ_OK);
    assert_string_equal(report.crash.reason, "token=[secret]");
    /* Names of the program are what an issue is found by. */
    assert_string_equal(report.crash.exception, "a@b.example");
    assert_string_equal(messages[0], "from [email]");
    assert_string_equal(notes[0], "/home/[user]/x");
    assert_string_equal(thread.name, "[device]");
    assert_string_equal(images[0].path, "/Users/[user]/Shop.app/Shop");
    assert_string_equal(images[1].path, "/System/Library/x@y.example");
    assert_string_equal(report.user_json, "{\"id\":\"u-1\",\"email\":\"[email]\"}");
    assert_string_equal(report.tags_json, "{\"server_name\":\"[device]\"}");
    assert_string_equal(report.breadcrumbs_json, "[{\"message\":\"[phone]\"}]");
    assert_string_equal(report.extra_json, "{\"cvv\":\"[secret]\"}");
    assert_string_equal(report.scrubbed_json,
                        "{\"secret\":2,\"email\":2,\"phone\":1,\"user\":2,\"device\":2}");
    struct report clean = {.crash = {.reason = "nothing"}};
    assert_int_equal(scrub_report(&clean, &rules, &arena, &err), FZ_OK);
    assert_null(clean.scrubbed_json);
}

/* A megabyte of what each pattern begins with takes as long per byte as a little of it. */
static void
test_long(void **state)
{
    static const char *const units[] = {
        "a",          "1",     "@",       "a@",           "a@b.",    "+",
        "+1 ",        "=",     "a=",      "token:",       "token=[", "token=\"[",
        ":",          "/",     "/Users/", "/home/A",      "'",       "'s ",
        "A's iPhone", "s-Mac", "-",       "-----BEGIN ",  "eyJ",     "Bearer ",
        "AB12 ",      "AB12",  "0x",      "aB3",          "\\\"",    "password ",
        "ord",        "ord ",  "4111 ",   "\xe2\x80\x99", " ",       "key=\" ",
    };
    (void)state;
    char *text = malloc(LONG + 1);
    assert_non_null(text);
    for (size_t i = 0; i < FZ_ARRAY_LEN(units); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
        struct scrub_rules rules;
        struct fz_error err;
        size_t len = strlen(units[i]);
        for (size_t at = 0; at < LONG; at++)
            text[at] = units[i][at % len];
        text[LONG] = '\0';
        assert_int_equal(scrub_rules_parse("text:ord*x*y", &arena, &rules, &err), FZ_OK);
        struct scrub scrub = scrub_make(&rules, &arena);
        clock_t start = clock();
        assert_non_null(scrub_text(&scrub, text));
        long ms = (long)((clock() - start) * 1000 / CLOCKS_PER_SEC);
        if (ms > LONG_MS)
            fail_msg("\"%s\" over and over: %ld ms", units[i], ms);
    }
    free(text);
}

static void
test_deep(void **state)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ARENA);
    const struct scrub_rules rules = scrub_rules_default();
    struct scrub scrub = scrub_make(&rules, &arena);
    char json[1024];
    (void)state;
    memset(json, '[', 400);
    memset(json + 400, ']', 400);
    json[800] = '\0';
    assert_string_equal(scrub_json(&scrub, json, SCRUB_TOP_ANY), "\"[custom]\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts), cmocka_unit_test(test_parts),  cmocka_unit_test(test_json),
        cmocka_unit_test(test_rules), cmocka_unit_test(test_report), cmocka_unit_test(test_long),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
