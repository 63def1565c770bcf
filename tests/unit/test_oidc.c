#include "server/oidc/claims.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/oidc/flow.h"
#include "server/oidc/keys.h"
#include "server/oidc/provider.h"

static const char issuer[] = "https://id.example.com";

/* Examples of RFC 7515, A.2 and A.3: a key and a token of each algorithm. */
static const char rs256_keys[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_"
    "wWJcyQoTbji9k0"
    "l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ4"
    "7soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQ"
    "Y4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb5"
    "4h4FRWyuXpoQ\",\"e\":\"AQAB\"}]}";
static const char rs256_token[] =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb"
    "S9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4B"
    "h-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBA"
    "rLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1p"
    "hCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
static const char es256_keys[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
                                 "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                                 "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";
static const char es256_token[] =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb"
    "S9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKT"
    "UJqPP3-Kg6NU1Q";

static enum fz_code
verify(const char *keys_text, const char *token_text, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(oidc_keys_destroyp) struct oidc_keys *keys = NULL;
    FZ_CLEANUP(oidc_token_deinit) struct oidc_token token = {0};
    enum fz_code code = oidc_keys_parse(fz_span_cstr(keys_text), &keys, err);
    if (code == FZ_OK)
        code = oidc_token_parse(fz_span_cstr(token_text), &arena, &token, err);
    return code == FZ_OK ? oidc_keys_verify(keys, &token, err) : code;
}

static void
test_signatures(void **state FZ_UNUSED)
{
    struct fz_error err;
    assert_int_equal(verify(rs256_keys, rs256_token, &err), FZ_OK);
    assert_int_equal(verify(es256_keys, es256_token, &err), FZ_OK);
    /* Without an id in the token another key may have been meant. */
    assert_int_equal(verify(rs256_keys, es256_token, &err), FZ_E_NOT_FOUND);
    assert_int_equal(verify(es256_keys, rs256_token, &err), FZ_E_NOT_FOUND);
    /* Each character of claims and signature counts, but the last one, of whose six bits only some
     * are used. */
    for (size_t i = sizeof("eyJhbGciOiJFUzI1NiJ9"); i < sizeof(es256_token) - 2; i += 7) {
        char changed[sizeof(es256_token)];
        memcpy(changed, es256_token, sizeof(changed));
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        if (changed[i] != es256_token[i])
            assert_int_not_equal(verify(es256_keys, changed, &err), FZ_OK);
    }
}

/* {"alg":…} as a token with the claims {} and the signature "sig". */
static enum fz_code
parse_with_header(const char *header, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    FZ_CLEANUP(oidc_token_deinit) struct oidc_token token = {0};
    fz_text_base64url_append(&text, fz_span_cstr(header));
    fz_buffer_text(&text, ".e30.c2ln");
    return oidc_token_parse(fz_buffer_span(&text), &arena, &token, err);
}

static void
test_headers(void **state FZ_UNUSED)
{
    static const struct {
        const char *header, *said;
        enum fz_code code;
    } rows[] = {
        {"{\"alg\":\"RS256\"}", "", FZ_OK},
        {"{\"alg\":\"ES256\",\"kid\":\"a\",\"typ\":\"JWT\"}", "", FZ_OK},
        {"{\"alg\":\"none\"}", "its algorithm is none", FZ_E_UNSUPPORTED},
        {"{\"alg\":\"HS256\"}", "its algorithm is HS256", FZ_E_UNSUPPORTED},
        {"{\"alg\":\"rs256\"}", "its algorithm is rs256", FZ_E_UNSUPPORTED},
        {"{\"alg\":[\"RS256\"]}", "its algorithm is not named", FZ_E_UNSUPPORTED},
        {"{}", "its algorithm is not named", FZ_E_UNSUPPORTED},
        {"{\"alg\":\"RS256\",\"crit\":[]}", "must be understood", FZ_E_UNSUPPORTED},
        {"{\"alg\":\"RS256\",\"kid\":1}", "kid is not a text", FZ_E_MALFORMED},
        {"{\"alg\":\"RS256\",\"kid\":\"\\u0000\"}", "not UTF-8", FZ_E_MALFORMED},
        {"[]", "not an object", FZ_E_MALFORMED},
        {"{", "header: json", FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        struct fz_error err = {.text = ""};
        enum fz_code code = parse_with_header(rows[i].header, &err);
        if (code != rows[i].code || !strstr(err.text, rows[i].said))
            fail_msg("%s: %d %s", rows[i].header, (int)code, err.text);
    }
}

static void
test_forms(void **state FZ_UNUSED)
{
    static const char *const texts[] = {"",           ".",
                                        "..",         "...",
                                        "a",          "a.b",
                                        "eyJ9..c",    "eyJhbGciOiJSUzI1NiJ9=.e30.",
                                        "a.b.c.d.e",  "eyJhbGciOiJSUzI1NiJ9.e30. ",
                                        "e30\n.e30.", "eyJhbGciOiJSUzI1NiJ9.e30.+/"};
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct oidc_token token;
    struct fz_error err;
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        if (oidc_token_parse(fz_span_cstr(texts[i]), &arena, &token, &err) == FZ_OK)
            fail_msg("%s", texts[i]);
    }
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer large = fz_buffer_make(0);
    while (large.len <= OIDC_TOKEN_MAX)
        fz_buffer_text(&large, "eyJhbGciOiJSUzI1NiJ9.");
    assert_int_equal(oidc_token_parse(fz_buffer_span(&large), &arena, &token, &err),
                     FZ_E_MALFORMED);
    assert_non_null(strstr(err.text, "are read"));
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void
test_claims(void **state FZ_UNUSED)
{
    static const char good[] =
        "\"iss\":\"https://id.example.com\",\"aud\":\"us\",\"nonce\":\"n\",\"sub\":"
        "\"1\",\"iat\":1000,\"exp\":1300";
    static const struct {
        const char *more, *said; /* later members replace earlier ones; NULL: good */
    } rows[] = {
        {"", NULL},
        {",\"aud\":[\"us\"]", NULL},
        {",\"aud\":[\"other\",\"us\"],\"azp\":\"us\"", NULL},
        {",\"iat\":1119,\"exp\":881", NULL},
        {",\"nbf\":1119.9", NULL},
        {",\"iss\":\"https://id.example.com/\"", "iss:"},
        {",\"iss\":null", "iss:"},
        {",\"aud\":\"other\"", "aud:"},
        {",\"aud\":[]", "aud:"},
        {",\"aud\":{\"us\":1}", "aud:"},
        {",\"aud\":[\"us\",\"other\"]", "azp:"},
        {",\"azp\":\"other\"", "azp:"},
        {",\"exp\":879", "exp:"},
        {",\"exp\":\"1300\"", "when it was made"},
        {",\"iat\":1121", "iat:"},
        {",\"iat\":-20", "iat:"},
        {",\"nbf\":1121", "nbf:"},
        {",\"nbf\":\"x\"", "nbf:"},
        {",\"nonce\":\"\"", "nonce:"},
        {",\"nonce\":\"nn\"", "nonce:"},
        {",\"nonce\":1", "nonce:"},
        {",\"sub\":1", "sub:"},
        {",\"sub\":\"\"", "sub:"},
        {",\"exp\":1e308", NULL},
        {",\"exp\":-1e308", "exp:"},
    };
    static const struct oidc_expected expected = {issuer, "us", "n", 1000};
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        json_auto_t *claims = NULL;
        struct oidc_identity identity;
        struct fz_error err = {.text = ""};
        fz_buffer_printf(&text, "{%s%s}", good, rows[i].more);
        assert_int_equal(oidc_json_load(fz_buffer_span(&text), &claims, &err), FZ_OK);
        enum fz_code code = oidc_claims_check(claims, &expected, &arena, &identity, &err);
        if (rows[i].said ? code != FZ_E_DENIED || !strstr(err.text, rows[i].said) : code != FZ_OK)
            fail_msg("%s: %d %s", rows[i].more, (int)code, err.text);
    }
}

static void
test_people(void **state FZ_UNUSED)
{
    static const struct {
        const char *info, *email, *name; /* NULL: not said */
        bool is_verified;
    } rows[] = {
        {"{\"sub\":\"1\",\"email\":\"a@b\",\"email_verified\":true,\"name\":\"A\"}", "a@b", "A",
         true},
        {"{\"sub\":\"1\",\"email\":\"a@b\",\"email_verified\":\"true\"}", "a@b", NULL, true},
        {"{\"sub\":\"1\",\"email\":\"a@b\",\"email_verified\":1}", "a@b", NULL, false},
        {"{\"sub\":\"1\",\"email\":\"a@b\",\"email_verified\":\"yes\"}", "a@b", NULL, false},
        {"{\"sub\":\"1\",\"email\":\"a@b\"}", "a@b", NULL, false},
        {"{\"sub\":\"1\",\"email\":\"\",\"email_verified\":true}", NULL, NULL, false},
        {"{\"sub\":\"1\",\"email\":[\"a@b\"],\"email_verified\":true}", NULL, NULL, false},
        {"{\"sub\":\"1\",\"preferred_username\":\"ann\"}", NULL, "ann", false},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(64 * 1024);
        json_auto_t *info = NULL;
        struct oidc_identity person = {.subject = "1"}, other = {.subject = "2"};
        assert_int_equal(oidc_json_load(fz_span_cstr(rows[i].info), &info, NULL), FZ_OK);
        assert_int_equal(oidc_claims_add(info, &arena, &person, NULL), FZ_OK);
        assert_int_equal(person.is_email_verified, rows[i].is_verified);
        assert_string_equal(person.email ? person.email : "-", rows[i].email ? rows[i].email : "-");
        assert_string_equal(person.name ? person.name : "-", rows[i].name ? rows[i].name : "-");
        assert_int_equal(oidc_claims_add(info, &arena, &other, NULL), FZ_E_DENIED);
    }
}

/* ---- a login --------------------------------------------------------------------------------- */

static void
test_secrets(void **state FZ_UNUSED)
{
    char one[OIDC_SECRET_TEXT], two[OIDC_SECRET_TEXT], of[3][OIDC_SECRET_TEXT];
    oidc_secret_make(one);
    oidc_secret_make(two);
    assert_int_equal(strlen(one), OIDC_SECRET_TEXT - 1);
    assert_string_not_equal(one, two);
    for (size_t i = 0; i < 3; i++)
        oidc_derive(one, (enum oidc_purpose)i, of[i]);
    assert_string_not_equal(of[OIDC_STATE], of[OIDC_NONCE]);
    assert_string_not_equal(of[OIDC_STATE], of[OIDC_VERIFIER]);
    assert_string_not_equal(of[OIDC_NONCE], of[OIDC_VERIFIER]);
    assert_true(oidc_state_is(one, of[OIDC_STATE]));
    assert_false(oidc_state_is(two, of[OIDC_STATE]));
    assert_false(oidc_state_is(one, of[OIDC_NONCE]));
    assert_false(oidc_state_is(one, ""));
    assert_false(oidc_state_is("", ""));
    assert_false(oidc_state_is("short", of[OIDC_STATE]));
}

/* Neither the secret nor the verifier is in it. */
static void
test_request(void **state FZ_UNUSED)
{
    static const struct oidc_config config = {
        .issuer = issuer, .client_id = "a b&c", .redirect_uri = "https://x.example/back"};
    static const char secret[] = "0123456789012345678901234567890123456789012";
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer url = fz_buffer_make(0);
    oidc_append_request(&config, "https://id.example.com/auth?tenant=1", secret, &url);
    assert_int_equal(fz_buffer_done(&url, NULL), FZ_OK);
    const char *text = fz_buffer_cstr(&url);
    static const char start[] =
        "https://id.example.com/auth?tenant=1&response_type=code&client_id=a%20b%26c&redirect_uri="
        "https%3A%2F%2Fx.example%2Fback&scope=openid%20email%20profile&state=";
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    assert_non_null(strstr(text, "&code_challenge_method=S256"));
    char verifier[OIDC_SECRET_TEXT];
    oidc_derive(secret, OIDC_VERIFIER, verifier);
    assert_null(strstr(text, verifier));
    assert_null(strstr(text, secret));
}

static void
test_descriptions(void **state FZ_UNUSED)
{
    static const char good[] =
        "\"issuer\":\"https://id.example.com\",\"authorization_endpoint\":\"https://id.example.com/"
        "a\","
        "\"token_endpoint\":\"https://id.example.com/t\",\"jwks_uri\":\"https://id.example.com/k\"";
    static const struct {
        const char *more, *said; /* NULL: good */
    } rows[] = {
        {"", NULL},
        {",\"authorization_endpoint\":\"https://10.0.0.1/a\"", NULL}, /* the browser goes there */
        {",\"issuer\":\"https://id.example.com/\"", "calls itself"},
        {",\"token_endpoint\":\"http://id.example.com/t\"", "without https"},
        {",\"token_endpoint\":\"https://10.0.0.1/t\"", "a private address"},
        {",\"token_endpoint\":\"https://u:p@id.example.com/t\"", "token_endpoint"},
        {",\"jwks_uri\":5", "jwks_uri is missing"},
        {",\"jwks_uri\":\"https://id.example.com/k#x\"", "fragment"},
        {",\"userinfo_endpoint\":\"ftp://x\"", "userinfo_endpoint"},
        {",\"code_challenge_methods_supported\":[]", "PKCE"},
        {",\"id_token_signing_alg_values_supported\":[\"none\"]", "neither RS256"},
        {",\"id_token_signing_alg_values_supported\":[\"ES256\"]", NULL},
    };
    static const struct net_guard guard;
    static struct oidc_endpoints endpoints;
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
        struct fz_error err = {.text = ""};
        fz_buffer_printf(&text, "{%s%s}", good, rows[i].more);
        enum fz_code code =
            oidc_endpoints_parse(fz_buffer_span(&text), issuer, &guard, &endpoints, &err);
        if (rows[i].said ? code != FZ_E_MALFORMED || !strstr(err.text, rows[i].said)
                         : code != FZ_OK)
            fail_msg("%s: %d %s", rows[i].more, (int)code, err.text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures), cmocka_unit_test(test_headers),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_claims),
        cmocka_unit_test(test_people),     cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_request),    cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
