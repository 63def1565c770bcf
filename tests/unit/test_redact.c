/* Redaction: words of names and types, patterns in values, entries of a project, whole variables. */
#include "server/resolve/redact.h"

#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/attr.h"
#include "server/scrub/find.h"
#include "server/scrub/words.h"

static void
test_words(void **state)
{
    static const struct {
        const char *text;
        bool name, type;
    } cases[] = {
        {"password", true, true},
        {"userPassword", true, true},
        {"m_strPasswd", true, true},
        {"mypassword", true, true},
        {"PASSWORD", true, true},
        {"pass", true, false},
        {"render_pass", true, false},
        {"compass", false, false},
        {"bypass", false, false},
        {"passenger", false, false},
        {"spinning", false, false},
        {"pin", true, false},
        {"userPIN", true, false},
        {"isPINSet", true, false},
        {"PINs", true, false},
        {"pinned", false, false},
        {"spin_count", false, false},
        {"token", true, true},
        {"access_token2", true, true},
        {"accesstoken", true, true},
        {"refreshTokens", true, true},
        {"tokenizer", false, false},
        {"secret", true, true},
        {"kClientSecret", true, true},
        {"secretary", false, false},
        {"auth", true, true},
        {"authHeader", true, true},
        {"oauth_state", true, true},
        {"author", false, false},
        {"authentic", false, false},
        {"card", true, false},
        {"cardNumber", true, false},
        {"cardinality", false, false},
        {"discard", false, false},
        {"iban", true, true},
        {"cvv", true, true},
        {"email", true, true},
        {"e_mail_address", true, true},
        {"emails", true, true},
        {"phone", true, false},
        {"iPhoneModel", true, false},
        {"microphone", false, false},
        {"cookie", true, true},
        {"NSHTTPCookie *", true, true},
        {"api_key", true, true},
        {"APIKey", true, true},
        {"apiKeys", true, true},
        {"key", false, false},
        {"monkey", false, false},
        {"session_id", true, true},
        {"sessionID", true, true},
        {"session", false, false},
        {"std::vector<Credentials>", true, true},
        {"struct session, id", false, false},
        {"const char *", false, false},
        {"count", false, false},
        {"", false, false},
        {"\xc3\xa4pin", true, false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span text = fz_span_cstr(cases[i].text);
        if (scrub_words_have_secret(text, SCRUB_WORDS_OF_NAME) != cases[i].name ||
            scrub_words_have_secret(text, SCRUB_WORDS_OF_TYPE) != cases[i].type)
            fail_msg("%s", cases[i].text);
    }
}

static void
test_values(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"7", false},
        {"-1", false},
        {"3.14159265358979323846", false},
        {"0x00006000012345678", false},
        {"0x16f0ffa60 \"Shop\"", false},
        {"\"hello, world\"", false},
        {"KIND_ADMIN (7)", false},
        /* payment cards: test numbers of the networks */
        {"\"4111 1111 1111 1111\"", true},
        {"\"4111-1111-1111-1111\"", true},
        {"4111111111111111", true},
        {"\"4111111111111112\"", false},
        {"378282246310005", true},
        {"5555555555554444", true},
        {"\"6011000990139424\"", true},
        {"1763800000000008", false}, /* a time in microseconds */
        {"\"1763800000000005\"", false},
        {"\"0000000000000000\"", false},
        {"41111111111111110000", false},
        {"4111111111111111.5", false},
        {"0.4111111111111111", false},
        /* personal data */
        {"\"Anna <anna.b+x@mail.example.com>\"", true},
        {"\"user@host\"", false},
        {"\"@property (nonatomic)\"", false},
        {"\"https://anna:hunter2@example.com/\"", true},
        {"\"+49 170 1234567\"", true},
        {"\"+1 (555) 010-9999\"", true},
        {"\"+1\"", false},
        {"\"DE89370400440532013000\"", true},
        {"\"DE89 3704 0044 0532 0130 00\"", true},
        {"\"GB82WEST12345698765432 is it\"", true},
        {"\"DE89370400440532013001\"", false},
        {"\"NO9386011117947\"", true},
        /* keys */
        {"\"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln\"", true},
        {"\"eyJ\"", false},
        {"\"keyJumping12345\"", false},
        {"\"0123456789abcdef0123456789abcdef\"", true},
        {"0x0123456789ABCDEF0123456789ABCDEF", true},
        {"\"0123456789abcdef\"", false},
        {"\"4c4c445b-5555-3144-a129-88beb9d5eb60\"", false}, /* a UUID */
        {"\"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\"", true},
        {"\"/Users/ci/build/Shop2/Sources/Checkout/Cart.swift\"", false},
        {"\"applicationDidFinishLaunchingWithOptions\"", false},
        {"\"com.acme.shop.checkout.payment-provider.controller2\"", false},
        {"\"-----BEGIN PRIVATE KEY-----\"", true},
        {"\"AKIAIOSFODNN7EXAMPLE\"", true},
        {"\"Bearer abcdefgh1234\"", true},
        {"\"password=hunter2\"", true},
        {"\"{\\\"token\\\": \\\"x1\\\"}\"", true},
        {"\"/login?user=anna&pin=1234\"", true},
        {"\"Enter your password:\"", false},
        {"\"count=7\"", false},
        {"", false},
        {"@", false},
        {"=", false},
        {"+", false},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        if (scrub_find_in_value(fz_span_cstr(cases[i].text)) != cases[i].want)
            fail_msg("%s", cases[i].text);
    }
}

static void
test_entries(void **state)
{
    static const struct {
        const char *allow, *deny;
        struct resolve_redact_subject subject;
        enum resolve_redact_verdict want;
    } cases[] = {
        {NULL, NULL, {"count", "int", "f", "Shop"}, RESOLVE_REDACT_BY_VALUE},
        {NULL, NULL, {"pin", "int", "f", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {NULL, NULL, {NULL, NULL, NULL, NULL}, RESOLVE_REDACT_BY_VALUE},
        {NULL, "salary", {"salary", "int", "f", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {NULL, "salary", {"Salary", "int", "f", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {NULL, "salary", {"salaryScale", "int", "f", "Shop"}, RESOLVE_REDACT_BY_VALUE},
        {NULL, "a\n*sal*y*\nb", {"m_salary2", "int", "f", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {NULL, "\n\n", {"", "int", "f", "Shop"}, RESOLVE_REDACT_BY_VALUE},
        {"render_pass", NULL, {"render_pass", "int", "f", "Shop"}, RESOLVE_REDACT_NEVER},
        {"render_pass", "render*", {"render_pass", "int", "f", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {"type:lex::*", NULL, {"token", "lex::Token *", "f", "Shop"}, RESOLVE_REDACT_NEVER},
        {"function:lex_*", NULL, {"token", "int", "lex_next", "Shop"}, RESOLVE_REDACT_NEVER},
        {"function:lex_*", NULL, {"token", "int", "login", "Shop"}, RESOLVE_REDACT_ALWAYS},
        {"function:lex_*", NULL, {"token", "int", NULL, "Shop"}, RESOLVE_REDACT_ALWAYS},
        {NULL, "image:ShopPay*", {"count", "int", "f", "ShopPayKit"}, RESOLVE_REDACT_ALWAYS},
        {NULL, "image:ShopPay*", {"count", "int", "f", "Shop"}, RESOLVE_REDACT_BY_VALUE},
        {"*", NULL, {"password", "int", "f", "Shop"}, RESOLVE_REDACT_NEVER},
    };
    (void)state;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const struct resolve_redact_rules rules = {cases[i].allow, cases[i].deny};
        if (resolve_redact_judge(&rules, &cases[i].subject) != cases[i].want)
            fail_msg("case %zu", i);
    }
}

/* A structure with a password by pointer, an array of characters, and things without secrets. */
static void
test_variables(void **state)
{
    static const char digits[] = "4111111111111111";
    static const char *const texts[] = {"'0'", "'1'", "'2'", "'3'", "'4'"};
    struct report_variable chars[16], pointee = {.name = "*", .value = "104 'h'"};
    for (size_t i = 0; i < 16; i++)
        chars[i] = (struct report_variable){.name = "[0]", .value = texts[digits[i] - '0']};
    struct report_variable members[] = {
        {.name = "name", .value = "0x1000 \"Anna\"", .location = "here"},
        {.name = "password", .value = "0x2000 \"hunter2\"", .fields = &pointee, .n_fields = 1},
        {.name = "digits", .fields = chars, .n_fields = 16, .n_fields_cut = 3},
    };
    struct report_variable variables[] = {
        {.name = "user",
         .type = "struct user",
         .value = "{\"hunter2\"}",
         .fields = members,
         .n_fields = FZ_ARRAY_LEN(members)},
        {.name = "count", .type = "int", .value = "7"},
        {.name = "cookie", .type = "int", .availability = REPORT_VALUE_OPTIMIZED_OUT},
    };
    const struct resolve_redact_rules rules = {NULL, NULL};
    (void)state;
    assert_int_equal(resolve_redact(variables, FZ_ARRAY_LEN(variables), &rules, "f", "Shop"), 2);
    assert_int_equal(members[0].availability, REPORT_VALUE_AVAILABLE);
    assert_string_equal(members[0].value, "0x1000 \"Anna\"");
    assert_string_equal(members[0].location, "here");
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(members[i].availability, REPORT_VALUE_REDACTED);
        assert_null(members[i].value);
        assert_null(members[i].fields);
        assert_int_equal(members[i].n_fields + members[i].n_fields_cut, 0);
    }
    assert_string_equal(members[1].name, "password");
    /* Its own text may repeat the password. */
    assert_null(variables[0].value);
    assert_int_equal(variables[0].availability, REPORT_VALUE_PARTIAL);
    assert_int_equal(variables[0].n_fields, 3);
    assert_string_equal(variables[1].value, "7");
    assert_int_equal(variables[2].availability, REPORT_VALUE_REDACTED);

    /* What an entry allows is shown with its fields, but for what another entry denies. */
    struct report_variable more[] = {{.name = "password", .value = "x"},
                                     {.name = "salary", .value = "1"}};
    struct report_variable form = {.name = "auth", .fields = more, .n_fields = 2};
    const struct resolve_redact_rules allow = {"auth", "salary"};
    assert_int_equal(resolve_redact(&form, 1, &allow, NULL, NULL), 1);
    assert_string_equal(more[0].value, "x");
    assert_null(more[1].value);
}

static void
test_notable(void **state)
{
    struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct report_thread threads[] = {
        {.notable_json = "{\"x0\":{\"type\":\"string\",\"value\":\"anna@example.com\"},"
                         "\"x1\":{\"type\":\"string\",\"value\":\"Shop\"}}"},
        {.notable_json = "{\"x2\":{\"value\":\"Shop\"}}"},
        {.notable_json = NULL},
        {.notable_json = "{\"x3\":{\"value\":\"4111 1111 1111 1111\"}}"},
    };
    struct report report = {.threads = threads, .n_threads = FZ_ARRAY_LEN(threads)};
    struct fz_error err;
    (void)state;
    assert_int_equal(resolve_redact_notable(&report, &arena, &err), FZ_OK);
    assert_string_equal(threads[0].notable_json,
                        "{\"x1\":{\"type\":\"string\",\"value\":\"Shop\"}}");
    assert_string_equal(threads[1].notable_json, "{\"x2\":{\"value\":\"Shop\"}}");
    assert_null(threads[2].notable_json);
    assert_string_equal(threads[3].notable_json, "{}");
    fz_arena_deinit(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_entries), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_notable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
