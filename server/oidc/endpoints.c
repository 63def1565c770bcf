/*
 * {"issuer":"https://id.example.com","authorization_endpoint":"https://id.example.com/auth",
 *  "token_endpoint":"https://id.example.com/token","jwks_uri":"https://id.example.com/jwks", …}
 */
#include <stdio.h>
#include <string.h>

#include "server/oidc/flow.h"
#include "server/oidc/provider.h"

/* `is_for_browser`: this server does not connect to it. */
static enum fz_code
read_url(const json_t *root, const char *name, const char *issuer, const struct net_guard *guard,
         bool is_for_browser, char ret[OIDC_URL_ROOM], struct fz_error *err)
{
    const char *url = json_string_value(json_object_get(root, name));
    if (!url)
        return fz_fail(err, FZ_E_MALFORMED, "%s is missing", name);
    enum fz_code code = net_request_check_url(url, guard, err);
    /* Which addresses a browser may connect to is not ours to say. */
    if (code == FZ_E_DENIED && is_for_browser)
        code = FZ_OK;
    if (code != FZ_OK) {
        fz_ignore(fz_wrap(err, "%s", name));
        return FZ_E_MALFORMED;
    }
    if (oidc_is_https(issuer) && !oidc_is_https(url))
        return fz_fail(err, FZ_E_MALFORMED, "%s is without https, unlike the issuer", name);
    if (strchr(url, '#'))
        return fz_fail(err, FZ_E_MALFORMED, "%s has a fragment", name);
    snprintf(ret, OIDC_URL_ROOM, "%s", url);
    return FZ_OK;
}

/* `if_missing`: what the specification says of a list that is not there. */
static bool
has(const json_t *root, const char *name, const char *value, bool if_missing)
{
    const json_t *list = json_object_get(root, name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && strcmp(one, value) == 0)
            return true;
    }
    return !list && if_missing;
}

static enum fz_code
check_issuer(const json_t *root, const char *issuer, struct fz_error *err)
{
    const char *is = json_string_value(json_object_get(root, "issuer"));
    if (is && strcmp(is, issuer) == 0)
        return FZ_OK;
    return fz_fail(err, FZ_E_MALFORMED,
                   "the provider calls itself '%.80s': set oidc-issuer to exactly that",
                   is ? is : "");
}

enum fz_code
oidc_endpoints_parse(struct fz_span text, const char *issuer, const struct net_guard *guard,
                     struct oidc_endpoints *ret, struct fz_error *err)
{
    static const char methods[] = "token_endpoint_auth_methods_supported";
    json_auto_t *root = NULL;
    struct oidc_endpoints e = {.token = ""};
    enum fz_code code = oidc_json_load(text, &root, err);
    if (code == FZ_OK)
        code = check_issuer(root, issuer, err);
    if (code == FZ_OK)
        code = read_url(root, "authorization_endpoint", issuer, guard, true, e.authorization, err);
    if (code == FZ_OK)
        code = read_url(root, "token_endpoint", issuer, guard, false, e.token, err);
    if (code == FZ_OK)
        code = read_url(root, "jwks_uri", issuer, guard, false, e.keys, err);
    if (code == FZ_OK && json_object_get(root, "userinfo_endpoint"))
        code = read_url(root, "userinfo_endpoint", issuer, guard, false, e.userinfo, err);
    if (code != FZ_OK)
        return code;
    if (!has(root, "code_challenge_methods_supported", "S256", true))
        return fz_fail(err, FZ_E_MALFORMED, "the provider does not know PKCE with S256");
    if (!has(root, "id_token_signing_alg_values_supported", "RS256", true) &&
        !has(root, "id_token_signing_alg_values_supported", "ES256", false))
        return fz_fail(err, FZ_E_MALFORMED, "the provider signs with neither RS256 nor ES256");
    e.takes_basic = has(root, methods, "client_secret_basic", true);
    e.takes_post = has(root, methods, "client_secret_post", false);
    e.names_issuer =
        json_is_true(json_object_get(root, "authorization_response_iss_parameter_supported"));
    *ret = e;
    return FZ_OK;
}
